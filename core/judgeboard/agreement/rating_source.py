"""What agreement is measured on, whatever the unit: items with ratings of people and of judge versions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgeboard.answer_pairs import AnswerPairs
from judgeboard.stats.arrays import AnyArray, FloatArray, IntArray, among
from judgeboard.stats.grouping import Grouping, grouping
from judgeboard.stats.people import Human
from judgeboard.stats.ratings import Ratings, ratings_of
from judgeboard.stats.scales import Scale

Unit = Literal["responses", "pairs"]
UNITS: tuple[Unit, ...] = ("responses", "pairs")

RESAMPLED: dict[Unit, tuple[str, str]] = {"responses": ("response", "evidence group"), "pairs": ("pair", "pair")}
"""What a row and a group is that an interval resamples."""

LeftOut = dict[str, int]
"""How many items (stacked people: ratings) were left out, by why."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemRatings:
    """Items by id, ascending, and what each rater gave them: a row of ``ratings`` an item."""

    ids: IntArray
    ratings: Ratings

    def at(self, rows: AnyArray) -> "ItemRatings":
        """Return some of the items, by a mask or by positions."""
        return ItemRatings(self.ids[rows], self.ratings.at(rows))


@dataclass(frozen=True, slots=True, eq=False)
class RatedTwice:
    """Items that a person rated more than once: the first and the latest rating, a row per person and item."""

    ids: IntArray
    raters: AnyArray
    first: AnyArray
    second: AnyArray
    groups: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class HeldAgainst:
    """A judge version held against people: ``pairs`` where both said something usable, what was left out and why.

    ``wrong`` counts the unusable verdicts that count as wrong, which are in no pair.
    """

    pairs: AnswerPairs
    left_out: LeftOut
    wrong: AnswerPairs | None = None


def item_ratings(
    ids: IntArray,
    rater_ids: IntArray,
    values: AnyArray,
    scale: Scale,
    groups: IntArray,
    names: dict[int, str],
    *,
    unit: Unit = "responses",
) -> ItemRatings:
    """Return ratings given one by one as a matrix; ``names`` by rater id get their id where two are equal."""
    items, ratings = ratings_of(ids, rater_ids, values, scale, groups)
    raters = unique_names(np.unique(rater_ids).tolist(), names)
    row, group = RESAMPLED[unit]
    return ItemRatings(items, replace(ratings, raters=raters, groups=replace(ratings.groups, row=row, group=group)))


def grouping_of(pairs: AnswerPairs, unit: Unit, human: Human) -> Grouping:
    """Return what an interval resamples: evidence groups of answers, or pairs; never single grades."""
    row, group = RESAMPLED[unit]
    return grouping(pairs.groups, pairs.n, row="grade" if human == "each" else row, group=group)


def unique_names(rater_ids: Sequence[int], names: dict[int, str]) -> tuple[str, ...]:
    """Return the raters' names; where two have one, each with its id."""
    known = [names.get(each, str(each)) for each in rater_ids]
    return tuple(
        name if known.count(name) == 1 else f"{name} ({each})" for each, name in zip(rater_ids, known, strict=True)
    )


def values_at(ids: IntArray, known: IntArray, positions: FloatArray) -> FloatArray:
    """Return the ``positions`` of ``known`` items (ascending) as rows of ``ids``, NaN where an item is not known."""
    found: FloatArray = np.full(len(ids), np.nan)
    rows = among(ids, known)
    found[rows] = positions[np.searchsorted(known, ids[rows])]
    return found
