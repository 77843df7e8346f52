"""TruLens: its database of events, and its spans."""

import json
import sqlite3
from contextlib import closing

from judgeboard.domain import Rejected
from judgeboard.tools import trulens
from judgeboard.traces.spans import Operation, Passage
from made_spans import part_of
from tool_files import records


def test_a_database_of_trulens_gives_its_records_and_scores(tmp_path):
    own = "ai.observability."
    events = [
        (
            "1",
            None,
            {"span_type": "record_root", "record_root.input": "q?", "record_root.output": "a."},
        ),
        (
            "2",
            "1",
            {
                "span_type": "retrieval",
                "retrieval.query_text": "q?",
                "retrieval.retrieved_contexts": ["p1", "p2"],
            },
        ),
        (
            "3",
            "1",
            {"span_type": "eval_root", "eval_root.score": 0.9, "eval.metric_name": "Groundedness"},
        ),
    ]
    file = tmp_path / "default.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        columns = "event_id, record, record_attributes, record_type, resource_attributes, start_timestamp, timestamp"
        connection.execute(f"CREATE TABLE trulens_events ({columns}, trace)")
        for span, parent, attributes in events:
            record, trace = (
                {"name": span, "parent_span_id": parent or ""},
                {"trace_id": "77", "span_id": span},
            )
            values = (record, {own + name: value for name, value in attributes.items()}, "SPAN", {})
            times = (f"2026-11-21 04:00:0{span}.000000", f"2026-11-21 04:00:0{span}.500000")
            cells = (*values, *times, trace)
            texts = [
                json.dumps(json.dumps(each)) if isinstance(each, dict) else each for each in cells
            ]
            connection.execute(
                "INSERT INTO trulens_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (span, *texts)
            )
    title, (answer,) = records(file)
    assert title == "TruLens events"
    assert (answer.query, answer.answer, answer.passages) == ("q?", "a.", ("p1", "p2"))
    _, (verdict,) = records(file, "verdicts")
    assert (verdict.response_id, verdict.verdict.groundedness) == (answer.external_id, 0.9)


def test_a_trace_id_of_thousands_of_digits_is_kept_as_it_is(tmp_path):
    own = {"ai.observability.record_root.input": "q?", "ai.observability.span_type": "record_root"}
    event = {
        "record": {},
        "record_attributes": own,
        "trace": {"trace_id": "9" * 5000, "span_id": "1"},
    }
    file = tmp_path / "events.jsonl"
    file.write_text(json.dumps(event))
    title, (rejected,) = records(file)
    assert (title, type(rejected)) == ("TruLens events", Rejected)


def test_records_retrievals_and_generations_of_trulens():
    base = "ai.observability."
    root = part_of(
        trulens.read_span,
        {
            base + "span_type": "record_root",
            base + "record_root.input": "Hi?",
            base + "record_root.output": "Hello.",
            base + "run.name": "nightly",
            base + "conversation_id": "c-1",
            base + "cost.num_prompt_tokens": 5,
        },
        resource={base + "app_version": "v2"},
    )
    assert (root.operation, root.question, root.answer) == (Operation.APP, "Hi?", "Hello.")
    assert (root.session, root.metadata) == ("c-1", {"app_version": "v2", "run": "nightly"})
    texts = {base + "span_type": "reranking", base + "reranking.output_context_texts": ["Two."]}
    assert (
        part_of(trulens.read_span, texts).operation,
        part_of(trulens.read_span, texts).passages,
    ) == (
        Operation.RERANKING,
        (Passage("Two."),),
    )
    query = {base + "span_type": "retrieval", base + "retrieval.query_text": "Hi?"}
    for contexts in (
        {base + "retrieval.retrieved_contexts": ["One.", "Two."]},
        {"gen_ai.retrieval.documents": '["One.", "Two."]'},
    ):
        part = part_of(trulens.read_span, query | contexts)
        assert (part.question, part.passages) == ("Hi?", (Passage("One."), Passage("Two.")))
    model = part_of(
        trulens.read_span,
        {
            base + "span_type": "generation",
            base + "call.kwargs.query": "Hi?",
            base + "call.return": "Hello.",
            base + "cost.model": "m",
            base + "cost.num_completion_tokens": 2,
            base + "cost.cost": 0.5,
        },
    )
    assert (model.operation, model.question, model.answer) == (Operation.MODEL, "Hi?", "Hello.")
    assert (model.model, model.completion_tokens, model.cost) == ("m", 2, 0.5)
    assert (
        part_of(
            trulens.read_span, {base + "span_type": "eval_root", base + "eval_root.score": 1.0}
        ).operation
        is Operation.OTHER
    )
