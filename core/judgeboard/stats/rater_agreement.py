"""How far several raters agree: people with people, judges with judges, a judge's repeats, and each with gold."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, FloatArray, same_length
from judgeboard.stats.chance_corrected import few_ratings
from judgeboard.stats.estimates import MIN_PAIRS, TOO_FEW, leaving_out, unmeasured
from judgeboard.stats.pair_statistics import (
    NOT_FOR_GRADE,
    STATISTICS,
    SYMMETRIC,
    Pairs,
    Statistic,
    estimate_named,
    estimates,
)
from judgeboard.stats.ratings import Ratings, Scale

PAIR_RESAMPLES = 1_000
"""Resamples of each pair of raters, of which there may be very many."""


@dataclass(frozen=True, slots=True)
class OverallAgreement:
    """All raters together; what the grade does not have is undefined and says so.

    ``items`` with two ratings or more are what most of it rests on. ``fleiss_kappa`` counts those that equally many
    rated. Each estimate can also be read as an attribute, ``agreed.ac1``.
    """

    raters: int
    items: int
    estimates: Mapping[str, Estimate]

    def __getattr__(self, name: str) -> Estimate:
        """Return the estimate of this name."""
        return estimate_named(name, self.estimates if name in STATISTICS else {})


@dataclass(frozen=True, slots=True)
class RaterPair:
    """Two raters on the ``n`` items that both rated; ``statistics`` by the names in ``SYMMETRIC``, those of the grade.

    Differences are second - first.
    """

    first: str
    second: str
    n: int
    statistics: dict[str, Estimate]


@dataclass(frozen=True, slots=True)
class RaterAgainstGold:
    """A rater compared with gold, in the place of the judge; ``left_out`` of their items have no gold."""

    name: str
    n: int
    left_out: int
    statistics: dict[str, Estimate]


def overall_agreement(ratings: Ratings) -> OverallAgreement:
    """Return how far all raters agree; under ten items with two ratings it is too few to say."""
    items = int((ratings.per_item >= 2).sum())

    def measure(row: Statistic, compute: Callable[[Ratings], Estimate]) -> Estimate:
        if not row.applies(ratings.scale):
            return unmeasured(items, NOT_FOR_GRADE)
        if items < MIN_PAIRS:
            return leaving_out(unmeasured(items, TOO_FEW), *few_ratings(ratings))
        return compute(ratings)

    return OverallAgreement(
        int(ratings.given.any(axis=0).sum()),
        items,
        {name: measure(row, row.of_raters) for name, row in STATISTICS.items() if row.of_raters is not None},
    )


def pairs_of_raters(ratings: Ratings, *, resamples: int = PAIR_RESAMPLES) -> tuple[RaterPair, ...]:
    """Return each two raters that rated an item in common, in the order of the columns."""
    return tuple(
        _pair(ratings, first, second, resamples)
        for first, second in combinations(range(len(ratings.raters)), 2)
        if (ratings.given[:, first] & ratings.given[:, second]).any()
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
    """Return how far each rater agrees with themselves, by name, on items that they rated twice.

    Args:
        raters: The rater of each row.
        first: What they gave the first time, one of the scale's categories or a score.
        second: What they gave the same item the second time.
        scale: The scale with its declared categories.
        groups: The evidence group of each row's item.
        resamples: How many samples of groups the bootstrap draws.
    """
    same_length(raters, first, second)
    found = []
    for name in np.unique(raters).tolist():
        rows = raters == name
        pairs = Pairs(second[rows], first[rows], scale, None if groups is None else groups[rows], resamples=resamples)
        found.append(RaterPair(str(name), str(name), pairs.n, estimates(pairs, SYMMETRIC)))
    return tuple(found)


def against_gold(
    ratings: Ratings, gold: FloatArray, *, resamples: int = PAIR_RESAMPLES
) -> tuple[RaterAgainstGold, ...]:
    """Return each rater against gold, in the order of the columns.

    Args:
        ratings: What each rater gave, without the adjudications themselves.
        gold: The gold value of each item as ``ratings.values``, NaN where there is none.
        resamples: How many samples of groups the bootstrap draws.
    """
    same_length(ratings.values, gold)
    found = []
    for column, name in enumerate(ratings.raters):
        given = ratings.given[:, column]
        rows = given & ~np.isnan(gold)
        pairs = Pairs(
            ratings.as_given(ratings.values[rows, column]),
            ratings.as_given(gold[rows]),
            ratings.scale,
            ratings.groups.at(rows),
            resamples=resamples,
        )
        found.append(RaterAgainstGold(name, pairs.n, int(given.sum()) - pairs.n, estimates(pairs)))
    return tuple(found)


def _pair(ratings: Ratings, first: int, second: int, resamples: int) -> RaterPair:
    both = ratings.given[:, first] & ratings.given[:, second]
    said = [ratings.as_given(ratings.values[both, column]) for column in (first, second)]
    pairs = Pairs(said[1], said[0], ratings.scale, ratings.groups.at(both), resamples=resamples)
    return RaterPair(ratings.raters[first], ratings.raters[second], pairs.n, estimates(pairs, SYMMETRIC))
