import numpy as np
import pytest

from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import limit_of_agreement


def limits_of_agreement(judge, people, groups):
    return [limit_of_agreement(judge, people, groups, upper=upper) for upper in (False, True)]


def test_they_are_the_bias_plus_and_minus_two_deviations():
    from statsmodels.stats.weightstats import DescrStatsW

    rng = np.random.default_rng(1)
    people = rng.random(80)
    judge = people + rng.normal(0.1, 0.2, 80)
    apart = DescrStatsW(judge - people)
    for limit, side in zip(limits_of_agreement(judge, people, grouping(None, 80)), (-1, 1), strict=True):
        assert limit.value == pytest.approx(apart.mean + side * 1.959964 * apart.std_ddof(1), abs=1e-6)
        # Bland and Altman 1999, 3.1: the variance of a limit is about 1.71 squared times that of the mean.
        assert (limit.high - limit.low) / 2 == pytest.approx(1.99 * 1.71 * apart.std_mean, rel=0.2)
        assert (limit.n, limit.unit) == (80, "response")


@pytest.mark.parametrize("clusters", [None, 60])
def test_their_intervals_are_those_of_resampling_whole_groups(clusters, agrees_with_plain_bootstrap):
    rng = np.random.default_rng(3)
    groups = np.arange(240) if clusters is None else rng.integers(0, clusters, 240)
    people = rng.random(240)
    judge = people + rng.normal(0, 0.2, 240)[groups] + rng.normal(0, 0.2, 240)
    for side in (0, 1):

        def plain(judge, people, side=side):
            return limits_of_agreement(judge, people, grouping(None, len(judge)))[side].value

        got = limits_of_agreement(judge, people, grouping(groups, 240))[side]
        agrees_with_plain_bootstrap(got, plain, (judge, people), groups, resamples=400, extra=0.01)


@pytest.mark.parametrize(("n", "reason"), [(0, "no pairs"), (1, "a single difference has no spread")])
def test_without_two_differences_they_are_undefined(n, reason):
    for limit in limits_of_agreement(np.full(n, 0.5), np.full(n, 0.4), grouping(None, n)):
        assert (limit.value, limit.n, limit.reason) == (None, n, reason)


def test_equal_differences_have_limits_without_an_interval():
    lower, upper = limits_of_agreement(np.full(9, 0.5), np.full(9, 0.25), grouping(None, 9))
    assert (lower.value, upper.value, lower.low) == (0.25, 0.25, None)
    assert lower.reason == "no interval: all values are equal"
