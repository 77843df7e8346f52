"""Gwet's AC1 and AC2: agreement corrected for chance in a way that skewed classes do not upset.

Sources: K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement" (British
Journal of Mathematical and Statistical Psychology, 2008); *Handbook of Inter-Rater Reliability* (4th edition, 2014),
chapters 4 and 5, for weights and missing ratings.
"""

from functools import partial

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, column_sums, row_sums
from judgeboard.stats.estimates import leaving_out, unmeasured
from judgeboard.stats.jackknife import jackknifed
from judgeboard.stats.kappa import Weights, agreement_weights
from judgeboard.stats.pairwise_agreement import FEW_RATINGS, NO_ITEM, NO_RATING, agreement_by_item
from judgeboard.stats.ratings import Ratings


def gwet(ratings: Ratings, weights: Weights = "nominal") -> Estimate:
    """Return AC1 (nominal weights) or AC2 of any number of raters, cells may be missing.

    The categories are those that the scale declares, whichever occur. Items with one rating tell nothing of
    agreement, but count for how often each category is used, as Gwet has it. Its n counts the items with two ratings.
    """
    rated = ratings.per_item > 0
    votes, m = ratings.votes[rated].astype(np.float64), ratings.per_item[rated]
    usable = m >= 2
    n, items, k = int(usable.sum()), len(m), ratings.k
    if not n:
        return unmeasured(0, NO_ITEM)
    apart = agreement_weights(k, weights)
    alike = np.where(usable, agreement_by_item(votes, apart), 0.0)
    sums: FloatArray = np.column_stack((usable, alike, np.ones(items), votes / m[:, None]))
    of_sums = partial(_gwet_of_sums, chance=_chance(apart))
    found = jackknifed(sums, of_sums, ratings.groups.at(rated), n, alike="the raters never differ")
    return leaving_out(
        found, (f"{FEW_RATINGS}: counted for chance only", items - n), (NO_RATING, len(ratings.values) - items)
    )


def _gwet_of_sums(sums: FloatArray, chance: float) -> FloatArray:
    usable, rated = sums[..., 0], sums[..., 2]
    observed = np.divide(sums[..., 1], usable, out=np.full(np.shape(usable), np.nan), where=usable > 0)
    used = np.divide(sums[..., 3:], rated[..., None], out=np.zeros(sums[..., 3:].shape), where=rated[..., None] > 0)
    expected = chance * (used * (1 - used)).sum(axis=-1)
    ratio: FloatArray = (observed - expected) / (1 - expected)
    return ratio


def gwet_of_tables(tables: FloatArray, weights: Weights = "nominal") -> FloatArray:
    """Return AC1 or AC2 of two raters from each confusion table: shape (..., k, k) of counts in, (...) out.

    NaN for an empty table.
    """
    apart = agreement_weights(tables.shape[-1], weights)
    n = row_sums(row_sums(tables))
    size = np.where(n > 0, n, np.nan)
    observed = row_sums(row_sums(tables * apart)) / size
    used = (row_sums(tables) + column_sums(tables)) / (2 * size[..., None])
    expected = _chance(apart) * row_sums(used * (1 - used))
    ratio: FloatArray = (observed - expected) / (1 - expected)
    return ratio


def _chance(apart: FloatArray) -> float:
    """Return the share of random ratings that agree, as Gwet weighs it."""
    k = len(apart)
    if k < 2:
        raise ValueError("a scale has two categories at least")
    return float(apart.sum()) / (k * (k - 1))
