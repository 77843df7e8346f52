"""Kendall's tau-b: of two pairs of scores, how much more often they are in the same order than not, ties counted out.

Sources: M. G. Kendall, "The treatment of ties in ranking problems" (Biometrika, 1945); influence function as in
C. Croux, C. Dehon, "Influence functions of the Spearman and Kendall correlation measures" (2010), with that of the
shares of ties. Rows in order are counted bit by bit of their rank, in n log n steps and n numbers of memory.
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.correlation import constant_side
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import correlation_estimate
from judgeboard.stats.ranks import MidRanks, mid_ranks


def kendall(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return tau-b of scores rounded to 1e-9; undefined where a side is constant."""
    if (reason := constant_side(judge, people)) is not None:
        return unmeasured(len(judge), reason)
    x, y, n = mid_ranks(judge), mid_ranks(people), len(judge)
    order = _order_with_all(x, y) / n
    tied = [each.counts[each.levels] / n for each in (x, y)]
    # Of two rows drawn with replacement: how often one is above the other on each side, and on both alike.
    apart = [1 - float(share.mean()) for share in tied]
    alike, root = float(order.mean()), float(np.sqrt(apart[0] * apart[1]))
    value = alike / root
    moved_apart = sum((float(share.mean()) - share) / rest for share, rest in zip(tied, apart, strict=True))
    influence: FloatArray = 2 * (order - alike) / root - value * moved_apart
    return correlation_estimate(value, influence, groups)


def _order_with_all(x: MidRanks, y: MidRanks) -> FloatArray:
    """Return for each row how many rows it is in the same order with on both sides, less those in opposite order."""
    n = len(x.levels)
    below_x, below_y = (np.cumsum(each.counts) - each.counts for each in (x, y))
    below = (below_x[x.levels], below_y[y.levels])
    same = (x.counts[x.levels], y.counts[y.levels])
    # Sorted by x, equals of x from the highest y down: of those before a row none that is its equal in x is below it.
    order = np.lexsort((-y.levels, x.levels))
    both_below = np.empty(n, dtype=np.int64)
    both_below[order] = _before_and_below(y.levels[order])
    below_on_equal_y, equal_on_both = _within(y.levels, x.levels)
    below_on_equal_x, _ = _within(x.levels, y.levels)
    x_below_y_above = below[0] - both_below - below_on_equal_y
    y_below_x_above = below[1] - both_below - below_on_equal_x
    above_on_equal_y = same[1] - below_on_equal_y - equal_on_both
    both_above = (n - below[0] - same[0]) - y_below_x_above - above_on_equal_y
    order_with_all: FloatArray = (both_below + both_above - x_below_y_above - y_below_x_above).astype(np.float64)
    return order_with_all


def _within(outer: IntArray, inner: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each row, of those with its ``outer``, how many have a lower ``inner``, and how many the same."""
    width = int(inner.max()) + 1
    cells, at, counts = np.unique(outer * width + inner, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    outer_of_cell = cells // width
    first = np.searchsorted(outer_of_cell, outer_of_cell)
    return (before - before[first])[at], counts[at]


def _before_and_below(levels: IntArray) -> IntArray:
    """Return for each row how many rows before it have a lower level.

    Rows are split by the highest bit of their level, then by the next within each half, keeping their order: a row
    whose bit is set has below it those before it in its part whose bit is not.
    """
    n = len(levels)
    at, part, found = np.arange(n), levels, np.zeros(n, dtype=np.int64)
    for bit in reversed(range(int(levels.max()).bit_length())):
        upper = (part >> bit) & 1
        prefix = part >> (bit + 1)
        starts = np.flatnonzero(np.append(True, prefix[1:] != prefix[:-1]))
        sizes = np.diff(np.append(starts, n))
        lower_so_far = np.cumsum(1 - upper) - (1 - upper)
        lower_before = lower_so_far - np.repeat(lower_so_far[starts], sizes)
        found[at] += upper * lower_before
        start = np.repeat(starts, sizes)
        lower_in_part = np.repeat(np.add.reduceat(1 - upper, starts), sizes)
        place = np.where(upper == 1, np.arange(n) - lower_before + lower_in_part, start + lower_before)
        moved_at, moved_part = np.empty_like(at), np.empty_like(part)
        moved_at[place], moved_part[place] = at, part
        at, part = moved_at, moved_part
    return found
