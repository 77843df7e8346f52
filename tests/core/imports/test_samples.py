"""A row becomes a question with several samples of one model, or an answer with repeated scores."""

import pytest

from judgeboard.domain import OVERALL, Preference, ResponseKind, Shown
from judgeboard.imports.recorded import RecordedJudge
from tool_files import counts, wrong_last

ROW = {"id": "q", "question": "how many?", "samples": ["A", None, 3]}


@pytest.fixture
def sampled(one):
    """Return ``sampled(column=…)``: what becomes of samples with these columns."""
    return lambda **columns: one({**ROW, **columns}, kind="samples")


def test_tries_with_what_is_known_of_each(sampled):
    got = sampled(
        model="m", models=["x", "y", "z"], category="math", reference="A", options=["1", "2"]
    )
    tries = [(each.answer, each.record.model_reported, each.record.status) for each in got.tries]
    assert tries == [("A", "x", "ok"), (None, "y", "unparsable"), ("3", "z", "ok")]
    assert (got.judge, got.pair.query_type, got.pair.reference) == (RecordedJudge("m"), "math", "A")
    assert (got.pair.answer_a, got.pair.options) == (None, ("1", "2"))


def test_without_a_model_the_samples_have_a_name(sampled):
    assert sampled().judge.name == "recorded samples"


def test_verdicts_by_condition_and_order_with_nothing_dropped(sampled):
    got = sampled(verdicts={"A": {"ab": "A", "ba": None}, "B": {"ab": "tie"}}, gold="B")
    assert [
        (each.condition, each.shown, each.preferences.get(OVERALL)) for each in got.comparisons
    ] == [
        ("plain", Shown.AB, Preference.A),
        ("plain", Shown.BA, None),
        ("reference", Shown.AB, Preference.TIE),
        ("reference", Shown.BA, None),
    ]
    assert got.pair.gold is Preference.B


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *wrong_last(
            {"samples": []},
            {"samples": "A"},
            {"samples": [["A"]]},
            {"statuses": ["ok", "ok", "error"]},
            {"statuses": ["ok", "lost", "ok"]},
            {"verdicts": {"C": {}}},
            {"verdicts": {"A": "a"}},
        ),
        ({"answer_a": "only one"}, "answer_b"),
    ],
)
def test_what_is_no_sample_is_rejected_with_its_field(refused, part, field):
    assert refused({**ROW, **part}, kind="samples")[0] == field


REPEAT = {
    "id": "r",
    "question": "?",
    "answer": "yes",
    "rubric": "1 bad, 5 good",
    "scale": "1-5",
    "model": "m",
}


@pytest.mark.parametrize(("kind", "row"), [("samples", ROW), ("repeats", REPEAT)])
def test_a_list_of_another_length_is_left_out_and_the_samples_are_kept(bring, kind, row):
    row |= {"samples": [1, None, 3]}
    summary = bring(*(row | {"id": f"q{n}", "raw": ["x"] * (n + 2)} for n in range(3)), kind=kind)
    assert counts(summary) == (3, 0, 0)
    (message,) = summary.messages
    assert ("'raw'" in message, "2 rows" in message) == (True, True)


def test_an_answer_scored_three_times(one):
    more = {"samples": [5, None, 4.5], "raw": ["fine", "?", None], "answer_model": "w"}
    got = one(REPEAT | more, kind="repeats")
    assert (got.scores, got.raws, got.scale) == ((5, None, 4.5), ("fine", "?", None), "1-5")
    assert (got.judge, got.rubric, got.response.kind) == (
        "m",
        REPEAT["rubric"],
        ResponseKind.CANDIDATE,
    )
    assert (got.response.external_id, got.response.generator_model) == ("r", "w")


@pytest.mark.parametrize(
    ("part", "field"),
    [
        *wrong_last(
            {"samples": [6]},
            {"samples": ["5"]},
            {"samples": [True]},
            {"samples": []},
            {"samples": [5], "scale": "five"},
            {"samples": [5], "scale": None},
            {"samples": [5], "rubric": None},
        ),
        ({"samples": [5], "model": None}, "judge"),
    ],
)
def test_what_is_no_repeat_is_rejected_with_its_field(refused, part, field):
    assert refused({**REPEAT, **part}, kind="repeats")[0] == field


def test_a_judge_scores_an_answer_once_by_a_rubric_in_a_file(several):
    row, again = {**REPEAT, "samples": [5]}, {**REPEAT, "samples": [4]}
    first, again, other = several(row, again, {**again, "rubric": "another"}, kind="repeats")
    assert (first.scores, again.field, other.scores) == ((5,), "external_id", (4,))
