"""Leases the next item of a queue to a reviewer, which may be a repeat of an item that they reviewed."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, func, literal_column, or_, select

from judgeboard.domain import FlagState, ItemState, Stage
from judgeboard.flags.rules import sampling_number
from judgeboard.store.gold_items import add_test
from judgeboard.store.leases import UNUSED, Lease, assign_lease, release_lease
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.queue_items import NewItem, insert_items, item_by_id
from judgeboard.store.queues import Queue
from judgeboard.store.reviews import is_current, lock_free_responses
from judgeboard.store.tables import FLAG, LEASE, QUEUE, QUEUE_ITEM, QUEUE_ITEM_FLAG, REVIEW, SKIP

EARLIEST = timedelta(days=7)


def add_own_item(connection: Connection, queue: Queue, reviewer_id: int, now: datetime) -> int | None:
    """Add a test item or a repeat for a reviewer, at the queue's rates; return the new item.

    A random number from the queue's seed, the reviewer and their number of finished items decides. Each number adds at
    most one item, also if that is then leased ahead, released or skipped.
    """
    done = connection.execute(
        select(func.count()).where(LEASE.c.queue_id == queue.id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done)
    ).scalar_one()
    drawn = {
        what: sampling_number(f"{queue.seed}:{what}", str(reviewer_id), str(done))
        for what in ("test", "which", "again")
    }
    test, repeat = drawn["test"] < queue.test_rate, drawn["again"] < queue.repeat_rate
    if not (test or repeat) or _has_open_repeat(connection, queue, reviewer_id):
        return None
    item = add_test(connection, queue, reviewer_id, drawn["which"], now) if test else None
    return _add_repeat(connection, queue, reviewer_id, now) if item is None and repeat else item


def _add_repeat(connection: Connection, queue: Queue, reviewer_id: int, now: datetime) -> int | None:
    """Add a repeat of the oldest item that a reviewer reviewed in a queue, at least a week ago, without one yet."""
    again = QUEUE_ITEM.alias("again")
    served = select(again.c.response_id).where(again.c.queue_id == queue.id, again.c.repeat_for == reviewer_id)
    query = (
        select(QUEUE_ITEM.c.response_id)
        .join(REVIEW, REVIEW.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(
            QUEUE_ITEM.c.queue_id == queue.id,
            QUEUE_ITEM.c.repeat_for.is_(None),
            REVIEW.c.reviewer_id == reviewer_id,
            REVIEW.c.at <= now - EARLIEST,
            func.coalesce(REVIEW.c.stage, "").not_in((Stage.REVEALED.value, Stage.ADJUDICATION.value)),
            is_current(),
            QUEUE_ITEM.c.response_id.not_in(served),
        )
        .order_by(REVIEW.c.id)
        .limit(1)
    )
    response_id = connection.execute(query).scalar_one_or_none()
    if response_id is None:
        return None
    first = connection.execute(select(func.min(LEASE.c.position)).where(LEASE.c.queue_id == queue.id)).scalar_one()
    item = NewItem(response_id=response_id, position=first - 1, repeat_for=reviewer_id)
    (item_id,) = insert_items(connection, queue.id, [item], now)
    return item_id


def _has_open_repeat(connection: Connection, queue: Queue, reviewer_id: int) -> bool:
    """Whether a reviewer has an open repeat; one that they skipped counts until they have reviewed another item."""
    reviewed = QUEUE_ITEM.alias("reviewed")
    since = exists().where(
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.queue_item_id == reviewed.c.id,
        reviewed.c.queue_id == queue.id,
        REVIEW.c.at > SKIP.c.at,
        is_current(),
    )
    passed = exists().where(SKIP.c.queue_item_id == QUEUE_ITEM.c.id, SKIP.c.reviewer_id == reviewer_id, since)
    open_repeat = exists().where(
        QUEUE_ITEM.c.queue_id == queue.id,
        QUEUE_ITEM.c.repeat_for == reviewer_id,
        QUEUE_ITEM.c.state == ItemState.OPEN.value,
        ~passed,
    )
    return connection.execute(select(open_repeat)).scalar_one()


# SQLite uses the partial index of unused leases only if the condition is written as in the index.
_NOT_DONE: ColumnElement[bool] = literal_column("NOT unused.done")


def take_lease(
    connection: Connection, queue_id: int, reviewer_id: int, token: str, *, now: datetime, until: datetime
) -> Lease | None:
    """Lease the first free item of a queue to a reviewer, in one statement; None if none is left for them.

    Items that the reviewer reviewed, leased or skipped, and repeats for other reviewers, are left out.
    """
    other = LEASE.alias("other")
    mine = exists().where(
        other.c.queue_item_id == UNUSED.c.queue_item_id, other.c.reviewer_id == reviewer_id, other.c.id != UNUSED.c.id
    )
    skipped = exists().where(SKIP.c.queue_item_id == UNUSED.c.queue_item_id, SKIP.c.reviewer_id == reviewer_id)
    free = (
        select(UNUSED.c.id)
        .where(
            UNUSED.c.queue_id == queue_id,
            _NOT_DONE,
            or_(UNUSED.c.until.is_(None), UNUSED.c.until <= now),
            or_(UNUSED.c.repeat_for.is_(None), UNUSED.c.repeat_for == reviewer_id),
            ~mine,
            ~skipped,
        )
        .order_by(UNUSED.c.position, UNUSED.c.queue_item_id, UNUSED.c.slot)
    )
    return _take_first(connection, free, reviewer_id, token, now, until)


def take_lease_at(
    connection: Connection, item_id: int, reviewer_id: int, token: str, *, now: datetime, until: datetime
) -> Lease | None:
    """Lease one item to a reviewer; None if it left, is a repeat for somebody else, or has no lease for them."""
    used = exists().where(LEASE.c.queue_item_id == item_id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True))
    free = (
        select(UNUSED.c.id)
        .where(
            UNUSED.c.queue_item_id == item_id,
            UNUSED.c.done.is_(False),
            or_(UNUSED.c.until.is_(None), UNUSED.c.until <= now, UNUSED.c.reviewer_id == reviewer_id),
            or_(UNUSED.c.repeat_for.is_(None), UNUSED.c.repeat_for == reviewer_id),
            ~used,
        )
        .order_by(UNUSED.c.reviewer_id.is_distinct_from(reviewer_id), UNUSED.c.slot)
    )
    return _take_first(connection, free, reviewer_id, token, now, until)


def _take_first(
    connection: Connection, free: Select[Any], reviewer_id: int, token: str, now: datetime, until: datetime
) -> Lease | None:
    """Take the first of these leases.

    PostgreSQL skips a row that another transaction is taking (SKIP LOCKED); it does not wait for it.
    """
    first = free.limit(1).with_for_update(skip_locked=True)
    which = LEASE.c.id == first.scalar_subquery()
    while (taken := assign_lease(connection, which, reviewer_id, token, now=now, until=until)) is not None:
        if _is_needed(connection, taken.queue_item_id):
            return taken
        if not _leave(connection, taken, now):
            return assign_lease(connection, LEASE.c.id == taken.id, reviewer_id, token, now=now, until=until)
    return None


def _is_needed(connection: Connection, item_id: int) -> bool:
    """Whether an item has an open flag, or needs none, as pairs, repeats and answers of any kind do."""
    of_item = QUEUE_ITEM_FLAG.c.queue_item_id == item_id
    still_open = exists().where(of_item, FLAG.c.id == QUEUE_ITEM_FLAG.c.flag_id, FLAG.c.state == FlagState.OPEN.value)
    any_answer = exists().where(
        QUEUE_ITEM.c.id == item_id, QUEUE.c.id == QUEUE_ITEM.c.queue_id, QUEUE.c.flagged_only.is_(False)
    )
    return bool(connection.execute(select(or_(~exists().where(of_item), still_open, any_answer))).scalar_one())


def _leave(connection: Connection, taken: Lease, now: datetime) -> bool:
    """Release a lease, and remove its item if the answer no longer matches the queue; return whether it was removed."""
    item = item_by_id(connection, taken.queue_item_id)
    # Another transaction has locked the answer, and updates its queues. Waiting for it with this lease could deadlock.
    if item.response_id is None or not lock_free_responses(connection, [item.response_id]):
        return False
    release_lease(connection, taken.id)
    follow_queues(connection, [item.response_id], now)
    return item_by_id(connection, taken.queue_item_id).state is not ItemState.OPEN
