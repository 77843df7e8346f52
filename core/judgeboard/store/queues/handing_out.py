"""Leases items of queues: the first that a person may have, or one item that they ask for.

An item whose lease ran out may have stopped matching meanwhile: it leaves the queue instead.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, literal_column, or_, select

from judgeboard.domain import FlagState, ItemState
from judgeboard.store.queues.item_rows import item_by_id
from judgeboard.store.queues.joining import follow_queues
from judgeboard.store.queues.leases import LEASE, PLACE, Lease, assign_lease, release_lease
from judgeboard.store.reviews.reviews import hold_responses
from judgeboard.store.schema.queue_tables import QUEUE_ITEM_FLAG, SKIP
from judgeboard.store.schema.tables import FLAG

ITEM_FLAG = QUEUE_ITEM_FLAG

# As the index of waiting places says it: SQLite uses a partial index only for its own words.
_WAITING: ColumnElement[bool] = literal_column("NOT place.done")


def take_lease(
    connection: Connection, queue_id: int, reviewer_id: int, token: str, *, now: datetime, until: datetime
) -> Lease | None:
    """Lease the first free item of a queue to a reviewer, in one statement; None where none is left for them.

    Left out: items that they reviewed, lease or skipped, and what is served again to others.
    """
    other = LEASE.alias("other")
    mine = exists().where(
        other.c.queue_item_id == PLACE.c.queue_item_id,
        other.c.reviewer_id == reviewer_id,
        other.c.id != PLACE.c.id,
    )
    skipped = exists().where(SKIP.c.queue_item_id == PLACE.c.queue_item_id, SKIP.c.reviewer_id == reviewer_id)
    free = (
        select(PLACE.c.id)
        .where(
            PLACE.c.queue_id == queue_id,
            _WAITING,
            or_(PLACE.c.until.is_(None), PLACE.c.until <= now),
            or_(PLACE.c.again_for.is_(None), PLACE.c.again_for == reviewer_id),
            ~mine,
            ~skipped,
        )
        .order_by(PLACE.c.position, PLACE.c.queue_item_id, PLACE.c.slot)
    )
    return _take_first(connection, free, reviewer_id, token, now, until)


def take_lease_at(
    connection: Connection, item_id: int, reviewer_id: int, token: str, *, now: datetime, until: datetime
) -> Lease | None:
    """Lease one item that a reviewer asks for.

    None where all its leases are taken or used, they reviewed it already, it is served again to another, or it left.
    """
    used = exists().where(LEASE.c.queue_item_id == item_id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True))
    free = (
        select(PLACE.c.id)
        .where(
            PLACE.c.queue_item_id == item_id,
            PLACE.c.done.is_(False),
            or_(PLACE.c.until.is_(None), PLACE.c.until <= now, PLACE.c.reviewer_id == reviewer_id),
            or_(PLACE.c.again_for.is_(None), PLACE.c.again_for == reviewer_id),
            ~used,
        )
        .order_by(PLACE.c.reviewer_id.is_distinct_from(reviewer_id), PLACE.c.slot)
    )
    return _take_first(connection, free, reviewer_id, token, now, until)


def _take_first(
    connection: Connection, free: Select[Any], reviewer_id: int, token: str, now: datetime, until: datetime
) -> Lease | None:
    """Take the first of these leases.

    On PostgreSQL a row that somebody is taking at this moment is passed over (SKIP LOCKED) instead of waited for.
    """
    first = free.limit(1).with_for_update(skip_locked=True)
    which = LEASE.c.id == first.scalar_subquery()
    while (taken := assign_lease(connection, which, reviewer_id, token, now=now, until=until)) is not None:
        if _is_waited_for(connection, taken.queue_item_id):
            return taken
        if not _leaves(connection, taken, now):
            return assign_lease(connection, LEASE.c.id == taken.id, reviewer_id, token, now=now, until=until)
    return None


def _is_waited_for(connection: Connection, item_id: int) -> bool:
    """Whether a flag for which an item is in its queue is open; pairs and what is served again are there for none."""
    of_item = ITEM_FLAG.c.queue_item_id == item_id
    still_open = exists().where(of_item, FLAG.c.id == ITEM_FLAG.c.flag_id, FLAG.c.state == FlagState.OPEN.value)
    return bool(connection.execute(select(or_(~exists().where(of_item), still_open))).scalar_one())


def _leaves(connection: Connection, taken: Lease, now: datetime) -> bool:
    """Release a lease and let its item leave where its answer stopped matching; return whether it left."""
    item = item_by_id(connection, taken.queue_item_id)
    # Who holds the answer now follows the queues: waiting for them with a place in hand could be for ever.
    if item.response_id is None or not hold_responses(connection, [item.response_id]):
        return False
    release_lease(connection, taken.id)
    follow_queues(connection, [item.response_id], now)
    return item_by_id(connection, taken.queue_item_id).state is not ItemState.OPEN
