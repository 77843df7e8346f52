from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import almost, ends, why_no_interval, why_undefined
from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import kendall, pearson, spearman
from judgeboard.stats.estimates import too_few
from judgeboard.stats.pair_statistics import pair_statistics
from judgeboard.stats.ratings import GROUNDEDNESS
from rating_tables import ungrouped

scores = st.floats(0, 1).map(lambda value: round(value, 2))


def clustered(seed=0, n=500, groups=110, levels=10):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, groups, n)
    shift = rng.normal(0, 0.25, groups)[ids]
    people = np.clip(np.round((0.6 + shift + rng.normal(0, 0.2, n)) * levels) / levels, 0, 1)
    judge = np.clip(people * 0.7 + 0.2 + shift * 0.3 + rng.normal(0, 0.15, n), 0, 1)
    return judge, people, ids


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=60))
@settings(max_examples=60)
def test_point_figures_equal_scipy(rows):
    from scipy import stats

    judge, people = np.array(rows).T
    groups = ungrouped(len(judge))
    for statistic, of_scipy in ((pearson, stats.pearsonr), (spearman, stats.spearmanr)):
        got = statistic(judge, people, groups)
        if np.ptp(judge) == 0 or np.ptp(people) == 0:
            assert got.value is None
            continue
        assert got.value == almost(of_scipy(judge, people).statistic)
        assert got.low is None or -1 <= got.low <= got.value <= got.high <= 1


def statistic_of_pairs(name, judge, people, groups):
    return pair_statistics(judge, people, GROUNDEDNESS, groups, only=(name,)).estimates[name]


bias = partial(statistic_of_pairs, "bias")
mean_absolute_difference = partial(statistic_of_pairs, "mean_absolute_difference")


def plain_pearson(judge, people):
    return np.corrcoef(judge, people)[0, 1]


def plain_spearman(judge, people):
    from scipy.stats import rankdata

    return plain_pearson(rankdata(judge), rankdata(people))


PLAIN = {
    pearson: plain_pearson,
    spearman: plain_spearman,
    mean_absolute_difference: lambda judge, people: np.abs(judge - people).mean(),
    bias: lambda judge, people: (judge - people).mean(),
}
each_statistic = pytest.mark.parametrize(
    "statistic", PLAIN, ids=["pearson", "spearman", "mean_absolute_difference", "bias"]
)


@pytest.mark.parametrize("alone", [True, False], ids=["responses", "evidence groups"])
@each_statistic
def test_influence_intervals_equal_a_plain_loop_over_groups(
    agrees_with_plain_bootstrap, statistic, alone
):
    judge, people, ids = clustered()
    ids = np.arange(len(ids)) if alone else ids
    got = statistic(judge, people, grouping(ids, len(ids)))
    assert got.value == almost(PLAIN[statistic](judge, people))
    assert got.method.startswith("influence function")
    assert got.unit == ("response" if alone else "evidence group")
    agrees_with_plain_bootstrap(got, PLAIN[statistic], (judge, people), ids)


def test_few_groups_have_the_clustered_t_interval():
    from scipy.stats import t

    ids = np.repeat(np.arange(4), 5)
    judge, people = np.tile([0.1, 0.5, 0.2, 0.9, 0.3], 4) + ids / 10, np.full(20, 0.5)
    sums = np.array([(judge - judge.mean())[ids == group].sum() for group in range(4)])
    reach = t.ppf(0.975, 3) * np.sqrt(4 / 3 * (sums**2).sum()) / 20
    got = bias(judge, people, grouping(ids, 20))
    assert ends(got) == almost((got.value - reach, got.value + reach))


def test_few_tied_levels_are_ranked_by_their_average(agrees_with_plain_bootstrap):
    judge, people, ids = clustered(seed=4, levels=3)
    judge = np.round(judge * 3) / 3
    got = spearman(judge, people, grouping(ids, len(ids)))
    agrees_with_plain_bootstrap(got, plain_spearman, (judge, people), ids)


def test_float_noise_makes_no_ranks():
    people = np.array([0.1, 0.2, 0.3, 0.4] * 5)
    noisy, clean = (
        spearman(np.array(scores * 5), people, ungrouped(20))
        for scores in ([0.3, 0.1 + 0.2, 0.6 - 0.3, 0.5], [0.3, 0.3, 0.3, 0.5])
    )
    assert noisy == clean


@pytest.mark.parametrize("statistic", [pearson, spearman])
def test_a_constant_side_is_undefined_and_named(statistic):
    constant, other = np.full(20, 0.5), np.linspace(0, 1, 20)
    for sides, name in (((constant, other), "the judge "), ((other, constant), "people ")):
        assert why_undefined(statistic(*sides, ungrouped(20))).startswith(name)


def test_a_perfect_line_has_no_interval():
    line = np.linspace(0, 1, 20)
    got = pearson(line, line * 0.5, ungrouped(20))
    assert got.value == 1
    assert why_no_interval(got).startswith("no interval")


@each_statistic
def test_no_pairs_and_one_group_are_said(statistic):
    nothing = np.empty(0)
    assert statistic(nothing, nothing, ungrouped(0)).reason in {"no pairs", too_few(0)}
    judge, people, _ = clustered(n=40)
    got = statistic(judge, people, grouping(np.zeros(40), 40))
    assert "one evidence group" in why_no_interval(got)


def test_the_order_of_rows_cannot_be_seen():
    judge, people, ids = clustered()
    order = np.random.default_rng(9).permutation(len(ids))
    for statistic in PLAIN:
        one, other = (
            statistic(judge[rows], people[rows], grouping(ids[rows], len(ids)))
            for rows in (slice(None), order)
        )
        assert one == other


def test_an_interval_ends_at_the_end_of_the_range():
    one_apart = np.array([0.9, *[0.0] * 9])
    difference = mean_absolute_difference(one_apart, np.zeros(10), ungrouped(10))
    assert (difference.value, difference.low) == (pytest.approx(0.09), 0)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=60))
def test_it_equals_scipy_or_is_undefined(rows):
    from scipy.stats import kendalltau

    judge, people = np.array(rows, dtype=float).T / 6
    got = kendall(judge, people, ungrouped(len(rows)))
    for side, name in ((judge, "the judge"), (people, "people")):
        if np.ptp(side) == 0:
            assert why_undefined(got).startswith(name)
            return
    expected = kendalltau(judge, people).statistic
    assert (got.value, got.n) == (almost(expected), len(rows))


def test_many_distinct_scores_too(rng):
    from scipy.stats import kendalltau

    people = rng.normal(size=3001)
    judge = people + rng.normal(size=3001)
    got = kendall(judge, people, ungrouped(3001))
    assert got.value == almost(kendalltau(judge, people).statistic)


def test_float_noise_neither_makes_nor_breaks_ties():
    judge, people = np.array([0.1 + 0.2, 0.3, 0.5, 0.7]), np.array([0.1, 0.1, 0.4, 0.9])
    assert kendall(judge, people, ungrouped(4)).value == 1


@pytest.mark.parametrize("clusters", [None, 70])
def test_the_interval_is_that_of_resampling_whole_groups(
    clusters, agrees_with_plain_bootstrap, rng
):
    groups = np.arange(250) if clusters is None else rng.integers(0, clusters, 250)
    truth = rng.random(250)[groups]
    judge, people = (np.clip(truth + rng.normal(0, 0.3, 250), 0, 1).round(1) for _ in range(2))

    def plain(judge, people):
        return kendall(judge, people, ungrouped(len(judge))).value

    got = kendall(judge, people, grouping(groups, 250))
    agrees_with_plain_bootstrap(got, plain, (judge, people), groups, resamples=400, extra=0.01)
    assert "influence function" in got.method
