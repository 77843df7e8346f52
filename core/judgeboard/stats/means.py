"""Means with their 95 % interval from sums that a database added up, for many points at once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.student import t_quantile

METHOD = "Student's t"


@dataclass(frozen=True, slots=True)
class Sums:
    """How many values each point has, their total and the total of their squares, three arrays of equal shape."""

    n: IntArray
    total: FloatArray
    total_of_squares: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean of each point, 0 where nothing is."""
        return self.total / np.maximum(self.n, 1)

    @property
    def variance(self) -> FloatArray:
        """The variance (n - 1) of each point, 0 where all values are equal or n is under 2."""
        spread = self.total_of_squares - self.total * self.mean
        # What the subtraction leaves of equal values is rounding, not spread.
        real = (spread > 1e-12 * np.maximum(self.total_of_squares, 1e-300)) & (self.n > 1)
        return np.where(real, spread, 0.0) / np.maximum(self.n - 1, 1)

    @property
    def reach(self) -> FloatArray:
        """Half the width of each point's t interval, 0 where the variance is."""
        return t_quantile(np.maximum(self.n - 1, 1)) * np.sqrt(self.variance / np.maximum(self.n, 1))


def sums(n: npt.ArrayLike, total: npt.ArrayLike, total_of_squares: npt.ArrayLike) -> Sums:
    """Return the three arrays as ``Sums``; raise ValueError where their shapes differ or a count is negative."""
    counts = np.atleast_1d(np.asarray(n, dtype=np.int64))
    totals, squares = (np.atleast_1d(np.asarray(values, dtype=np.float64)) for values in (total, total_of_squares))
    if not counts.shape == totals.shape == squares.shape or (counts < 0).any():
        raise ValueError("n, total and total_of_squares must be equally many, n not below 0")
    return Sums(counts, totals, squares)


def mean_interval(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    total_of_squares: npt.ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
) -> tuple[Estimate, ...]:
    """Return the mean of each (slice, period) with its t interval.

    Args:
        n: How many values each point has, shape (points,).
        total: Their sum, shape (points,).
        total_of_squares: The sum of their squares, shape (points,).
        bounds: The scale's ends, which an interval does not leave.

    Returns:
        One estimate per point: none without values, no interval for a single value or for values that are all equal.
        Rows count as independent; a trend does not resample evidence groups.
    """
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
    return measured(mean, n, (low, high), method=METHOD, unit="response")
