"""Means, differences of means, and whether a trend changed."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, Grouping, IntArray, grouping, same_length
from judgeboard.stats.estimates import MIN_PAIRS, Z, measured, t_quantile, unmeasured
from judgeboard.stats.intervals import (
    METHOD,
    bootstrapped,
    mean_estimate,
    resampled_tables,
    share_intervals,
    standard_error,
)


@dataclass(frozen=True, slots=True)
class Sums:
    """Number of values, total and total of squares of each point: three arrays of equal shape."""

    n: IntArray
    total: FloatArray
    total_of_squares: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean of each point, 0 if it is empty."""
        return self.total / np.maximum(self.n, 1)

    @property
    def variance(self) -> FloatArray:
        """The variance (n - 1) of each point, 0 if all values are equal or n is under 2."""
        spread = self.total_of_squares - self.total * self.mean
        # If all values are equal, the subtraction leaves only rounding noise.
        real = (spread > 1e-12 * np.maximum(self.total_of_squares, 1e-300)) & (self.n > 1)
        return np.where(real, spread, 0.0) / np.maximum(self.n - 1, 1)

    @property
    def reach(self) -> FloatArray:
        """Half the width of each point's t interval, 0 if the variance is 0."""
        return t_quantile(np.maximum(self.n - 1, 1)) * np.sqrt(self.variance / np.maximum(self.n, 1))


def sums(n: npt.ArrayLike, total: npt.ArrayLike, total_of_squares: npt.ArrayLike) -> Sums:
    """Return the three arrays as ``Sums``; raise ValueError if their shapes differ or a count is negative."""
    counts = np.atleast_1d(np.asarray(n, dtype=np.int64))
    totals, squares = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (total, total_of_squares))
    if not counts.shape == totals.shape == squares.shape or (counts < 0).any():
        raise ValueError("n, total and total_of_squares must have the same length, and n must not be negative")
    return Sums(counts, totals, squares)


def mean_interval(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    total_of_squares: npt.ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
) -> tuple[Estimate, ...]:
    """Return the mean of each point with its t interval within ``bounds``; rows count as independent."""
    points = sums(n, total, total_of_squares)
    columns = zip(points.n.tolist(), points.mean.tolist(), points.reach.tolist(), strict=True)
    return tuple(_estimate(size, mean, reach, bounds) for size, mean, reach in columns)


def _estimate(n: int, mean: float, reach: float, bounds: tuple[float, float] | None) -> Estimate:
    if n == 0:
        return unmeasured(0, "no answers")
    if n == 1:
        return measured(mean, 1, reason="no interval: a single answer")
    if reach == 0:
        return measured(mean, n, reason=f"no interval: all {n:,} values are equal")
    low, high = mean - reach, mean + reach
    if bounds is not None:
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return measured(mean, n, (low, high), method="Student's t", unit="response")


_CHANGE_DECIMALS = 9


def mean_change(before: FloatArray, after: FloatArray, groups: Grouping) -> Estimate:
    """Return the mean of after - before with its interval. If all changes are equal, both ends are this change."""
    n = same_length(before, after)
    if n == 0:
        return unmeasured(0, "no pairs")
    changes = after - before
    if groups.count > 1 and np.ptp(changes) < TIE:
        value = float(changes.mean())
        return measured(value, n, (value, value), method="every change is the same", unit=groups.unit)
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
        return measured(value, n, reason="no interval: all answers of one side are in one evidence group")
    influence = np.where(inside, (values - of_inside) * n / n_inside, -(values - of_outside) * n / n_outside)
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
    drawn = resampled_tables(cells.astype(np.int64), distinct.size, groups)
    return bootstrapped(value, rounded.size, drawn @ distinct / rounded.size, groups, "paired; ")


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
    return measured(value, n, (float(ordered[first]), float(ordered[last])), method="order statistics", unit="value")


@dataclass(frozen=True, slots=True)
class Move:
    """A change of a trend at ``period`` (its index): the estimate ``before`` it, and ``after`` from it on."""

    period: int
    before: Estimate
    after: Estimate


def moved(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    total_of_squares: npt.ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
) -> Move | None:
    """Return the clearest change of a mean beyond its interval, None if there is none.

    Each period with answers is tried as the first one after the change. A change counts if the intervals before and
    after do not overlap and the difference is significant with Bonferroni's correction for the tries. Each side needs
    ten answers. The change with the largest difference in standard errors is returned. Periods are oldest first.
    """
    periods = sums(n, total, total_of_squares)
    before, after = _both_sides(periods)
    error = np.sqrt(before.variance / np.maximum(before.n, 1) + after.variance / np.maximum(after.n, 1))
    apart = np.abs(before.mean - after.mean)
    apart = np.where(apart < TIE, 0.0, apart)  # the sums of equal values differ by rounding
    split = _clearest(periods, before, after, apart, error, apart > before.reach + after.reach)
    if split is None:
        return None
    sides = (mean_interval(side.n, side.total, side.total_of_squares, bounds=bounds) for side in (before, after))
    return Move(split, *(estimates[split] for estimates in sides))


def share_moved(hits: npt.ArrayLike, n: npt.ArrayLike) -> Move | None:
    """Return the clearest change of a share, as ``moved`` does, but with Wilson's intervals."""
    periods = sums(n, hits, hits)
    before, after = _both_sides(periods)
    pooled = (before.total + after.total) / np.maximum(before.n + after.n, 1)
    error = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(before.n, 1) + 1 / np.maximum(after.n, 1)))
    sides = [share_intervals(side.total.astype(np.int64), side.n) for side in (before, after)]
    separate = np.array([_separate(first, second) for first, second in zip(*sides, strict=True)], dtype=np.bool_)
    split = _clearest(periods, before, after, np.abs(before.mean - after.mean), error, separate)
    return None if split is None else Move(split, sides[0][split], sides[1][split])


def _both_sides(periods: Sums) -> tuple[Sums, Sums]:
    """Return the sums of the periods before each period, and the sums of it and all later periods."""
    n, total, squares = periods.n, periods.total, periods.total_of_squares
    before = Sums(np.cumsum(n) - n, np.cumsum(total) - total, np.cumsum(squares) - squares)
    after = Sums(n.sum() - before.n, total.sum() - before.total, squares.sum() - before.total_of_squares)
    return before, after


def _clearest(
    periods: Sums, before: Sums, after: Sums, apart: FloatArray, error: FloatArray, separate: BoolArray
) -> int | None:
    """Return the split with the largest difference in standard errors among the changes that count (`moved`)."""
    tried = (periods.n > 0) & (before.n >= MIN_PAIRS) & (after.n >= MIN_PAIRS)
    if not tried.any():
        return None
    limit = NormalDist().inv_cdf(1 - 0.025 / int(tried.sum()))
    errors_apart = np.divide(apart, error, out=np.where(apart > 0, math.inf, 0.0), where=error > 0)
    counts = tried & separate & (errors_apart > limit)
    return int(np.argmax(np.where(counts, errors_apart, -1.0))) if counts.any() else None


def _separate(first: Estimate, second: Estimate) -> bool:
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return False
    return first.high < second.low or second.high < first.low
