import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.correlation import kendall

scores = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=60)


@given(scores)
@settings(max_examples=100, deadline=None)
def test_it_equals_scipy_or_is_undefined(rows):
    from scipy.stats import kendalltau

    judge, people = np.array(rows, dtype=float).T / 6
    got = kendall(judge, people, grouping(None, len(rows)))
    if np.ptp(judge) == 0 or np.ptp(people) == 0:
        side = "the judge" if np.ptp(judge) == 0 else "people"
        assert (got.value, got.reason) == (None, f"{side} gave the same score to all answers")
        return
    assert got.value == pytest.approx(kendalltau(judge, people).statistic, abs=1e-9)
    assert got.n == len(rows)


def test_many_distinct_scores_too():
    from scipy.stats import kendalltau

    rng = np.random.default_rng(4)
    people = rng.normal(size=3001)
    judge = people + rng.normal(size=3001)
    got = kendall(judge, people, grouping(None, 3001))
    assert got.value == pytest.approx(kendalltau(judge, people).statistic, abs=1e-9)


def test_float_noise_neither_makes_nor_breaks_ties():
    judge, people = np.array([0.1 + 0.2, 0.3, 0.5, 0.7]), np.array([0.1, 0.1, 0.4, 0.9])
    assert kendall(judge, people, grouping(None, 4)).value == 1


@pytest.mark.parametrize("clusters", [None, 70])
def test_the_interval_is_that_of_resampling_whole_groups(clusters, agrees_with_plain_bootstrap):
    rng = np.random.default_rng(3)
    groups = np.arange(250) if clusters is None else rng.integers(0, clusters, 250)
    truth = rng.random(250)[groups]
    judge, people = (np.clip(truth + rng.normal(0, 0.3, 250), 0, 1).round(1) for _ in range(2))

    def plain(judge, people):
        return kendall(judge, people, grouping(None, len(judge))).value

    got = kendall(judge, people, grouping(groups, 250))
    agrees_with_plain_bootstrap(got, plain, (judge, people), groups, resamples=400, extra=0.01)
    assert got.method == "influence function on Fisher's z"
