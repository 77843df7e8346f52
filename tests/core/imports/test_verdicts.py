"""A row becomes a verdict that was recorded elsewhere, its raw text kept."""

import json

import pytest

from judgeboard.domain import Label, Status

ROW = {"response_id": "r", "judge": "detector"}


@pytest.mark.parametrize(
    ("raw", "kept"),
    [("as it was\n", "as it was\n"), ({"ö": [0.1, None]}, '{"ö": [0.1, null]}'), (0.25, "0.25"), (None, None)],
)
def test_the_raw_text_is_kept_and_any_other_value_as_its_json(one, raw, kept):
    verdict = one({**ROW, "label": "grounded", "raw": raw, "explanation": "why"}, kind="verdicts").verdict
    assert (verdict.status, verdict.label, verdict.raw, verdict.reasoning) == (Status.OK, Label.GROUNDED, kept, "why")


def test_a_verdict_that_could_not_be_used_says_its_status(one):
    verdict = one({**ROW, "status": "unparsable", "raw": "garbage"}, kind="verdicts").verdict
    assert (verdict.status, verdict.raw) == (Status.UNPARSABLE, "garbage")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({}, None),
        ({"raw": "garbage"}, None),
        ({"status": "refused", "quality": 3}, "status"),
        ({"status": "fine", "quality": 3}, "status"),
        ({"groundedness": 85}, "groundedness"),
        ({"quality": "3"}, "quality"),
        ({"label": "maybe"}, "label"),
        ({"quality": 3, "judge": None}, "judge"),
        ({"quality": 3, "reasoning": ["a"]}, "reasoning"),
    ],
)
def test_what_is_no_verdict_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="verdicts")[0] == field


def test_a_judge_judges_a_response_once_in_a_file(reading):
    rows = [{**ROW, "quality": 3}, {**ROW, "quality": 3}, {**ROW, "judge": "other", "quality": 3}]
    first, again, other = reading("\n".join(map(json.dumps, rows)).encode(), kind="verdicts")
    assert (first.judge, again.field, other.judge) == ("detector", "external_id", "other")


def test_a_number_on_a_scale_of_its_own_is_never_a_quality(one):
    verdict = one(
        {**ROW, "quality": 0.25, "scale": "0-1", "scores": {"depth": 1, "style": None}}, kind="verdicts"
    ).verdict
    assert verdict.quality is None
    assert [(each.dimension, each.value, each.scale) for each in verdict.scores] == [
        *(("score", 0.25, "0-1"), ("depth", 1, "0-1")),
        ("style", None, "0-1"),
    ]
    assert one({**ROW, "quality": 3, "scale": "1-4"}, kind="verdicts").verdict.quality == 3


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ({"depth": 0.2, "style": 1}, [("depth", 0.2), ("style", 1)]),
        ({"depth": 0.2, "style": 7}, []),  # not on the row's scale: it means something else
        ({"depth": 0.2, "why": "thin"}, []),
        ("0.2", []),
    ],
)
def test_what_the_judge_really_said_is_read_where_it_is_numbers_by_name_on_the_rows_scale(one, raw, named):
    verdict = one({**ROW, "quality": 0.25, "scale": "0-1", "raw": raw}, kind="verdicts").verdict
    assert [(each.dimension, each.value) for each in verdict.scores] == [("score", 0.25), *named]
    assert one({**ROW, "label": "grounded", "raw": raw}, kind="verdicts").verdict.scores == ()


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"quality": 2, "scale": "0-1"}, "quality"),
        ({"scores": {"depth": 1}}, "scale"),
        ({"scores": [1], "scale": "0-1"}, "scores"),
        ({"quality": 1, "scale": "high"}, "scale"),
        ({"quality": 1, "scale": "0-1", "status": "error"}, "status"),
    ],
)
def test_a_score_needs_its_scale_and_lies_on_it(refused, part, field):
    assert refused({**ROW, **part}, kind="verdicts")[0] == field
