"""One person's current reviews, newest first, and one of them whole, to be edited."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from judgeboard.domain import Decision, DimensionScore, Grade, Preference, Shown, Stage
from judgeboard.store.listing import KeyedList, LinePage, Order
from judgeboard.store.responses import ANSWER, QUESTION, text_start
from judgeboard.store.reviews import (
    DecidedFlag,
    flags_decided,
    has_grade,
    is_current,
    marks_from,
    modes_of,
)
from judgeboard.store.statements import columns_of, record_of
from judgeboard.store.tables import PAIR, PREFERENCE_SCORE, QUEUE, QUEUE_ITEM, RESPONSE, REVIEW, REVIEW_SCORE

NEWEST = Order(
    "reviewed", "newest first", REVIEW.c.id, REVIEW.c.id, "ix_review_reviewer", descending=True, id_descending=True
)


@dataclass(frozen=True, slots=True)
class OwnReview:
    """A review in the list; ``flags`` are what it decides, ``queue`` is the named queue it was given in.

    ``preferences`` are by aspect of a pair, in terms of the stored answers; ``shown`` is which of them stood on the
    left. There are none where a decision was refused and only its note was kept. ``revealed_id`` is the review that its
    author gave after the reveal, ``revealed`` its decision.
    """

    review_id: int
    response_id: int | None
    pair_id: int | None
    external_id: str
    query_type: str | None
    question: str | None
    answer: str | None
    flags: tuple[DecidedFlag, ...]
    queue: str | None
    revealed_id: int | None
    revealed: str | None
    stage: str | None
    decision: str | None
    label: str | None
    label_implied: bool
    groundedness: float | None
    quality: int | None
    note: str | None
    seconds: float | None
    shown: Shown | None
    preferences: dict[str, Preference]
    at: datetime

    @property
    def final(self) -> bool:
        """Whether it can no longer be edited: given before the judge was seen, or an adjudication."""
        return self.stage in {Stage.BLIND, Stage.ADJUDICATION}


@dataclass(frozen=True, slots=True)
class WholeReview:
    """A review with all that was given in it."""

    id: int
    response_id: int | None
    reviewer_id: int
    stage: str | None
    decision: Decision | None
    grade: Grade
    judgment_seen_id: int | None
    seconds: float | None
    stands: bool
    at: datetime
    label_schema_id: int | None = None


def has_pair_reviews(connection: Connection, reviewer_id: int) -> bool:
    """Whether a person ever reviewed a pair."""
    query = select(REVIEW.c.id).where(REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.pair_id.is_not(None)).limit(1)
    return connection.execute(query).first() is not None


def own_reviews_page(
    connection: Connection,
    reviewer_id: int,
    *,
    pairs: bool = False,
    after: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> LinePage[OwnReview]:
    """Return a page (`KeyedList.page`) of a person's current reviews of answers, or of ``pairs``, the newest first.

    A review after the reveal is left out: the blind one before it counts.
    """
    of = REVIEW.c.pair_id if pairs else REVIEW.c.response_id
    revealed = REVIEW.c.stage.is_not_distinct_from(Stage.REVEALED.value)
    own = [REVIEW.c.reviewer_id == reviewer_id, of.is_not(None), is_current(), ~revealed]
    listed = KeyedList(connection, REVIEW, NEWEST, own=own, count_index=NEWEST.index)
    return listed.page(after, before, limit, partial(_lines, connection))


def latest_graded_review(connection: Connection, response_id: int, reviewer_id: int) -> WholeReview | None:
    """Return a person's newest current review of an answer that has a grade, None without one."""
    own = (REVIEW.c.response_id == response_id, REVIEW.c.reviewer_id == reviewer_id, is_current(), has_grade())
    review_id = connection.execute(select(func.max(REVIEW.c.id)).where(*own)).scalar()
    return None if review_id is None else whole_review(connection, review_id)


def whole_review(connection: Connection, review_id: int) -> WholeReview | None:
    """Return a review with all that was given in it, None where there is none of this id."""
    row = connection.execute(select(REVIEW, is_current().label("stands")).where(REVIEW.c.id == review_id)).one_or_none()
    if row is None:
        return None
    scores = connection.execute(
        select(REVIEW_SCORE).where(REVIEW_SCORE.c.review_id == review_id).order_by(REVIEW_SCORE.c.id)
    )
    grade = record_of(
        Grade,
        row,
        spans=None if row.spans is None else tuple(row.spans),
        scores=tuple(DimensionScore(score.dimension, score.value, score.scale) for score in scores),
        claim_marks=marks_from(row.claim_marks),
        modes=modes_of(connection, [review_id]).get(review_id, ()),
        choices=row.choices or {},
        texts=row.texts or {},
        in_suite=bool(row.in_suite),
    )
    return record_of(WholeReview, row, grade=grade, stands=bool(row.stands))


_REVEALED = REVIEW.alias("revealed")


def _revealed(column: str) -> ColumnElement[Any]:
    """A column of the author's current review of the same item after the reveal."""
    of_item = _REVEALED.c.queue_item_id == REVIEW.c.queue_item_id, _REVEALED.c.reviewer_id == REVIEW.c.reviewer_id
    query = select(_REVEALED.c[column]).where(
        *of_item, _REVEALED.c.stage == Stage.REVEALED.value, is_current(_REVEALED)
    )
    return query.limit(1).scalar_subquery()


def _lines(connection: Connection, review_ids: Sequence[int]) -> tuple[OwnReview, ...]:
    query = (
        select(
            REVIEW.c.id.label("review_id"),
            func.coalesce(RESPONSE.c.external_id, PAIR.c.external_id).label("external_id"),
            func.coalesce(RESPONSE.c.query_type, PAIR.c.query_type).label("query_type"),
            func.coalesce(QUESTION, text_start(PAIR.c.question)).label("question"),
            ANSWER,
            QUEUE.c.name.label("queue"),
            _revealed("id").label("revealed_id"),
            _revealed("decision").label("revealed"),
            *columns_of(OwnReview, REVIEW),
        )
        .outerjoin(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .outerjoin(PAIR, PAIR.c.id == REVIEW.c.pair_id)
        .outerjoin(QUEUE_ITEM, QUEUE_ITEM.c.id == REVIEW.c.queue_item_id)
        .outerjoin(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
        .where(REVIEW.c.id.in_(review_ids))
    )
    preferences: dict[int, dict[str, Preference]] = {}
    sides = PREFERENCE_SCORE.c.review_id.in_(review_ids), PREFERENCE_SCORE.c.preference.is_not(None)
    for score in connection.execute(select(PREFERENCE_SCORE).where(*sides).order_by(PREFERENCE_SCORE.c.id)):
        preferences.setdefault(score.review_id, {})[score.aspect] = score.preference
    flags = flags_decided(connection, review_ids)
    by_id = {
        row.review_id: record_of(
            OwnReview,
            row,
            flags=tuple(flags.get(row.review_id, ())),
            preferences=preferences.get(row.review_id, {}),
        )
        for row in connection.execute(query)
    }
    return tuple(by_id[review_id] for review_id in review_ids)
