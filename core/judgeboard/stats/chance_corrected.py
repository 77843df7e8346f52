"""Agreement of several raters: percent agreement, Scott's pi, Fleiss' kappa, Gwet's AC1 and AC2, Krippendorff's alpha.

Values may also be sets, spans of a text and rankings.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from typing import Any, Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    AnyArray,
    FloatArray,
    Grouping,
    IntArray,
    column_sums,
    grouping,
    mid_ranks,
    ratio,
    row_sums,
)
from judgeboard.stats.estimates import (
    MIN_PAIRS,
    leaving_out,
    measured,
    too_few,
    unmeasured,
    within_range,
)
from judgeboard.stats.intervals import (
    Unseen,
    correlation_estimate,
    jackknifed,
    mean_estimate,
    share_estimate,
    wilson_on_groups,
)
from judgeboard.stats.ratings import Ratings

NO_ITEM = "no item with two ratings"
FEW_RATINGS = "items with one rating"
NO_RATING = "items without a rating"

_RATERS_AGREE = "the raters never differ"


def agreement_by_item(votes: FloatArray, weights: FloatArray) -> FloatArray:
    """Return how far two raters of each item agree on average, 0 to 1; 0 for items with fewer than two ratings.

    ``votes`` (items, k) counts the raters per category; ``weights`` (k, k) is the agreement of any
    two categories.
    """
    m = votes.sum(axis=1)
    return np.nan_to_num(ratio((votes * (votes @ weights - 1)).sum(axis=1), m * (m - 1)))


def percent_agreement(ratings: Ratings) -> Estimate:
    """Return the share of equal pairs of ratings, as the mean over the n items with two ratings or more."""
    usable = ratings.per_item >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, NO_ITEM)
    groups = ratings.groups.at(usable)
    alike = agreement_by_item(ratings.votes[usable].astype(np.float64), np.eye(ratings.scale.k))
    if np.ptp(alike) == 0 and alike[0] in {0, 1}:
        estimate = wilson_on_groups(float(alike[0]), n, groups.count, groups.unit)
    else:
        estimate = share_estimate(float(alike.mean()), alike, groups)
    return leaving_out(estimate, *few_ratings(ratings))


def few_ratings(ratings: Ratings) -> tuple[tuple[str, int], ...]:
    """Return the items with too few ratings to compare, as (reason, count)."""
    return (FEW_RATINGS, int((ratings.per_item == 1).sum())), (
        NO_RATING,
        int((ratings.per_item == 0).sum()),
    )


def fleiss(ratings: Ratings) -> Estimate:
    """Return Fleiss' kappa on the items with the most common number of ratings (if tied, the larger number)."""
    counts = np.bincount(ratings.per_item, minlength=3)[2:]
    if not counts.any():
        return unmeasured(0, NO_ITEM)
    raters = 2 + int(np.flatnonzero(counts == counts.max())[-1])
    equal = ratings.per_item == raters
    estimate = fleiss_kappa(ratings.votes[equal], ratings.groups.at(equal))
    return leaving_out(estimate, (f"items without exactly {raters} ratings", int((~equal).sum())))


def fleiss_kappa(votes: IntArray, groups: Grouping) -> Estimate:
    """Return Fleiss' kappa from ``votes`` (items, k), the raters per category, and each item's evidence group.

    Raises ValueError if the items do not have the same number of raters, or fewer than two.
    """
    n = len(votes)
    if n == 0:
        return unmeasured(0, "no item that all raters labelled")
    raters = int(votes[0].sum())
    if raters < 2 or (votes.sum(axis=1) != raters).any():
        raise ValueError(
            "Fleiss' kappa needs the same number of raters, at least two, on every item"
        )
    if np.count_nonzero(votes.any(axis=0)) == 1:
        return unmeasured(n, "all raters gave only one category, the same one")

    def terms(votes: FloatArray) -> FloatArray:
        alike = (votes * (votes - 1)).sum(axis=1) / (raters * (raters - 1))
        return np.column_stack((np.ones(len(votes)), alike, votes / raters))

    def of_sums(totals: FloatArray) -> FloatArray:
        items = totals[..., 0]
        observed, expected = (
            totals[..., 1] / items,
            np.square(totals[..., 2:] / items[..., None]).sum(axis=-1),
        )
        return ratio(observed - expected, 1 - expected, above=1e-9)

    estimate = _jackknifed_votes(
        votes.astype(np.float64), terms, of_sums, groups, alike=_RATERS_AGREE
    )
    rarest = int(np.count_nonzero(votes, axis=0)[votes.any(axis=0)].min())
    return _of_few(estimate, rarest, FEWEST_OF_CATEGORY, "items have the rarest category")


FEWEST_OF_CATEGORY = 12
"""With fewer items of the rarest category, the interval of Fleiss' kappa held the truth in 89 of 100 simulations."""
FEWEST_MARKED = 20
"""With fewer marked items, intervals of spans held the truth in 88 to 90 of 100 simulations."""


def _of_few(estimate: Estimate, count: int, fewest: int, noun: str) -> Estimate:
    """Return the estimate, without the interval if the number of items, ``count``, is below ``fewest``."""
    if estimate.low is None or estimate.value is None or count >= fewest:
        return estimate
    return measured(
        estimate.value,
        estimate.n,
        reason=f"no interval: only {count} {noun}, at least {fewest} needed",
    )


_ONLY_BY_CHANCE = f"{FEW_RATINGS}: used only for the agreement by chance"


def gwet(ratings: Ratings) -> Estimate:
    """Return AC1 of any number of raters; cells may be missing.

    By Gwet's definition, items with one rating count only towards how often each category is used.
    """
    has_rating = ratings.per_item > 0
    votes, m = ratings.votes[has_rating].astype(np.float64), ratings.per_item[has_rating]
    usable = m >= 2
    n, items, k = int(usable.sum()), len(m), ratings.scale.k
    if not n:
        return unmeasured(0, NO_ITEM)
    alike = np.where(usable, agreement_by_item(votes, np.eye(k)), 0.0)
    sums: FloatArray = np.column_stack((usable, alike, np.ones(items), votes / m[:, None]))

    def of_sums(totals: FloatArray) -> FloatArray:
        observed, category_shares = (
            ratio(totals[..., 1], totals[..., 0]),
            ratio(totals[..., 3:], totals[..., 2, None]),
        )
        return _corrected(
            observed, (category_shares * (1 - category_shares)).sum(axis=-1) / (k - 1)
        )

    estimate = jackknifed(sums, of_sums, ratings.groups.at(has_rating), n, alike=_RATERS_AGREE)
    return leaving_out(
        estimate,
        (_ONLY_BY_CHANCE, items - n),
        (NO_RATING, len(ratings.values) - items),
    )


def gwet_of_tables(tables: FloatArray) -> FloatArray:
    """Return AC1 of two raters, shape (...), from confusion tables of shape (..., k, k); NaN if empty."""
    n = row_sums(row_sums(tables))
    category_shares = ratio(row_sums(tables) + column_sums(tables), 2 * n[..., None])
    return _corrected(
        ratio(np.einsum("...ii->...", tables), n),
        row_sums(category_shares * (1 - category_shares)) / (tables.shape[-1] - 1),
    )


def _corrected(observed: FloatArray, expected: FloatArray) -> FloatArray:
    return (observed - expected) / (1 - expected)


Metric = Literal["nominal", "ordinal", "interval"]

EVERY_VALUE_THE_SAME = "every value is the same"

_NO_VALUES = "no item with two values"
_NEVER_DIFFER = "no two values of an item differ"


def alpha(ratings: Ratings, metric: Metric) -> Estimate:
    """Return alpha of items with two ratings or more. The interval metric treats categories as equally far apart."""
    if ratings.scale.k:
        estimate = _of_votes(ratings, metric)
    elif metric == "nominal":
        raise ValueError("nominal alpha needs declared categories")
    else:
        of_scores = interval_alpha if metric == "interval" else _ordinal_alpha
        estimate = of_scores(ratings.values, ratings.groups)
    return leaving_out(estimate, *few_ratings(ratings))


def alpha_of_tables(tables: FloatArray, metric: Metric) -> FloatArray:
    """Return alpha of two raters, shape (...), from tables of shape (..., k, k); NaN if all values are equal."""
    totals = row_sums(tables) + column_sums(tables)
    # The disagreement of any two categories
    k = totals.shape[-1]
    if metric == "nominal":
        apart = 1 - np.eye(k)
    else:
        place = (
            np.arange(k, dtype=np.float64)
            if metric == "interval"
            else np.cumsum(totals, axis=-1) - totals / 2
        )
        apart = np.square(place[..., :, None] - place[..., None, :])
    within = 2 * row_sums(row_sums(tables * apart))
    between = row_sums(row_sums(totals[..., :, None] * totals[..., None, :] * apart))
    return _alpha(row_sums(totals), within, between)


def interval_alpha(values: FloatArray, groups: Grouping) -> Estimate:
    """Return interval alpha of scores: ``values`` of shape (items, raters), NaN if missing.

    Items with one value are left out.
    """
    has_value = ~np.isnan(values)
    usable = has_value.sum(axis=1) >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, _NO_VALUES)
    has_value, m = has_value[usable], has_value[usable].sum(axis=1)
    x = np.where(has_value, values[usable], 0.0)
    # Only differences count. Values are centred and scaled so that sums lose no digits.
    x = np.where(has_value, x - x.sum() / m.sum(), 0.0)
    spread = float(np.sqrt(np.square(x).sum() / m.sum()))
    if np.isclose(spread, 0):
        return unmeasured(n, EVERY_VALUE_THE_SAME)
    total, squares = x.sum(axis=1) / spread, np.square(x).sum(axis=1) / spread**2
    sums = np.stack((m, total, squares, 2 * (m * squares - total**2) / (m - 1)), axis=1)

    def of_sums(totals: FloatArray) -> FloatArray:
        n_values, total, squares, within = np.moveaxis(totals, -1, 0)
        return _alpha(n_values, within, 2 * (n_values * squares - total**2))

    return jackknifed(sums, of_sums, groups.at(usable), n, alike=_NEVER_DIFFER)


def _of_votes(ratings: Ratings, metric: Metric) -> Estimate:
    usable = ratings.per_item >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, _NO_VALUES)
    votes, k = ratings.votes[usable].astype(np.float64), ratings.scale.k
    if np.count_nonzero(votes.any(axis=0)) == 1:
        return unmeasured(n, EVERY_VALUE_THE_SAME)

    def coincidences(votes: FloatArray) -> FloatArray:
        pairs = votes[:, :, None] * votes[:, None, :] - votes[:, :, None] * np.eye(k)
        # Halved: a table of two raters has every pair of values once, coincidences have every pair twice.
        halves: FloatArray = pairs.reshape(len(votes), k * k) / (
            2 * (votes.sum(axis=1) - 1)[:, None]
        )
        return halves

    def of_sums(totals: FloatArray) -> FloatArray:
        return alpha_of_tables(totals.reshape(*totals.shape[:-1], k, k), metric)

    return _jackknifed_votes(
        votes, coincidences, of_sums, ratings.groups.at(usable), alike=_NEVER_DIFFER
    )


def _jackknifed_votes(
    votes: FloatArray,
    terms: Callable[[FloatArray], FloatArray],
    statistic: Callable[[FloatArray], FloatArray],
    groups: Grouping,
    *,
    alike: str,
) -> Estimate:
    """Return `jackknifed` of the ``terms`` of items, from ``votes`` (items, k) with two ratings of an item or more."""
    # The votes that no item has, shape (kinds, k), and the chances of such votes if all ratings were
    # independent. Only categories that occur count, and each item keeps the number of ratings.
    occurs, shares = votes.any(axis=0), votes.sum(axis=0) / votes.sum()
    items = np.bincount(votes.sum(axis=1).astype(np.int64))
    possible, orders = _possible_votes(tuple(np.flatnonzero(items).tolist()), int(occurs.sum()))
    place = len(items) ** np.arange(
        possible.shape[1]
    )  # no item has as many votes: the sum names the votes
    is_unseen = ~np.isin(possible @ place, votes[:, occurs].astype(np.int64) @ place)
    kinds = np.zeros((int(is_unseen.sum()), votes.shape[1]))
    kinds[:, occurs] = possible[is_unseen]
    ratings = items[possible[is_unseen].sum(axis=1)]
    chances = orders[is_unseen] * (shares**kinds).prod(axis=1) * ratings
    unseen = Unseen(terms(kinds), chances)
    return jackknifed(terms(votes), statistic, groups, len(votes), alike=alike, unseen=unseen)


_MOST_KINDS = 100  # of votes on an item: six ratings on four levels have 84


@lru_cache(maxsize=128)
def _possible_votes(sizes: tuple[int, ...], k: int) -> tuple[IntArray, FloatArray]:
    """Return all votes of ``sizes`` ratings (ascending) on ``k`` categories, and the number of orders of each vote.

    Returns no votes if the largest number of ratings allows too many kinds of votes.
    """
    few = sizes if math.comb(sizes[-1] + k - 1, k - 1) <= _MOST_KINDS else ()
    kinds = [
        np.bincount(each, minlength=k)
        for size in few
        for each in combinations_with_replacement(range(k), size)
    ]
    orders = [
        math.factorial(each.sum()) / math.prod(map(math.factorial, each.tolist())) for each in kinds
    ]
    return np.array(kinds, dtype=np.int64).reshape(-1, k), np.array(orders)


def _ordinal_alpha(values: FloatArray, groups: Grouping) -> Estimate:
    """Return ordinal alpha of scores without declared levels. An item affects all of `_alpha` and the ranks above."""
    has_value = ~np.isnan(values)
    m = has_value.sum(axis=1)
    usable = m >= 2
    n = int(usable.sum())
    if not n:
        return unmeasured(0, _NO_VALUES)
    m, item = m[usable], np.nonzero(has_value[usable])[0]
    ranks = mid_ranks(values[usable][has_value[usable]])
    x, n_values = ranks.shares - 0.5, int(m.sum())

    def by_item(numbers: FloatArray) -> FloatArray:
        return np.bincount(item, weights=numbers, minlength=n).astype(np.float64, copy=False)

    total, squares = by_item(x), by_item(x * x)
    within = 2 * (m * squares - total**2) / (m - 1)
    all_total, all_squares, all_within = (
        float(total.sum()),
        float(squares.sum()),
        float(within.sum()),
    )
    between = 2 * (n_values * all_squares - all_total**2)
    if np.isclose(between, 0):
        return unmeasured(n, EVERY_VALUE_THE_SAME)
    scale = (n_values - 1) / between
    value = 1 - all_within * scale
    if np.isclose(all_within, 0):
        return measured(value, n, reason=f"no interval: {_NEVER_DIFFER}")
    # A value changes the rank of every higher value, and half as much the rank of equal values. The
    # scale cancels.
    of_within, of_between = (
        4 * (m[item] * x - total[item]) / (m - 1)[item],
        4 * (n_values * x - all_total),
    )
    moved_within = within + by_item(ranks.mean_above(of_within))
    moved_between = 2 * (all_squares * m + n_values * squares - 2 * all_total * total)
    moved_between += by_item(ranks.mean_above(of_between))
    influence = moved_within * scale + all_within * (m / between - scale / between * moved_between)
    return correlation_estimate(value, -n * influence, groups.at(usable))


def _alpha(n_values: FloatArray, within: FloatArray, between: FloatArray) -> FloatArray:
    """Return 1 - (N - 1) W / B for N values that differ by W within items and by B in all; NaN if B is 0."""
    return 1 - ratio((n_values - 1) * within, between, above=1e-9)


def masi_distance(a: frozenset[Any], b: frozenset[Any]) -> float:
    """Return the distance of two sets, 0 (equal) to 1 (nothing in common).

    Source: R. Passonneau, "Measuring Agreement on Set-valued Items (MASI)" (LREC, 2006): one minus
    the Jaccard index weighted by 1 for equal sets, 2/3 where one contains the other, 1/3 for any
    other overlap.
    """
    if a == b:
        return 0.0
    weight = 2 / 3 if a <= b or b <= a else 1 / 3
    return 1 - weight * len(a & b) / len(a | b)


def set_alpha(items: Sequence[Sequence[frozenset[Any]]], groups: AnyArray) -> Estimate:
    """Return Krippendorff's alpha of sets with the MASI distance.

    ``items`` has the sets that raters gave each item, ``groups`` the evidence group of each item.
    Items with one set are left out. The estimate is not available for fewer than ten items.
    """
    rows = [row for row, sets in enumerate(items) if len(sets) >= 2]
    if len(rows) < MIN_PAIRS:
        return unmeasured(len(rows), too_few(len(rows)))
    names = {
        each: place
        for place, each in enumerate(
            dict.fromkeys(frozenset(s) for row in rows for s in items[row])
        )
    }
    if len(names) == 1:
        return unmeasured(len(rows), EVERY_VALUE_THE_SAME)
    votes = np.zeros((len(rows), len(names)))
    for place, row in enumerate(rows):
        for each in items[row]:
            votes[place, names[frozenset(each)]] += 1
    apart = np.array([[masi_distance(a, b) for b in names] for a in names])
    m = votes.sum(axis=1)
    within = ((votes @ apart) * votes).sum(axis=1) / (m - 1)
    sums: FloatArray = np.column_stack((m, within, votes))

    def of_sums(totals: FloatArray) -> FloatArray:
        votes = totals[..., 2:]
        return _alpha(totals[..., 0], totals[..., 1], ((votes @ apart) * votes).sum(axis=-1))

    by_group = grouping(groups[rows], len(rows))
    estimate = jackknifed(sums, of_sums, by_group, len(rows), alike=_RATERS_AGREE)
    return _of_few(estimate, by_group.count, FEWEST_MARKED, f"{by_group.unit}s")


def span_f1(items: Sequence[Sequence[frozenset[Any]]], groups: AnyArray) -> Estimate:
    """Return the F1 of two raters' spans, over all characters that any two raters of an item marked.

    ``items`` has the set of marked characters (with their types) of each rater of each item. Items
    on which nobody marked anything are left out.
    """
    counts = [
        [(2 * len(a & b), len(a) + len(b)) for a, b in combinations(raters, 2)] for raters in items
    ]
    sums: FloatArray = np.array(
        [np.sum(pairs, axis=0) if pairs else (0, 0) for pairs in counts], dtype=np.float64
    )
    sums = sums.reshape(-1, 2)
    usable = sums[:, 1] > 0
    n = int(usable.sum())
    if n < MIN_PAIRS:
        return unmeasured(n, too_few(n))
    by_group = grouping(groups[usable], n)
    f1 = jackknifed(
        sums[usable],
        lambda total: ratio(total[..., 0], total[..., 1]),
        by_group,
        n,
        alike=_RATERS_AGREE,
    )
    return _of_few(f1, by_group.count, FEWEST_MARKED, f"{by_group.unit}s")


def ranking_agreement(
    items: Sequence[Sequence[Sequence[int]]], lengths: Sequence[int], groups: AnyArray
) -> Estimate:
    """Return the mean Kendall's tau-b of two raters' rankings of an item's things.

    A ranking has numbers of things (1 to ``length``), the best first. Things without a number share
    the last place. A pair of rankings is left out if one ranking has all things in the same place.
    """
    taus: list[float] = []
    rows: list[int] = []
    for row, (rankings, length) in enumerate(zip(items, lengths, strict=True)):
        orders = list[FloatArray]()
        for ranking in rankings:
            place = np.full(length, len(ranking))
            for at, thing in enumerate(ranking):
                place[thing - 1] = at
            # Of any two things, which is ranked higher: the second (1), the first (-1), neither (0).
            above = np.sign(place[:, None] - place[None, :]).astype(np.float64)
            order = above[np.triu_indices(length, k=1)]
            if order.any():
                orders.append(order)
        of_item = [
            float(a @ b) / float(np.sqrt((a @ a) * (b @ b))) for a, b in combinations(orders, 2)
        ]
        if of_item:
            taus.append(float(np.mean(of_item)))
            rows.append(row)
    if len(rows) < MIN_PAIRS:
        return unmeasured(len(rows), too_few(len(rows)))
    return within_range(mean_estimate(np.array(taus), grouping(groups[rows], len(rows))), -1, 1)
