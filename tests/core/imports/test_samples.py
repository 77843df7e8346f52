"""A row becomes a question with several tries of one model at it."""

import pytest

from judgeboard.domain import OVERALL, Preference, Shown
from judgeboard.imports.recorded import RecordedJudge

ROW = {"id": "q", "question": "how many?", "samples": ["A", None, 3]}


def sampled(one, **more):
    return one({**ROW, **more}, kind="samples")


def test_tries_with_what_is_known_of_each(one):
    got = sampled(one, model="m", models=["x", "y", "z"], category="math", reference="A", options=["1", "2"])
    assert [(each.answer, each.record.model_reported, each.record.status) for each in got.tries] == [
        ("A", "x", "ok"),
        (None, "y", "unparsable"),
        ("3", "z", "ok"),
    ]
    assert (got.judge, got.pair.query_type, got.pair.reference) == (RecordedJudge("m"), "math", "A")
    assert (got.pair.answer_a, got.pair.options) == (None, ("1", "2"))


def test_without_a_model_the_samples_have_a_name(one):
    assert sampled(one).judge.name == "recorded samples"


def test_verdicts_by_condition_and_order_with_nothing_dropped(one):
    got = sampled(one, verdicts={"A": {"ab": "A", "ba": None}, "B": {"ab": "tie"}}, gold="B")
    assert [(each.condition, each.shown, each.preferences.get(OVERALL)) for each in got.comparisons] == [
        ("plain", Shown.AB, Preference.A),
        ("plain", Shown.BA, None),
        ("reference", Shown.AB, Preference.TIE),
        ("reference", Shown.BA, None),
    ]
    assert got.pair.gold is Preference.B


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"samples": []}, "samples"),
        ({"samples": "A"}, "samples"),
        ({"samples": [["A"]]}, "samples"),
        ({"models": ["x"]}, "models"),
        ({"raw": ["x"]}, "raw"),
        ({"statuses": ["ok", "ok", "error"]}, "statuses"),
        ({"statuses": ["ok", "lost", "ok"]}, "statuses"),
        ({"verdicts": {"C": {}}}, "verdicts"),
        ({"verdicts": {"A": "a"}}, "verdicts"),
        ({"verdicts": {"A": {"aa": "a"}}}, "verdicts"),
        ({"answer_a": "only one"}, "answer_b"),
    ],
)
def test_what_is_no_sample_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="samples")[0] == field
