"""Intervals from influence: how much each row moves a statistic, added up by evidence group.

The variance is the cluster-robust ("sandwich") one with Student's t on groups - 1 degrees of freedom. Sources:
F. R. Hampel, "The influence curve and its role in robust estimation" (JASA, 1974); K.-Y. Liang, S. L. Zeger,
"Longitudinal data analysis using generalized linear models" (Biometrika, 1986).
"""

import math
from collections.abc import Callable
from typing import Literal

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
    return influence_estimate(float(values.mean()), values, groups)


def correlation_estimate(value: float, influence: FloatArray, groups: Grouping, *, n: int | None = None) -> Estimate:
    """Return a correlation with its interval, taken on Fisher's z scale so that it stays within -1 and 1.

    Agreement corrected for chance can lie below -1 on a handful of rows; there the interval is on its own scale.
    """
    if abs(value) > 1 + _NO_ERROR:
        return influence_estimate(value, influence, groups, n=n)
    return influence_estimate(min(max(value, -1.0), 1.0), influence, groups, scale="Fisher's z", n=n)


def share_estimate(value: float, influence: FloatArray, groups: Grouping, *, n: int | None = None) -> Estimate:
    """Return a number from 0 to 1 with its interval, taken on the logit scale so that it stays within them."""
    return influence_estimate(value, influence, groups, scale="the logit", n=n)


Scale = Literal["Fisher's z", "the logit"]


def influence_estimate(
    value: float, influence: FloatArray, groups: Grouping, *, scale: Scale | None = None, n: int | None = None
) -> Estimate:
    """Return a statistic with the interval that the influence of each row gives.

    Args:
        value: The statistic.
        influence: How much each row moves it, in its own units times the number of rows.
        groups: The evidence group of each row.
        scale: What the interval is taken on, None for the statistic itself.
        n: What the estimate says that it rests on, where that is not the number of rows.
    """
    n = len(influence) if n is None else n
    if groups.count == 1:
        return measured(value, n, reason=f"no interval: one {groups.group} only")
    return estimate_with_error(value, n, standard_error(influence, groups), groups, scale, METHOD)


def estimate_with_error(
    value: float, n: int, error: float, groups: Grouping, scale: Scale | None, method: str, *, skew: float = 0.0
) -> Estimate:
    """Return a statistic with the Student's t interval that its standard ``error`` gives on ``scale``.

    Where few groups carry a statistic, their influence is skewed to the right (``skew``, that of its sum, is above 0),
    and samples without them have a low value and a small error at once: the upper end then moves out by the correction
    of N. J. Johnson, "Modified t tests and confidence intervals for asymmetrical populations" (JASA, 1978). The lower
    end stays, since the scale has corrected for the other side.
    """
    slope, to, back = _SCALES[scale](value) if scale else (1.0, float, float)
    if error < _NO_ERROR or slope < _NO_ERROR:
        return measured(value, n, reason=_WITHOUT_SPREAD[scale])
    t = float(t_quantile(groups.count - 1))
    upper = t + max(skew, 0.0) * (2 * t * t + 1) / 6
    interval = back(to(value) - t * error / slope), back(to(value) + upper * error / slope)
    return measured(value, n, interval, method=method if scale is None else f"{method} on {scale}", unit=groups.unit)


_WITHOUT_SPREAD: dict[Scale | None, str] = {
    None: "no interval: all values are equal",
    "Fisher's z": "no interval: all points lie on one line",
    "the logit": "no interval: every row says the same",
}
_SCALES: dict[Scale, Callable[[float], tuple[float, Callable[[float], float], Callable[[float], float]]]] = {
    "Fisher's z": lambda value: (1 - value**2, math.atanh, math.tanh),
    "the logit": lambda value: (value * (1 - value), _logit, lambda x: (1 + math.tanh(x / 2)) / 2),
}
"""The slope's inverse at a value, the way to the scale, and the way back."""


def _logit(share: float) -> float:
    return math.log(share / (1 - share))
