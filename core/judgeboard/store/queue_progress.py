"""How far a queue is, and the items whose reviews are in conflict."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, Subquery, and_, case, exists, func, select

from judgeboard.domain import Decision, ItemState, QueueState
from judgeboard.store.method_tables import PAIR
from judgeboard.store.queue_tables import LEASE, QUEUE, QUEUE_ITEM, SKIP
from judgeboard.store.responses import QUESTION
from judgeboard.store.tables import RESPONSE, REVIEW, REVIEWER


class ItemCount(NamedTuple):
    """How many items of one kind a queue has; ``several`` need more than one review."""

    state: ItemState
    several: bool
    items: int
    reviews_needed: int


@dataclass(frozen=True, slots=True)
class WorkCount:
    """What one person has done in a queue; ``last`` (UTC) is when they spoke last."""

    done: int
    unsure: int
    last: datetime | None


def count_items(connection: Connection, queue_id: int) -> list[ItemCount]:
    """Return how many items a queue has by state; what is served again to one person is not counted."""
    several = QUEUE_ITEM.c.reviews_needed > 1
    query = (
        select(QUEUE_ITEM.c.state, several, func.count(), func.sum(QUEUE_ITEM.c.reviews_needed))
        .where(QUEUE_ITEM.c.queue_id == queue_id, QUEUE_ITEM.c.repeat_for.is_(None))
        .group_by(QUEUE_ITEM.c.state, several)
    )
    return [
        ItemCount(ItemState(state), bool(more), count, int(needed))
        for state, more, count, needed in connection.execute(query)
    ]


def count_leases(connection: Connection, queue_id: int, now: datetime) -> dict[int, int]:
    """Return how many items each person (by id) holds at this moment."""
    query = (
        select(LEASE.c.reviewer_id, func.count())
        .where(_of_people(queue_id), LEASE.c.done.is_(False), LEASE.c.until > now)
        .group_by(LEASE.c.reviewer_id)
    )
    return dict(tuple(row) for row in connection.execute(query))


def count_leased_items(connection: Connection, queue_id: int, now: datetime) -> int:
    """Return how many items somebody holds at this moment, what is served again not counted."""
    held = and_(_of_people(queue_id), LEASE.c.done.is_(False), LEASE.c.until > now, LEASE.c.repeat_for.is_(None))
    return int(connection.execute(select(func.count(LEASE.c.queue_item_id.distinct())).where(held)).scalar_one())


def count_reviews(connection: Connection, queue_id: int) -> int:
    """Return how many reviews were given in a queue from places that are not served again."""
    done = and_(_of_people(queue_id), LEASE.c.done.is_(True), LEASE.c.repeat_for.is_(None))
    return int(connection.execute(select(func.count()).where(done)).scalar_one())


def count_work(connection: Connection, queue_id: int) -> dict[int, WorkCount]:
    """Return what each person (by id) has said in a queue and not taken back."""
    said = _said(queue_id)
    unsure = func.sum(case((said.c.decision == Decision.UNSURE.value, 1), else_=0))
    query = select(said.c.reviewer_id, func.count(), unsure, func.max(said.c.at)).group_by(said.c.reviewer_id)
    return {
        reviewer_id: WorkCount(done, int(unsure_), last)
        for reviewer_id, done, unsure_, last in connection.execute(query)
    }


def median_seconds(connection: Connection, queue_id: int) -> dict[int, float]:
    """Return how long each person (by id) looked at an item, the median in seconds of what was measured."""
    said = _said(queue_id)
    place = func.row_number().over(partition_by=said.c.reviewer_id, order_by=said.c.seconds)
    count = func.count().over(partition_by=said.c.reviewer_id)
    ranked = (
        select(said.c.reviewer_id, said.c.seconds, place.label("place"), count.label("count"))
        .where(said.c.seconds.is_not(None))
        .subquery()
    )
    # The middle one, or the two beside the middle.
    middle = and_(2 * ranked.c.place >= ranked.c.count, 2 * ranked.c.place <= ranked.c.count + 2)
    query = select(ranked.c.reviewer_id, func.avg(ranked.c.seconds)).where(middle).group_by(ranked.c.reviewer_id)
    return {reviewer_id: float(value) for reviewer_id, value in connection.execute(query)}


def count_skipped(connection: Connection, queue_id: int) -> dict[int, int]:
    """Return how many items of a queue each person (by id) put aside."""
    here = exists().where(QUEUE_ITEM.c.id == SKIP.c.queue_item_id, QUEUE_ITEM.c.queue_id == queue_id)
    query = (
        select(SKIP.c.reviewer_id, func.count(SKIP.c.queue_item_id.distinct())).where(here).group_by(SKIP.c.reviewer_id)
    )
    return dict(tuple(row) for row in connection.execute(query))


def _of_people(queue_id: int) -> ColumnElement[bool]:
    """The places of a queue that somebody took: by person, so that those which wait are not read."""
    return and_(LEASE.c.reviewer_id.in_(select(REVIEWER.c.id)), LEASE.c.queue_id == queue_id)


def _said(queue_id: int) -> Subquery:
    said = (
        select(
            LEASE.c.reviewer_id,
            REVIEW.c.decision,
            REVIEW.c.seconds,
            REVIEW.c.at,
        )
        .join(REVIEW, REVIEW.c.id == LEASE.c.review_id, isouter=True)
        .where(_of_people(queue_id), LEASE.c.done.is_(True))
    )
    return said.subquery("said")


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """An item with the name of its queue and how its question begins; ``external_id`` None of a pair."""

    item_id: int
    queue: str
    response_id: int | None
    pair_id: int | None
    external_id: str | None
    query_type: str | None
    question: str | None
    state: ItemState
    reviews_needed: int
    joined_at: datetime


_CONFLICTS: Select[tuple[object, ...]] = (
    select(
        QUEUE_ITEM.c.id,
        QUEUE.c.name,
        QUEUE_ITEM.c.response_id,
        QUEUE_ITEM.c.pair_id,
        RESPONSE.c.external_id,
        RESPONSE.c.query_type.label("answer_type"),
        PAIR.c.query_type.label("pair_type"),
        QUESTION.label("answer_question"),
        PAIR.c.question.label("pair_question"),
        QUEUE_ITEM.c.state,
        QUEUE_ITEM.c.reviews_needed,
        QUEUE_ITEM.c.joined_at,
    )
    .join(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
    .join(RESPONSE, RESPONSE.c.id == QUEUE_ITEM.c.response_id, isouter=True)
    .join(PAIR, PAIR.c.id == QUEUE_ITEM.c.pair_id, isouter=True)
)


def conflict_rows(
    connection: Connection, queue_ids: Collection[int], *, after: int = 0, limit: int = 50
) -> list[ConflictRow]:
    """Return the items of these queues that wait for an adjudication, by id, behind ``after``."""
    split = (
        QUEUE_ITEM.c.queue_id.in_(queue_ids),
        QUEUE_ITEM.c.state == ItemState.CONFLICT.value,
        QUEUE_ITEM.c.id > after,
    )
    query = _CONFLICTS.where(*split).order_by(QUEUE_ITEM.c.id).limit(limit)
    return [_conflict(row) for row in connection.execute(query)]


def open_queue_ids(connection: Connection) -> list[int]:
    """Return the queues that are open."""
    return list(connection.execute(select(QUEUE.c.id).where(QUEUE.c.state == QueueState.OPEN.value)).scalars())


def own_conflict_rows(
    connection: Connection, reviewer_id: int, *, before: int | None = None, limit: int = 50
) -> list[ConflictRow]:
    """Return the items that a person reviewed and whose reviews differed, the newest first, older than ``before``."""
    reviewed = select(LEASE.c.queue_item_id).where(LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True))
    differed = QUEUE_ITEM.c.state.in_((ItemState.CONFLICT.value, ItemState.ADJUDICATED.value))
    query = _CONFLICTS.where(QUEUE_ITEM.c.id.in_(reviewed), differed).order_by(QUEUE_ITEM.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(QUEUE_ITEM.c.id < before)
    return [_conflict(row) for row in connection.execute(query)]


def _conflict(row: Row[tuple[object, ...]]) -> ConflictRow:
    of_pair = row.pair_id is not None
    return ConflictRow(
        item_id=row.id,
        queue=row.name,
        response_id=row.response_id,
        pair_id=row.pair_id,
        external_id=row.external_id,
        query_type=row.pair_type if of_pair else row.answer_type,
        question=row.pair_question if of_pair else row.answer_question,
        state=ItemState(row.state),
        reviews_needed=row.reviews_needed,
        joined_at=row.joined_at,
    )
