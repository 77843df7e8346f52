"""Agreement of several raters: people, judges, a judge's repeats, and each rater with gold labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from operator import itemgetter

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, FloatArray, Grouping, same_length
from judgeboard.stats.chance_corrected import few_ratings
from judgeboard.stats.confusion import kappa
from judgeboard.stats.correlation import constant_side, rank_correlation
from judgeboard.stats.estimates import MIN_PAIRS, leaving_out, unmeasured
from judgeboard.stats.intervals import (
    WithoutOne,
    bootstrapped,
    influence_estimate,
    patterns,
    resampled,
)
from judgeboard.stats.pair_statistics import (
    STATISTICS,
    SYMMETRIC,
    NamedEstimates,
    Pairs,
    estimates,
    why_not,
)
from judgeboard.stats.ratings import Ratings, Scale

PAIR_RESAMPLES = 1_000
"""The number of resamples for each pair of raters, lower than usual because there may be very many pairs."""


@dataclass(frozen=True, slots=True)
class OverallAgreement(NamedEstimates):
    """All raters together on the ``items`` with two ratings or more; each estimate is also an attribute."""

    raters: int
    items: int
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters on the ``n`` items that both rated: statistics in ``SYMMETRIC``, differences second - first."""

    first: str
    second: str
    n: int
    statistics: dict[str, Estimate]


def overall_agreement(ratings: Ratings) -> OverallAgreement:
    """Return how far all raters agree; undefined under ten items with two ratings."""
    items = int((ratings.per_item >= 2).sum())
    estimates = {
        name: leaving_out(unmeasured(items, reason), *few_ratings(ratings))
        if (reason := why_not(row, ratings.scale, items))
        else row.of_raters(ratings)
        for name, row in STATISTICS.items()
        if row.of_raters is not None and row.applies(ratings.scale)
    }
    return OverallAgreement(int(ratings.rated.any(axis=0).sum()), items, estimates)


def pairs_of_raters(ratings: Ratings) -> tuple[RaterPair, ...]:
    """Return all pairs of raters that have an item in common, in the order of the columns."""
    results = []
    for first, second in combinations(range(len(ratings.raters)), 2):
        rows = ratings.rated[:, first] & ratings.rated[:, second]
        if rows.any():
            of_first, of_second = ratings.values[rows, first], ratings.values[rows, second]
            groups = ratings.groups.at(rows)
            pairs = Pairs(of_second, of_first, ratings.scale, groups, resamples=PAIR_RESAMPLES)
            names = ratings.raters[first], ratings.raters[second]
            results.append(RaterPair(*names, pairs.n, estimates(pairs, SYMMETRIC)))
    return tuple(results)


def self_agreement(
    raters: AnyArray,
    first: FloatArray,
    second: FloatArray,
    scale: Scale,
    groups: AnyArray | None = None,
) -> tuple[RaterPair, ...]:
    """Return the agreement of each rater's first and second rating, by name; a row has both `positions` of an item."""
    same_length(raters, first, second)
    rater_pairs = []
    for name in np.unique(raters).tolist():
        rows = raters == name
        of_rows = None if groups is None else groups[rows]
        pairs = Pairs(second[rows], first[rows], scale, of_rows, resamples=PAIR_RESAMPLES)
        rater_pairs.append(RaterPair(str(name), str(name), pairs.n, estimates(pairs, SYMMETRIC)))
    return tuple(rater_pairs)


def against_gold(ratings: Ratings, gold: FloatArray) -> tuple[RaterPair, ...]:
    """Return each rater, in the role of the judge, with ``gold``: one value per item, coded as ``ratings.values``.

    Items without a gold label have NaN.
    """
    same_length(ratings.values, gold)
    results = []
    for column, name in enumerate(ratings.raters):
        rows = ratings.rated[:, column] & ~np.isnan(gold)
        rater_values, groups = ratings.values[rows, column], ratings.groups.at(rows)
        pairs = Pairs(rater_values, gold[rows], ratings.scale, groups, resamples=PAIR_RESAMPLES)
        results.append(RaterPair(name, "gold", pairs.n, estimates(pairs)))
    return tuple(results)


def agreement_beyond_people(
    first: FloatArray, second: FloatArray, people: FloatArray, scale: Scale, groups: Grouping
) -> Estimate | None:
    """Return the agreement of two judges, less the agreement of the better judge with people; one row per item.

    Agreement is kappa (weighted for levels), or the rank correlation of scores. The interval
    resamples all three sides together. All sides are `positions` on the scale, or scores; a side may be
    on a shifted scale if the scale has no categories. None under ten rows, or if one of the three
    statistics is undefined.
    """
    sides = (first, second, people)
    n = same_length(*sides)
    if n < MIN_PAIRS:
        return None
    if scale.categories is None:
        if any(constant_side(*two) for two in combinations(sides, 2)):
            return None
        ranks = [rank_correlation(*two) for two in combinations(sides, 2)]
        (between, influence), (nearer, of_nearer) = ranks[0], max(ranks[1:], key=itemgetter(0))
        return influence_estimate(between - nearer, influence - of_nearer, groups)
    k = len(scale.categories)
    cells, codes = np.unique(
        np.ravel_multi_index([side.astype(int) for side in sides], (k,) * 3), return_inverse=True
    )
    in_table = [
        np.eye(k * k)[a * k + b] for a, b in combinations(np.unravel_index(cells, (k,) * 3), 2)
    ]

    def beyond_people(counts: FloatArray) -> FloatArray:
        tables = ((counts @ each).reshape(*counts.shape[:-1], k, k) for each in in_table)
        between, with_first, with_second = (
            kappa(each, scale.weights or "nominal") for each in tables
        )
        return between - np.maximum(with_first, with_second)

    total, by_group = np.bincount(codes).astype(np.float64), patterns(codes, len(cells), groups)
    value = float(beyond_people(total))
    if np.isnan(value):
        return None
    without = WithoutOne(beyond_people(total - by_group.counts), by_group.shared_by)
    return bootstrapped(value, n, beyond_people(resampled(by_group)), groups, without=without)
