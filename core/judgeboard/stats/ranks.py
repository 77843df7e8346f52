"""Average ranks, and the distribution functions they stand for, with ties counted half."""

from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import FloatArray, IntArray, tie_codes


@dataclass(frozen=True, slots=True)
class MidRanks:
    """Values as distinct levels in ascending order: ``levels`` (one per row) numbers them, ``counts`` their rows."""

    levels: IntArray
    counts: IntArray

    @property
    def shares(self) -> FloatArray:
        """The share of rows below each row's value, plus half of those equal to it: (average rank - 1/2) / n."""
        return ((np.cumsum(self.counts) - self.counts / 2) / len(self.levels))[self.levels]

    def mean_above(self, values: FloatArray) -> FloatArray:
        """Return for each row the sum of ``values`` over rows above it, plus half of those equal to it, over n."""
        by_level = np.bincount(self.levels, weights=values, minlength=self.counts.size)
        above = np.cumsum(by_level[::-1])[::-1] - by_level / 2
        return (above / len(self.levels))[self.levels]


def mid_ranks(values: FloatArray) -> MidRanks:
    """Return the ranks of ``values``, rounded to 1e-9 first so that float noise neither makes nor breaks ties."""
    _, levels, counts = np.unique(tie_codes(values), return_inverse=True, return_counts=True)
    return MidRanks(levels.astype(np.int64, copy=False), counts)
