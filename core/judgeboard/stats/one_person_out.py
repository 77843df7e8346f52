"""One person left out after the other: whether the judge or the person is nearer to the remaining people.

Source: N. Calderon, R. Reichart, R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge" (ACL 2025).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgeboard.stats.arrays import TIE, BoolArray, FloatArray, same_length
from judgeboard.stats.ratings import Ratings

Measure = Literal["label", "score"]
"""What is near: an equal label, or a score at a small distance."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One part of the items: where each person is compared with the judge, and who of both is as near to the others."""

    people: Ratings
    compared: BoolArray
    judge_wins: BoolArray
    person_wins: BoolArray
    without_verdict: int
    one_person: int

    def differences(self, person: int) -> FloatArray:
        """Return 1 where only the person is nearer, -1 where only the judge is, 0 where both are as near."""
        rows = self.compared[:, person]
        apart: FloatArray = self.person_wins[rows, person].astype(np.float64) - self.judge_wins[rows, person]
        return apart


def compare(judge: FloatArray, people: Ratings, measure: Measure | None) -> Comparison:
    """Return who is nearer to the others, on items with a usable verdict and two people.

    Args:
        judge: What the judge gave each item, as ``people.values``; NaN where it gave no usable verdict.
        people: What people gave, each person a column.
        measure: What is near; None is labels for unordered categories, else scores.
    """
    same_length(judge, people.values)
    unordered = people.scale.categories is not None and people.scale.weights is None
    labels = measure == "label" or (measure is None and unordered)
    usable, several = ~np.isnan(judge), people.per_item >= 2
    compared = people.given & (usable & several)[:, None]
    said = np.broadcast_to(judge[:, None], people.values.shape)
    own = people.values
    distance = _share_unequal if labels else _squared_distance
    of_judge, of_person = distance(people, said, compared), distance(people, own, compared)
    return Comparison(
        people,
        compared,
        compared & (of_judge <= of_person + TIE),
        compared & (of_person <= of_judge + TIE),
        int((several & ~usable).sum()),
        int((people.per_item == 1).sum()),
    )


def _share_unequal(people: Ratings, said: FloatArray, compared: BoolArray) -> FloatArray:
    """Return the share of the others that a value differs from, for each cell of the matrix that is compared."""
    item, rater = np.nonzero(compared)
    value, own = said[item, rater].astype(np.int64), people.values[item, rater].astype(np.int64)
    others = people.per_item[item] - 1
    equal = people.votes[item, value] - (value == own)
    return _cells(compared, 1 - equal / others)


def _squared_distance(people: Ratings, said: FloatArray, compared: BoolArray) -> FloatArray:
    """Return the mean squared distance of a value from the others', which orders as its root does."""
    item, rater = np.nonzero(compared)
    value, own = said[item, rater], people.values[item, rater]
    filled = np.where(people.given, people.values, 0.0)
    total, squares, others = filled.sum(axis=1)[item], np.square(filled).sum(axis=1)[item], people.per_item[item] - 1
    total, squares = total - own, squares - own * own
    return _cells(compared, (squares - 2 * value * total) / others + value * value)


def _cells(compared: BoolArray, values: FloatArray) -> FloatArray:
    filled: FloatArray = np.full(compared.shape, np.inf)
    filled[compared] = values
    return filled
