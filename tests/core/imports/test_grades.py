"""A row becomes a person's grade, as it was given."""

import json

import pytest

from judgeboard.domain import AspectPreference, Label, Preference, Rejected, Shown

ROW = {"response_id": "r", "annotator": "ann"}


def test_a_grade_is_read_as_given(one):
    span = {"start": 0, "end": 4, "label_type": "conflict"}
    row = {"label": "Hallucinated", "groundedness": 1, "quality": 4, "spans": [span], "note": " n ", "at": "2026-03-01"}
    graded = one({**ROW, **row}, kind="grades")
    assert (graded.response_id, graded.annotator, graded.source, graded.at.day) == ("r", "ann", None, 1)
    grade = graded.grade
    assert (grade.label, grade.groundedness, grade.quality) == (Label.HALLUCINATED, 1.0, 4)
    assert (grade.spans, grade.note) == ((span,), " n ")


@pytest.mark.parametrize(("written", "implied"), [(True, True), ("True", True), ("false", False), (None, False)])
def test_a_label_that_a_decision_implied_stays_an_implied_one(one, written, implied):
    graded = one({**ROW, "label": "hallucinated", "label_implied": written}, kind="grades")
    assert graded.grade.label_implied is implied


@pytest.mark.parametrize("part", [{"label": "grounded"}, {"groundedness": 0}, {"quality": 1}])
def test_one_part_is_enough(one, part):
    assert not isinstance(one({**ROW, **part}, kind="grades"), Rejected)


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({}, None),
        ({"note": "only a note"}, None),
        ({"label": None, "quality": None}, None),
        ({"label": "perhaps"}, "label"),
        ({"label": 2}, "label"),
        ({"label": 0.5}, "label"),
        ({"label": ["grounded"]}, "label"),
        ({"label": "grounded", "label_implied": "perhaps"}, "label_implied"),
        ({"groundedness": 1.01}, "groundedness"),
        ({"groundedness": True}, "groundedness"),
        ({"groundedness": "0.5"}, "groundedness"),
        ({"quality": 3.0}, "quality"),
        ({"quality": 0}, "quality"),
        ({"quality": True}, "quality"),
        ({"quality": 3, "spans": [1]}, "spans"),
        ({"quality": 3, "spans": [{"start": 5, "end": 2}]}, "spans"),
        ({"quality": 3, "spans": [{"start": -1, "end": 2}]}, "spans"),
        ({"quality": 3, "spans": [{"start": 1}]}, "spans"),
        ({"quality": 3, "note": 7}, "note"),
        ({"quality": 3, "at": "soon"}, "at"),
        ({"quality": 3, "annotator": " "}, "annotator"),
        ({"quality": 3, "response_id": None}, "external_id"),
    ],
)
def test_what_is_no_grade_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="grades")[0] == field


def test_a_person_grades_a_response_once_in_a_file(reading):
    rows = [{**ROW, "quality": 3}, {**ROW, "quality": 4}, {**ROW, "annotator": "bob", "quality": 3}]
    first, again, other = reading("\n".join(map(json.dumps, rows)).encode(), kind="grades")
    assert (first.grade.quality, again.field, other.annotator) == (3, "external_id", "bob")


def test_a_row_that_names_its_source_keeps_it(one):
    row = {"external_id": "r", "source": "chat", "annotator": "ann", "quality": 3}
    assert one(row, kind="grades", source="other").source == "chat"
    assert one({**ROW, "quality": 3}, kind="grades", source="other").source == "other"


PAIR = {"pair_id": "p", "annotator": "ada"}


def test_a_grade_of_a_pair_has_aspects_on_a_scale(one):
    row = {**PAIR, "scale": "-2..2 (positive: answer 2 better)", "correctness": 1, "overall": -2, "age": None}
    got = one({**row, "shown": "ba", "preference": "A", "comment": "hm"}, kind="grades")
    assert (got.pair_id, got.source, got.preference.shown, got.preference.note) == ("p", None, Shown.BA, "hm")
    assert got.preference.aspects == {
        "correctness": AspectPreference(None, 1, "-2..2"),
        "overall": AspectPreference(Preference.A, -2, "-2..2"),
    }


def test_aspects_may_stand_in_one_column(one):
    got = one({**PAIR, "aspects": {"depth": "n"}, "age": 34}, kind="grades")
    assert got.preference.aspects == {"depth": AspectPreference(Preference.TIE)}


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({}, None),
        ({"preference": "C"}, "preference"),
        ({"depth": 3}, "depth"),
        ({"depth": "deep"}, "depth"),
        ({"aspects": [1]}, "aspects"),
        ({"preference": "a", "shown": "first"}, "shown"),
        ({"preference": "a", "scale": "1-5"}, "scale"),
        ({"preference": "a", "annotator": None}, "annotator"),
    ],
)
def test_what_is_no_grade_of_a_pair_is_rejected_with_its_field(refused, part, field):
    assert refused({**PAIR, **part}, kind="grades")[0] == field


def test_a_number_on_a_scale_of_its_own_is_no_quality(one):
    got = one({**ROW, "quality": 3, "scale": "1-5", "aspects": {"care": 5}}, kind="grades")
    assert got.grade.quality is None
    assert [(score.dimension, score.value, score.scale) for score in got.scores] == [
        ("score", 3, "1-5"),
        ("care", 5, "1-5"),
    ]
    assert one({**ROW, "quality": 3, "scale": "1-4"}, kind="grades").grade.quality == 3
