"""Fleiss' kappa and Krippendorff's alpha against plain loops; their intervals against resampling."""

from itertools import permutations

import numpy as np
import pytest

from judgeboard.stats.arrays import grouping
from judgeboard.stats.chance_corrected import fleiss_kappa, interval_alpha


def alone(n: int):
    return grouping(None, n)


def alpha_by_hand(table: np.ndarray) -> float:
    """Coincidences counted one by one, as Krippendorff does on paper."""
    units = [row[~np.isnan(row)] for row in table]
    units = [row for row in units if len(row) > 1]
    values = np.concatenate(units)
    within = sum((a - b) ** 2 / (len(row) - 1) for row in units for a, b in permutations(row, 2)) / len(values)
    between = sum((a - b) ** 2 for a, b in permutations(values, 2)) / (len(values) * (len(values) - 1))
    return 1 - within / between


def test_fleiss_on_the_example_of_his_paper_as_textbooks_give_it() -> None:
    votes = [
        *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
        *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
    ]
    estimate = fleiss_kappa(np.array(votes), alone(10))
    assert estimate.value == pytest.approx(0.20993, abs=1e-5)
    assert estimate.n == 10


def test_alpha_is_what_counting_by_hand_gives_also_with_gaps() -> None:
    rng = np.random.default_rng(7)
    table = rng.integers(1, 6, (40, 4)).astype(float) + rng.normal(0, 2, (40, 1)).round()
    table[rng.random(table.shape) < 0.3] = np.nan
    estimate = interval_alpha(table, alone(40))
    assert estimate.value == pytest.approx(alpha_by_hand(table), abs=1e-9)
    assert estimate.n == int(((~np.isnan(table)).sum(axis=1) > 1).sum())


@pytest.mark.parametrize("clustered", [False, True])
def test_the_intervals_are_as_wide_as_resampling_makes_them(clustered: bool) -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(100), 3) if clustered else np.arange(300)
    true = rng.normal(3, 1, 100)[groups % 100]
    table = np.clip((true[:, None] + rng.normal(0, 0.7, (300, 3))).round(), 1, 5)
    votes = np.stack([(table >= 3).sum(axis=1), (table < 3).sum(axis=1)], axis=1)
    for statistic, rows in ((interval_alpha, table), (fleiss_kappa, votes)):
        estimate = statistic(rows, grouping(groups, 300))
        ids = np.unique(groups)
        members = [np.flatnonzero(groups == each) for each in ids]
        draws = []
        for _ in range(300):
            drawn = np.concatenate([members[each] for each in rng.integers(0, len(ids), len(ids))])
            draws.append(statistic(rows[drawn], alone(300)).value)
        low, high = np.quantile(draws, (0.025, 0.975))
        assert estimate.low is not None
        assert estimate.high is not None
        assert (estimate.low, estimate.high) == (pytest.approx(low, abs=0.03), pytest.approx(high, abs=0.03))


def test_what_cannot_be_computed_says_why() -> None:
    assert fleiss_kappa(np.empty((0, 2), dtype=np.int64), alone(0)).value is None
    same = fleiss_kappa(np.array([[3, 0], [3, 0]]), alone(2))
    assert (same.value, same.reason) == (None, "all raters gave only one category, the same one")
    never = fleiss_kappa(np.array([[3, 0], [0, 3]]), alone(2))
    assert (never.value, never.low, never.reason) == (1.0, None, "no interval: the raters never differ")
    with pytest.raises(ValueError, match="the same number of raters"):
        fleiss_kappa(np.array([[3, 0], [1, 1]]), alone(2))
    assert interval_alpha(np.full((4, 2), np.nan), alone(4)).reason == "no item with two values"
    assert interval_alpha(np.full((4, 2), 2.0), alone(4)).reason == "every value is the same"
    equal = interval_alpha(np.array([[1.0, 1.0], [4.0, 4.0]]), alone(2))
    assert (equal.value, equal.low) == (1.0, None)
