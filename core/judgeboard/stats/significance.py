"""Tests of significance, and p-values corrected for the number of tests."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, mid_ranks


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value from the numbers of cases that only the first or only the second passed."""
    from scipy.special import bdtr  # loads slowly

    if min(only_first, only_second) < 0:
        raise ValueError("counts of cases must not be negative")
    n, fewer = only_first + only_second, min(only_first, only_second)
    return 1.0 if 2 * fewer == n else min(2 * float(bdtr(fewer, n, 0.5)), 1.0)


def wilcoxon_below(differences: FloatArray) -> float:
    """Return the probability of ranks this low if ``differences`` (a few hundred at most) are symmetric around 0."""
    nonzero = differences[np.abs(differences) > TIE]
    if not len(nonzero):
        return 1.0
    ranks = mid_ranks(np.abs(nonzero))
    doubled = np.rint(2 * len(nonzero) * ranks.shares + 1).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled.tolist():
        with_it = np.zeros_like(chances)
        with_it[rank:] = chances[: len(chances) - rank]
        chances = (chances + with_it) / 2
    return min(float(chances[: int(doubled[nonzero > 0].sum()) + 1].sum()), 1.0)


def benjamini_yekutieli(p: npt.ArrayLike) -> BoolArray:
    """Return which tests with these ``p`` values are rejected at a false discovery rate of 0.05."""
    values = np.asarray(p, dtype=np.float64)
    rank = np.arange(1, values.size + 1)
    low_enough = np.flatnonzero(np.sort(values) <= rank * 0.05 / (values.size * (1 / rank).sum()))
    return (
        values <= np.sort(values)[low_enough[-1]]
        if low_enough.size
        else np.zeros(values.size, dtype=np.bool_)
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values adjusted for the number of tests, in the same order (S. Holm, 1979)."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
