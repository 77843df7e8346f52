"""Evidence groups: which rows stand on the same query and passages, and so do not count as independent."""

from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, same_length


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rows by evidence group: ``codes`` (one per row, 0 to ``count`` - 1) and the number of groups.

    Group numbers follow the order of the ids, so that results do not depend on the order of the rows. ``row`` and
    ``group`` name what a row and what a group is.
    """

    codes: IntArray
    count: int
    row: str = "response"
    group: str = "evidence group"

    @property
    def all_distinct(self) -> bool:
        """Whether every row is a group of its own."""
        return self.count == len(self.codes)

    @property
    def unit(self) -> str:
        """What an interval resamples, as a page names it."""
        return self.row if self.all_distinct else self.group

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` (one per row) within each group, shape (count,)."""
        if self.all_distinct:
            return values
        return np.bincount(self.codes, weights=values, minlength=self.count).astype(np.float64, copy=False)

    def at(self, rows: AnyArray) -> "Grouping":
        """Return the grouping of some of the rows, by a mask or by positions."""
        return grouping(self.codes[rows], len(self.codes[rows]), row=self.row, group=self.group)

    def touched(self, rows: BoolArray) -> int:
        """Return how many groups have a row among ``rows`` (a mask)."""
        return int(rows.sum()) if self.all_distinct else int(np.unique(self.codes[rows]).size)


def grouping(ids: AnyArray | None, n: int, *, row: str = "response", group: str = "evidence group") -> Grouping:
    """Return the evidence groups of ``n`` rows from one id per row; without ids every row stands alone.

    ``row`` and ``group`` are what an interval says that it resamples: where people are stacked, say, a row is a
    ``grade`` and the group a ``response``.
    """
    if ids is None:
        return Grouping(np.arange(n, dtype=np.int64), n, row, group)
    same_length(ids, np.empty(n))
    distinct, codes = np.unique(ids, return_inverse=True)
    return Grouping(codes.astype(np.int64, copy=False), len(distinct), row, group)
