"""What people gave each logged answer, one value per answer, and its pairs with a judge version's verdicts."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgeboard.flags.rule import HALF_STEP
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, among
from judgeboard.stats.ratings import Human, Kind, PeopleValues, Scale, human_values
from judgeboard.store.grades import ADJUDICATION, AGAIN, BLIND, LABELS, GradedReviews, Grades
from judgeboard.store.verdicts import GradedAnswers

GradeName = Literal["label", "groundedness", "quality"]

GRADES: tuple[GradeName, ...] = ("label", "groundedness", "quality")

_NAMES = np.array(LABELS)
_GROUNDED, _HALLUCINATED = LABELS.index("grounded"), LABELS.index("hallucinated")


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPairs:
    """One row per answer, by its id, that both sides gave the grade; with ``each`` one per person and answer.

    ``judge`` and ``people`` hold labels as texts, quality 1 to 4, groundedness 0 to 1 or a rubric's score; ``scores``
    the judge's groundedness, NaN where it gave none; ``cut`` marks the labels that were cut from it. ``groups`` are
    evidence groups, ``query_types`` positions in the names of the load, ``days`` UTC days (below 0: no time).
    """

    scale: Scale
    response_ids: IntArray
    judge: AnyArray
    people: AnyArray
    scores: FloatArray
    cut: BoolArray
    groups: IntArray
    query_types: IntArray
    days: IntArray

    @property
    def grade(self) -> str:
        """What both sides gave."""
        return self.scale.grade

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.response_ids)

    def at(self, rows: AnyArray) -> "AnswerPairs":
        """Return some of the pairs, by a mask or by positions."""
        return AnswerPairs(
            self.scale,
            self.response_ids[rows],
            self.judge[rows],
            self.people[rows],
            self.scores[rows],
            self.cut[rows],
            self.groups[rows],
            self.query_types[rows],
            self.days[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Voices:
    """What people gave on one grade, a row per person and answer; labels are positions in ``LABELS``."""

    response_ids: IntArray
    reviewer_ids: IntArray
    values: AnyArray

    def at(self, rows: AnyArray) -> "Voices":
        """Return some of the rows, by a mask or by positions."""
        return Voices(self.response_ids[rows], self.reviewer_ids[rows], self.values[rows])


def voices(reviews: GradedReviews, scale: Scale, reviewer_id: int | None = None) -> Voices:
    """Return what each person, or one of them, says of each answer: one voice per person and answer.

    Of each reviewer the latest review that stands and carries this grade counts, a blind one before any other. What
    was adjudicated is not a person's voice (``gold``); what was said after the reveal, or of an item that was served
    again, never counts.
    """
    rows = _carrying(reviews, scale.grade) & (reviews.stages != ADJUDICATION) & (reviews.stages != AGAIN)
    if reviewer_id is not None:
        rows &= reviews.reviewer_ids == reviewer_id
    return _voices(reviews, scale.grade, _last_of(reviews, np.flatnonzero(rows), by_reviewer=True))


def gold(reviews: GradedReviews, scale: Scale) -> Voices:
    """Return what was adjudicated, one row per answer: the latest adjudication that stands and carries the grade."""
    rows = np.flatnonzero(_carrying(reviews, scale.grade) & (reviews.stages == ADJUDICATION))
    return _voices(reviews, scale.grade, _last_of(reviews, rows, by_reviewer=False))


def people_values(
    reviews: GradedReviews, scale: Scale, reviewer_id: int | None = None, human: Human = "gold"
) -> PeopleValues:
    """Return what a judge is held against (``human_values``), in the order of the answers' ids.

    With ``reviewer_id`` it is what this one says; nothing that was adjudicated counts then.
    """
    said = voices(reviews, scale, reviewer_id)
    settled = gold(reviews, scale) if reviewer_id is None else said.at(np.empty(0, dtype=np.int64))
    ids, who, values = (
        np.concatenate((getattr(said, column), getattr(settled, column)))
        for column in ("response_ids", "reviewer_ids", "values")
    )
    is_gold = np.arange(len(ids)) >= len(said.values)
    return human_values(ids, who, values, combined_as(scale), gold=is_gold, human=human)


def combined_as(scale: Scale) -> Kind:
    """Return how several people make one value: ordered categories have a lower median, scores a mean."""
    if scale.categories is None:
        return "groundedness"
    return "label" if scale.weights is None else "quality"


def pairs_of(graded: GradedAnswers, version_id: int, people: PeopleValues, scale: Scale, cut: float) -> AnswerPairs:
    """Return the pairs of a judge version's current verdicts with what people say (``people_values``).

    Where the judge gave no label, its groundedness is cut: below ``cut`` the answer counts as hallucinated.
    """
    verdicts = graded.verdicts.get(version_id) or _silence(len(graded.response_ids))
    judged = among(people.response_ids, graded.response_ids)
    at, said = np.searchsorted(graded.response_ids, people.response_ids[judged]), people.values[judged]
    values, cut_rows = judge_values(verdicts, scale.grade, cut)
    judge, scores, was_cut = values[at], verdicts.groundedness[at], cut_rows[at]
    given = is_given(judge)
    at = at[given]
    return AnswerPairs(
        scale,
        graded.response_ids[at],
        as_said(judge[given], scale.grade),
        as_said(said[given], scale.grade),
        scores[given],
        was_cut[given],
        graded.evidence_groups[at],
        graded.query_types[at],
        graded.asked_days[at],
    )


def judge_values(verdicts: Grades, grade: str, cut: float) -> tuple[AnyArray, BoolArray]:
    """Return what a judge gave on a grade (labels as positions), and which labels were cut from its groundedness."""
    values = column_of(verdicts, grade)
    if grade != "label":
        return values, np.zeros(len(values), dtype=np.bool_)
    was_cut = (values == 0) & ~np.isnan(verdicts.groundedness)
    below = verdicts.groundedness < cut - HALF_STEP
    return np.where(was_cut, np.where(below, _HALLUCINATED, _GROUNDED), values), was_cut


def as_said(values: AnyArray, grade: str) -> AnyArray:
    """Return values of a grade as ``AnswerPairs`` holds them: labels as texts."""
    return _NAMES[values] if grade == "label" else values


def is_given(values: AnyArray) -> BoolArray:
    """Return which values of a grade are there: scores that are not NaN, labels and qualities that are not 0."""
    return ~np.isnan(values) if values.dtype.kind == "f" else np.asarray(values != 0)


def _silence(n: int) -> Grades:
    """Return the verdicts of a judge that has said nothing."""
    nothing = np.full(n, np.nan)
    return Grades(np.zeros(n, dtype=np.int64), nothing, np.zeros(n, dtype=np.int64), nothing)


def column_of(given: Grades, grade: str) -> AnyArray:
    """Return what was given on a grade; one that is none of the three is the dimension that was read."""
    known = {"label": given.labels, "groundedness": given.groundedness, "quality": given.quality}
    return known.get(grade, given.scores)


def _carrying(reviews: GradedReviews, grade: str) -> BoolArray:
    return is_given(column_of(reviews.given, grade))


def _voices(reviews: GradedReviews, grade: str, rows: IntArray) -> Voices:
    values = column_of(reviews.given, grade)[rows]
    return Voices(reviews.response_ids[rows], reviews.reviewer_ids[rows], values)


def _last_of(reviews: GradedReviews, rows: IntArray, *, by_reviewer: bool) -> IntArray:
    """Return one of ``rows`` (the oldest first) per response, and person: a blind one if there is, then the latest."""
    who = reviews.reviewer_ids[rows] if by_reviewer else np.zeros(len(rows), dtype=np.int64)
    # lexsort is stable: among equals the rows keep their order, so the latest comes last.
    at = np.lexsort((reviews.stages[rows] == BLIND, who, reviews.response_ids[rows]))
    response_ids, who = reviews.response_ids[rows[at]], who[at]
    is_last = np.ones(len(at), dtype=np.bool_)
    is_last[:-1] = (response_ids[1:] != response_ids[:-1]) | (who[1:] != who[:-1])
    chosen: IntArray = rows[at][is_last]
    return chosen
