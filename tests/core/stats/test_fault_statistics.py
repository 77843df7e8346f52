"""The statistics behind the checks of a judge's own faults."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import value_and_ends, width
from judgeboard.domain import Estimate
from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import correlation_within, slope
from judgeboard.stats.estimates import complement, surely_above, surely_below
from judgeboard.stats.means import difference_of_means, mean_change
from judgeboard.stats.proportions import RatioSums, level_use, ratio_of_totals, superiority
from rating_tables import ungrouped


def test_a_warning_needs_more_than_the_95_percent_interval():
    for ends, warns in (((0.001, 0.399), False), ((0.06, 0.34), True), ((0.2, 0.2), True)):
        above = Estimate(0.2, *ends, 100)
        assert surely_above(above, 0) is surely_below(complement(above, 0), 0) is warns


@pytest.mark.parametrize(
    "unknown", [Estimate(None, reason="none"), Estimate(5.0, n=1, reason="no interval")]
)
def test_what_has_no_interval_is_never_a_warning(unknown):
    assert not surely_above(unknown, 0)
    assert not surely_below(unknown, 9)


def test_ties_count_half_and_float_noise_is_a_tie():
    before, after = np.array([[0.6 - 0.2, 0.9, 0.1, 0.5], [0.4, 0.2, 0.3, 0.5]])
    estimate = superiority(before, after, ungrouped(4))
    assert (estimate.value, estimate.n) == (0.5, 4)
    assert superiority(before[:0], after[:0], ungrouped(0)).value is None


def test_a_judge_that_gives_both_the_same_is_no_better_than_chance_and_has_an_interval():
    same = np.full(50, 4.0)
    estimate = superiority(same, same, ungrouped(50))
    assert value_and_ends(estimate) == pytest.approx((0.5, 0.366, 0.634), abs=5e-4)
    assert superiority(same, same - 1, ungrouped(50)).low == pytest.approx(50 / (50 + 1.959964**2))


def test_pairs_on_one_evidence_do_not_count_as_many(rng):
    before, after = (np.repeat(each, 6) for each in (rng.random(10), rng.random(10) * 0.8))
    alone, shared = (
        superiority(before, after, grouping(ids, 60)) for ids in (None, np.arange(60) // 6)
    )
    assert alone.value == shared.value
    assert width(shared) > 1.8 * (width(alone))


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=20, max_size=60))
@settings(max_examples=40)
def test_its_interval_is_never_narrower_than_the_normal_one(wins):
    before = np.array(wins)
    estimate = superiority(before, np.full(len(wins), 0.5), ungrouped(len(wins)))
    assert estimate.low <= estimate.value <= estimate.high
    if 0.2 < estimate.value < 0.8:
        error = before.std() / math.sqrt(len(wins))
        assert width(estimate) >= 2 * 1.96 * error * 0.85


def test_the_use_of_levels():
    use = level_use(np.array([5, 5, 30, 10]))
    assert (use.most.value, use.level, use.most.n) == (0.6, 2, 50)
    shares = np.array([0.1, 0.1, 0.6, 0.2])
    assert use.entropy == pytest.approx(-(shares * np.log(shares)).sum() / math.log(4))
    assert level_use(np.array([0, 0, 9, 0])).entropy == 0
    assert level_use(np.array([4, 4])).entropy == pytest.approx(1)
    for bad in ([3], [0, 0]):
        with pytest.raises(ValueError, match="two levels"):
            level_use(np.array(bad))


def test_the_mean_change_and_one_that_is_always_the_same(rng):
    before = rng.random(30)
    estimate = mean_change(before, before - 0.2, ungrouped(30))
    assert estimate.low == estimate.value == estimate.high == pytest.approx(-0.2)
    noisy = mean_change(before, before - 0.2 + rng.normal(0, 0.1, 30), ungrouped(30))
    assert noisy.low < -0.2 < noisy.high
    assert mean_change(before[:1], before[:1], ungrouped(1)).low is None
    assert mean_change(before[:0], before[:0], ungrouped(0)).value is None


def test_the_difference_of_two_means(rng, agrees_with_plain_bootstrap):
    inside, groups = rng.random(400) < 0.4, rng.integers(0, 150, 400)
    values = rng.normal(0, 1, 400) + 0.5 * inside
    estimate = difference_of_means(values, inside, grouping(groups, 400))

    def plain(values, inside):
        return values[inside > 0].mean() - values[inside == 0].mean()

    assert estimate.value == pytest.approx(plain(values, inside))
    agrees_with_plain_bootstrap(estimate, plain, [values, inside.astype(float)], groups, extra=0.01)

    def of_first(n):
        return difference_of_means(values, np.arange(400) < n, ungrouped(400))

    # T with 2 degrees of freedom.
    assert width(of_first(3)) > 2 * 4.3 * values[:3].std(ddof=0) / math.sqrt(3) * 0.9
    assert of_first(400).value is None
    assert of_first(1).low is None
    assert difference_of_means(np.ones(9), np.arange(9) < 4, ungrouped(9)).low is None


def test_the_slope_by_length(rng, agrees_with_plain_bootstrap):
    length, groups = rng.gamma(3, 100, 500), rng.integers(0, 200, 500)
    score = 0.0005 * length + rng.normal(0, 0.2, 500)
    estimate = slope(score, length, grouping(groups, 500))
    assert estimate.low < 0.0005 < estimate.high

    def plain(score, length):
        return np.polyfit(length, score, 1)[0]

    assert estimate.value == pytest.approx(plain(score, length))
    agrees_with_plain_bootstrap(estimate, plain, [score, length], groups, extra=2e-5)
    line = slope(2 * length, length, ungrouped(500))
    assert value_and_ends(line) == pytest.approx((2, 2, 2))
    assert slope(score, np.ones(500), ungrouped(500)).value is None
    assert slope(score[:0], score[:0], ungrouped(0)).value is None


def test_what_lies_between_the_grades_does_not_count(rng):
    """People too find the longer answers better: that is no fault of the judge."""
    grade = rng.integers(1, 5, 800)
    length = grade * 200 + rng.normal(0, 60, 800)
    fair = grade + rng.normal(0, 0.4, 800)
    assert np.corrcoef(fair, length)[0, 1] > 0.8
    within = correlation_within(fair, length, grade, None)
    assert within.n == 800
    assert within.low < 0 < within.high
    assert correlation_within(fair + length / 100, length, grade, None).low > 0.5


def test_correlation_within_leaves_lone_grades_out_and_says_what_is_undefined():
    strata = np.array([1, 1, 1, 1, 2])
    score, length = np.array([[1.0, 2, 3, 4, 9], [1, 2, 3, 5, 9]])
    assert correlation_within(score, length, strata, None).n == 4
    assert "no two" in correlation_within(score, length, np.arange(5), None).reason
    assert "equal" in correlation_within(np.ones(5), length, strata, None).reason


def test_the_ratio_of_totals(rng, agrees_with_plain_bootstrap):
    lower = rng.gamma(2, 1, 400)
    upper = 0.3 * lower + rng.gamma(1, 0.1, 400)
    sums = RatioSums(
        400, upper.sum(), lower.sum(), (upper**2).sum(), (lower**2).sum(), (upper * lower).sum()
    )
    estimate = ratio_of_totals(sums)
    assert estimate.value == pytest.approx(upper.sum() / lower.sum())
    agrees_with_plain_bootstrap(
        estimate, lambda u, v: u.sum() / v.sum(), [upper, lower], np.arange(400)
    )
    for sums, expected in (
        ((3, 1.5, 3, 0.75, 3, 1.5), (0.5, 0.5, 0.5)),
        ((0, 0, 0, 0, 0, 0), (None, None, None)),
        ((2, 1, 0, 1, 0, 0), (None, None, None)),
        ((1, 1, 2, 1, 4, 2), (0.5, None, None)),
    ):
        assert value_and_ends(ratio_of_totals(RatioSums(*sums))) == expected
