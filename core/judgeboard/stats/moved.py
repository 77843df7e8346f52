"""Whether a trend moved: the period from which on its interval lies apart from the one before."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import TIE, BoolArray, FloatArray
from judgeboard.stats.estimates import MIN_PAIRS
from judgeboard.stats.means import Sums, mean_interval, sums
from judgeboard.stats.proportions import share_intervals


@dataclass(frozen=True, slots=True)
class Move:
    """A trend that moved at ``period`` (its index), with everything ``before`` and everything from it on ``after``."""

    period: int
    before: Estimate
    after: Estimate

    @property
    def fell(self) -> bool:
        """Whether it went down."""
        return (self.after.value or 0) < (self.before.value or 0)


def moved(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    total_of_squares: npt.ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
) -> Move | None:
    """Return where the mean of one slice moved most clearly, or None where nothing moved beyond its interval.

    Every period with answers in it is tried as the first one after. It counts where the intervals before and after do
    not overlap *and* the difference is significant with as many tries allowed for (Bonferroni); each side needs ten
    answers. Of those the one with the largest difference in standard errors is given. It names a time, never a cause.

    Args:
        n: How many values each period has, oldest first, zeros where nothing was asked.
        total: Their sum per period.
        total_of_squares: The sum of their squares per period.
        bounds: The scale's ends, which an interval does not leave.
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
    """Return where a share (below the threshold, flagged) moved most clearly, by Wilson's intervals, as ``moved``."""
    periods = sums(n, hits, hits)
    before, after = _both_sides(periods)
    pooled = (before.total + after.total) / np.maximum(before.n + after.n, 1)
    error = np.sqrt(pooled * (1 - pooled) * (1 / np.maximum(before.n, 1) + 1 / np.maximum(after.n, 1)))
    sides = [share_intervals(side.total.astype(np.int64), side.n) for side in (before, after)]
    separate = np.array([_separate(first, second) for first, second in zip(*sides, strict=True)], dtype=np.bool_)
    split = _clearest(periods, before, after, np.abs(before.mean - after.mean), error, separate)
    return None if split is None else Move(split, sides[0][split], sides[1][split])


def _both_sides(periods: Sums) -> tuple[Sums, Sums]:
    """Return the sums before each period, and those from it on."""
    n, total, squares = periods.n, periods.total, periods.total_of_squares
    before = Sums(np.cumsum(n) - n, np.cumsum(total) - total, np.cumsum(squares) - squares)
    after = Sums(n.sum() - before.n, total.sum() - before.total, squares.sum() - before.total_of_squares)
    return before, after


def _clearest(
    periods: Sums, before: Sums, after: Sums, apart: FloatArray, error: FloatArray, separate: BoolArray
) -> int | None:
    """Return the split with the largest difference in standard errors among those that count."""
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
