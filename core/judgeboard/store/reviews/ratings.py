"""What people gave the logged answers: the one place where agreement reads reviews, as arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, case, exists, func, literal, select

from judgeboard.domain import Label
from judgeboard.stats.arrays import FloatArray, IntArray
from judgeboard.store.reviews.standing import REVIEW, has_grade, standing
from judgeboard.store.schema.queue_tables import QUEUE_ITEM
from judgeboard.store.schema.tables import REVIEW_SCORE
from judgeboard.store.sql.column_arrays import read_columns

SCORE = REVIEW_SCORE
ITEM = QUEUE_ITEM

LABELS = ("", Label.GROUNDED.value, Label.HALLUCINATED.value)
"""What the positions in ``Given.labels`` stand for; the first is no label."""

NO_STAGE, BLIND, ADJUDICATION, AGAIN = 0, 1, 2, 3
"""Stages in ``StandingReviews.stages``; what was said after the reveal is not among them.

``AGAIN`` was said of an item that its author was served again: how far they agree with themselves, and nothing else.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Grades or verdicts as columns of one length.

    ``labels`` are positions in ``LABELS``. What was not given is 0 there, NaN in ``groundedness``, 0 in ``quality``.
    ``scores`` are on the one dimension that was asked for, NaN everywhere where none was.
    """

    labels: IntArray
    groundedness: FloatArray
    quality: IntArray
    scores: FloatArray

    def at(self, rows: npt.NDArray[Any]) -> "Given":
        """Return some of the rows, by a mask or by positions."""
        return Given(self.labels[rows], self.groundedness[rows], self.quality[rows], self.scores[rows])


@dataclass(frozen=True, slots=True, eq=False)
class StandingReviews:
    """Reviews that stand and carry a grade, one row each, the oldest first."""

    response_ids: IntArray
    reviewer_ids: IntArray
    stages: IntArray
    given: Given

    def at(self, rows: npt.NDArray[Any]) -> "StandingReviews":
        """Return some of the rows, by a mask or by positions."""
        return StandingReviews(self.response_ids[rows], self.reviewer_ids[rows], self.stages[rows], self.given.at(rows))


def standing_reviews(connection: Connection, dimension: str | None = None) -> StandingReviews:
    """Return the reviews that stand and grade, but those that were given after the judge was revealed.

    A review that was unsure whether there is a problem counts with the grades that it gives: they were given, and
    nobody has to give any. Withdrawn and replaced ones do not count.

    Args:
        connection: An open transaction.
        dimension: Those with a score on this dimension of a rubric; without it those with one of the three grades.
    """
    again = exists().where(ITEM.c.id == REVIEW.c.queue_item_id, ITEM.c.again_for.is_not(None))
    stages = ((again, AGAIN), (REVIEW.c.stage == "blind", BLIND), (REVIEW.c.stage == "adjudication", ADJUDICATION))
    stage = case(*stages, else_=NO_STAGE)
    columns = (REVIEW.c.response_id, REVIEW.c.reviewer_id, stage)
    if dimension is None:
        query = select(*columns, *given_columns(REVIEW.c)).where(has_grade())
    else:
        query = (
            select(*columns, *given_columns(REVIEW.c, SCORE.c.value))
            .join(SCORE, SCORE.c.review_id == REVIEW.c.id)
            .where(SCORE.c.dimension == dimension, SCORE.c.value.is_not(None))
        )
    query = query.where(standing(), REVIEW.c.stage.is_distinct_from("revealed")).order_by(REVIEW.c.id)
    responses, reviewers, stages, *given = read_columns(connection, query)
    return StandingReviews(responses, reviewers, stages, given_of(given, len(responses)))


def given_columns(table: Any, score: ColumnElement[Any] | None = None) -> tuple[ColumnElement[Any], ...]:
    """Return the columns of ``Given``, the score last where there is one.

    Numbers instead of texts and NULLs: a million small strings cost more than all that is computed from them.
    """
    label = case(*((table.label == name, literal(code)) for code, name in enumerate(LABELS) if name), else_=literal(0))
    columns = (label, table.groundedness, func.coalesce(table.quality, 0))
    return columns if score is None else (*columns, score)


def given_of(columns: list[Any], n: int) -> Given:
    """Return what ``given_columns`` read of ``n`` rows."""
    scores = columns[3] if len(columns) > 3 else np.full(n, np.nan)
    return Given(columns[0], columns[1], columns[2], scores)
