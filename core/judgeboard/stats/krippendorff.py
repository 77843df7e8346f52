"""Krippendorff's alpha: agreement of any number of raters with gaps, corrected for chance.

Source: K. Krippendorff, *Content Analysis* (2004), 11.3. The disagreement of two values is 1 where they differ
(nominal), the squared distance of their ranks (ordinal: his sum over the values between them is the difference of
their average ranks), or their squared difference (interval). All three are 1 - (N - 1) W / B: W the disagreement
within items, B the one between any two of all N values. For declared categories both come from the coincidences of
categories within items, a table that items add up to.
"""

from functools import partial
from typing import Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, column_sums, row_sums
from judgeboard.stats.estimates import leaving_out, measured, unmeasured
from judgeboard.stats.grouping import Grouping
from judgeboard.stats.influence import correlation_estimate
from judgeboard.stats.jackknife import jackknifed
from judgeboard.stats.pairwise_agreement import few_ratings
from judgeboard.stats.ranks import mid_ranks
from judgeboard.stats.ratings import Ratings

Metric = Literal["nominal", "ordinal", "interval"]

EVERY_VALUE_THE_SAME = "every value is the same"

_NO_VALUES = "no item with two values"
_NEVER_DIFFER = "no two values of an item differ"


def alpha(ratings: Ratings, metric: Metric) -> Estimate:
    """Return alpha of ratings, with its interval by evidence group; items with fewer than two tell nothing.

    Categories count as equally far apart where the metric is interval.
    """
    if ratings.k:
        found = _of_votes(ratings, metric)
    elif metric == "nominal":
        raise ValueError("nominal alpha needs declared categories")
    else:
        of_scores = interval_alpha if metric == "interval" else _ordinal_alpha
        found = of_scores(ratings.values, ratings.groups)
    return leaving_out(found, *few_ratings(ratings))


def alpha_of_tables(tables: FloatArray, metric: Metric) -> FloatArray:
    """Return alpha of two raters from each confusion table: shape (..., k, k) of counts in, (...) out.

    It is symmetric in them, and NaN where every value is the same.
    """
    totals = row_sums(tables) + column_sums(tables)
    apart = _apart(totals, metric)
    within = 2 * row_sums(row_sums(tables * apart))
    between = row_sums(row_sums(totals[..., :, None] * totals[..., None, :] * apart))
    return _alpha(row_sums(totals), within, between)


def interval_alpha(values: FloatArray, groups: Grouping) -> Estimate:
    """Return alpha of scores of the same items, with its interval by evidence group.

    Args:
        values: One row per item, one column per repeat, NaN where a value is missing; items with fewer than two
            values tell nothing and are left out.
        groups: The evidence group of each item.
    """
    given = ~np.isnan(values)
    usable = given.sum(axis=1) >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, _NO_VALUES)
    given, m = given[usable], given[usable].sum(axis=1)
    x = np.where(given, values[usable], 0.0)
    # Differences are what counts: in units of their spread, centred sums lose no digits.
    x = np.where(given, x - x.sum() / m.sum(), 0.0)
    spread = float(np.sqrt(np.square(x).sum() / m.sum()))
    if np.isclose(spread, 0):
        return unmeasured(n, f"undefined: {EVERY_VALUE_THE_SAME}")
    total, squares = x.sum(axis=1) / spread, np.square(x).sum(axis=1) / spread**2
    sums = np.stack((m, total, squares, 2 * (m * squares - total**2) / (m - 1)), axis=1)
    return jackknifed(sums, _interval_alpha_of_sums, groups.at(usable), n, alike=_NEVER_DIFFER)


def _interval_alpha_of_sums(sums: FloatArray) -> FloatArray:
    n_values, total, squares, within = np.moveaxis(sums, -1, 0)
    return _alpha(n_values, within, 2 * (n_values * squares - total**2))


def _of_votes(ratings: Ratings, metric: Metric) -> Estimate:
    usable = ratings.per_item >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, _NO_VALUES)
    votes, k = ratings.votes[usable].astype(np.float64), ratings.k
    if np.count_nonzero(votes.any(axis=0)) == 1:
        return unmeasured(n, f"undefined: {EVERY_VALUE_THE_SAME}")
    pairs = votes[:, :, None] * votes[:, None, :] - votes[:, :, None] * np.eye(k)
    # Half of each: a table of two raters has every pair of values once, coincidences have it twice.
    coincidences = pairs.reshape(n, -1) / (2 * (ratings.per_item[usable] - 1)[:, None])
    of_tables = partial(_of_flat_tables, k=k, metric=metric)
    return jackknifed(coincidences, of_tables, ratings.groups.at(usable), n, alike=_NEVER_DIFFER)


def _of_flat_tables(tables: FloatArray, k: int, metric: Metric) -> FloatArray:
    return alpha_of_tables(tables.reshape(*tables.shape[:-1], k, k), metric)


def _ordinal_alpha(values: FloatArray, groups: Grouping) -> Estimate:
    """Return ordinal alpha of scores without declared levels, whose interval is from how much each item moves it.

    An item moves N, W and B, and the rank of every value above its own.
    """
    given = ~np.isnan(values)
    m = given.sum(axis=1)
    usable = m >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, _NO_VALUES)
    m, item = m[usable], np.nonzero(given[usable])[0]
    ranks = mid_ranks(values[usable][given[usable]])
    x, n_values = ranks.shares - 0.5, int(m.sum())

    def by_item(numbers: FloatArray) -> FloatArray:
        return np.bincount(item, weights=numbers, minlength=n).astype(np.float64, copy=False)

    total, squares = by_item(x), by_item(x * x)
    within = 2 * (m * squares - total**2) / (m - 1)
    all_total, all_squares, all_within = float(total.sum()), float(squares.sum()), float(within.sum())
    between = 2 * (n_values * all_squares - all_total**2)
    if np.isclose(between, 0):
        return unmeasured(n, f"undefined: {EVERY_VALUE_THE_SAME}")
    scale = (n_values - 1) / between
    value = 1 - all_within * scale
    if np.isclose(all_within, 0):
        return measured(value, n, reason=f"no interval: {_NEVER_DIFFER}")
    # A value moves the rank of every value above it, and half the rank of its equals; the scale of ranks cancels out.
    of_within, of_between = 4 * (m[item] * x - total[item]) / (m - 1)[item], 4 * (n_values * x - all_total)
    moved_within = within + by_item(ranks.mean_above(of_within))
    moved_between = 2 * (all_squares * m + n_values * squares - 2 * all_total * total)
    moved_between += by_item(ranks.mean_above(of_between))
    moved = moved_within * scale + all_within * (m / between - scale / between * moved_between)
    return correlation_estimate(value, -n * moved, groups.at(usable))


def _alpha(n_values: FloatArray, within: FloatArray, between: FloatArray) -> FloatArray:
    """Return 1 - (N - 1) W / B, NaN where B is 0."""
    ratio: FloatArray = np.divide(
        (n_values - 1) * within, between, out=np.full(np.shape(between), np.nan), where=between > 1e-9
    )
    return 1 - ratio


def _apart(totals: FloatArray, metric: Metric) -> FloatArray:
    """Return the disagreement of each two categories, of which ``totals`` (..., k) values are in each."""
    k = totals.shape[-1]
    if metric == "nominal":
        return 1 - np.eye(k)
    place = np.arange(k, dtype=np.float64) if metric == "interval" else np.cumsum(totals, axis=-1) - totals / 2
    return np.square(place[..., :, None] - place[..., None, :])
