"""Phoenix: its spans, and the annotations in their attributes."""

import pytest

from judgeboard.imports.importing import import_file
from judgeboard.imports.responses import NO_PASSAGES
from tool_files import records, written

TEXTS = {"input.value": "q?", "output.value": "a."}
ROOT = {
    "name": "ask",
    "span_kind": "CHAIN",
    "parent_id": None,
    "start_time": 1795233370,
    "end_time": 1795233372,
}


def test_spans_of_phoenix_are_joined_in_any_order_and_from_any_writer(tmp_path):
    root = ROOT | {"context": {"trace_id": "t", "span_id": "1"}, "attributes": TEXTS}
    documents = {
        "retrieval.documents.1.document.content": "p1",
        "retrieval.documents.2.document.content": "p2",
    }
    find = {
        "name": "find",
        "span_kind": "RETRIEVER",
        "parent_id": "1",
        "attributes": documents,
        "context": {"trace_id": "t", "span_id": "2"},
        "start_time": "2026-11-21T03:56:11+00:00",
        "end_time": None,
    }
    for rows in ([root, find], [find, root]):
        _, (answer,) = records(written(tmp_path, *rows))
        assert answer.query == "q?"
        assert answer.answer == "a."
        assert answer.passages == ("p1", "p2")


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
    if form == "columns":
        more = {f"attributes.{name}": value for name, value in (TEXTS | flat).items()}
        more |= {"context.trace_id": "t", "context.span_id": "1"}
    else:
        more = {"attributes": TEXTS | (flat if form == "dotted" else lists)}
        more["context"] = {"trace_id": "t", "span_id": "1"}
    file = written(tmp_path, ROOT | more)
    summary = import_file(store, file)
    of_sessions = (
        "not read, because they are about sessions and not about answers: coherence (1 time)"
    )
    assert set(summary.messages) == {NO_PASSAGES, of_sessions}
    _, (verdict,) = records(file, "verdicts")
    assert verdict.judge.name == "judge-v2"
    assert verdict.verdict.groundedness == 0.25
    _, (grade,) = records(file, "grades")
    assert grade.annotator == "ann"
    assert grade.grade.label == "hallucinated"
