import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.intervals import share_intervals, wilson
from judgeboard.stats.proportions import share


@given(st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=80, deadline=None)
def test_wilson_equals_scipy(counts):
    from scipy.stats import binomtest

    hits, n = counts
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    (got,) = share_intervals([hits], [n])
    assert got.value == pytest.approx(hits / n, abs=1e-12)
    assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_points_without_answers_are_undefined():
    nothing, all_of_them = share_intervals([0, 4], [0, 4])
    assert (nothing.value, nothing.reason) == (None, "no answers")
    assert (all_of_them.value, all_of_them.high, all_of_them.n) == (1, 1, 4)


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="0 <= hits <= n"):
        share_intervals([5], [4])


def test_a_share_of_independent_rows_is_wilsons():
    got = share([True] * 30 + [False] * 10, np.arange(40))
    assert (got.low, got.high) == pytest.approx(tuple(map(float, wilson(0.75, 40))))
    assert (got.method, got.unit, got.n) == ("Wilson", "response", 40)


def test_a_share_of_clustered_rows_resamples_groups(agrees_with_plain_bootstrap):
    rng = np.random.default_rng(0)
    ids = np.repeat(np.arange(60), 5)
    hits = rng.random(300) < np.repeat(rng.random(60), 5)
    got = share(hits, ids)
    assert got.value == pytest.approx(hits.mean(), abs=1e-12)
    assert got.unit == "evidence group"
    agrees_with_plain_bootstrap(got, np.mean, (hits,), ids)


def test_clustered_rows_that_all_hit_count_as_groups():
    got = share(np.ones(40, dtype=bool), np.repeat(np.arange(8), 5))
    assert (got.value, got.high) == (1, 1)
    assert got.low == pytest.approx(float(wilson(1.0, 8)[0]))


def test_no_rows_have_no_share():
    got = share([])
    assert (got.value, got.n, got.reason) == (None, 0, "no answers")


def test_fourteen_examples_do_not_show_that_a_judge_is_right_in_nine_of_ten():
    assert [round(float(end), 3) for end in wilson(13 / 14, 14)] == [0.685, 0.987]
