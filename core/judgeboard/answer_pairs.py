"""Pairs of what people and one judge version gave the same answers: one per answer, however many graded it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from judgeboard.flags.rule import HALF_STEP
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, IntArray, among
from judgeboard.stats.people import PeopleValues, one_value_per_response
from judgeboard.store.figures.graded_answers import LABELS, Given, GradedAnswers, StandingReviews

GradeName = Literal["label", "groundedness", "quality"]

GRADES: tuple[GradeName, ...] = ("label", "groundedness", "quality")

_GROUNDED, _HALLUCINATED = LABELS.index("grounded"), LABELS.index("hallucinated")


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPairs:
    """One row per answer, by its id, that both sides gave the grade.

    ``judge`` and ``people`` hold labels as texts, quality 1 to 4 or groundedness 0 to 1; ``scores`` the judge's
    groundedness, NaN where it gave none; ``cut`` marks the labels that were cut from it. ``groups`` are evidence
    groups, ``query_types`` positions in the names of the load, ``days`` UTC days (below 0: no time).
    """

    grade: GradeName
    response_ids: IntArray
    judge: AnyArray
    people: AnyArray
    scores: FloatArray
    cut: BoolArray
    groups: IntArray
    query_types: IntArray
    days: IntArray

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.response_ids)

    def at(self, rows: AnyArray) -> "AnswerPairs":
        """Return some of the pairs, by a mask or by positions."""
        return AnswerPairs(
            self.grade,
            self.response_ids[rows],
            self.judge[rows],
            self.people[rows],
            self.scores[rows],
            self.cut[rows],
            self.groups[rows],
            self.query_types[rows],
            self.days[rows],
        )


def people_values(graded: GradedAnswers, grade: GradeName, reviewer_id: int | None = None) -> PeopleValues:
    """Return what people together, or one reviewer, say of each answer.

    Of each reviewer the latest review that stands and carries this grade counts, a blind one before any other.
    """
    reviews = graded.reviews
    values = _values(reviews.given, grade)
    carries = values > 0 if grade != "groundedness" else ~np.isnan(values)
    if reviewer_id is not None:
        carries &= reviews.reviewer_ids == reviewer_id
    rows = _one_per_reviewer(reviews, np.flatnonzero(carries))
    return one_value_per_response(reviews.response_ids[rows], reviews.reviewer_ids[rows], values[rows], grade)


def pairs_of(graded: GradedAnswers, version_id: int, people: PeopleValues, grade: GradeName, cut: float) -> AnswerPairs:
    """Return the pairs of a judge version's current verdicts with what people say (``people_values``).

    Where the judge gave no label, its groundedness is cut: below ``cut`` the answer counts as hallucinated.
    """
    verdicts = graded.verdicts.get(version_id) or _silence(len(graded.response_ids))
    judged = among(people.response_ids, graded.response_ids)
    at, said = np.searchsorted(graded.response_ids, people.response_ids[judged]), people.values[judged]
    judge, scores = _values(verdicts, grade)[at], verdicts.groundedness[at]
    was_cut = (judge == 0) & ~np.isnan(scores) & (grade == "label")
    judge = np.where(was_cut, np.where(scores < cut - HALF_STEP, _HALLUCINATED, _GROUNDED), judge)
    given = ~np.isnan(judge) if grade == "groundedness" else judge > 0
    at, judge, said = at[given], judge[given], said[given]
    if grade == "label":
        names = np.array(LABELS)
        judge, said = names[judge.astype(np.int64)], names[said.astype(np.int64)]
    return AnswerPairs(
        grade,
        graded.response_ids[at],
        judge,
        said,
        scores[given],
        was_cut[given],
        graded.evidence_groups[at],
        graded.query_types[at],
        graded.asked_days[at],
    )


def _silence(n: int) -> Given:
    """Return the verdicts of a judge that has said nothing."""
    return Given(np.zeros(n, dtype=np.int64), np.full(n, np.nan), np.zeros(n, dtype=np.int64))


def _values(given: Given, grade: GradeName) -> AnyArray:
    return {"label": given.labels, "groundedness": given.groundedness, "quality": given.quality}[grade]


def _one_per_reviewer(reviews: StandingReviews, rows: IntArray) -> IntArray:
    """Return one of ``rows`` (the oldest first) per response and reviewer: a blind one if there is, then the latest."""
    # lexsort is stable: among equals the rows keep their order, so the latest comes last.
    order = rows[np.lexsort((reviews.blind[rows], reviews.reviewer_ids[rows], reviews.response_ids[rows]))]
    response_ids, reviewer_ids = reviews.response_ids[order], reviews.reviewer_ids[order]
    is_last = np.ones(len(order), dtype=np.bool_)
    is_last[:-1] = (response_ids[1:] != response_ids[:-1]) | (reviewer_ids[1:] != reviewer_ids[:-1])
    return order[is_last]
