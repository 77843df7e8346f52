"""Percent agreement of several raters: of two that rated the same item, how often they say the same.

Source: J. L. Fleiss, "Measuring nominal scale agreement among many raters" (1971), eq. 2; items count equally.
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray
from judgeboard.stats.bootstrap import wilson_on_groups
from judgeboard.stats.estimates import leaving_out, unmeasured
from judgeboard.stats.influence import share_estimate
from judgeboard.stats.ratings import Ratings

NO_ITEM = "no item with two ratings"
FEW_RATINGS = "items with one rating"
NO_RATING = "items without a rating"


def agreement_by_item(votes: FloatArray, weights: FloatArray) -> FloatArray:
    """Return how far two raters of each item agree on average, 0 to 1; 0 where an item has fewer than two.

    Args:
        votes: How many raters put each item in each category, shape (items, k).
        weights: How much each two categories agree, shape (k, k), 1 on the diagonal.
    """
    m = votes.sum(axis=1)
    pairs = m * (m - 1)
    alike = (votes * (votes @ weights - 1)).sum(axis=1)
    by_item: FloatArray = np.divide(alike, pairs, out=np.zeros(len(votes)), where=pairs > 0)
    return by_item


def percent_agreement(ratings: Ratings) -> Estimate:
    """Return the share of pairs of ratings of one item that are the same, as the mean over items.

    Its n counts the items with two ratings at least; the others are left out.
    """
    usable = ratings.per_item >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, NO_ITEM)
    groups = ratings.groups.at(usable)
    alike = agreement_by_item(ratings.votes[usable].astype(np.float64), np.eye(ratings.k))
    if np.ptp(alike) == 0 and alike[0] in {0, 1}:
        found = wilson_on_groups(float(alike[0]), n, groups.count, groups.unit)
    else:
        found = share_estimate(float(alike.mean()), alike, groups)
    return leaving_out(found, *few_ratings(ratings))


def few_ratings(ratings: Ratings) -> tuple[tuple[str, int], ...]:
    """Return the items that tell nothing of agreement, as (why, how many)."""
    return (FEW_RATINGS, int((ratings.per_item == 1).sum())), (NO_RATING, int((ratings.per_item == 0).sum()))
