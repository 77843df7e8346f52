import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeboard.stats.arrays import grouping
from judgeboard.stats.intervals import resampled_tables


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
def test_resampled_tables_have_the_moments_of_drawing_groups(case):
    n_cells, size, n = CASES[case]
    rng = np.random.default_rng(1)
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
    drawn = resampled_tables(cells, 4, grouping(None, 100), resamples=4000)
    assert (drawn.sum(axis=1) == 100).all()
    assert (drawn[:, 2] == 0).all()
    assert drawn[:, 0].std() == pytest.approx(5, rel=0.05)


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 5)), min_size=1, max_size=60), st.randoms())
@settings(max_examples=40, deadline=None)
def test_every_sample_is_a_sum_of_whole_groups_whatever_the_order_of_rows(rows, random):
    ids, cells = np.array(rows).T
    drawn = resampled_tables(cells, 6, grouping(ids, len(ids)), resamples=20)
    possible = group_tables(cells, 6, ids)
    for sample in drawn:
        counts, *_ = np.linalg.lstsq(possible.T, sample, rcond=None)
        assert np.allclose(possible.T @ counts, sample)
        assert sample[possible.sum(axis=0) == 0].sum() == 0
    shuffled = list(rows)
    random.shuffle(shuffled)
    ids, cells = np.array(shuffled).T
    assert np.array_equal(drawn, resampled_tables(cells, 6, grouping(ids, len(ids)), resamples=20))


def test_seeds_differ_and_repeat():
    cells = np.arange(100) % 4
    first, again, other = (resampled_tables(cells, 4, grouping(None, 100), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_groups_too_large_to_number_their_patterns_are_drawn_as_well():
    rng = np.random.default_rng(2)
    cells, ids = rng.integers(0, 25, 3000), rng.integers(0, 20, 3000)
    drawn = resampled_tables(cells, 25, grouping(ids, 3000), resamples=2000)
    assert drawn.sum(axis=1).mean() == pytest.approx(3000, rel=0.01)


def test_no_rows_give_empty_tables():
    assert resampled_tables(np.empty(0, dtype=np.int64), 4, grouping(None, 0), resamples=3).tolist() == [[0] * 4] * 3
