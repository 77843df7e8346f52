"""AUROC: the chance that a bad answer scores worse than a good one, ties counted half.

Interval: E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (Biometrics, 1988), in N. A. Obuchowski's form for
clustered rows, "Nonparametric analysis of clustered ROC curve data" (Biometrics, 1997), which it equals where every
row stands alone.
"""

import math

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.ranks import mid_ranks
from judgeboard.stats.student import Z

SEPARATED = "no interval: the scores separate the classes completely"


def auroc(score: FloatArray, bad: BoolArray, groups: Grouping) -> Estimate:
    """Return the AUROC of ``score`` (lower is worse, as groundedness is) for telling ``bad`` rows from the others.

    Undefined where one of both classes is empty; its n counts all rows.
    """
    n = len(score)
    if (reason := missing_class(bad)) is not None:
        return unmeasured(n, reason)
    beaten = _beaten(score, bad)
    value = float(beaten[bad].mean())
    variance = _variance(beaten - value, bad, groups)
    if variance is None:
        return measured(value, n, reason="no interval: a class stands on one evidence group only")
    if variance < 1e-18:
        return measured(value, n, reason=SEPARATED)
    reach = Z * math.sqrt(variance)
    method = "DeLong" if groups.all_distinct else "DeLong, clustered (Obuchowski)"
    return measured(value, n, (max(value - reach, 0), min(value + reach, 1)), method=method, unit=groups.unit)


def missing_class(bad: BoolArray) -> str | None:
    """Return why nothing can be detected where people found no ``bad`` answer, or no other one; else None."""
    if not len(bad):
        return "no pairs"
    if bad.any() and not bad.all():
        return None
    return f"undefined: people found no {'good' if bad.any() else 'bad'} answer here"


def _beaten(score: FloatArray, bad: BoolArray) -> FloatArray:
    """Return for each row the share of the other class that it is told from rightly, ties counted half."""
    ranks = mid_ranks(score)
    n_bad = np.bincount(ranks.levels, weights=bad, minlength=ranks.counts.size)
    n_good = ranks.counts - n_bad
    good_above = (np.cumsum(n_good[::-1])[::-1] - n_good / 2) / n_good.sum()
    bad_below = (np.cumsum(n_bad) - n_bad / 2) / n_bad.sum()
    beaten: FloatArray = np.where(bad, good_above[ranks.levels], bad_below[ranks.levels])
    return beaten


def _variance(centred: FloatArray, bad: BoolArray, groups: Grouping) -> float | None:
    """Return Obuchowski's variance, None where a class stands on a single group."""
    sizes = np.array([int(bad.sum()), int((~bad).sum())])
    touched = groups.touched(bad), groups.touched(~bad)
    if min(touched) < 2:
        return None
    of_bad = groups.sums(np.where(bad, centred, 0.0)) / sizes[0]
    of_good = groups.sums(np.where(bad, 0.0, centred)) / sizes[1]
    within = [
        count / (count - 1) * float(np.square(side).sum())
        for count, side in zip(touched, (of_bad, of_good), strict=True)
    ]
    between = groups.count / (groups.count - 1) * float((of_bad * of_good).sum())
    return sum(within) + 2 * between
