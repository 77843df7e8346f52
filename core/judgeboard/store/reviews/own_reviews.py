"""What one person reviewed: their reviews that stand, newest first, and one of them whole, to be changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.domain import Decision, DimensionScore, Grade, Label, Stage, WhyDiffers
from judgeboard.store.listing import KeyedList, LinePage, Order
from judgeboard.store.responses.text_starts import ANSWER, QUESTION
from judgeboard.store.reviews.claim_marks import marks_from
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.queue_tables import QueueItemRow, QueueRow
from judgeboard.store.schema.tables import FlagRow, ResponseRow, ReviewScoreRow

FLAG = FlagRow.__table__
RESPONSE = ResponseRow.__table__
SCORE = ReviewScoreRow.__table__
ITEM = QueueItemRow.__table__
QUEUE = QueueRow.__table__

NEWEST = Order(
    "reviewed", "newest first", REVIEW.c.id, REVIEW.c.id, "ix_review_reviewer", descending=True, id_descending=True
)


@dataclass(frozen=True, slots=True)
class OwnReview:
    """A review in the list; ``rule`` and ``state`` are its flag's, ``queue`` the named queue it was given in.

    ``final`` is one that is not changed any more: said before the judge was seen, or as the last word.
    """

    review_id: int
    response_id: int
    external_id: str
    question: str | None
    answer: str | None
    flag_id: int | None
    rule: str | None
    state: str | None
    queue: str | None
    stage: str | None
    decision: str | None
    label: str | None
    groundedness: float | None
    quality: int | None
    note: str | None
    seconds: float | None
    at: datetime

    @property
    def final(self) -> bool:
        """Whether it stays as it was said."""
        return self.stage in {Stage.BLIND, Stage.ADJUDICATION}


@dataclass(frozen=True, slots=True)
class WholeReview:
    """A review with all that was given in it."""

    id: int
    response_id: int
    flag_id: int | None
    reviewer_id: int
    stage: str | None
    decision: Decision | None
    grade: Grade
    judgment_seen_id: int | None
    seconds: float | None
    stands: bool
    at: datetime


def own_reviews_page(
    connection: Connection, reviewer_id: int, *, after: str | None = None, before: str | None = None, limit: int = 50
) -> LinePage[OwnReview]:
    """Return the reviews of a person that stand: behind ``after``, before ``before``, or the newest.

    Raises:
        BadInput: A key names no place.
    """
    own = [REVIEW.c.reviewer_id == reviewer_id, standing()]
    listed = KeyedList(connection, REVIEW, NEWEST, own=own, count_index=NEWEST.index)
    return listed.page(after, before, limit, partial(_lines, connection))


def whole_review(connection: Connection, review_id: int) -> WholeReview | None:
    """Return a review with all that was given in it, None where there is none of this id."""
    row = connection.execute(select(REVIEW, standing().label("stands")).where(REVIEW.c.id == review_id)).one_or_none()
    if row is None:
        return None
    scores = connection.execute(select(SCORE).where(SCORE.c.review_id == review_id).order_by(SCORE.c.id))
    grade = Grade(
        label=None if row.label is None else Label(row.label),
        groundedness=row.groundedness,
        quality=row.quality,
        spans=None if row.spans is None else tuple(row.spans),
        note=row.note,
        corrected_answer=row.corrected_answer,
        scores=tuple(DimensionScore(score.dimension, score.value, score.scale) for score in scores),
        claim_marks=marks_from(row.claim_marks),
        why_differs=None if row.why_differs is None else WhyDiffers(row.why_differs),
    )
    return WholeReview(
        id=row.id,
        response_id=row.response_id,
        flag_id=row.flag_id,
        reviewer_id=row.reviewer_id,
        stage=row.stage,
        decision=None if row.decision is None else Decision(row.decision),
        grade=grade,
        judgment_seen_id=row.judgment_seen_id,
        seconds=row.seconds,
        stands=bool(row.stands),
        at=row.at,
    )


def _lines(connection: Connection, review_ids: Sequence[int]) -> tuple[OwnReview, ...]:
    query = (
        select(
            REVIEW.c.id.label("review_id"),
            REVIEW.c.response_id,
            RESPONSE.c.external_id,
            QUESTION,
            ANSWER,
            REVIEW.c.flag_id,
            FLAG.c.rule,
            FLAG.c.state,
            QUEUE.c.name.label("queue"),
            *(REVIEW.c[name] for name in ("stage", "decision", "label", "groundedness", "quality", "note", "seconds")),
            REVIEW.c.at,
        )
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .outerjoin(FLAG, FLAG.c.id == REVIEW.c.flag_id)
        .outerjoin(ITEM, ITEM.c.id == REVIEW.c.queue_item_id)
        .outerjoin(QUEUE, QUEUE.c.id == ITEM.c.queue_id)
        .where(REVIEW.c.id.in_(review_ids))
    )
    by_id: dict[int, OwnReview] = {row.review_id: _line(row) for row in connection.execute(query)}
    return tuple(by_id[review_id] for review_id in review_ids)


def _line(row: Any) -> OwnReview:
    return OwnReview(**dict(zip(row._fields, row, strict=True)))
