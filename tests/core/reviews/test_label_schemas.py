"""A label schema goes from its file into a queue, its reviews, conflicts, agreement, export and import."""

import json
from dataclasses import fields, replace

import pytest

from engines import on_sqlite
from judgeboard.domain import Grade, ItemState
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.label_schema import as_yaml, schema_in
from judgeboard.imports.importing import import_file
from judgeboard.reviews.queues import add_schema, create_queue
from judgeboard.store.export import export_tables
from judgeboard.store.forgetting import forget_response
from judgeboard.store.items import load_item
from judgeboard.store.queue_items import reviews_on
from judgeboard.store.queues import new_queue
from judgeboard.store.reviews import find_review
from queue_case import CONFIRM, DISMISS, UNSURE
from result_fields import check_fields
from stored_rows import write_to

SUPPORT = """
name: support
fields:
  - label
  - {name: verdict, type: category, required: true, options: {correct: , wrong: states something false}}
  - {name: causes, type: category, many: true, options: [retrieval, model], shown_when: {verdict: wrong}}
  - {name: tone, type: scale, levels: {1: rude, 2: neutral, 3: friendly, 4: warm}}
  - {name: safe, type: yes_no}
  - {name: minutes, type: number, low: 0}
  - {name: why, type: text}
  - {name: errors, type: spans, options: [fact, source]}
  - {name: quotes, type: spans, options: [used], on: passages}
  - {name: best, type: ranking}
"""
SCHEMA = schema_in(SUPPORT)
WHOLE = {
    "label": "hallucinated",
    "verdict": "wrong",
    "causes": ["model", "retrieval"],
    "tone": 2,
    "safe": False,
    "minutes": 2.5,
    "why": "the fee is made up",
    "errors": [{"type": "fact", "start": 0, "end": 6}, {"type": "source", "start": 3, "end": 8}],
    "quotes": [{"type": "used", "start": 0, "end": 1, "passage": 1}],
    "best": [1],
}


@pytest.fixture
def queue(case):
    """Return a queue of two answers, each reviewed twice with the schema."""
    case.flagged(0.1, 0.2)
    add_schema(case.store, SCHEMA, by=case.lead)
    rules = new_queue("q", needed=2, blind_people=True)
    create_queue(
        case.store, rules, by=case.lead, assigned=case.people, schema="support", now=case.now
    )
    return case


def fields_of(grade):
    return {each.name: getattr(grade, each.name) for each in fields(grade)}


def review(case, who, decision=CONFIRM, **values):
    return case.review(who, decision, **fields_of(SCHEMA.grade(values)))


def assert_whole(case, review_id):
    kept = case.read(find_review, review_id)
    assert SCHEMA.values(kept.grade) == WHOLE | {"causes": ["retrieval", "model"]}


@on_sqlite
def test_a_review_keeps_every_field_and_the_version_it_was_given_in(queue):
    stored = review(queue, queue.mara, **WHOLE)
    add_schema(queue.store, schema_in(SUPPORT.replace("friendly", "kind")), by=queue.lead)
    assert_whole(queue, stored.review_id)
    assert queue.progress().rules["Label schema"] == "support v1"
    assert schema_in(as_yaml(SCHEMA)) == SCHEMA


@on_sqlite
def test_an_item_a_queue_and_the_review_itself_have_the_same_grade(queue):
    more = {"corrected_answer": "Better.", "in_suite": True, "note": "no"}
    grade = replace(SCHEMA.grade(WHOLE), **more)
    leased = queue.lease(queue.mara)
    stored = queue.say(leased, queue.mara, **fields_of(grade))
    whole = queue.read(find_review, stored.review_id)
    (of_queue,) = queue.read(reviews_on, stored.item_id)
    (of_item,) = queue.read(load_item, leased.response_id).reviews
    assert of_queue.grade == of_item.grade == whole.grade == grade


@on_sqlite
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"label": "grounded"}, "verdict"),
        ({"verdict": "wrong", "errors": [{"type": "fact", "start": 0, "end": 99}]}, "0 to 99"),
        ({"verdict": "wrong", "best": [2]}, "there is no passage 2"),
    ],
)
def test_a_decision_without_a_required_field_or_with_a_wrong_one_is_refused(queue, values, reason):
    with pytest.raises(BadInput, match=reason):
        review(queue, queue.mara, **values)
    assert review(queue, queue.mara, UNSURE).review_id


@on_sqlite
def test_a_field_of_another_schema_is_refused(queue):
    with pytest.raises(BadInput, match="no field 'shade'"):
        queue.review(queue.mara, choices={"verdict": "wrong", "shade": "red"})
    with pytest.raises(NotFound, match="support"):
        create_queue(queue.store, new_queue("other"), by=queue.lead, schema="nothing")


@on_sqlite
def test_reviews_that_differ_on_a_category_are_a_conflict_and_numbers_are_not(queue):
    for who, field, state in (
        (queue.mara, {"minutes": 1.0}, ItemState.OPEN),
        (queue.mara, {"safe": True}, ItemState.OPEN),
        (queue.jon, {"minutes": 9.0}, ItemState.AGREED),
        (queue.jon, {"safe": False}, ItemState.CONFLICT),
    ):
        assert review(queue, who, DISMISS, verdict="correct", **field).state is state


def test_exported_fields_can_be_imported_again(queue, tmp_path):
    review(queue, queue.mara, **WHOLE)
    file = tmp_path / "reviews.jsonl"
    export_tables(queue.store, {"reviews": file})
    (row,) = map(json.loads, file.read_text().splitlines())
    assert row["label_schema"] == "support v1"
    check_fields(row["fields"], tone=2, why=WHOLE["why"])
    for change, new in (({}, 0), ({"reviewer": "Ada"}, 1)):
        file.write_text(json.dumps(row | change))
        check_fields(import_file(queue.store, file, kind="grades"), new=new, rejected=0)
    assert_whole(queue, queue.reviews()[-1]["id"])
    file.write_text(json.dumps(row | {"fields": {"verdict": "green"}}))
    assert import_file(queue.store, file, kind="grades").rejected == 1


def test_forgetting_removes_texts_and_spans_and_keeps_choices(queue):
    review(queue, queue.mara, **WHOLE)
    write_to(queue.store, forget_response, "a0", actor="test")
    (row,) = queue.reviews()
    check_fields(row, texts=None, spans=None)
    assert row["choices"]["verdict"] == "wrong"


@on_sqlite
def test_a_grade_without_a_schema_has_no_fields(case):
    case.queue_of(0.1)
    with pytest.raises(BadInput, match="no field 'verdict'"):
        case.review(case.mara, choices={"verdict": "wrong"})
    assert Grade() == Grade(choices={})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("{name: [note], type: text}", "fields[0].name: Input should be a valid string"),
        ("{name: {note: 1}}", "fields[0].name: Input should be a valid string"),
        ("{name: x, type: text, on: passages}", "fields[0].on: cannot be used with this type"),
        ("{name: x, type: yes_no, low: 0}", "fields[0].low: cannot be used with this type"),
        *(
            (
                f"{{name: x, {x}}}, {{name: y, type: text, shown_when: {{x: [{condition}]}}}}",
                f"fields[1].shown_when: {said}",
            )
            for x, condition, said in (
                ("type: text", "", "x needs a value"),
                ("type: text", "[a]", 'x is never ["a"]'),
                ("type: text", "{a: 1}", 'x is never {"a": 1}'),
                ("type: text", "1", "x is never 1"),
                ("type: number", "a", "x is never 'a'"),
                ("type: number", ".nan", "x is never NaN"),
                ("type: number, low: 0", "-1", "x is never -1"),
                ("type: yes_no", "1", "x is never 1"),
                ("type: category, options: [a, b]", "c", "x is never 'c'"),
                ("type: category, many: true, options: [a, b]", "[a]", 'x is never ["a"]'),
                ("type: ranking", "0", "x is never 0"),
                ("type: spans, options: [a]", "a", "x is never 'a'"),
            )
        ),
    ],
)
def test_a_wrong_schema_names_line_and_field(fields, reason):
    with pytest.raises(BadInput) as refused:
        schema_in(f"name: a\nfields: [{fields}]")
    assert str(refused.value) == f"schema, line 2: {reason}"


@pytest.mark.parametrize(
    ("type_", "value", "condition"),
    [
        ("text", "late", "late"),
        ("number", 2.0, 2),
        ("yes_no", False, False),
        ("ranking", [2, 1], 1),
        ("category, many: true, options: [a, b]", ["a", "b"], "b"),
        ("text", None, None),
    ],
)
def test_a_field_is_shown_for_the_values_of_another(type_, value, condition):
    other = {"name": "y", "type": "text", "shown_when": {"x": condition}}
    schema = schema_in(f"name: a\nfields: [{{name: x, type: {type_}}}, {json.dumps(other)}]")
    assert [field.name for field in schema.shown({"x": value})] == ["x", "y"]
    assert [field.name for field in schema.shown({"x": "other"})] == ["x"]


def test_a_file_has_either_the_fields_of_a_schema_or_the_dimensions_of_a_rubric():
    with pytest.raises(BadInput, match="line 3: dimensions: "):
        schema_in("name: a\nfields: [note]\ndimensions: [{name: b, levels: {1: c, 2: d}}]")
