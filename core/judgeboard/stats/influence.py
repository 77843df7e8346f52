"""Intervals from influence: how much each row moves a statistic, added up by evidence group.

The variance is the cluster-robust ("sandwich") one with Student's t on groups - 1 degrees of freedom. Sources:
F. R. Hampel, "The influence curve and its role in robust estimation" (JASA, 1974); K.-Y. Liang, S. L. Zeger,
"Longitudinal data analysis using generalized linear models" (Biometrika, 1986).
"""

import math

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray
from judgeboard.stats.estimates import measured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.student import t_quantile

METHOD = "influence function"

_NO_ERROR = 1e-9


def standard_error(influence: FloatArray, groups: Grouping) -> float:
    """Return the standard error of a statistic from the influence of each row on it (mean 0) and the rows' groups."""
    by_group = groups.sums(influence - influence.mean())
    return math.sqrt(groups.count / (groups.count - 1) * float(np.square(by_group).sum())) / len(influence)


def mean_estimate(values: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of ``values`` (one per row, at least one) with its interval by evidence group."""
    return _estimate(float(values.mean()), values, groups, fisher=False)


def correlation_estimate(value: float, influence: FloatArray, groups: Grouping) -> Estimate:
    """Return a correlation with its interval, taken on Fisher's z scale so that it stays within -1 and 1."""
    return _estimate(min(max(value, -1.0), 1.0), influence, groups, fisher=True)


def _estimate(value: float, influence: FloatArray, groups: Grouping, *, fisher: bool) -> Estimate:
    n = len(influence)
    if groups.count == 1:
        return measured(value, n, reason="no interval: one evidence group only")
    error = standard_error(influence, groups)
    if error < _NO_ERROR:
        reason = "no interval: all points lie on one line" if fisher else "no interval: all values are equal"
        return measured(value, n, reason=reason)
    reach = float(t_quantile(groups.count - 1)) * error
    if fisher:
        centre, reach = math.atanh(value), reach / (1 - value**2)
        interval = math.tanh(centre - reach), math.tanh(centre + reach)
    else:
        interval = value - reach, value + reach
    method = f"{METHOD} on Fisher's z" if fisher else METHOD
    return measured(value, n, interval, method=method, unit=groups.unit)
