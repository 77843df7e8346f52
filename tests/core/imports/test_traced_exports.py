"""Exports with a row per span or trace: one answer per trace, with the passages of its retrievals."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from judgeboard.domain import Rejected, Response
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import read_records
from judgeboard.imports.responses import NO_PASSAGES
from judgeboard.store.engine import Store

QUESTION = "At what temperature does Dyneema melt, and nylon?"
SLINGS = "Slings. Dyneema melts at about 145 °C, so never let it run over itself under load."
ROPES = "Ropes. Nylon melts at about 250 °C and stretches; it is what most ropes are made of."
CITED = "Dyneema melts at about 145 °C [1]; nylon melts at about 250 °C [2]."
TRACE = "49c250410fbe305e914b2b7072849737"
OF_MLFLOW = "48bd85d40d5a223affcc0c4fe68b03de"

# File -> what it is taken for, the trace of the example with passages, all answers, all traces without one.
CAPTURES = {
    "phoenix/spans.json": ("Phoenix", TRACE, 1, 0),
    "phoenix/spans_dataframe.jsonl": ("Phoenix", TRACE, 5, 2),
    "phoenix/spans_dataframe.csv": ("Phoenix", TRACE, 5, 2),
    "phoenix/spans_otlpv1.json": ("OpenTelemetry", TRACE, 5, 2),
    "mlflow/trace_to_json.json": ("MLflow", OF_MLFLOW, 1, 0),
    "mlflow/search_traces_list.json": ("MLflow", OF_MLFLOW, 4, 1),
    "mlflow/search_traces_pandas.jsonl": ("MLflow", OF_MLFLOW, 4, 1),
    "mlflow/rest_search.json": ("MLflow", None, 4, 90),
    "genai_evaluation_event/001-post-v1_logs.json": ("OpenTelemetry", None, 0, 1),
    "oinf_openai/001-post-v1_traces.json": ("OpenTelemetry", None, 5, 2),
    "vercel_ai_js/001-post-v1_traces.bin": ("OpenTelemetry", None, 4, 1),
}


def records(file: Path, kind: str = "responses") -> tuple[str | None, list[Any]]:
    reading = read_records(file, kind=kind)
    items = list(reading)
    return reading.export and reading.export.title, items


def test_a_trace_of_a_captured_export_is_one_answer(shared: Path) -> None:
    for name, (tool, trace, answers, without) in CAPTURES.items():
        title, items = records(shared / "captures" / name)
        assert title is not None, name
        assert tool in title, name
        found = {item.external_id: item for item in items if isinstance(item, Response)}
        rejected = [item for item in items if isinstance(item, Rejected)]
        assert (len(found), len(rejected)) == (answers, without), (name, rejected)
        assert all(item.reason for item in rejected)
        if trace is not None:
            first = found[trace]
            assert (first.query, first.answer, first.passages) == (QUESTION, CITED, (SLINGS, ROPES)), name
            assert (first.generator_model, first.query_type) == ("gpt-4o-mini-2024-07-18", "material"), name
            kept = {key: first.metadata.get(key) for key in ("session", "user", "prompt_tokens", "completion_tokens")}
            assert list(kept.values()) == ["sess-42", "u-7", 57, 21], name
            details = [(each["id"], each["score"]) for each in first.metadata["context_details"]]
            assert details == [("slings-07", 0.91), ("ropes-02", 0.64)], name


def test_a_search_result_of_mlflow_gives_no_answer_of_a_text_that_was_cut(shared: Path, tmp_path: Path) -> None:
    infos = json.loads((shared / "captures" / "mlflow" / "rest_search.json").read_text())
    (info,) = [each for each in infos if each["trace_id"].endswith(OF_MLFLOW)]
    metadata = info["trace_metadata"]
    cut, tool = f"{'a' * 247}...", '{"city": "Bergen"}'
    older = {"request_id": f"tr-{TRACE}", "timestamp_ms": 1795232788440, "execution_time_ms": 327, "status": "OK"}
    older |= {"request_metadata": [{"key": key, "value": value} for key, value in metadata.items()], "tags": []}
    changed = [
        {"traces": [info]},
        {"traces": [older]},
        *(
            info | {"trace_id": f"tr-{number}", "response_preview": cut, "trace_metadata": metadata | outputs}
            for number, outputs in enumerate(({"mlflow.traceOutputs": cut}, {"mlflow.traceOutputs": tool}))
        ),
        info | {"trace_id": "tr-2", "trace_metadata": {}},  # of another sender
    ]
    file = tmp_path / "search.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in changed))
    _, items = records(file)
    assert [isinstance(item, Response) for item in items] == [True, True, False, False, False]
    for item, trace in zip(items, (OF_MLFLOW, TRACE), strict=False):
        assert (item.external_id, item.query, item.answer, item.passages) == (trace, QUESTION, CITED, None)
        assert (item.metadata["session"], item.metadata["latency_ms"]) == ("sess-42", 327)
    assert all("judgeboard pull" in item.reason for item in items[2:])


def test_the_log_records_of_a_file_belong_to_its_spans(shared: Path, tmp_path: Path) -> None:
    requests = [path.read_text() for path in sorted((shared / "captures" / "v2_legacy").glob("*[a-z].json"))]
    requests = [json.dumps(json.loads(text)) for text in requests if "resource" in text]
    file = tmp_path / "collector.jsonl"
    file.write_text("\n".join(requests))
    _, items = records(file)
    questions = [item.query for item in items if isinstance(item, Response)]
    assert sorted(questions) == ["And nylon?", QUESTION, QUESTION, "What is the weather in Bergen?"]


def test_assessments_of_mlflow_become_verdicts_grades_feedback_and_references(shared: Path) -> None:
    file = shared / "captures" / "mlflow" / "trace_to_json.json"
    _, (answer,) = records(file)
    assert answer.reference == "145 °C and 250 °C"
    assert [(each.kind, each.value) for each in answer.feedback] == [("thumbs", 0)]
    _, (verdict,) = records(file, "verdicts")
    assert (verdict.judge, verdict.verdict.groundedness) == ("judgeboard/rag v1", 0.9)
    _, (grade,) = records(file, "grades")
    assert (grade.annotator, grade.grade.label, grade.grade.groundedness) == ("mara@example.org", "grounded", 0.4)


def observation(name: str, kind: str, parent: str | None, **more: Any) -> dict[str, Any]:
    start = {"root": 0, "find": 1, "call": 2}[name]
    return {
        "id": f"o-{name}",
        "traceId": "trace-1",
        "traceName": "assistant",
        "type": kind,
        "name": name,
        "startTime": f"2026-11-21T04:00:0{start}.000Z",
        "endTime": "2026-11-21T04:00:05.000Z",
        "userId": "u",
        "sessionId": "s",
        "level": "DEFAULT",
        "metadata": {"query_type": "material"},
        "tags": ["prod"],
        "parentObservationId": parent,
        "providedModelName": None,
        "usageDetails": {},
        "costDetails": {},
        "input": None,
        "output": None,
        **more,
    }


OBSERVATIONS = [
    observation(
        "call",
        "GENERATION",
        "o-root",
        input=[{"role": "user", "content": "Passages: p1, p2. Question: q?"}],
        output={"role": "assistant", "content": "a."},
        providedModelName="gpt",
        usageDetails={"input": 7, "output": 3, "total": 10},
        costDetails={"total": 0.25},
    ),
    observation("find", "RETRIEVER", "o-root", input="q?", output=[{"page_content": "p1"}, {"page_content": "p2"}]),
    observation("root", "SPAN", None, input={"question": "q?"}, output="a.", groundedness=[0.9], thumbs=[1]),
]


def _as_csv(folder: Path) -> Path:
    file = folder / "export.csv"
    with file.open("w", newline="") as stream:
        table = csv.DictWriter(stream, list(OBSERVATIONS[-1]))
        table.writeheader()
        for row in OBSERVATIONS:
            table.writerow({name: each if each is None else _cell(each) for name, each in row.items()})
    return file


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "rest"])
def test_observations_of_langfuse_become_the_answer_of_their_trace(tmp_path: Path, form: str) -> None:
    file = tmp_path / f"export.{form}"
    if form == "csv":
        file = _as_csv(tmp_path)
    elif form == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in OBSERVATIONS))
    elif form == "json":
        file.write_text(json.dumps(OBSERVATIONS))
    else:
        trace = {"id": "trace-1", "timestamp": "2026-11-21T04:00:00Z", "name": "assistant", "bookmarked": False}
        trace |= {"input": {"question": "q?"}, "output": "a.", "userId": "u", "sessionId": "s", "tags": ["prod"]}
        scores = [{"name": "groundedness", "value": 0.9, "source": "EVAL"}, {"name": "thumbs", "value": 1}]
        observations = [{name: row[name] for name in row if name != "groundedness"} for row in OBSERVATIONS]
        file.write_text(json.dumps(trace | {"observations": observations[:2], "scores": scores}))
    title, (answer,) = records(file)
    assert str(title).startswith("Langfuse")
    assert (answer.external_id, answer.query, answer.answer) == ("trace-1", "q?", "a.")
    assert (answer.passages, answer.generator_model, answer.generator_cost) == (("p1", "p2"), "gpt", 0.25)
    assert [answer.metadata[key] for key in ("session", "user", "prompt_tokens")] == ["s", "u", 7]
    assert [(each.kind, each.value) for each in answer.feedback] == [("thumbs", 1)]
    _, (verdict,) = records(file, "verdicts")
    assert (verdict.response_id, verdict.verdict.groundedness) == ("trace-1", 0.9)


def test_runs_of_langsmith_become_the_answer_of_their_trace(tmp_path: Path) -> None:
    common = {"trace_id": "t", "start_time": "2026-11-21T04:00:00", "end_time": "2026-11-21T04:00:01"}
    common |= {"session_id": "the project", "tags": ["prod"]}
    runs = [
        common
        | {"id": "m", "parent_run_id": "r", "run_type": "llm", "inputs": {"messages": [["user", "q?"]]}}
        | {"outputs": {"generations": [[{"text": "a."}]]}, "extra": {"metadata": {"ls_model_name": "gpt"}}}
        | {"prompt_tokens": 7, "completion_tokens": 3},
        common
        | {"id": "d", "parent_run_id": "r", "run_type": "retriever", "inputs": {"query": "q?"}}
        | {"outputs": {"documents": [{"page_content": "p1", "metadata": {}}, {"page_content": "p2"}]}},
        common
        | {"id": "r", "parent_run_id": None, "run_type": "chain", "inputs": {"question": "q?"}}
        | {"outputs": {"output": "a."}, "extra": {"metadata": {"session_id": "s", "user_id": "u"}}}
        | {"feedback_stats": {"correctness": {"n": 1, "avg": 0.5}, "user_thumbs": {"n": 1, "avg": 1.0}}},
    ]
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(run) + "\n" for run in runs))
    title, (answer,) = records(file)
    assert title == "LangSmith runs"
    assert (answer.query, answer.answer, answer.passages) == ("q?", "a.", ("p1", "p2"))
    assert (answer.generator_model, answer.metadata["session"], answer.metadata["user"]) == ("gpt", "s", "u")
    assert [(each.kind, each.value) for each in answer.feedback] == [("thumbs", 1)]
    _, (verdict,) = records(file, "verdicts")
    assert [(score.dimension, score.value) for score in verdict.verdict.scores] == [("correctness", 0.5)]


def test_a_database_of_trulens_gives_its_records_and_scores(tmp_path: Path) -> None:
    own = "ai.observability."
    events = [
        ("1", None, {"span_type": "record_root", "record_root.input": "q?", "record_root.output": "a."}),
        (
            "2",
            "1",
            {"span_type": "retrieval", "retrieval.query_text": "q?", "retrieval.retrieved_contexts": ["p1", "p2"]},
        ),
        ("3", "1", {"span_type": "eval_root", "eval_root.score": 0.9, "eval.metric_name": "Groundedness"}),
    ]
    file = tmp_path / "default.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        columns = "event_id, record, record_attributes, record_type, resource_attributes, start_timestamp, timestamp"
        connection.execute(f"CREATE TABLE trulens_events ({columns}, trace)")
        for span, parent, attributes in events:
            record, trace = {"name": span, "parent_span_id": parent or ""}, {"trace_id": "77", "span_id": span}
            values = (record, {own + name: value for name, value in attributes.items()}, "SPAN", {})
            times = (f"2026-11-21 04:00:0{span}.000000", f"2026-11-21 04:00:0{span}.500000")
            cells = (*values, *times, trace)
            texts = [json.dumps(json.dumps(each)) if isinstance(each, dict) else each for each in cells]
            connection.execute("INSERT INTO trulens_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (span, *texts))
    title, (answer,) = records(file)
    assert title == "TruLens events"
    assert (answer.query, answer.answer, answer.passages) == ("q?", "a.", ("p1", "p2"))
    _, (verdict,) = records(file, "verdicts")
    assert (verdict.response_id, verdict.verdict.groundedness) == (answer.external_id, 0.9)


def test_a_trace_id_of_thousands_of_digits_is_kept_as_it_is(tmp_path: Path) -> None:
    own = {"ai.observability.record_root.input": "q?", "ai.observability.span_type": "record_root"}
    event = {"record": {}, "record_attributes": own, "trace": {"trace_id": "9" * 5000, "span_id": "1"}}
    file = tmp_path / "events.jsonl"
    file.write_text(json.dumps(event))
    title, (rejected,) = records(file)
    assert (title, type(rejected)) == ("TruLens events", Rejected)


def test_spans_of_phoenix_are_joined_in_any_order_and_from_any_writer(tmp_path: Path) -> None:
    root = {"name": "ask", "span_kind": "CHAIN", "parent_id": None, "context": {"trace_id": "t", "span_id": "1"}}
    root |= {
        "start_time": 1795233370,
        "end_time": 1795233372,
        "attributes": {"input.value": "q?", "output.value": "a."},
    }
    documents = {"retrieval.documents.1.document.content": "p1", "retrieval.documents.2.document.content": "p2"}
    find = {"name": "find", "span_kind": "RETRIEVER", "parent_id": "1", "attributes": documents}
    find |= {"context": {"trace_id": "t", "span_id": "2"}, "start_time": "2026-11-21T03:56:11+00:00", "end_time": None}
    for number, rows in enumerate(([root, find], [find, root])):
        file = tmp_path / f"spans-{number}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        _, (answer,) = records(file)
        assert (answer.query, answer.answer, answer.passages) == ("q?", "a.", ("p1", "p2"))


@pytest.mark.parametrize("form", ["dotted", "nested", "columns"])
def test_annotations_in_the_attributes_of_a_span_are_read(store: Store, tmp_path: Path, form: str) -> None:
    judge = {"name": "groundedness", "score": 0.25, "identifier": "judge-v2", "annotator_kind": "LLM"}
    person = {"name": "label", "label": "hallucinated", "identifier": "ann", "annotator_kind": "HUMAN"}
    session = {"name": "coherence", "label": "coherent"}
    texts = {"input.value": "q?", "output.value": "a."}
    lists = {
        "evaluations": [{"evaluation": judge}],
        "annotations": [{"annotation": person}],
        "session.annotations": [{"annotation": session}],
    }
    flat = {
        f"{name}.0.{one}.{key}": value
        for name, (entry,) in lists.items()
        for one, fields in entry.items()
        for key, value in fields.items()
    }
    row = {"name": "ask", "span_kind": "CHAIN", "parent_id": None, "start_time": 1795233370, "end_time": 1795233372}
    if form == "columns":
        row |= {"context.trace_id": "t", "context.span_id": "1"}
        row |= {f"attributes.{name}": value for name, value in (texts | flat).items()}
    else:
        row |= {"context": {"trace_id": "t", "span_id": "1"}}
        row |= {"attributes": texts | (flat if form == "dotted" else lists)}
    file = tmp_path / "spans.jsonl"
    file.write_text(json.dumps(row))
    summary = import_file(store, file)
    of_sessions = "not read, because they are about sessions and not about answers: coherence (1 time)"
    assert set(summary.messages) == {NO_PASSAGES, of_sessions}
    _, (verdict,) = records(file, "verdicts")
    assert (verdict.judge, verdict.verdict.groundedness) == ("judge-v2", 0.25)
    _, (grade,) = records(file, "grades")
    assert (grade.annotator, grade.grade.label) == ("ann", "hallucinated")


@pytest.mark.parametrize(
    ("name", "value", "feedback"),
    [
        ("thumbs_down", 1, [0]),
        ("thumbs-up", 1, [1]),
        ("user-feedback", 0, [0]),
        ("feedback_on_style", 1, []),
        ("feedback_on_style", True, [1]),
        ("user_feedback", 3, []),
        ("user-stars", 3, [3]),
        ("gold_star", 1, []),
    ],
)
def test_the_name_of_a_score_tells_feedback_of_users(
    tmp_path: Path, name: str, value: Any, feedback: list[int]
) -> None:
    file = tmp_path / "export.json"
    file.write_text(
        json.dumps([*OBSERVATIONS[:2], observation("root", "SPAN", None, input="q?", output="a.") | {name: [value]}])
    )
    _, (answer,) = records(file)
    assert [each.value for each in answer.feedback] == feedback


def test_an_unknown_column_among_those_of_langfuse_is_metadata_and_no_score(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps([{"region": 1} | observation("root", "SPAN", None, input="q?", output="a.")]))
    _, (answer,) = records(file)
    assert answer.metadata["region"] == 1
    assert records(file, "verdicts")[1] == []


def test_a_trace_without_an_id_is_rejected_alone(tmp_path: Path) -> None:
    trace = {
        "id": "t",
        "name": "n",
        "input": "q?",
        "output": "a.",
        "userId": "u",
        "sessionId": "s",
        "bookmarked": False,
    }
    file = tmp_path / "export.jsonl"
    rows = [trace, {name: trace[name] for name in trace if name != "id"}, trace | {"id": "t2"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, items = records(file)
    assert [isinstance(item, Rejected) for item in items] == [False, True, False]


def test_an_id_that_an_application_chose_may_be_another_trace_in_another_source(
    sqlite_store: Store, tmp_path: Path
) -> None:
    own = {"id": "o", "traceId": "chat-1", "type": "GENERATION", "startTime": "2026-11-21T04:00:00Z", "output": "a."}
    summaries = []
    for source, question in (("shop", "q?"), ("shop 2", "q?"), ("bank", "other?")):
        file = tmp_path / f"{source}.jsonl"
        file.write_text(json.dumps(own | {"input": question}))
        summaries.append(import_file(sqlite_store, file, source=source))
    assert [(each.new, each.unchanged) for each in summaries] == [(1, 0), (0, 1), (1, 0)]
