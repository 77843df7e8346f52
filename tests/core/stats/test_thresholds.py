"""Thresholds with a promise, against the published figures of RAGTruth and by properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.stats.thresholds import (
    confidence_threshold,
    equal_chances,
    fewest_labels,
    labels_to_pass,
    recall_threshold,
    score_grid,
    wrong_bound,
)
from shared_answers import shared_answers

JUDGES = ("track_b_modernbert", "approach_1_modernbert", "track_a_deberta")


@pytest.fixture(scope="module")
def answers(shared):
    return shared_answers(shared / "data")


def test_the_labels_that_a_promise_needs_are_the_published_ones():
    assert [labels_to_pass(risk) for risk in (0.25, 0.2, 0.15, 0.1, 0.05)] == [23, 37, 50, 76, 153]
    assert [fewest_labels(risk) for risk in (0.2, 0.1)] == [14, 29]


def test_a_perfect_judge_stands_and_a_useless_one_does_not():
    confidence = np.linspace(0.5, 1, 200)
    grid = score_grid(confidence)
    passed = confidence_threshold(grid, confidence, np.zeros(200, dtype=bool), risk=0.1)
    assert passed.threshold == grid[-1]
    assert confidence_threshold(grid, confidence, np.arange(200) % 2 == 0, risk=0.1) is None


def test_a_judge_that_is_sure_and_wrong_at_the_top_still_passes_from_a_later_start():
    confidence = np.linspace(0.5, 1, 400)
    cases = (score_grid(confidence), confidence, confidence > 0.98)
    assert confidence_threshold(*cases, risk=0.1) is not None
    assert confidence_threshold(*cases, risk=0.1, starts=1) is None


def test_too_few_bad_labels_give_no_threshold():
    grid = score_grid(np.linspace(0, 1, 100))
    for labels, too_few in ((0, True), (13, True), (14, False)):
        assert (recall_threshold(grid, np.full(labels, 0.9), risk=0.2) is None) == too_few


def test_labels_of_a_complete_stratum_are_kept_as_often_as_those_by_lot():
    kept = equal_chances(np.array([1000, 200]), np.array([50, 200]))
    assert kept.tolist() == pytest.approx([1.0, 0.05])
    # 15.1 % and 12.9 % are one sampling rate and chance.
    assert equal_chances(np.array([896, 448]), np.array([135, 58])).tolist() == [1.0, 1.0]


@pytest.mark.shared
def test_a_promise_holds_if_all_flagged_answers_and_a_sample_of_the_rest_are_labelled(answers):
    badness, judged_bad = answers.badness[JUDGES[0]], answers.judged_bad[JUDGES[0]]
    grid, rng, strata = score_grid(badness), np.random.default_rng(1), judged_bad.astype(int)
    broken = {"equal chances": 0, "all labels": 0}
    for _ in range(100):
        labelled = judged_bad | (rng.random(len(strata)) < 0.3)
        kept = equal_chances(np.bincount(strata), np.bincount(strata[labelled], minlength=2))
        by_lot = labelled & (rng.random(len(strata)) < kept[strata])
        half = (rng.random(answers.groups.count) < 0.5)[answers.groups.codes]
        for name, rows in (("equal chances", by_lot), ("all labels", labelled)):
            bad = rows & half & answers.bad
            effect = design_effect_of_mean(~judged_bad[bad], answers.groups.at(bad))
            passed = recall_threshold(grid, badness[bad], risk=0.2, design_effect=effect)
            if passed is not None:
                broken[name] += (badness[answers.bad] >= passed.threshold).mean() < 0.8
    assert broken["equal chances"] <= 10
    assert broken["all labels"] > 90


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=80),
    st.floats(0.05, 0.5),
    st.floats(0.01, 0.2),
    st.integers(1, 6),
)
@settings(max_examples=60)
def test_a_threshold_that_passes_keeps_its_bound(rows, risk, delta, groups):
    twentieths, wrong = map(np.array, zip(*rows, strict=True))
    scores = twentieths / 20
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
def test_a_bound_is_wider_with_fewer_labels_and_with_a_design_effect(n, share, effect, delta):
    wrong = int(share * n)
    bound = wrong_bound(wrong, n, delta)
    assert wrong / n - 1e-9 <= bound <= 1
    assert wrong_bound(2 * wrong, 2 * n, delta) <= bound + 1e-9
    assert wrong_bound(wrong, n, delta, effect) >= bound - 1e-9
