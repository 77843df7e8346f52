"""Columns are recognised by their names or by --map, and the report says how."""

import json

import pytest

from judgeboard.errors import BadInput
from judgeboard.imports.fields import parse_mapping


def lines(reading):
    list(reading)
    return {line.theirs or line.ours: line for line in reading.columns()}


@pytest.mark.parametrize(
    ("query", "answer", "context"),
    [
        ("question", "response", "contexts"),
        ("user_input", "output", "retrieved_contexts"),
        ("input", "actual_output", "retrieval_context"),
        ("input", "actualOutput", "retrievalContext"),
        ("Prompt", "Completion", "Retrieved Documents"),
        ("prompt", "prediction", "passages"),
        ("attributes.input.value", "attributes.output.value", "documents"),
        ("query", "generated_answer", "context"),
    ],
)
def test_the_names_of_other_tools_are_recognised(one, query, answer, context):
    response = one({query: "q", answer: "a", context: ["p"]})
    assert (response.query, response.answer, response.passages) == ("q", "a", ("p",))
    assert response.metadata == {}


def test_further_names_are_recognised(one):
    row = {"trace_id": 7, "task_type": "QA", "model": "m", "ts": 1_700_000_000, "ground_truth": "r", "cost": 0.5}
    response = one({"query": "q", "answer": "a", **row})
    assert (response.external_id, response.query_type, response.generator_model) == ("7", "QA", "m")
    assert (response.asked_at.year, response.reference, response.generator_cost) == (2023, "r", 0.5)


def test_what_is_not_recognised_is_kept_in_metadata(one):
    response = one({"query": "q", "answer": "a", "metadata": {"a": 1}, "split": "test", "a": 2, "none": None})
    assert response.metadata == {"a": 1, "split": "test", "a (column)": 2}


def test_the_first_of_two_names_wins_and_the_report_says_so(reading):
    file = reading(json.dumps({"query": "q", "answer": "a", "response": "b"}).encode())
    (response,) = file
    assert (response.answer, response.metadata) == ("a", {"response": "b"})
    report = {line.theirs: line for line in file.columns()}
    assert (report["answer"].ours, report["answer"].how) == ("answer", "recognised by name")
    assert report["response"].ours is None
    assert report["response"].how == "kept in metadata: answer is taken from 'answer'"


def test_what_was_retrieved_comes_before_the_ideal_context(one):
    response = one({"input": "q", "actual_output": "a", "context": ["ideal"], "retrieval_context": ["found"]})
    assert response.passages == ("found",)


def test_a_source_id_is_not_a_source(one):
    response = one({"id": "1", "query": "q", "answer": "a", "source_id": "77", "source": "wiki", "kind": "x"})
    assert response.source == "default"
    assert response.metadata == {"source_id": "77", "source": "wiki", "kind": "x"}


def test_a_row_with_source_and_external_id_keeps_them(one):
    response = one({"source": "chat", "external_id": "1", "query": "q", "answer": "a"}, source="other")
    assert (response.source, response.external_id) == ("chat", "1")


def test_a_mapping_comes_before_the_names(reading):
    file = reading(b'{"Frage": "f", "query": "q", "answer": "a"}', mapping={"Frage": "query"})
    (response,) = file
    assert (response.query, response.metadata) == ("f", {"query": "q"})
    assert {line.theirs: line.how for line in file.columns()}["Frage"] == "--map"


def test_a_mapping_may_use_a_known_other_name_of_a_field(one):
    response = one(
        {"query": "q", "answer": "a", "key": "k", "found": ["p"]}, mapping={"key": "id", "found": "passages"}
    )
    assert (response.external_id, response.passages) == ("k", ("p",))


def test_a_column_can_be_kept_from_being_recognised(one):
    response = one({"query": "q", "answer": "a", "rating": 1}, mapping={"rating": "extra"})
    assert (response.feedback, response.metadata) == ((), {"rating": 1})


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ({"query": "nothing"}, "there is no field 'nothing'; choose external_id, source, query,"),
        ({"Frage": "query"}, "has no column 'Frage' in its first 1 row; it has query, answer"),
        ({"query": "answer", "answer": "answer"}, "maps two columns to answer, 'query' and 'answer'"),
    ],
)
def test_a_wrong_mapping_is_refused_before_the_first_row(reading, mapping, says):
    with pytest.raises(BadInput) as caught:
        reading(b'{"query": "q", "answer": "a"}\n', mapping=mapping)
    assert says in str(caught.value)


def test_a_mapped_column_may_come_in_a_later_row(reading):
    rows = b'{"query": "q", "answer": "a"}\n' * 50 + b'{"query": "q", "answer": "a", "mood": "up"}\n'
    items = list(reading(rows, mapping={"mood": "thumbs"}))
    assert len(items) == 51
    assert items[-1].feedback[0].value == 1


def test_rows_may_have_different_columns(reading):
    first, second = reading(b'{"query": "q", "answer": "a"}\n{"question": "r", "output": "b"}\n')
    assert (first.query, first.answer, second.query, second.answer) == ("q", "a", "r", "b")


def test_the_report_names_what_is_missing_and_what_is_not_sure(reading):
    rows = [{"query": "q", "answer": "a", "rating": value} for value in (1, 0, 1, None)]
    report = lines(reading("\n".join(map(json.dumps, rows)).encode()))
    assert (report["asked_at"].theirs, report["asked_at"].how) == (None, "not in the file")
    assert report["rating"].how == "values 1 and 0 left out: thumbs or stars?"
    assert not report["rating"].sure
    assert (report["query"].example, report["query"].sure) == ("q", True)


def test_mappings_are_read_from_the_command_line():
    assert parse_mapping(["Frage=query", "a=b=answer"]) == {"Frage": "query", "a=b": "answer"}
    for wrong in (["query"], ["=query"], ["x="], ["x=query", "x=answer"]):
        with pytest.raises(BadInput):
            parse_mapping(wrong)


def test_a_column_without_a_name_is_no_field(one):
    response = one({"id": "a", "query": "q", "answer": "b", "": "x"})
    assert (response.query_type, response.generator_model, response.generator_cost) == ("unspecified", None, None)
    assert response.metadata == {"": "x"}
