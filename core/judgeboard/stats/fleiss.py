"""Fleiss' kappa: agreement of several raters on categories, corrected for what chance would give.

Source: J. L. Fleiss, "Measuring nominal scale agreement among many raters" (Psychological Bulletin, 1971).
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import correlation_estimate


def fleiss_kappa(votes: IntArray, groups: Grouping) -> Estimate:
    """Return the agreement of equally many raters on every item, with its interval by evidence group.

    Args:
        votes: How many raters put each item in each category, shape (items, categories); every row sums to the same
            number of raters, two at least.
        groups: The evidence group of each item.

    Raises:
        ValueError: Rows of unequal sums, or fewer than two raters.
    """
    n = len(votes)
    if n == 0:
        return unmeasured(0, "no item that all judges labelled")
    raters = int(votes[0].sum())
    if raters < 2 or (votes.sum(axis=1) != raters).any():
        raise ValueError("Fleiss' kappa needs the same raters, two or more, on every item")
    shares = votes / raters
    alike: FloatArray = (votes * (votes - 1)).sum(axis=1) / (raters * (raters - 1))
    of_category = shares.mean(axis=0)
    observed, expected = float(alike.mean()), float(np.square(of_category).sum())
    if np.isclose(expected, 1):
        return unmeasured(n, "undefined: all judges gave one and the same label throughout")
    value = (observed - expected) / (1 - expected)
    if observed == 1:
        return measured(value, n, reason="no interval: the judges never differ")
    moved_expected = 2 * (shares - of_category) @ of_category
    influence = (alike - observed) / (1 - expected) + (observed - 1) / (1 - expected) ** 2 * moved_expected
    return correlation_estimate(value, influence, groups)
