"""TruLens: its database of events, and its spans."""

import json
import sqlite3
from contextlib import closing
from functools import partial

from judgeboard.domain import Rejected
from judgeboard.tools import trulens
from judgeboard.traces.spans import Operation, Passage
from made_spans import part_of
from tool_files import records, written

read_part = partial(part_of, trulens.read_span)


def own(attributes):
    """Attributes under the name of TruLens."""
    return {f"ai.observability.{name}": value for name, value in attributes.items()}


def test_a_database_of_trulens_gives_its_records_and_scores(tmp_path):
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
            values = (record, own(attributes), "SPAN", {})
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
    assert answer.query == "q?"
    assert answer.answer == "a."
    assert answer.passages == ("p1", "p2")
    _, (verdict,) = records(file, "verdicts")
    assert verdict.external_id == answer.external_id
    assert verdict.verdict.groundedness == 0.9


def test_a_trace_id_of_thousands_of_digits_is_kept_as_it_is(tmp_path):
    event = {
        "record": {},
        "record_attributes": own({"record_root.input": "q?", "span_type": "record_root"}),
        "trace": {"trace_id": "9" * 5000, "span_id": "1"},
    }
    title, (rejected,) = records(written(tmp_path, event))
    assert title == "TruLens events"
    assert isinstance(rejected, Rejected)


def test_records_retrievals_and_generations_of_trulens():
    root = {
        "span_type": "record_root",
        "record_root.input": "Hi?",
        "record_root.output": "Hello.",
        "run.name": "nightly",
        "conversation_id": "c-1",
    }
    root = read_part(own(root), resource=own({"app_version": "v2"}))
    assert root.operation == Operation.APP
    assert root.question == "Hi?"
    assert root.answer == "Hello."
    assert root.session == "c-1"
    assert root.metadata == {"app_version": "v2", "run": "nightly"}
    texts = {"span_type": "reranking", "reranking.output_context_texts": ["Two."]}
    reranked = read_part(own(texts))
    assert reranked.operation == Operation.RERANKING
    assert reranked.passages == (Passage("Two."),)
    query = own({"span_type": "retrieval", "retrieval.query_text": "Hi?"})
    for contexts in (
        own({"retrieval.retrieved_contexts": ["One.", "Two."]}),
        {"gen_ai.retrieval.documents": '["One.", "Two."]'},
    ):
        part = read_part(query | contexts)
        assert part.question == "Hi?"
        assert part.passages == (Passage("One."), Passage("Two."))
    model = {
        "span_type": "generation",
        "call.kwargs.query": "Hi?",
        "call.return": "Hello.",
        "cost.model": "m",
        "cost.num_completion_tokens": 2,
        "cost.cost": 0.5,
    }
    model = read_part(own(model))
    assert model.operation == Operation.MODEL
    assert model.question == "Hi?"
    assert model.answer == "Hello."
    assert (model.model, model.completion_tokens, model.cost) == ("m", 2, 0.5)
    score = own({"span_type": "eval_root", "eval_root.score": 1.0})
    assert read_part(score).operation is Operation.OTHER
