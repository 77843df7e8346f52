"""Correlations and differences of two scores, and of a score and length."""

import math
from dataclasses import replace

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    TIE,
    AnyArray,
    FloatArray,
    Grouping,
    IntArray,
    grouping,
    mid_ranks,
    mid_ranks_within,
)
from judgeboard.stats.estimates import measured, t_quantile, unmeasured
from judgeboard.stats.intervals import METHOD, correlation_estimate, mean_estimate, standard_error


def pearson(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return Pearson's correlation; undefined if a side is constant."""
    if (reason := constant_side(judge, people)) is not None:
        return unmeasured(len(judge), reason)
    x, y = (side - side.mean() for side in (judge, people))
    x, y = x / np.sqrt(np.mean(x * x)), y / np.sqrt(np.mean(y * y))
    value = float(np.mean(x * y))
    return correlation_estimate(value, x * y - value * (x * x + y * y) / 2, groups)


def spearman(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return Spearman's rank correlation (average ranks of values rounded to 1e-9); undefined if a side is constant."""
    if (reason := constant_side(judge, people)) is not None:
        return unmeasured(len(judge), reason)
    return correlation_estimate(*rank_correlation(judge, people), groups)


def rank_correlation(judge: FloatArray, people: FloatArray) -> tuple[float, FloatArray]:
    """Return Spearman's rank correlation of two sides that are not constant, and the influence of each row."""
    x, y = mid_ranks(judge), mid_ranks(people)
    u, v = (
        x.shares,
        y.shares,
    )  # a row affects the correlation by its own u * v, and by changing every rank above it
    covariance, spread_u, spread_v = (
        float(np.mean(product)) - 0.25 for product in (u * v, u * u, v * v)
    )
    value = covariance / np.sqrt(spread_u * spread_v)
    moves_covariance = u * v + x.mean_above(v) + y.mean_above(u)
    moves_spreads = (u * u + 2 * x.mean_above(u)) / spread_u + (
        v * v + 2 * y.mean_above(v)
    ) / spread_v
    return float(value), moves_covariance / np.sqrt(spread_u * spread_v) - value / 2 * moves_spreads


def constant_side(judge: FloatArray, people: FloatArray) -> str | None:
    """Return why no correlation is defined (no pairs, or a side is constant); None if defined."""
    if judge.size == 0:
        return "no pairs"
    if np.ptp(judge) < TIE:
        return "the judge gave the same score to all answers"
    return "people gave the same score to all answers" if np.ptp(people) < TIE else None


def kendall(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return tau-b of scores rounded to 1e-9; undefined if a side is constant."""
    if (reason := constant_side(judge, people)) is not None:
        return unmeasured(len(judge), reason)
    x, y, n = mid_ranks(judge), mid_ranks(people), len(judge)
    # For each row the number of rows in the same order on both sides, minus the number in opposite
    # order.
    up, down = (x.levels, y.levels), (x.levels.max() - x.levels, y.levels.max() - y.levels)
    same = _both_below(up[0], up[1]) + _both_below(down[0], down[1])
    order = (same - _both_below(up[0], down[1]) - _both_below(down[0], up[1])).astype(
        np.float64
    ) / n
    tie_shares = [each.counts[each.levels] / n for each in (x, y)]
    # For two rows drawn with replacement: how often the rows differ on each side, and how far both
    # sides order the rows alike.
    apart = [1 - float(share.mean()) for share in tie_shares]
    alike, root = float(order.mean()), float(np.sqrt(apart[0] * apart[1]))
    value = alike / root
    moved_apart = sum(
        (float(share.mean()) - share) / difference
        for share, difference in zip(tie_shares, apart, strict=True)
    )
    influence: FloatArray = 2 * (order - alike) / root - value * moved_apart
    return correlation_estimate(value, influence, groups)


def _both_below(x: IntArray, y: IntArray) -> IntArray:
    """Return, for each row, the number of rows with a smaller x and a smaller y."""
    # Sorted by x. Rows with equal x are in descending order of y, so that no such row counts as
    # below another.
    order = np.lexsort((-y, x))
    both_below = np.empty(len(x), dtype=np.int64)
    # For each row the number of earlier rows with a lower level.
    levels = y[order]
    n, top = len(levels), int(levels.max()) + 1
    size = 1 << (n - 1).bit_length()
    padded, lower = np.append(levels, np.full(size - n, top)), np.zeros(size, dtype=np.int64)
    width = 1
    while width < size:
        block = np.arange(size // (2 * width))[:, None]
        left, right = np.split(padded.reshape(-1, 2 * width) + block * (top + 1), 2, axis=1)
        lower.reshape(-1, 2 * width)[:, width:] += (
            np.searchsorted(np.sort(left).ravel(), right) - block * width
        )
        width *= 2
    both_below[order] = lower[:n]
    return both_below


def root_mean_square(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return the root of the mean squared difference (RMSE); the interval is Student's t on the log of the mean square.

    A few large differences have most of the weight, so the interval on the plain scale ends too
    low.
    """
    square = mean_estimate(np.square(judge - people), groups)
    if square.value is None:
        return square
    value = math.sqrt(max(square.value, 0.0))
    if square.low is None or square.high is None or not value:
        return replace(square, value=value, low=None, high=None)
    half = (square.high - square.value) / square.value / 2
    return replace(square, value=value, low=value * math.exp(-half), high=value * math.exp(half))


_LARGEST_LEVERAGE = 0.99


def slope(score: FloatArray, length: FloatArray, groups: Grouping) -> Estimate:
    """Return how much the score rises per unit of length (least squares), with an interval by evidence group."""
    n = len(score)
    centred = length - length.mean() if n else length
    spread = float(np.mean(centred * centred)) if n else 0.0
    if spread < TIE:
        return unmeasured(n, "all answers have the same length" if n else "no answers")
    value = float(np.mean(centred * score)) / spread
    residual = score - score.mean() - value * centred
    # An answer draws the line towards itself. On a line without the answer, the residual would be
    # larger (MacKinnon and White, 1985).
    leverage = 1 / n + centred * centred / (n * spread)
    influence = centred * residual / (1 - np.minimum(leverage, _LARGEST_LEVERAGE)) / spread
    if groups.count == 1:
        return measured(value, n, reason="no interval: one evidence group only")
    reach = float(t_quantile(groups.count - 1)) * standard_error(influence, groups)
    return measured(value, n, (value - reach, value + reach), method=METHOD, unit=groups.unit)


def correlation_within(
    score: FloatArray, length: FloatArray, strata: AnyArray, groups: AnyArray | None
) -> Estimate:
    """Return the correlation of score and length within strata (equal human grades), over all strata together.

    Scores and lengths are ranked within each stratum. Therefore differences between strata (such as
    longer good answers) and the shapes of the distributions do not count. Strata of one row are
    left out.
    """
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    rows = counts[codes] > 1
    score, length, codes = score[rows], length[rows], codes[rows]
    if not len(score):
        return unmeasured(0, "no two answers have the same grade")
    of_score, of_length = (
        (mid_ranks_within(side, codes) - 0.5) / counts[codes] for side in (score, length)
    )
    estimate = pearson(
        of_score, of_length, grouping(None if groups is None else groups[rows], len(score))
    )
    if estimate.value is None:
        return unmeasured(
            estimate.n, "answers with equal grades have equal scores, or equal lengths"
        )
    return estimate
