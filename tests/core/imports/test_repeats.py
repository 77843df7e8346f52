"""A row becomes one answer with its scores by one rubric."""

import json

import pytest

from judgeboard.domain import ResponseKind

ROW = {"id": "r", "question": "?", "answer": "yes", "rubric": "1 bad, 5 good", "scale": "1-5", "model": "m"}


def test_an_answer_scored_three_times(one):
    got = one({**ROW, "samples": [5, None, 4.5], "raw": ["fine", "?", None], "answer_model": "w"}, kind="repeats")
    assert (got.scores, got.raws, got.scale) == ((5, None, 4.5), ("fine", "?", None), "1-5")
    assert (got.judge, got.rubric, got.response.kind) == ("m", "1 bad, 5 good", ResponseKind.CANDIDATE)
    assert (got.response.external_id, got.response.generator_model) == ("r", "w")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"samples": [6]}, "samples"),
        ({"samples": ["5"]}, "samples"),
        ({"samples": [True]}, "samples"),
        ({"samples": []}, "samples"),
        ({"samples": [5], "raw": []}, "raw"),
        ({"samples": [5], "scale": "five"}, "scale"),
        ({"samples": [5], "scale": "5-1"}, "scale"),
        ({"samples": [5], "scale": None}, "scale"),
        ({"samples": [5], "rubric": None}, "rubric"),
        ({"samples": [5], "model": None}, "judge"),
    ],
)
def test_what_is_no_repeat_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="repeats")[0] == field


def test_a_judge_scores_an_answer_once_by_a_rubric_in_a_file(reading):
    rows = [{**ROW, "samples": [5]}, {**ROW, "samples": [4]}, {**ROW, "samples": [4], "rubric": "another"}]
    first, again, other = reading("\n".join(map(json.dumps, rows)).encode(), kind="repeats")
    assert (first.scores, again.field, other.scores) == ((5,), "external_id", (4,))
