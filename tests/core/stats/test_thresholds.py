"""Thresholds with a promise, against the published figures of RAGTruth and by properties."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import (
    cheapest_threshold,
    confidence_threshold,
    equal_chances,
    fewest_labels,
    labels_to_pass,
    mistakes,
    recall_threshold,
    score_grid,
    wrong_bound,
)
from shared_answers import SharedAnswers, published, shared_answers

JUDGES = ("track_b_modernbert", "approach_1_modernbert", "track_a_deberta")
TYPES = ("all", "Data2txt", "QA", "Summary")


@pytest.fixture(scope="module")
def answers(shared: Path) -> SharedAnswers:
    return shared_answers(shared / "data")


@pytest.fixture(scope="module")
def figures(shared: Path):
    return published(shared / "data", "e4_threshold")


@pytest.fixture(scope="module")
def juries(shared: Path):
    return published(shared / "data", "e4b_jury")


def confident(
    answers: SharedAnswers,
    badness,
    judged_bad,
    agreement,
    *,
    inside=None,
    delta=0.05,
    one_start=None,
):
    """Choose a threshold on one half. ``one_start`` is the design effect of a single start, which few labels delay."""
    inside = answers.of_type(None) if inside is None else inside
    confidence, risk = np.round(np.maximum(badness, 1 - badness), 9), 1 - agreement
    wrong, half = judged_bad != answers.bad, inside & answers.choosing
    effect = (
        design_effect_of_mean(wrong[half], answers.groups.at(half))
        if one_start is None
        else one_start
    )
    single = {} if one_start is None else {"starts": 1, "fewest": labels_to_pass(risk) / effect}
    passed = confidence_threshold(
        score_grid(confidence[inside]),
        confidence[half],
        wrong[half],
        risk=risk,
        delta=delta,
        design_effect=effect,
        **single,
    )
    stands = (
        inside & ~answers.choosing & (confidence >= (2 if passed is None else passed.threshold))
    )
    return passed, effect, stands, wrong


def same_threshold(result, wanted) -> None:
    passed, effect, stands, wrong = result
    assert effect == pytest.approx(wanted["deff"], abs=5e-5)
    if wanted["threshold"] is None:
        assert passed is None
        return
    assert passed is not None
    assert passed.threshold == pytest.approx(wanted["threshold"], abs=1e-6)
    assert (passed.n, passed.wrong) == (wanted["cal_n"], wanted["cal_wrong"])
    assert passed.bound == pytest.approx(wanted["bound"], abs=5e-5)
    assert (int(stands.sum()), int(wrong[stands].sum())) == (wanted["test_n"], wanted["test_wrong"])


@pytest.mark.shared
def test_both_halves_are_the_published_ones(answers: SharedAnswers, figures) -> None:
    halves = {"cal": answers.choosing, "test": ~answers.choosing}
    counts = {name: int(half.sum()) for name, half in halves.items()}
    groups = {f"{name}_groups": answers.groups.at(half).count for name, half in halves.items()}
    assert counts | groups == figures["split"]


@pytest.mark.shared
@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("agreement", [0.8, 0.85, 0.9, 0.95])
def test_verdicts_that_may_stand_equal_the_published_ones(
    answers: SharedAnswers, figures, judge: str, agreement: float
) -> None:
    name, verdicts = f"{judge} {agreement:.2f}", (answers.badness[judge], answers.judged_bad[judge])
    four_starts = confident(answers, *verdicts, agreement)
    same_threshold(four_starts, figures[f"{name} deff 4 starts"])
    for effect, how in ((1.0, "independent"), (four_starts[1], "deff")):
        same_threshold(
            confident(answers, *verdicts, agreement, one_start=effect),
            figures[f"{name} {how} 1 starts"],
        )


@pytest.mark.shared
@pytest.mark.parametrize("agreement", [0.75, 0.8, 0.85, 0.9])
@pytest.mark.parametrize("verdict", ["grounded", "hallucinated"])
def test_verdicts_of_one_kind_stand_as_published(
    answers: SharedAnswers, figures, verdict: str, agreement: float
) -> None:
    judged_bad = answers.judged_bad[JUDGES[0]]
    inside = judged_bad == (verdict == "hallucinated")
    made = confident(
        answers, answers.badness[JUDGES[0]], judged_bad, agreement, inside=inside, delta=0.025
    )
    same_threshold(made, figures[f"says {verdict} {agreement:.2f}"])


@pytest.mark.shared
@pytest.mark.parametrize("agreement", [0.8, 0.85, 0.9, 0.95])
def test_the_mean_score_of_three_judges_gives_the_published_thresholds(
    answers: SharedAnswers, juries, agreement: float
) -> None:
    wanted = juries[f"mean of three {agreement:.2f}"]
    badness = np.round(np.mean([answers.badness[judge] for judge in JUDGES], axis=0), 9)
    same_threshold(confident(answers, badness, badness > 0.5, agreement), wanted)


@pytest.mark.shared
@pytest.mark.parametrize("agreement", [0.8, 0.85, 0.9, 0.92, 0.95])
def test_six_judges_that_say_the_same_may_stand_as_published(
    answers: SharedAnswers, juries, agreement: float
) -> None:
    verdicts = np.stack(
        [verdict for name, verdict in sorted(answers.judged_bad.items()) if name != "baseline_nli"],
        1,
    )
    bad, half = verdicts.sum(axis=1), answers.choosing
    alike = np.maximum(bad, 6 - bad)
    tied = alike == 3
    wrong = (verdicts.sum(axis=1) > 3) != answers.bad
    assert [int(tied[half].sum()), int(tied[~half].sum())] == juries["ties"]
    passed = confidence_threshold(
        np.array([6.0, 5.0, 4.0]),
        alike[half & ~tied].astype(float),
        wrong[half & ~tied],
        risk=1 - agreement,
        design_effect=juries["deff"],
        starts=1,
    )
    assert (None if passed is None else passed.threshold) == juries[f"jury {agreement:.2f}"][
        "threshold"
    ]
    for least in (6, 5, 4):
        of_halves = [
            (wrong[rows], rows) for rows in ((alike >= least) & half, (alike >= least) & ~half)
        ]
        assert [int(each.sum()) for counts in of_halves for each in counts] == [
            *juries[f"{least} of 6"]
        ]


@pytest.mark.shared
@pytest.mark.parametrize("judge", JUDGES[:2])
@pytest.mark.parametrize("recall", [0.8, 0.9])
@pytest.mark.parametrize("query_type", TYPES)
def test_thresholds_for_recall_equal_the_published_ones(
    answers: SharedAnswers, figures, judge: str, recall: float, query_type: str
) -> None:
    wanted = figures[f"recall {recall} {judge} {query_type}"]
    inside = answers.of_type(None if query_type == "all" else query_type)
    badness = answers.badness[judge]
    bad = inside & answers.choosing & answers.bad
    effect = design_effect_of_mean(~answers.judged_bad[judge][bad], answers.groups.at(bad))
    grid = score_grid(badness[inside])
    passed = recall_threshold(grid, badness[bad], risk=1 - recall, design_effect=effect)
    assert effect == pytest.approx(wanted["deff"], abs=5e-5)
    assert passed is not None
    assert passed.n == wanted["n_bad"]
    assert passed.threshold == pytest.approx(wanted["guaranteed"], abs=1e-6)
    other = inside & ~answers.choosing
    for threshold, name in ((passed.threshold, "on_test"), (0.5, "default_half")):
        flagged = badness >= threshold
        assert {
            "flagged": flagged[other].mean().round(4),
            "recall": flagged[other & answers.bad].mean().round(4),
            "precision": answers.bad[other & flagged].mean().round(4),
        } == wanted[name]


@pytest.mark.shared
@pytest.mark.parametrize("query_type", TYPES)
def test_thresholds_for_precision_equal_the_published_ones(
    answers: SharedAnswers, figures, query_type: str
) -> None:
    wanted = figures[f"precision 0.8 {query_type}"]
    inside = answers.of_type(None if query_type == "all" else query_type)
    badness, half = answers.badness[JUDGES[0]], inside & answers.choosing
    judged = half & answers.judged_bad[JUDGES[0]]
    effect = design_effect_of_mean(~answers.bad[judged], answers.groups.at(judged))
    passed = confidence_threshold(
        score_grid(badness[inside]),
        badness[half],
        ~answers.bad[half],
        risk=1 - 0.8,
        design_effect=effect,
        starts=1,
        fewest=30,
    )
    assert effect == pytest.approx(wanted["deff"], abs=5e-5)
    assert (None if passed is None else round(passed.threshold, 6)) == wanted["threshold"]


@pytest.mark.shared
@pytest.mark.parametrize("query_type", TYPES)
def test_the_cheapest_threshold_equals_the_published_one(
    answers: SharedAnswers, figures, query_type: str
) -> None:
    wanted = figures[f"cost 5:1 {query_type}"]
    inside = answers.of_type(None if query_type == "all" else query_type)
    badness, half = answers.badness[JUDGES[0]], inside & answers.choosing
    threshold = cheapest_threshold(score_grid(badness), badness[half], answers.bad[half], 5)
    assert threshold == pytest.approx(wanted["threshold"], abs=1e-6)
    other = inside & ~answers.choosing
    for name, rows in (("cal", half), ("test", other)):
        for suffix, cut in (("", threshold), ("_half", 0.5)):
            costs = mistakes(badness[rows] >= cut, answers.bad[rows], 5)
            assert costs.mean() == pytest.approx(wanted[name + suffix], abs=5e-5)


@pytest.mark.shared
def test_a_threshold_for_a_precision_of_70_percent_is_the_published_one(
    answers: SharedAnswers,
) -> None:
    badness, half = answers.badness[JUDGES[1]], answers.choosing
    passed = confidence_threshold(
        score_grid(badness), badness[half], ~answers.bad[half], risk=0.3, starts=1
    )
    assert passed is not None
    assert passed.threshold == pytest.approx(0.629798, abs=1e-6)


def test_the_labels_that_a_promise_needs_are_the_published_ones() -> None:
    assert [labels_to_pass(risk) for risk in (0.25, 0.2, 0.15, 0.1, 0.05)] == [23, 37, 50, 76, 153]
    assert [fewest_labels(risk) for risk in (0.2, 0.1)] == [14, 29]


def test_a_perfect_judge_stands_and_a_useless_one_does_not() -> None:
    confidence = np.linspace(0.5, 1, 200)
    grid = score_grid(confidence)
    passed = confidence_threshold(grid, confidence, np.zeros(200, dtype=bool), risk=0.1)
    assert passed is not None
    assert passed.threshold == grid[-1]
    assert confidence_threshold(grid, confidence, np.arange(200) % 2 == 0, risk=0.1) is None


def test_a_judge_that_is_sure_and_wrong_at_the_top_still_passes_from_a_later_start() -> None:
    confidence = np.linspace(0.5, 1, 400)
    wrong = confidence > 0.98
    passed = confidence_threshold(score_grid(confidence), confidence, wrong, risk=0.1)
    assert passed is not None
    assert (
        confidence_threshold(score_grid(confidence), confidence, wrong, risk=0.1, starts=1) is None
    )


def test_too_few_bad_labels_give_no_threshold() -> None:
    grid = score_grid(np.linspace(0, 1, 100))
    assert recall_threshold(grid, np.full(13, 0.9), risk=0.2) is None
    assert recall_threshold(grid, np.full(14, 0.9), risk=0.2) is not None
    assert recall_threshold(grid, np.empty(0), risk=0.2) is None


def test_labels_of_a_complete_stratum_are_kept_as_often_as_those_by_lot() -> None:
    kept = equal_chances(np.array([1000, 200]), np.array([50, 200]))
    assert kept.tolist() == pytest.approx([1.0, 0.05])
    # 15.1 % and 12.9 % are one sampling rate and chance.
    assert equal_chances(np.array([896, 448]), np.array([135, 58])).tolist() == [1.0, 1.0]


@pytest.mark.shared
def test_a_promise_holds_if_all_flagged_answers_and_a_sample_of_the_rest_are_labelled(
    answers: SharedAnswers,
) -> None:
    badness, judged_bad = answers.badness[JUDGES[0]], answers.judged_bad[JUDGES[0]]
    grid, rng, strata = score_grid(badness), np.random.default_rng(1), judged_bad.astype(int)
    broken = {"equal chances": 0, "all labels": 0}
    for _ in range(100):
        labelled = judged_bad | (rng.random(len(strata)) < 0.3)
        kept = equal_chances(np.bincount(strata), np.bincount(strata[labelled], minlength=2))[
            strata
        ]
        by_lot = labelled & (rng.random(len(strata)) < kept)
        half = (rng.random(answers.groups.count) < 0.5)[answers.groups.codes]
        for name, rows in (("equal chances", by_lot), ("all labels", labelled)):
            bad = rows & half & answers.bad
            effect = design_effect_of_mean(~judged_bad[bad], answers.groups.at(bad))
            passed = recall_threshold(grid, badness[bad], risk=0.2, design_effect=effect)
            broken[name] += (
                passed is not None and (badness[answers.bad] >= passed.threshold).mean() < 0.8
            )
    assert broken["equal chances"] <= 10
    assert broken["all labels"] > 90


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=80),
    st.floats(0.05, 0.5),
    st.floats(0.01, 0.2),
    st.integers(1, 6),
)
@settings(max_examples=60)
def test_a_threshold_that_passes_keeps_its_bound(
    rows, risk: float, delta: float, groups: int
) -> None:
    scores, wrong = np.array([each[0] / 20 for each in rows]), np.array([each[1] for each in rows])
    grid = score_grid(scores)
    passed = confidence_threshold(grid, scores, wrong, risk=risk, delta=delta)
    if passed is not None:
        beyond = scores >= passed.threshold
        assert (int(beyond.sum()), int(wrong[beyond].sum())) == (passed.n, passed.wrong)
        assert passed.wrong / passed.n <= passed.bound <= risk
    recall = recall_threshold(grid, scores, risk=risk, delta=delta)
    if recall is not None:
        assert (scores < recall.threshold).mean() <= recall.bound <= risk


@given(st.integers(1, 400), st.floats(0, 1), st.floats(1, 5), st.floats(0.001, 0.2))
def test_a_bound_is_wider_with_fewer_labels_and_with_a_design_effect(
    n: int, share: float, effect: float, delta: float
) -> None:
    wrong = int(share * n)
    bound = wrong_bound(wrong, n, delta)
    assert wrong / n - 1e-9 <= bound <= 1
    assert wrong_bound(2 * wrong, 2 * n, delta) <= bound + 1e-9
    assert wrong_bound(wrong, n, delta, effect) >= bound - 1e-9
