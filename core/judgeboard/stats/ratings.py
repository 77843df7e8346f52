"""Scales, ratings of several raters, and the human value of a response."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from judgeboard.domain import Label, Preference
from judgeboard.stats.arrays import (
    AnyArray,
    BoolArray,
    FloatArray,
    Grouping,
    IntArray,
    among,
    finite_floats,
    grouping,
    same_length,
)
from judgeboard.stats.confusion import Weights, category_codes


@dataclass(frozen=True, slots=True)
class Scale:
    """A grade with the declared ``categories`` in order; None is a continuous score.

    ``weights`` names the weighted kappa of ordered categories. ``bad`` is the position of the
    category to detect. If the sides have ``different`` scales, only correlations compare the sides.
    """

    grade: str
    categories: tuple[Any, ...] | None = None
    weights: Weights | None = None
    bad: int | None = None
    different: bool = False

    @property
    def k(self) -> int:
        """The number of declared categories; 0 for a continuous scale."""
        return len(self.categories or ())

    @property
    def names_classes(self) -> bool:
        """Whether the categories are unordered."""
        return self.categories is not None and self.weights is None

    @property
    def codes(self) -> tuple[Any, ...]:
        """The numbers that stand for the categories in the store: 1 to k for classes, otherwise the levels."""
        return tuple(range(1, self.k + 1)) if self.names_classes else self.categories or ()

    def named(self, values: FloatArray) -> AnyArray:
        """Return positions as the declared categories; scores unchanged."""
        return (
            values
            if self.categories is None
            else np.array(self.categories)[values.astype(np.int64)]
        )


LABEL = Scale("label", (Label.HALLUCINATED.value, Label.GROUNDED.value), bad=0)
QUALITY = Scale("quality", (1, 2, 3, 4), weights="quadratic")
GROUNDEDNESS = Scale("groundedness")
PREFERENCE = Scale("preference", tuple(each.value for each in Preference))

SCALES = {scale.grade: scale for scale in (LABEL, QUALITY, GROUNDEDNESS)}


@dataclass(frozen=True, eq=False)
class Ratings:
    """One row per item, one column per rater.

    ``values``, of shape (items, raters), are positions among the declared categories, or continuous
    scores; NaN means no rating. ``groups`` has the evidence group of each item.
    """

    values: FloatArray
    raters: tuple[str, ...]
    scale: Scale
    groups: Grouping

    def __post_init__(self) -> None:
        """Check the shapes and the values; raise ValueError for a misfit."""
        if self.values.ndim != 2 or self.values.shape[1] != len(self.raters):
            raise ValueError(
                f"{len(self.raters)} raters need as many columns, not shape {self.values.shape}"
            )
        same_length(self.values, self.groups.codes)
        if len(set(self.raters)) != len(self.raters):
            raise ValueError("each rater has one column")
        ratings = self.values[self.rated]
        if not np.isfinite(ratings).all():
            raise ValueError("a rating is a finite number, or NaN if there is none")
        if self.scale.categories is None:
            return
        if ((ratings < 0) | (ratings >= self.scale.k) | (ratings != np.floor(ratings))).any():
            raise ValueError(f"ratings are positions among the {self.scale.k} declared categories")

    @cached_property
    def rated(self) -> BoolArray:
        """Which cells have a rating."""
        return ~np.isnan(self.values)

    @cached_property
    def per_item(self) -> IntArray:
        """How many ratings each item has."""
        counts: IntArray = self.rated.sum(axis=1)
        return counts

    @cached_property
    def votes(self) -> IntArray:
        """How many raters put each item in each declared category, shape (items, k)."""
        if not self.scale.k:
            raise ValueError("a continuous scale has no categories to count")
        item, rater = np.nonzero(self.rated)
        cells = item * self.scale.k + self.values[item, rater].astype(np.int64)
        return (
            np.bincount(cells, minlength=len(self.values) * self.scale.k)
            .reshape(-1, self.scale.k)
            .astype(np.int64)
        )

    def at(self, rows: AnyArray) -> "Ratings":
        """Return the ratings of some of the items, by a mask or by positions."""
        return Ratings(self.values[rows], self.raters, self.scale, self.groups.at(rows))


def ratings_of(
    item_ids: AnyArray,
    raters: AnyArray,
    values: FloatArray,
    scale: Scale,
    groups: AnyArray | None = None,
) -> tuple[IntArray, Ratings]:
    """Return the ids of the rated items, ascending, and the matrix of single ratings.

    The arrays have one row per rating; ``values`` are as in `Ratings`. Without ``groups`` each item
    is a separate evidence group. Raises ValueError if a rater rates an item twice, or a value is
    not on the scale.
    """
    same_length(item_ids, raters, values)
    items, item = np.unique(item_ids, return_inverse=True)
    names, rater = np.unique(raters, return_inverse=True)
    cells = item * len(names) + rater
    if len(np.unique(cells)) != len(cells):
        raise ValueError("a rater has two ratings of one item: select one of them first")
    matrix: FloatArray = np.full((len(items), len(names)), np.nan)
    matrix[item, rater] = finite_floats(values)
    of_item = None
    if groups is not None:
        of_item = np.empty(len(items), dtype=groups.dtype)
        of_item[item] = groups
    return items, Ratings(
        matrix, tuple(map(str, names.tolist())), scale, grouping(of_item, len(items))
    )


def positions(values: AnyArray, scale: Scale) -> FloatArray:
    """Return values as positions among the declared categories, scores unchanged; raise ValueError for other values."""
    if scale.categories is None:
        return finite_floats(values)
    return category_codes(values, scale.categories).astype(np.float64)


def positions_of_codes(codes: AnyArray, scale: Scale) -> FloatArray:
    """Return grades of the store (`Scale.codes`, or scores) as positions on the scale, see `positions`."""
    if scale.categories is None:
        return finite_floats(codes)
    return category_codes(codes, scale.codes).astype(np.float64)


Kind = Literal["label", "quality", "groundedness"]

Human = Literal["gold", "majority", "mean", "each"]
"""The grades that count: ``gold`` labels, else people combined; the ``majority`` or the ``mean`` of people without gold
labels; ``each`` person's."""

HUMANS: tuple[Human, ...] = get_args(Human)


@dataclass(frozen=True, slots=True, eq=False)
class PeopleValues:
    """One row per response, in the order of ids; several rows of a response if each person is a row.

    ``ties`` counts responses left out because no label had most votes, ``only_gold`` responses left
    out because people alone count and only a lead graded the response.
    """

    response_ids: IntArray
    values: AnyArray
    ties: int = 0
    only_gold: int = 0


def human_values(
    response_ids: IntArray,
    reviewers: AnyArray,
    values: AnyArray,
    kind: Kind,
    *,
    gold: BoolArray | None = None,
    human: Human = "gold",
) -> PeopleValues:
    """Return the human value of each response, from one row per review as in ``one_value_per_response``.

    ``gold`` marks adjudications; a reviewer may have a review and an adjudication of the same
    response. Adjudications count only if ``human`` is gold, because the lead has seen the other
    grades. If each person is a row, an interval must resample responses.
    """
    n = same_length(response_ids, reviewers, values)
    is_adjudicated = np.zeros(n, dtype=np.bool_) if gold is None else gold
    same_length(is_adjudicated, response_ids)
    by_people = ~is_adjudicated
    if human == "gold":
        rows = is_adjudicated | ~among(response_ids, np.unique(response_ids[is_adjudicated]))
        return one_value_per_response(response_ids[rows], reviewers[rows], values[rows], kind)
    only_gold = np.setdiff1d(response_ids[is_adjudicated], response_ids[by_people]).size
    ids, people, grades = response_ids[by_people], reviewers[by_people], values[by_people]
    if human in {"majority", "mean"}:
        return replace(one_value_per_response(ids, people, grades, kind), only_gold=only_gold)
    _check_values(grades)
    order = _check_one_review_each(ids, people)
    return PeopleValues(ids[order], grades[order], only_gold=only_gold)


def one_value_per_response(
    response_ids: IntArray, reviewers: AnyArray, values: AnyArray, kind: Kind
) -> PeopleValues:
    """Return the combined value of people for each response, from one row per review.

    ``values`` are labels (any sortable values), qualities 1 to 4, or groundedness 0 to 1. The
    combined ``label`` is the majority's (ties are left out), ``quality`` is the lower median,
    ``groundedness`` is the mean. Raises ValueError if a reviewer has two reviews of one response,
    or a value is missing.
    """
    n = same_length(response_ids, reviewers, values)
    _check_values(values)
    if n == 0:
        return PeopleValues(response_ids, values)
    _check_one_review_each(response_ids, reviewers)
    distinct, levels = np.unique(values, return_inverse=True)
    order = np.lexsort((levels, response_ids))
    ids, levels = response_ids[order], levels[order]
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    people = np.diff(np.append(starts, n))
    if kind == "label":
        cells = np.repeat(np.arange(len(starts)), people) * len(distinct) + levels
        votes = np.bincount(cells, minlength=len(starts) * len(distinct)).reshape(-1, len(distinct))
        has_winner = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        winners = votes.argmax(axis=1)[has_winner]
        return PeopleValues(ids[starts][has_winner], distinct[winners], int((~has_winner).sum()))
    if kind == "quality":
        return PeopleValues(ids[starts], distinct[levels[starts + (people - 1) // 2]])
    return PeopleValues(ids[starts], np.add.reduceat(distinct[levels], starts) / people)


def _check_values(values: AnyArray) -> None:
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError("a review without this grade must be left out")


def _check_one_review_each(response_ids: IntArray, reviewers: AnyArray) -> IntArray:
    """Return the order by response, then by reviewer; raise ValueError if a reviewer has two reviews of a response."""
    _, reviewer = np.unique(reviewers, return_inverse=True)
    order = np.lexsort((reviewer, response_ids))
    ids, reviewer_codes = response_ids[order], reviewer[order]
    if ((ids[1:] == ids[:-1]) & (reviewer_codes[1:] == reviewer_codes[:-1])).any():
        raise ValueError("a reviewer has two reviews of one response: select one of them first")
    return order
