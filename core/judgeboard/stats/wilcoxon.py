"""Wilcoxon's signed-rank test, one-sided and exact also with ties: for few differences that no t-test should judge.

Sources: F. Wilcoxon, "Individual comparisons by ranking methods" (1945), zeros left out; the distribution counts all
2^n signs of the average ranks at hand.
"""

import numpy as np

from judgeboard.stats.arrays import TIE, FloatArray
from judgeboard.stats.ranks import mid_ranks


def wilcoxon_below(differences: FloatArray) -> float:
    """Return the chance of ranks as low as these, if ``differences`` lay around 0 evenly; 1 where all are 0.

    Meant for up to a few hundred differences: the work grows with the cube of their number.
    """
    moved = differences[np.abs(differences) > TIE]
    if not len(moved):
        return 1.0
    ranks = mid_ranks(np.abs(moved))
    doubled = np.rint(2 * len(moved) * ranks.shares + 1).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled.tolist():
        with_it = np.zeros_like(chances)
        with_it[rank:] = chances[: len(chances) - rank]
        chances = (chances + with_it) / 2
    return min(float(chances[: int(doubled[moved > 0].sum()) + 1].sum()), 1.0)
