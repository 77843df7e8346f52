"""Array types and helpers of the statistics: evidence groups, ranks with ties."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

TIE = 1e-9
"""Scores nearer than this are the same score. Otherwise float noise would make or break ties."""


def finite_floats(values: npt.ArrayLike) -> FloatArray:
    """Return ``values`` as a one-dimensional float array; raise ValueError if one is missing or infinite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected one dimension, got {array.ndim}")
    if not np.isfinite(array).all():
        raise ValueError("a value is missing or infinite: leave such values out and count them")
    return array


def same_length(*arrays: AnyArray) -> int:
    """Return the common length of ``arrays``; raise ValueError if lengths differ."""
    lengths = {len(array) for array in arrays}
    if len(lengths) != 1:
        raise ValueError(
            f"arrays of unequal length: {', '.join(str(len(array)) for array in arrays)}"
        )
    return lengths.pop()


def tie_codes(values: FloatArray) -> IntArray:
    """Return integers in the order of ``values``, equal if two values round to the same 1e-9."""
    return np.rint(values / TIE).astype(np.int64)


def among(values: IntArray, ordered: IntArray) -> BoolArray:
    """Return which of ``values`` occur in ``ordered`` (ascending). For a whole log, `numpy.isin` is faster."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[at] == values)


def renumbered(numbers: IntArray) -> IntArray:
    """Return numbers in the same order without gaps, from 0 on."""
    # To sort a few costs less than to count up to the largest.
    if numbers.min(initial=0) < 0 or 8 * len(numbers) < numbers.max(initial=0):
        return np.unique(numbers, return_inverse=True)[1]
    without_gaps: IntArray = (np.cumsum(np.bincount(numbers) > 0) - 1)[numbers]
    return without_gaps


def no_ints() -> IntArray:
    """Return an empty column of whole numbers."""
    return np.empty(0, dtype=np.int64)


def no_floats() -> FloatArray:
    """Return an empty column of numbers."""
    return np.empty(0)


def ratio(upper: FloatArray, lower: FloatArray, *, above: float = 0.0) -> FloatArray:
    """Return ``upper`` / ``lower`` (shapes broadcast), NaN where ``lower`` is not above ``above``."""
    empty = np.full(np.broadcast_shapes(np.shape(upper), np.shape(lower)), np.nan)
    quotient: FloatArray = np.divide(upper, lower, out=empty, where=lower > above)
    return quotient


def row_sums(tables: FloatArray) -> FloatArray:
    """Return the sums over the last axis; much faster than `numpy.sum` if that axis is short."""
    sums: FloatArray = np.einsum("...i->...", tables)
    return sums


def column_sums(tables: FloatArray) -> FloatArray:
    """Return the sums over the last axis but one."""
    sums: FloatArray = np.einsum("...ij->...j", tables)
    return sums


@dataclass(frozen=True, slots=True)
class Grouping:
    """The evidence group of each row (``codes``, 0 to ``count`` - 1) and the number of groups.

    Group numbers follow the order of the ids, so that results do not depend on the order of the
    rows. ``row`` and ``group`` are the nouns for a row and a group.
    """

    codes: IntArray
    count: int
    row: str = "response"
    group: str = "evidence group"

    @property
    def all_distinct(self) -> bool:
        """Whether every row is a separate group."""
        return self.count == len(self.codes)

    @property
    def unit(self) -> str:
        """The noun for what an interval resamples."""
        return self.row if self.all_distinct else self.group

    @property
    def only_one(self) -> str:
        """The reason why there is no interval if all rows are in one group."""
        return f"no interval: one {self.group} only"

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of ``values`` (one per row) within each group, shape (count,)."""
        if self.all_distinct:
            return values
        return np.bincount(self.codes, weights=values, minlength=self.count).astype(
            np.float64, copy=False
        )

    def at(self, rows: AnyArray) -> "Grouping":
        """Return the grouping of some of the rows, by a mask or by positions."""
        return replace(grouping_of_numbers(self.codes[rows]), row=self.row, group=self.group)

    def touched(self, rows: BoolArray) -> int:
        """Return how many groups have a row among ``rows`` (a mask)."""
        return int(rows.sum()) if self.all_distinct else int(np.unique(self.codes[rows]).size)


def grouping(
    ids: AnyArray | None, n: int, *, row: str = "response", group: str = "evidence group"
) -> Grouping:
    """Return the groups of ``n`` rows from one id per row; without ids each row is a separate group."""
    if ids is None:
        return Grouping(np.arange(n, dtype=np.int64), n, row, group)
    same_length(ids, np.empty(n))
    distinct, codes = np.unique(ids, return_inverse=True)
    return Grouping(codes.astype(np.int64, copy=False), len(distinct), row, group)


def grouping_of_numbers(numbers: IntArray) -> Grouping:
    """Return the groups of rows from small numbers, which may have gaps; no sort is needed."""
    codes = renumbered(numbers)
    return Grouping(codes, int(codes.max(initial=-1)) + 1)


@dataclass(frozen=True, slots=True)
class MidRanks:
    """Values as ascending distinct levels: ``levels`` is each row's level, ``counts`` the number of rows per level."""

    levels: IntArray
    counts: IntArray

    @property
    def shares(self) -> FloatArray:
        """The share of rows below each row, plus half the share of equal rows: (average rank - 1/2) / n."""
        return ((np.cumsum(self.counts) - self.counts / 2) / len(self.levels))[self.levels]

    def mean_above(self, values: FloatArray) -> FloatArray:
        """Return for each row the sum of ``values`` over rows above and half the sum over equal rows, divided by n."""
        by_level = np.bincount(self.levels, weights=values, minlength=self.counts.size)
        above = np.cumsum(by_level[::-1])[::-1] - by_level / 2
        return (above / len(self.levels))[self.levels]


def mid_ranks(values: FloatArray) -> MidRanks:
    """Return the ranks of ``values``, rounded to 1e-9 first so that float noise neither makes nor breaks ties."""
    _, levels, counts = np.unique(tie_codes(values), return_inverse=True, return_counts=True)
    return MidRanks(levels.astype(np.int64, copy=False), counts)


def mid_ranks_within(values: FloatArray, codes: IntArray) -> FloatArray:
    """Return the rank of each value among the rows with the same code, from 1; equal values share the average rank."""
    _, level = np.unique(tie_codes(values), return_inverse=True)
    _, cell, counts = np.unique(
        codes * (level.max() + 1) + level, return_inverse=True, return_counts=True
    )
    ends = np.cumsum(counts)
    before = np.concatenate(([0], np.cumsum(np.bincount(codes))))[codes]  # rows with a lower code
    return ((ends - (counts - 1) / 2)[cell] - before).astype(np.float64)
