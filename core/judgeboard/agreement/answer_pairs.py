"""The grades of people on each logged answer, as one value per answer, paired with a judge version's verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from judgeboard.flags.rule import HALF_STEP
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, among
from judgeboard.stats.pair_orders import OrderVerdicts
from judgeboard.stats.ratings import Human, Kind, PeopleValues, Scale, human_values, positions_of_codes
from judgeboard.store.grades import ADJUDICATION, AGAIN, BLIND, GROUNDED, HALLUCINATED, GradedReviews, Grades
from judgeboard.store.verdicts import GradedAnswers

GradeName = Literal["label", "groundedness", "quality"]
GRADES: tuple[GradeName, ...] = get_args(GradeName)

Cut: TypeAlias = float | FloatArray  # one value, or one per row


@dataclass(frozen=True, slots=True, eq=False)
class RatingPairs:
    """One row per item that the judge and people rated (if people are stacked: per person and item), by id.

    An item is an answer or a pair of answers. ``judge`` and ``people`` are positions among the categories of ``scale``,
    or scores. ``scores`` is the judge's groundedness, NaN if there is none; ``cut`` marks labels derived from it.
    ``groups`` are evidence groups, ``query_types`` are positions in the loaded names, ``days`` are UTC days (below 0:
    no time). ``left_out`` counts the items without a row by reason. Only pairs of answers have ``comparisons``.
    """

    scale: Scale
    response_ids: IntArray
    judge: FloatArray
    people: FloatArray
    scores: FloatArray
    cut: BoolArray
    groups: IntArray
    query_types: IntArray
    days: IntArray
    left_out: dict[str, int] = field(default_factory=dict)
    comparisons: "Comparisons | None" = None

    @property
    def n(self) -> int:
        """The number of pairs."""
        return len(self.response_ids)

    def at(self, rows: AnyArray) -> "RatingPairs":
        """Return some of the pairs, by a mask or by positions, as if they were all."""
        return RatingPairs(self.scale, *(getattr(self, name)[rows] for name in _COLUMNS))


_COLUMNS = ("response_ids", "judge", "people", "scores", "cut", "groups", "query_types", "days")


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """A judge's verdicts on all pairs of answers ``ids`` that people rated too, whether or not the verdict counts.

    ``asked`` tells for each order (A first, B first) about which of them the judge was asked. Both are None if it
    scored each answer by itself. If it was asked in both orders, ``a_first`` and ``b_first`` are the rating pairs of
    each order alone.
    """

    ids: IntArray
    orders: OrderVerdicts | None = None
    asked: tuple[BoolArray, BoolArray] | None = None
    a_first: RatingPairs | None = None
    b_first: RatingPairs | None = None


def person_grades(reviews: GradedReviews, grade: str, reviewer_id: int | None = None) -> GradedReviews:
    """Return the review with the grade of each person, or of one of them, on each answer.

    Each reviewer's latest blind review counts, or else their latest review. Adjudications (``gold``) and reviews after
    the reveal or of a repeated item do not count.
    """
    rows = (reviews.stages != ADJUDICATION) & (reviews.stages != AGAIN)
    if reviewer_id is not None:
        rows &= reviews.reviewer_ids == reviewer_id
    return _latest(reviews, grade, rows, by_reviewer=True)


def gold(reviews: GradedReviews, grade: str) -> GradedReviews:
    """Return the latest adjudication of each answer that has the grade."""
    return _latest(reviews, grade, reviews.stages == ADJUDICATION, by_reviewer=False)


def people_values(
    reviews: GradedReviews, scale: Scale, reviewer_id: int | None = None, human: Human = "gold"
) -> PeopleValues:
    """Return the grades that a judge is compared with (``human_values``), in the order of the answers' ids.

    With ``reviewer_id`` only this person's grades count, and no adjudications.
    """
    own = person_grades(reviews, scale.grade, reviewer_id)
    parts = [own] if reviewer_id is not None else [own, gold(reviews, scale.grade)]
    ids, reviewer_ids = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("response_ids", "reviewer_ids")
    )
    values = np.concatenate([column_of(part.grades, scale.grade) for part in parts])
    is_gold = np.arange(len(ids)) >= len(own.response_ids)
    return human_values(ids, reviewer_ids, values, combined_as(scale), gold=is_gold, human=human)


def combined_as(scale: Scale) -> Kind:
    """Return how the grades of several people are combined: majority, lower median of ordered categories, or mean."""
    if scale.categories is None:
        return "groundedness"
    return "label" if scale.weights is None else "quality"


def pairs_of(graded: GradedAnswers, version_id: int, people: PeopleValues, scale: Scale, cut: Cut) -> RatingPairs:
    """Return the pairs of a judge version's current verdicts with the grades of people (``people_values``).

    If the judge gave no label, the answer counts as hallucinated if its groundedness is below ``cut``, one value or one
    per row of ``graded``.
    """
    n = len(graded.response_ids)
    verdicts = graded.verdicts.get(version_id)
    if verdicts is None:
        no_scores, no_levels = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
        verdicts = Grades(no_levels, no_scores, no_levels, no_scores)
    judged = among(people.response_ids, graded.response_ids)
    at, grades = np.searchsorted(graded.response_ids, people.response_ids[judged]), people.values[judged]
    values, was_cut = judge_values(verdicts, scale.grade, cut)
    rows = is_given(values[at])
    at, grades = at[rows], grades[rows]
    return RatingPairs(
        scale,
        graded.response_ids[at],
        positions_of_codes(values[at], scale),
        positions_of_codes(grades, scale),
        verdicts.groundedness[at],
        was_cut[at],
        graded.evidence_groups[at],
        graded.query_types[at],
        graded.asked_days[at],
    )


def judge_values(verdicts: Grades, grade: str, cut: Cut) -> tuple[AnyArray, BoolArray]:
    """Return a judge's values of a grade (labels as positions), and which labels were derived from groundedness."""
    values = column_of(verdicts, grade)
    if grade != "label":
        return values, np.zeros(len(values), dtype=np.bool_)
    return with_cut(values, verdicts.groundedness, cut)


def with_cut(labels: IntArray, groundedness: FloatArray, cut: Cut) -> tuple[IntArray, BoolArray]:
    """Return labels (as positions) with those that were derived from groundedness, and which ones these are."""
    was_cut = (labels == 0) & ~np.isnan(groundedness)
    return np.where(was_cut, np.where(groundedness < cut - HALF_STEP, HALLUCINATED, GROUNDED), labels), was_cut


def cuts_of(cuts: Cuts, names: Sequence[str], codes: IntArray) -> FloatArray:
    """Return the cut of each row; ``codes`` are positions in the query types ``names``."""
    return np.array([cuts.of(name) for name in names], dtype=np.float64)[codes]


def is_given(values: AnyArray) -> BoolArray:
    """Return which values of a grade exist: scores that are not NaN, labels and qualities that are not 0."""
    return ~np.isnan(values) if values.dtype.kind == "f" else np.asarray(values != 0)


def column_of(grades: Grades, grade: str) -> AnyArray:
    """Return the values of a grade; any other name is the rubric dimension that was loaded."""
    known = {"label": grades.labels, "groundedness": grades.groundedness, "quality": grades.quality}
    return known.get(grade, grades.scores)


def _latest(reviews: GradedReviews, grade: str, counted: BoolArray, *, by_reviewer: bool) -> GradedReviews:
    """Return one review per response (and person, if ``by_reviewer``): the latest blind one, or else the latest."""
    values = column_of(reviews.grades, grade)
    rows = np.flatnonzero(is_given(values) & counted)  # the oldest first
    reviewer_ids = reviews.reviewer_ids[rows] if by_reviewer else np.zeros(len(rows), dtype=np.int64)
    # lexsort is stable: among equals the rows keep their order, so the latest comes last.
    at = np.lexsort((reviews.stages[rows] == BLIND, reviewer_ids, reviews.response_ids[rows]))
    response_ids, reviewer_ids = reviews.response_ids[rows[at]], reviewer_ids[at]
    is_last = np.ones(len(at), dtype=np.bool_)
    is_last[:-1] = (response_ids[1:] != response_ids[:-1]) | (reviewer_ids[1:] != reviewer_ids[:-1])
    return reviews.at(rows[at][is_last])
