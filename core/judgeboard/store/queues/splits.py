"""Items on which the reviews differ: found a page at a time, and those on which one person spoke."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Row, Select, select

from judgeboard.domain import ItemState, QueueState
from judgeboard.store.queues.item_rows import ITEM
from judgeboard.store.queues.leases import LEASE
from judgeboard.store.queues.queue_rows import QUEUE
from judgeboard.store.responses.text_starts import QUESTION
from judgeboard.store.schema.method_tables import PAIR
from judgeboard.store.schema.tables import RESPONSE

DIFFERED = (ItemState.SPLIT.value, ItemState.ADJUDICATED.value)


class SplitRow(NamedTuple):
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


_SPLITS: Select[tuple[object, ...]] = (
    select(
        ITEM.c.id,
        QUEUE.c.name,
        ITEM.c.response_id,
        ITEM.c.pair_id,
        RESPONSE.c.external_id,
        RESPONSE.c.query_type.label("answer_type"),
        PAIR.c.query_type.label("pair_type"),
        QUESTION.label("answer_question"),
        PAIR.c.question.label("pair_question"),
        ITEM.c.state,
        ITEM.c.reviews_needed,
        ITEM.c.joined_at,
    )
    .join(QUEUE, QUEUE.c.id == ITEM.c.queue_id)
    .join(RESPONSE, RESPONSE.c.id == ITEM.c.response_id, isouter=True)
    .join(PAIR, PAIR.c.id == ITEM.c.pair_id, isouter=True)
)


def split_rows(
    connection: Connection, queue_ids: Collection[int], *, after: int = 0, limit: int = 50
) -> list[SplitRow]:
    """Return the items of these queues that wait for an adjudication, by id, behind ``after``."""
    split = ITEM.c.queue_id.in_(queue_ids), ITEM.c.state == ItemState.SPLIT.value, ITEM.c.id > after
    query = _SPLITS.where(*split).order_by(ITEM.c.id).limit(limit)
    return [_split(row) for row in connection.execute(query)]


def open_queue_ids(connection: Connection) -> list[int]:
    """Return the queues that are open."""
    return list(connection.execute(select(QUEUE.c.id).where(QUEUE.c.state == QueueState.OPEN.value)).scalars())


def own_split_rows(
    connection: Connection, reviewer_id: int, *, before: int | None = None, limit: int = 50
) -> list[SplitRow]:
    """Return the items on which a person spoke and the reviews differed, the newest first, older than ``before``."""
    spoken = select(LEASE.c.queue_item_id).where(LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True))
    query = _SPLITS.where(ITEM.c.id.in_(spoken), ITEM.c.state.in_(DIFFERED)).order_by(ITEM.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(ITEM.c.id < before)
    return [_split(row) for row in connection.execute(query)]


def _split(row: Row[tuple[object, ...]]) -> SplitRow:
    of_pair = row.pair_id is not None
    return SplitRow(
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
