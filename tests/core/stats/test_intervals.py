"""Jackknifed and resampled intervals, against plain ways to the same figures."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimates import reaches, why_no_interval, width
from judgeboard.stats.arrays import grouping
from judgeboard.stats.chance_corrected import alpha, gwet
from judgeboard.stats.intervals import jackknifed, resampled_tables
from rating_tables import ratings, ungrouped


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def made(n=90):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 30, n)
    lower = rng.integers(1, 5, n).astype(float)
    return np.stack((lower * rng.random(n).round(1), lower), axis=1), ids


def jackknife(sums, ids=None, statistic=ratio):
    return jackknifed(sums, statistic, grouping(ids, len(sums)), len(sums), alike="never differ")


def test_the_error_is_that_of_leaving_out_one_group_after_the_other():
    from scipy.stats import t

    sums, ids = made()
    got = jackknife(sums, ids)
    without = np.array([float(ratio(sums[ids != each].sum(axis=0))) for each in np.unique(ids)])
    count = len(without)
    error = np.sqrt((count - 1) * without.var()) / (1 - got.value**2)
    assert got.value == pytest.approx(float(ratio(sums.sum(axis=0))))
    below, above = reaches(got)
    assert below == pytest.approx(t.ppf(0.975, count - 1) * error, rel=1e-6)
    assert above >= below - 1e-9
    assert "jackknife" in got.method


def alpha_carried_by_a_group():
    """Two raters, of whose twenty groups one holds the rarer kind that both give."""
    said = np.zeros((100, 2))
    said[:5] = 1
    said[20:60:4, 0] = said[22:62:4, 1] = 1
    return partial(alpha, metric="nominal"), said


def ac1_carried_by_a_group():
    """Two raters, who agree throughout in one of twenty groups and on two of five items in the others."""
    said = np.repeat(np.arange(100)[:, None] % 2, 2, axis=1).astype(float)
    apart = (np.arange(100) % 5 > 1) & (np.arange(100) >= 5)
    said[apart, 1] = 1 - said[apart, 1]
    return gwet, said


@pytest.mark.parametrize("carried", [alpha_carried_by_a_group, ac1_carried_by_a_group])
def test_what_few_groups_carry_reaches_further_up_than_a_symmetric_interval(carried):
    coefficient, said = carried()
    below, above = reaches(coefficient(ratings(said, 2, np.arange(100) // 5)))
    assert above > 1.05 * below


def test_many_equal_groups_count_as_often_as_they_are():
    sums, _ = made(n=20)
    many = np.tile(sums, (50, 1))
    once, again = (jackknife(each) for each in (sums, many))
    assert width(once) > 6 * (width(again))


def test_without_an_interval_there_is_the_reason():
    def defined_with_first(sums):
        return np.where(sums[..., 2] > 0, sums[..., 0] / sums[..., 1], np.nan)

    carried = np.column_stack((*made(n=20)[0].T, np.arange(20) == 0))
    for sums, statistic, ids, reason in (
        (carried, defined_with_first, None, "groups"),
        (np.ones((9, 2)), ratio, None, "no interval: never differ"),
        (made(n=9)[0], ratio, np.zeros(9), "one evidence group"),
    ):
        assert reason in why_no_interval(jackknife(sums, ids, statistic))


def group_tables(cells, n_cells, ids):
    distinct, codes = np.unique(ids, return_inverse=True)
    tables = np.zeros((len(distinct), n_cells))
    np.add.at(tables, (codes, cells), 1)
    return tables


CASES = {
    "patterns that many groups share": (4, 3, 600),
    "patterns hardly shared": (16, 6, 900),
    "both": (9, 2, 1200),
    "large groups": (16, 60, 1500),
}


@pytest.mark.parametrize("case", CASES)
def test_resampled_tables_have_the_moments_of_drawing_groups(case, rng):
    n_cells, size, n = CASES[case]
    ids = rng.integers(0, n // size, n)
    cells = np.where(rng.random(n) < 0.5, ids % n_cells, rng.integers(0, n_cells, n))
    drawn = resampled_tables(cells, n_cells, grouping(ids, n), resamples=4000)
    tables = group_tables(cells, n_cells, ids)
    covariance = len(tables) * np.cov(tables.T, bias=True)
    error = np.sqrt(np.diag(covariance) / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - tables.sum(axis=0)) <= 4.5 * error + 1e-9).all()
    spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert (np.abs(np.cov(drawn.T, bias=True) - covariance) <= 0.12 * spread + 1e-9).all()


def test_rows_that_stand_alone_are_a_multinomial_on_the_table():
    cells = np.repeat([0, 1, 3], [50, 30, 20])
    drawn = resampled_tables(cells, 4, ungrouped(100), resamples=4000)
    assert (drawn.sum(axis=1) == 100).all()
    assert not drawn[:, 2].any()
    assert drawn[:, 0].std() == pytest.approx(5, rel=0.05)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5)), min_size=1, max_size=60), st.randoms()
)
@settings(max_examples=40)
def test_every_sample_is_a_sum_of_whole_groups_whatever_the_order_of_rows(rows, random):
    ids, cells = np.array(rows).T
    drawn = resampled_tables(cells, 6, grouping(ids, len(ids)), resamples=20)
    possible = group_tables(cells, 6, ids)
    for sample in drawn:
        counts, *_ = np.linalg.lstsq(possible.T, sample, rcond=None)
        assert np.allclose(possible.T @ counts, sample)
        assert sample[possible.sum(axis=0) == 0].sum() == 0
    random.shuffle(rows)
    ids, cells = np.array(rows).T
    assert np.array_equal(drawn, resampled_tables(cells, 6, grouping(ids, len(ids)), resamples=20))


def test_no_rows_give_empty_tables():
    drawn = resampled_tables(np.empty(0, dtype=np.int64), 4, ungrouped(0), resamples=3)
    assert drawn.tolist() == [[0] * 4] * 3
