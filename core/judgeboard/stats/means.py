"""Means, differences of means, and medians."""

import math

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, Grouping, grouping, same_length
from judgeboard.stats.estimates import Z, measured, t_quantile, unmeasured
from judgeboard.stats.intervals import (
    METHOD,
    bootstrapped,
    mean_estimate,
    resampled_tables,
    standard_error,
)


def mean_interval(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    total_of_squares: npt.ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
    design_effect: float = 1.0,
) -> tuple[Estimate, ...]:
    """Return the mean of each point with a t interval within ``bounds``, wider by the ``design_effect``.

    ``n``, ``total`` and ``total_of_squares`` have one entry per point. Raises ValueError if lengths
    differ, or a count is negative.
    """
    counts = np.atleast_1d(np.asarray(n, dtype=np.int64))
    totals, squares = (
        np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (total, total_of_squares)
    )
    if not counts.shape == totals.shape == squares.shape or (counts < 0).any():
        raise ValueError(
            "n, total and total_of_squares must have the same length, and n must not be negative"
        )
    sizes, freedom = np.maximum(counts, 1), np.maximum(counts - 1, 1)
    means = totals / sizes
    spread = squares - totals * means
    # If all values are equal, the subtraction leaves only rounding noise.
    real = (spread > 1e-12 * np.maximum(squares, 1e-300)) & (counts > 1)
    variances = np.where(real, spread, 0.0) / freedom
    reaches = t_quantile(freedom) * np.sqrt(variances / sizes) * math.sqrt(design_effect)
    columns = zip(counts.tolist(), means.tolist(), reaches.tolist(), strict=True)
    return tuple(_estimate(size, mean, reach, bounds) for size, mean, reach in columns)


def _estimate(n: int, mean: float, reach: float, bounds: tuple[float, float] | None) -> Estimate:
    if n == 0:
        return unmeasured(0, "no answers")
    if n == 1:
        return measured(mean, 1, reason="no interval: a single answer")
    if reach == 0:
        return measured(mean, n, reason="no interval: all values are equal")
    low, high = mean - reach, mean + reach
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return measured(mean, n, (low, high), method="Student's t", unit="response")


_CHANGE_DECIMALS = 9


def mean_change(before: FloatArray, after: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of after - before with an interval. If all changes are equal, both ends are this change."""
    n = same_length(before, after)
    if n == 0:
        return unmeasured(0, "no pairs")
    changes = after - before
    if groups.count > 1 and np.ptp(changes) < TIE:
        value = float(changes.mean())
        return measured(
            value, n, (value, value), method="every change is the same", unit=groups.unit
        )
    return mean_estimate(changes, groups)


def difference_of_means(values: FloatArray, inside: BoolArray, groups: Grouping) -> Estimate:
    """Return the mean of the rows ``inside`` minus the mean of the other rows; undefined if a side is empty.

    Student's t has the degrees of freedom of the smaller side.
    """
    n_inside, n_outside = int(inside.sum()), int((~inside).sum())
    n = n_inside + n_outside
    if not n_inside or not n_outside:
        return unmeasured(n, "one of the two sides is empty")
    of_inside, of_outside = float(values[inside].mean()), float(values[~inside].mean())
    value = of_inside - of_outside
    smaller = min(groups.touched(inside), groups.touched(~inside))
    if smaller < 2:
        return measured(
            value, n, reason="no interval: all answers of one side are in one evidence group"
        )
    influence = np.where(
        inside, (values - of_inside) * n / n_inside, -(values - of_outside) * n / n_outside
    )
    reach = float(t_quantile(smaller - 1)) * standard_error(influence, groups)
    if math.isclose(reach, 0, abs_tol=TIE):
        return measured(value, n, reason="no interval: no spread on either side")
    return measured(value, n, (value - reach, value + reach), method=METHOD, unit=groups.unit)


def mean_paired_change(changes: npt.ArrayLike) -> Estimate:
    """Return the mean of ``changes`` (second minus first, one per case) with a paired bootstrap over cases."""
    rounded = np.round(np.asarray(changes, dtype=np.float64), _CHANGE_DECIMALS)
    if rounded.size == 0:
        return unmeasured(0, "no case was measured in both")
    value = float(rounded.mean())
    if rounded.size == 1:
        return measured(value, 1, reason="no interval: a single case")
    distinct, cells = np.unique(rounded, return_inverse=True)
    groups = grouping(None, rounded.size)
    tables = resampled_tables(cells.astype(np.int64), distinct.size, groups)
    return bootstrapped(value, rounded.size, tables @ distinct / rounded.size, groups, "paired; ")


def median(values: npt.ArrayLike) -> Estimate:
    """Return the median of ``values``; the interval is between two order statistics (Conover, 1999, section 3.2)."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = ordered.size
    if n == 0:
        return unmeasured(0, "no values")
    value, reach = float(np.median(ordered)), Z * math.sqrt(n) / 2
    first, last = math.floor(n / 2 - reach), math.ceil(n / 2 + reach)
    if first < 0 or last >= n:
        return measured(value, n, reason="no interval: too few values")
    return measured(
        value,
        n,
        (float(ordered[first]), float(ordered[last])),
        method="order statistics",
        unit="value",
    )
