"""Pearson's and Spearman's correlation, mean absolute difference and bias of two scores.

Influence functions: S. J. Devlin, R. Gnanadesikan, J. R. Kettenring, "Robust estimation and outlier detection with
correlation coefficients" (Biometrika, 1975), applied to Spearman's with the ranks' own estimation counted in, as in
C. Croux, C. Dehon, "Influence functions of the Spearman and Kendall correlation measures" (2010), ties counted half.
"""

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, FloatArray
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import correlation_estimate, mean_estimate
from judgeboard.stats.ranks import mid_ranks


def pearson(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return Pearson's correlation; undefined where a side is constant."""
    if (reason := constant_side(judge, people)) is not None:
        return unmeasured(len(judge), reason)
    x, y = (side - side.mean() for side in (judge, people))
    x, y = x / np.sqrt(np.mean(x * x)), y / np.sqrt(np.mean(y * y))
    value = float(np.mean(x * y))
    return correlation_estimate(value, x * y - value * (x * x + y * y) / 2, groups)


def spearman(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return Spearman's rank correlation (average ranks of values rounded to 1e-9); undefined where a side is constant.

    With u and v the mid-distribution functions of both sides it is the correlation of u and v; each row moves it by
    its own u v and by moving every rank above it.
    """
    if (reason := constant_side(judge, people)) is not None:
        return unmeasured(len(judge), reason)
    x, y = mid_ranks(judge), mid_ranks(people)
    u, v = x.shares, y.shares
    covariance, spread_u, spread_v = (float(np.mean(product)) - 0.25 for product in (u * v, u * u, v * v))
    value = covariance / np.sqrt(spread_u * spread_v)
    moves_covariance = u * v + x.mean_above(v) + y.mean_above(u)
    moves_spreads = (u * u + 2 * x.mean_above(u)) / spread_u + (v * v + 2 * y.mean_above(v)) / spread_v
    influence = moves_covariance / np.sqrt(spread_u * spread_v) - value / 2 * moves_spreads
    return correlation_estimate(float(value), influence, groups)


def mean_absolute_difference(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean distance of judge and people, in units of the score."""
    return mean_estimate(np.abs(judge - people), groups) if judge.size else unmeasured(0, "no pairs")


def bias(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of judge - people, in units of the score: below 0 the judge is the stricter."""
    return mean_estimate(judge - people, groups) if judge.size else unmeasured(0, "no pairs")


def constant_side(judge: FloatArray, people: FloatArray) -> str | None:
    """Return why no correlation is defined, None where one is: nothing to compare, or a side without spread."""
    if judge.size == 0:
        return "no pairs"
    for side, name in ((judge, "the judge"), (people, "people")):
        if np.ptp(side) < TIE:
            return f"undefined: {name} gave the same score throughout"
    return None
