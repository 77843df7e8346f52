"""Means that are compared: before and after a change, in one part of the rows and in the rest."""

import math

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, same_length
from judgeboard.stats.bootstrap import bootstrapped
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.grouping import Grouping, grouping
from judgeboard.stats.influence import METHOD, mean_estimate, standard_error
from judgeboard.stats.resampling import resampled_tables
from judgeboard.stats.student import t_quantile

_CHANGE_DECIMALS = 9


def mean_change(before: FloatArray, after: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of after - before with its interval; where every change is the same, that is the interval."""
    n = same_length(before, after)
    if n == 0:
        return unmeasured(0, "no pairs")
    changes = after - before
    if groups.count > 1 and np.ptp(changes) < TIE:
        value = float(changes.mean())
        return measured(value, n, (value, value), method="every change is the same", unit=groups.unit)
    return mean_estimate(changes, groups)


def difference_of_means(values: FloatArray, inside: BoolArray, groups: Grouping) -> Estimate:
    """Return the mean of the rows ``inside`` less that of the others, with its interval by evidence group.

    Student's t has the degrees of freedom of the smaller side, so that a few rows on one of them are not taken for
    many. Undefined where a side is empty.
    """
    n_inside, n_outside = int(inside.sum()), int((~inside).sum())
    n = n_inside + n_outside
    if not n_inside or not n_outside:
        return unmeasured(n, "one of the two sides is empty")
    of_inside, of_outside = float(values[inside].mean()), float(values[~inside].mean())
    value = of_inside - of_outside
    smaller = min(groups.touched(inside), groups.touched(~inside))
    if smaller < 2:
        return measured(value, n, reason="no interval: one side stands on one evidence group only")
    influence = np.where(inside, (values - of_inside) * n / n_inside, -(values - of_outside) * n / n_outside)
    reach = float(t_quantile(smaller - 1)) * standard_error(influence, groups)
    if math.isclose(reach, 0, abs_tol=TIE):
        return measured(value, n, reason="no interval: no spread on either side")
    return measured(value, n, (value - reach, value + reach), method=METHOD, unit=groups.unit)


def mean_paired_change(changes: npt.ArrayLike) -> Estimate:
    """Return the mean of ``changes`` (second less first, one per case) with the interval of resampled cases.

    Resampling cases keeps the two measurements of a case together, which is what makes the bootstrap paired.
    """
    given = np.round(np.asarray(changes, dtype=np.float64), _CHANGE_DECIMALS)
    if given.size == 0:
        return unmeasured(0, "no case was measured in both")
    value = float(given.mean())
    if given.size == 1:
        return measured(value, 1, reason="no interval: a single case")
    distinct, cells = np.unique(given, return_inverse=True)
    groups = grouping(None, given.size)
    drawn = resampled_tables(cells.astype(np.int64), distinct.size, groups)
    return bootstrapped(value, given.size, drawn @ distinct / given.size, groups, "paired; ")
