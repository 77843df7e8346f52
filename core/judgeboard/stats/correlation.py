"""Correlations and differences of two scores, and of a score and length."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    TIE,
    AnyArray,
    FloatArray,
    Grouping,
    IntArray,
    MidRanks,
    grouping,
    mid_ranks,
    mid_ranks_within,
    ratio,
)
from judgeboard.stats.estimates import Z, leaving_out, measured, t_quantile, unmeasured, within_range
from judgeboard.stats.intervals import METHOD, correlation_estimate, influence_estimate, mean_estimate, standard_error


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
    """Return Spearman's rank correlation of two sides that are not constant, and the influence of each row on it."""
    x, y = mid_ranks(judge), mid_ranks(people)
    u, v = x.shares, y.shares  # a row affects the correlation by its own u * v, and by changing every rank above it
    covariance, spread_u, spread_v = (float(np.mean(product)) - 0.25 for product in (u * v, u * u, v * v))
    value = covariance / np.sqrt(spread_u * spread_v)
    moves_covariance = u * v + x.mean_above(v) + y.mean_above(u)
    moves_spreads = (u * u + 2 * x.mean_above(u)) / spread_u + (v * v + 2 * y.mean_above(v)) / spread_v
    return float(value), moves_covariance / np.sqrt(spread_u * spread_v) - value / 2 * moves_spreads


def constant_side(judge: FloatArray, people: FloatArray) -> str | None:
    """Return why no correlation is defined (no pairs, or a side is constant); None if it is defined."""
    if judge.size == 0:
        return "no pairs"
    for side, name in ((judge, "the judge"), (people, "people")):
        if np.ptp(side) < TIE:
            return f"{name} gave the same score to all answers"
    return None


def kendall(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return tau-b of scores rounded to 1e-9; undefined if a side is constant."""
    if (reason := constant_side(judge, people)) is not None:
        return unmeasured(len(judge), reason)
    x, y, n = mid_ranks(judge), mid_ranks(people), len(judge)
    order = _order_with_all(x, y) / n
    tied = [each.counts[each.levels] / n for each in (x, y)]
    # For two rows drawn with replacement: how often they differ on each side, and how far both sides order them alike.
    apart = [1 - float(share.mean()) for share in tied]
    alike, root = float(order.mean()), float(np.sqrt(apart[0] * apart[1]))
    value = alike / root
    moved_apart = sum((float(share.mean()) - share) / rest for share, rest in zip(tied, apart, strict=True))
    influence: FloatArray = 2 * (order - alike) / root - value * moved_apart
    return correlation_estimate(value, influence, groups)


def _order_with_all(x: MidRanks, y: MidRanks) -> FloatArray:
    """Return for each row the number of rows in the same order on both sides, minus those in opposite order."""
    up, down = (x.levels, y.levels), (x.levels.max() - x.levels, y.levels.max() - y.levels)
    same = _both_below(up[0], up[1]) + _both_below(down[0], down[1])
    return (same - _both_below(up[0], down[1]) - _both_below(down[0], up[1])).astype(np.float64)


def _both_below(x: IntArray, y: IntArray) -> IntArray:
    """Return, for each row, the number of rows with a smaller x and a smaller y."""
    # Sorted by x. Rows with equal x are in descending order of y, so that none of them counts as below another.
    order = np.lexsort((-y, x))
    both_below = np.empty(len(x), dtype=np.int64)
    both_below[order] = _before_and_below(y[order])
    return both_below


def _before_and_below(levels: IntArray) -> IntArray:
    """Return for each row how many rows before it have a lower level.

    In blocks of 2, 4, 8, … rows, each row of the right half is looked up in the sorted left half (all blocks at once).
    """
    n, top = len(levels), int(levels.max()) + 1
    size = 1 << (n - 1).bit_length()
    padded, lower = np.append(levels, np.full(size - n, top)), np.zeros(size, dtype=np.int64)
    width = 1
    while width < size:
        block = np.arange(size // (2 * width))[:, None]
        left, right = np.split(padded.reshape(-1, 2 * width) + block * (top + 1), 2, axis=1)
        lower.reshape(-1, 2 * width)[:, width:] += np.searchsorted(np.sort(left).ravel(), right) - block * width
        width *= 2
    return lower[:n]


Coefficient = Literal["pearson", "spearman", "kendall"]


def within_queries(judge: FloatArray, people: FloatArray, queries: Grouping, *, of: Coefficient) -> Estimate:
    """Return the mean over queries of the correlation between the answers to one query; n is the number of queries.

    Differences between queries do not count. Queries with one answer, or
    with equal values on a side, are left out. Source: "summary-level correlation" in D. Deutsch, R. Dror, D. Roth, "A
    Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods" (TACL, 2021).
    """
    counts = np.bincount(queries.codes, minlength=queries.count)
    several = int((counts > 1).sum())
    if not several:
        return unmeasured(0, "no query has two answers")
    if of == "kendall":
        by_query = _tau_by_query(judge, people, queries, counts)
    else:
        sides = [mid_ranks_within(side, queries.codes) if of == "spearman" else side for side in (judge, people)]
        x, y = (side - (queries.sums(side) / counts)[queries.codes] for side in sides)
        spread_x, spread_y = queries.sums(x * x), queries.sums(y * y)
        spread = np.where((spread_x > TIE**2) & (spread_y > TIE**2), np.sqrt(spread_x * spread_y), 0.0)
        by_query = ratio(queries.sums(x * y), spread)
    by_query = by_query[~np.isnan(by_query)]
    if not len(by_query):
        return unmeasured(0, "on every query a side gave the same value to all answers")
    estimate = mean_estimate(by_query, grouping(None, len(by_query), row=queries.group, group=queries.group))
    left_out = (("queries with one answer", len(counts) - several), ("constant queries", several - len(by_query)))
    return leaving_out(within_range(estimate, -1, 1), *left_out)


_CHUNK = 1 << 20  # numbers in memory at once
_MANY = 256  # answers to one query for which sorting is faster than comparing any two of them


def _tau_by_query(judge: FloatArray, people: FloatArray, queries: Grouping, counts: IntArray) -> FloatArray:
    """Return tau-b among the answers to each query, NaN if it is undefined."""
    values: FloatArray = np.full(len(counts), np.nan)
    order, starts = np.argsort(queries.codes, kind="stable"), np.cumsum(counts) - counts
    for size in np.unique(counts[counts > 1]).tolist():
        of_size = np.flatnonzero(counts == size)
        step = max(_CHUNK // (size * size), 1)
        for at in range(0, len(of_size), step):
            some = of_size[at : at + step]
            rows = order[starts[some][:, None] + np.arange(size)]
            x, y = np.round(judge[rows], 9), np.round(people[rows], 9)
            if size > _MANY:
                value = kendall(x[0], y[0], grouping(None, size)).value
                values[some] = np.nan if value is None else value
            else:
                values[some] = tau_of_signs(signs(x), signs(y))
    return values


def signs(values: FloatArray) -> FloatArray:
    """Return the order of any two of the last axis's values: 1, 0 or -1, shape (..., k, k)."""
    order: FloatArray = np.sign(values[..., :, None] - values[..., None, :])
    return order


def tau_of_signs(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return tau-b of two sides from the order of any two of their values, NaN if a side is constant."""
    alike, of_x, of_y = ((one * other).sum(axis=(-1, -2)) for one, other in ((x, y), (x, x), (y, y)))
    return ratio(alike, np.sqrt(of_x * of_y))


def root_mean_square(judge: FloatArray, people: FloatArray, groups: Grouping) -> Estimate:
    """Return the root of the mean squared difference (RMSE); its interval is Student's t on the log of the mean square.

    A few large differences have most of the weight, so the interval on the plain scale ends too low.
    """
    square = mean_estimate(np.square(judge - people), groups)
    if square.value is None:
        return square
    value = math.sqrt(max(square.value, 0.0))
    if square.low is None or square.high is None or not value:
        return replace(square, value=value, low=None, high=None)
    half = (square.high - square.value) / square.value / 2
    return replace(square, value=value, low=value * math.exp(-half), high=value * math.exp(half))


def limit_of_agreement(judge: FloatArray, people: FloatArray, groups: Grouping, *, upper: bool) -> Estimate:
    """Return the lower or the upper limit of judge - people, in units of the score."""
    n, side = len(judge), Z if upper else -Z
    if n < 2:
        return unmeasured(n, "a single difference has no spread" if n else "no pairs")
    apart = judge - people
    centred = apart - apart.mean()
    spread = float(np.sqrt(np.square(centred).sum() / (n - 1)))
    moves_spread = np.square(centred) / (2 * spread) if spread > TIE else np.zeros(n)
    return influence_estimate(float(apart.mean()) + side * spread, centred + side * moves_spread, groups)


_LARGEST_LEVERAGE = 0.99


def slope(score: FloatArray, length: FloatArray, groups: Grouping) -> Estimate:
    """Return how much the score rises per unit of length (least squares), with its interval by evidence group."""
    n = len(score)
    centred = length - length.mean() if n else length
    spread = float(np.mean(centred * centred)) if n else 0.0
    if spread < TIE:
        return unmeasured(n, "all answers have the same length" if n else "no answers")
    value = float(np.mean(centred * score)) / spread
    residual = score - score.mean() - value * centred
    # An answer draws the line towards itself. Without it, its residual would be larger (MacKinnon and White, 1985).
    leverage = 1 / n + centred * centred / (n * spread)
    influence = centred * residual / (1 - np.minimum(leverage, _LARGEST_LEVERAGE)) / spread
    if groups.count == 1:
        return measured(value, n, reason="no interval: one evidence group only")
    reach = float(t_quantile(groups.count - 1)) * standard_error(influence, groups)
    return measured(value, n, (value - reach, value + reach), method=METHOD, unit=groups.unit)


def correlation_within(score: FloatArray, length: FloatArray, strata: AnyArray, groups: AnyArray | None) -> Estimate:
    """Return the correlation of score and length within strata (equal human grades), over all strata together.

    Both are ranked within their stratum. Therefore differences between strata (such as longer good answers) and the
    shapes of the distributions do not count. Strata of one row are left out.
    """
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    kept = counts[codes] > 1
    score, length, codes = score[kept], length[kept], codes[kept]
    if not len(score):
        return unmeasured(0, "no two answers have the same grade")
    of_score, of_length = ((mid_ranks_within(side, codes) - 0.5) / counts[codes] for side in (score, length))
    estimate = pearson(of_score, of_length, grouping(None if groups is None else groups[kept], len(score)))
    if estimate.value is None:
        return unmeasured(estimate.n, "answers with equal grades have equal scores, or equal lengths")
    return estimate
