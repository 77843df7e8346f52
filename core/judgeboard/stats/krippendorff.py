"""Krippendorff's alpha with the interval metric: agreement of repeated scores, corrected for chance.

Source: K. Krippendorff, *Content Analysis* (2004), 11.3; the disagreement of two values is their squared difference.
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import Grouping, grouping
from judgeboard.stats.influence import correlation_estimate


def interval_alpha(values: FloatArray, groups: Grouping) -> Estimate:
    """Return alpha of scores of the same items, with its interval by evidence group.

    Args:
        values: One row per item, one column per repeat, NaN where a value is missing; items with fewer than two
            values tell nothing and are left out.
        groups: The evidence group of each item.
    """
    given = ~np.isnan(values)
    m = given.sum(axis=1)
    usable = m >= 2
    if not usable.any():
        return unmeasured(0, "no item with two values")
    x, m = np.where(given, values, 0.0)[usable], m[usable]
    # Differences are what counts: centred sums lose no digits.
    x = np.where(given[usable], x - x.sum() / m.sum(), 0.0)
    total, squares = x.sum(axis=1), np.square(x).sum(axis=1)
    within = 2 * (m * squares - total**2) / (m - 1)
    all_m, all_total, all_squares, all_within = m.sum(), total.sum(), squares.sum(), within.sum()
    spread = all_m * all_squares - all_total**2
    n = int(usable.sum())
    if np.isclose(spread, 0):
        return unmeasured(n, "undefined: every value is the same")
    scale = (all_m - 1) / (2 * spread)
    value = float(1 - all_within * scale)
    if np.isclose(all_within, 0):
        return measured(value, n, reason="no interval: the repeats never differ")
    moved_spread = all_squares * m + all_m * squares - 2 * all_total * total
    moved = within * scale + all_within * m / (2 * spread) - all_within * scale / spread * moved_spread
    return correlation_estimate(value, -n * moved, grouping(groups.codes[usable], n))
