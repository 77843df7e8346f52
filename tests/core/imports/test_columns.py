"""Columns are recognised by their names or by --map, also inside objects; another kind of file is named."""

import json

import pytest

from engines import on_sqlite
from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.imports.fields import parse_mapping
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import UnclearFile
from judgeboard.store.export import export_tables
from judgeboard.store.filters import RowFilter
from judgeboard.store.response_pages import response_page
from stored_rows import read
from tool_files import counts, written

TEXT = {"query": "q", "answer": "a"}


def report_of(reading):
    """The use of each column of a file, after its rows."""
    list(reading)
    return {use.theirs or use.ours: use for use in reading.columns()}


def test_what_is_not_recognised_is_kept_in_metadata(one):
    response = one({**TEXT, "metadata": {"a": 1}, "split": "test", "a": 2, "none": None})
    assert response.metadata == {"a": 1, "split": "test", "a (column)": 2}


def test_the_first_of_two_names_wins_and_the_report_says_so(one, reading):
    row = {**TEXT, "response": "b"}
    response = one(row)
    assert (response.answer, response.metadata) == ("a", {"response": "b"})
    report = report_of(reading(json.dumps(row).encode()))
    assert (report["answer"].ours, report["response"].ours) == ("answer", None)
    assert report["response"].how.endswith("from 'answer'")


def test_a_source_id_is_not_a_source(one):
    others = {"source_id": "77", "source": "wiki", "kind": "x"}
    response = one({"id": "1", **TEXT, **others})
    assert (response.source, response.metadata) == ("default", others)


def test_a_mapping_comes_before_the_names(reading):
    file = reading(b'{"Frage": "f", "query": "q", "answer": "a"}', mapping={"Frage": "query"})
    (response,) = file
    assert (response.query, response.metadata) == ("f", {"query": "q"})
    assert {line.theirs: line.how for line in file.columns()}["Frage"] == "mapped"


def test_a_mapping_may_use_a_known_other_name_of_a_field(one):
    mapping = {"key": "id", "found": "passages"}
    response = one({**TEXT, "key": "k", "found": ["p"]}, mapping=mapping)
    assert (response.external_id, response.passages) == ("k", ("p",))


def test_a_column_can_be_kept_from_being_recognised(one):
    response = one({**TEXT, "rating": 1}, mapping={"rating": "extra"})
    assert (response.feedback, response.metadata) == ((), {"rating": 1})


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ({"query": "nothing"}, "there is no field 'nothing'; choose external_id, source, query,"),
        ({"Frage": "query"}, "has no column 'Frage' in its first 1 row; it has query, answer"),
        (
            {"query": "answer", "answer": "answer"},
            "maps two columns to answer, 'query' and 'answer'",
        ),
    ],
)
def test_a_wrong_mapping_is_refused_before_the_first_row(reading, mapping, says):
    with pytest.raises(BadInput) as caught:
        reading(b'{"query": "q", "answer": "a"}\n', mapping=mapping)
    assert says in str(caught.value)


def test_a_mapped_column_may_come_in_a_later_row(several):
    items = several(*[TEXT] * 50, {**TEXT, "mood": "up"}, mapping={"mood": "thumbs"})
    assert len(items) == 51
    assert items[-1].feedback[0].value == 1


def test_rows_may_have_different_columns(several):
    items = several(TEXT, {"question": "r", "output": "b"})
    assert [(each.query, each.answer) for each in items] == [("q", "a"), ("r", "b")]


def test_the_report_names_what_is_missing_and_what_is_not_sure(reading):
    rows = [{**TEXT, "rating": value} for value in (1, 0, 1, None)]
    report = report_of(reading("\n".join(map(json.dumps, rows)).encode()))
    assert report["asked_at"].theirs is None
    assert ("1 and 0" in report["rating"].how, report["rating"].sure) == (True, False)
    assert (report["query"].example, report["query"].sure) == ("q", True)


def test_mappings_are_read_from_the_command_line():
    assert parse_mapping(["Frage=query", "a=b=answer"]) == {"Frage": "query", "a=b": "answer"}
    for wrong in (["query"], ["=query"], ["x="], ["x=query", "x=answer"]):
        with pytest.raises(BadInput):
            parse_mapping(wrong)


def test_a_column_without_a_name_is_no_field(one):
    response = one({**TEXT, "": "x"})
    assert (response.query_type, response.generator_model, response.generator_cost) == (
        "unspecified",
        None,
        None,
    )
    assert response.metadata == {"": "x"}


MAPPING = {
    "input.question": "query",
    "output.0.text": "answer",
    "run.id": "external_id",
    "docs": "context",
}
ROW = {
    "input": {"question": "q", "user": {"plan": "free"}},
    "output": [{"text": "a", "tokens": 3}],
    "run": {"id": "r1"},
    "docs": ["p"],
}


@on_sqlite
def test_values_inside_objects_and_lists_are_fields(store, one, bring_answers, tmp_path):
    record = one(ROW, mapping=MAPPING)
    assert (record.query, record.answer, record.external_id, record.passages) == (
        "q",
        "a",
        "r1",
        ("p",),
    )
    assert record.metadata == {"input": {"user": {"plan": "free"}}, "output": ROW["output"]}
    assert counts(bring_answers(ROW, mapping=MAPPING)) == (1, 0, 0)
    export_tables(store, {"responses": tmp_path / "out.jsonl"})
    # Metadata comes back as it was.
    assert import_file(store, tmp_path / "out.jsonl").unchanged == 1
    for condition, n in (
        ("input.user.plan=free", 1),
        ("output.0.tokens=3", 1),
        ("output.0.tokens=4", 0),
    ):
        assert read(store, response_page, RowFilter(metadata=(condition,))).total == n


def test_a_column_of_that_name_comes_first(one):
    row = {"input.question": "literal", "input": {"question": "nested"}, "answer": "a"}
    record = one(row, mapping={"input.question": "query"})
    assert record.query == "literal"
    assert record.metadata == {"input": {"question": "nested"}}


def test_a_row_without_the_value_is_rejected_with_line_and_field(several):
    wrong, absent = ({**ROW, "input": {name: {"text": "q"}}} for name in ("question", "text"))
    _, *rejected = several(ROW, wrong, absent, mapping=MAPPING)
    assert [(each.line, each.field) for each in rejected] == [(2, "query"), (3, "query")]


def test_a_path_that_no_row_has_is_refused_with_the_names_there_are(one):
    with pytest.raises(
        BadInput, match=r"log\.jsonl .*'input\.text' .*input\.question.*output\.0\.text"
    ):
        one(ROW, mapping={"input.text": "query"})


RESPONSE = {"id": "a", "question": "q", "response": "a"}
GRADE = {"response_id": "a", "annotator": "Ada", "label": "grounded"}


@pytest.mark.parametrize(
    ("row", "said", "reason"),
    [
        ({"id": "a", "text": "t"}, "responses", "no query"),
        ({**RESPONSE, "question": "", "annotator": "Ada"}, "responses", "no query"),
        ({"id": "a", "question": "q", "bot": "a", "thumb": "up"}, "responses", "no answer"),
        (
            {**GRADE, "label": None},
            "grades",
            "no grade: give label, groundedness, quality or failure_modes",
        ),
        ({"id": "a"}, "verdicts", "no judge"),
    ],
)
def test_nothing_is_guessed_of_a_row_that_may_be_of_its_kind(one, row, said, reason):
    rejected = one(row, kind=said)
    assert type(rejected) is Rejected
    assert rejected.reason == reason


def test_a_column_that_was_set_aside_does_not_make_its_own_kind(one):
    assert one(RESPONSE, mapping={"question": "extra"}).reason == "no query"


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"question": "q", "answer_a": "x", "answer_b": "y"}, "pairs"),
        ({"prompt": "q", "chosen": "x", "rejected": "y"}, "pairs"),
        ({"question": "q", "answer": "a", "answer_a": "x", "answer_b": "y"}, "responses"),
    ],
)
def test_pairs_are_known_by_two_answers_in_place_of_one(sqlite_store, tmp_path, row, kind):
    summary = import_file(sqlite_store, written(tmp_path, row))
    assert (summary.kind, summary.new) == (kind, 1)


def test_a_question_makes_no_grade_of_a_row(sqlite_store, tmp_path):
    row = {"question": "q", "response_id": "a1", "annotator": "Ada", "reply of the bot": "a"}
    with pytest.raises(UnclearFile) as unclear:
        import_file(sqlite_store, written(tmp_path, row))
    assert unclear.value.mapping.kind == "responses"
