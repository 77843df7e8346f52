"""Phoenix: its spans, and the annotations in their attributes."""

import json

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.imports.responses import NO_PASSAGES
from tool_files import records


def test_spans_of_phoenix_are_joined_in_any_order_and_from_any_writer(tmp_path):
    root = {
        "name": "ask",
        "span_kind": "CHAIN",
        "parent_id": None,
        "context": {"trace_id": "t", "span_id": "1"},
    }
    root |= {
        "start_time": 1795233370,
        "end_time": 1795233372,
        "attributes": {"input.value": "q?", "output.value": "a."},
    }
    documents = {
        "retrieval.documents.1.document.content": "p1",
        "retrieval.documents.2.document.content": "p2",
    }
    find = {"name": "find", "span_kind": "RETRIEVER", "parent_id": "1", "attributes": documents}
    find |= {
        "context": {"trace_id": "t", "span_id": "2"},
        "start_time": "2026-11-21T03:56:11+00:00",
        "end_time": None,
    }
    for number, rows in enumerate(([root, find], [find, root])):
        file = tmp_path / f"spans-{number}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        _, (answer,) = records(file)
        assert (answer.query, answer.answer, answer.passages) == ("q?", "a.", ("p1", "p2"))


@pytest.mark.parametrize("form", ["dotted", "nested", "columns"])
def test_annotations_in_the_attributes_of_a_span_are_read(store, tmp_path, form):
    judge = {
        "name": "groundedness",
        "score": 0.25,
        "identifier": "judge-v2",
        "annotator_kind": "LLM",
    }
    person = {
        "name": "label",
        "label": "hallucinated",
        "identifier": "ann",
        "annotator_kind": "HUMAN",
    }
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
    row = {
        "name": "ask",
        "span_kind": "CHAIN",
        "parent_id": None,
        "start_time": 1795233370,
        "end_time": 1795233372,
    }
    if form == "columns":
        row |= {"context.trace_id": "t", "context.span_id": "1"}
        row |= {f"attributes.{name}": value for name, value in (texts | flat).items()}
    else:
        row |= {"context": {"trace_id": "t", "span_id": "1"}}
        row |= {"attributes": texts | (flat if form == "dotted" else lists)}
    file = tmp_path / "spans.jsonl"
    file.write_text(json.dumps(row))
    summary = import_file(store, file)
    of_sessions = (
        "not read, because they are about sessions and not about answers: coherence (1 time)"
    )
    assert set(summary.messages) == {NO_PASSAGES, of_sessions}
    _, (verdict,) = records(file, "verdicts")
    assert (verdict.judge, verdict.verdict.groundedness) == ("judge-v2", 0.25)
    _, (grade,) = records(file, "grades")
    assert (grade.annotator, grade.grade.label) == ("ann", "hallucinated")
