"""Evidence groups: which rows stand on the same query and passages, and so do not count as independent."""

from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, same_length


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rows by evidence group: ``codes`` (one per row, 0 to ``count`` - 1) and the number of groups.

    Group numbers follow the order of the ids, so that results do not depend on the order of the rows.
    """

    codes: IntArray
    count: int

    @property
    def all_distinct(self) -> bool:
        """Whether every row is a group of its own."""
        return self.count == len(self.codes)

    @property
    def unit(self) -> str:
        """What an interval resamples, as a page names it."""
        return "response" if self.all_distinct else "evidence group"

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` (one per row) within each group, shape (count,)."""
        if self.all_distinct:
            return values
        return np.bincount(self.codes, weights=values, minlength=self.count).astype(np.float64, copy=False)

    def touched(self, rows: BoolArray) -> int:
        """Return how many groups have a row among ``rows`` (a mask)."""
        return int(rows.sum()) if self.all_distinct else int(np.unique(self.codes[rows]).size)


def grouping(ids: AnyArray | None, n: int) -> Grouping:
    """Return the evidence groups of ``n`` rows from one id per row; without ids every row stands alone."""
    if ids is None:
        return Grouping(np.arange(n, dtype=np.int64), n)
    same_length(ids, np.empty(n))
    distinct, codes = np.unique(ids, return_inverse=True)
    return Grouping(codes.astype(np.int64, copy=False), len(distinct))
