"""Agreement of several raters: people, judges, a judge's repeats, and each rater with gold labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, FloatArray, same_length
from judgeboard.stats.chance_corrected import few_ratings
from judgeboard.stats.estimates import MIN_PAIRS, leaving_out, too_few, unmeasured
from judgeboard.stats.pair_statistics import STATISTICS, SYMMETRIC, NamedEstimates, Pairs, estimates
from judgeboard.stats.ratings import Ratings, Scale

PAIR_RESAMPLES = 1_000
"""Resamples of each pair of raters, of which there may be very many."""


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


@dataclass(frozen=True, slots=True)
class RaterAgainstGold:
    """A rater compared with gold labels, in the role of the judge; ``left_out`` of their items have no gold label."""

    name: str
    n: int
    left_out: int
    statistics: dict[str, Estimate]


def overall_agreement(ratings: Ratings) -> OverallAgreement:
    """Return how far all raters agree; undefined under ten items with two ratings."""
    items = int((ratings.per_item >= 2).sum())
    not_measured = leaving_out(unmeasured(items, too_few(items)), *few_ratings(ratings))
    estimates = {
        name: row.of_raters(ratings) if items >= MIN_PAIRS else not_measured
        for name, row in STATISTICS.items()
        if row.of_raters is not None and row.applies(ratings.scale)
    }
    return OverallAgreement(int(ratings.rated.any(axis=0).sum()), items, estimates)


def pairs_of_raters(ratings: Ratings, *, resamples: int = PAIR_RESAMPLES) -> tuple[RaterPair, ...]:
    """Return each two raters with an item in common, in the order of the columns."""
    return tuple(
        _pair(ratings, first, second, resamples)
        for first, second in combinations(range(len(ratings.raters)), 2)
        if (ratings.rated[:, first] & ratings.rated[:, second]).any()
    )


def self_agreement(
    raters: AnyArray,
    first: FloatArray,
    second: FloatArray,
    scale: Scale,
    groups: AnyArray | None = None,
    *,
    resamples: int = PAIR_RESAMPLES,
) -> tuple[RaterPair, ...]:
    """Return how far each rater agrees with themselves, by name; a row has a rater's two ratings of an item."""
    same_length(raters, first, second)
    rater_pairs = []
    for name in np.unique(raters).tolist():
        rows = raters == name
        pairs = Pairs(second[rows], first[rows], scale, None if groups is None else groups[rows], resamples=resamples)
        rater_pairs.append(RaterPair(str(name), str(name), pairs.n, estimates(pairs, SYMMETRIC)))
    return tuple(rater_pairs)


def against_gold(
    ratings: Ratings, gold: FloatArray, *, resamples: int = PAIR_RESAMPLES
) -> tuple[RaterAgainstGold, ...]:
    """Return each rater compared with ``gold``, one value per item coded as ``ratings.values``, NaN without one."""
    same_length(ratings.values, gold)
    results = []
    for column, name in enumerate(ratings.raters):
        rated = ratings.rated[:, column]
        rows = rated & ~np.isnan(gold)
        pairs = Pairs(
            ratings.as_given(ratings.values[rows, column]),
            ratings.as_given(gold[rows]),
            ratings.scale,
            ratings.groups.at(rows),
            resamples=resamples,
        )
        results.append(RaterAgainstGold(name, pairs.n, int(rated.sum()) - pairs.n, estimates(pairs)))
    return tuple(results)


def _pair(ratings: Ratings, first: int, second: int, resamples: int) -> RaterPair:
    both = ratings.rated[:, first] & ratings.rated[:, second]
    grades = [ratings.as_given(ratings.values[both, column]) for column in (first, second)]
    pairs = Pairs(grades[1], grades[0], ratings.scale, ratings.groups.at(both), resamples=resamples)
    return RaterPair(ratings.raters[first], ratings.raters[second], pairs.n, estimates(pairs, SYMMETRIC))
