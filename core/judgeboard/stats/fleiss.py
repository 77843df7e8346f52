"""Fleiss' kappa: agreement of several raters on categories, corrected for what chance would give.

Source: J. L. Fleiss, "Measuring nominal scale agreement among many raters" (Psychological Bulletin, 1971).
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.estimates import leaving_out, unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.jackknife import jackknifed
from judgeboard.stats.pairwise_agreement import NO_ITEM
from judgeboard.stats.ratings import Ratings


def fleiss(ratings: Ratings) -> Estimate:
    """Return the agreement on items that equally many rated: as many as most items with two ratings have.

    Items with more or fewer raters are left out and counted; where two numbers are as common, the larger one counts.
    """
    counted = np.bincount(ratings.per_item, minlength=3)[2:]
    if not counted.any():
        return unmeasured(0, NO_ITEM)
    raters = 2 + int(np.flatnonzero(counted == counted.max())[-1])
    equal = ratings.per_item == raters
    found = fleiss_kappa(ratings.votes[equal], ratings.groups.at(equal))
    return leaving_out(found, (f"items without exactly {raters} ratings", int((~equal).sum())))


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
        return unmeasured(0, "no item that all raters labelled")
    raters = int(votes[0].sum())
    if raters < 2 or (votes.sum(axis=1) != raters).any():
        raise ValueError("Fleiss' kappa needs equally many raters, two or more, on every item")
    if np.count_nonzero(votes.any(axis=0)) == 1:
        return unmeasured(n, "undefined: all raters gave one and the same category throughout")
    alike = (votes * (votes - 1)).sum(axis=1) / (raters * (raters - 1))
    sums: FloatArray = np.column_stack((np.ones(n), alike, votes / raters))
    return jackknifed(sums, _fleiss_of_sums, groups, n, alike="the raters never differ")


def _fleiss_of_sums(sums: FloatArray) -> FloatArray:
    n = sums[..., 0]
    observed, expected = sums[..., 1] / n, np.square(sums[..., 2:] / n[..., None]).sum(axis=-1)
    chance = 1 - expected
    ratio: FloatArray = np.divide(
        observed - expected, chance, out=np.full(np.shape(chance), np.nan), where=chance > 1e-9
    )
    return ratio
