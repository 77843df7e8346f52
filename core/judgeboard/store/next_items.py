"""Leases the next item of a queue to a reviewer; an item may be for one reviewer alone.

Items for one reviewer (``repeat_for``) are repeats of items that the person reviewed, unannounced
test items, and items of training queues. Such items decide nothing, and figures about answers
exclude such items. Test and training items have a gold label.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
)

from judgeboard.domain import FlagState, ItemState, Stage
from judgeboard.flags.rules import sampling_number
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.leases import (
    UNUSED,
    assign_lease,
    is_available,
    is_for,
    release_lease,
    reviewed_by,
    skipped_by,
)
from judgeboard.store.own_reviews import IS_GOLD
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.queue_items import UNFINISHED, NewItem, insert_items, item_by_id
from judgeboard.store.reviews import is_current, lock_free_responses
from judgeboard.store.statements import any_row, count_rows, number_of
from judgeboard.store.tables import (
    FLAG,
    LEASE,
    QUEUE,
    QUEUE_ITEM,
    QUEUE_ITEM_FLAG,
    RESPONSE,
    REVIEW,
    SKIP,
    TAKEN_LEASE,
    Lease,
    Queue,
)

EARLIEST = timedelta(days=7)
CANDIDATES = 100  # the oldest gold labels, from which a test item is drawn


def own_item(
    connection: Connection, queue: Queue, reviewer_id: int, now: datetime
) -> NewItem | None:
    """Return the test item or repeat that a reviewer gets next, at the queue's rates; None for neither.

    The queue's seed, the reviewer and the number of finished items give the random number that
    decides. Each number of finished items gives at most one item, even if that item is leased
    ahead, released or skipped.
    """
    if not (queue.test_rate or queue.repeat_rate):
        return None
    is_own = LEASE.c.queue_id == queue.id, LEASE.c.reviewer_id == reviewer_id
    finished_items = count_rows(connection, LEASE, *is_own, LEASE.c.done)
    numbers = {
        what: sampling_number(f"{queue.seed}:{what}", str(reviewer_id), str(finished_items))
        for what in ("test", "which", "again")
    }
    test, repeat = numbers["test"] < queue.test_rate, numbers["again"] < queue.repeat_rate
    if not (test or repeat):
        return None
    # A reviewer has at most one open test item or repeat. A skipped one counts until the next review.
    reviewed_items = QUEUE_ITEM.alias("reviewed")
    reviewed_since = exists().where(
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.queue_item_id == reviewed_items.c.id,
        reviewed_items.c.queue_id == queue.id,
        REVIEW.c.at > SKIP.c.at,
        is_current(),
    )
    if any_row(
        connection,
        QUEUE_ITEM.c.queue_id == queue.id,
        QUEUE_ITEM.c.repeat_for == reviewer_id,
        QUEUE_ITEM.c.state == ItemState.OPEN.value,
        ~skipped_by(QUEUE_ITEM.c.id, reviewer_id, reviewed_since),
    ):
        return None
    test_id = _answer_to_test(connection, queue, reviewer_id, numbers["which"]) if test else None
    response_id = test_id
    if response_id is None and repeat:
        response_id = _answer_to_repeat(connection, queue, reviewer_id, now)
    if response_id is None:
        return None
    first = select(func.min(LEASE.c.position)).where(LEASE.c.queue_id == queue.id)
    return NewItem(
        response_id=response_id,
        position=(connection.scalar(first) or 0.0) - 1,
        repeat_for=reviewer_id,
        test=test_id is not None,
    )


def _answer_to_test(
    connection: Connection, queue: Queue, reviewer_id: int, number: float
) -> int | None:
    """Use ``number`` (0 to 1) to choose among the oldest gold labels on answers that the reviewer never reviewed."""
    own = REVIEW.alias("own")
    is_reviewed = exists().where(
        own.c.response_id == REVIEW.c.response_id, own.c.reviewer_id == reviewer_id
    )
    oldest = _golds(queue, reviewer_id).where(~is_reviewed).limit(CANDIDATES)
    golds = connection.scalars(oldest).all()
    return golds[int(number * len(golds))] if golds else None


def _answer_to_repeat(
    connection: Connection, queue: Queue, reviewer_id: int, now: datetime
) -> int | None:
    """Return the answer that a reviewer reviewed first in a queue, at least a week ago, and that has no repeat yet."""
    repeats = QUEUE_ITEM.alias("again")
    repeated_ids = select(repeats.c.response_id).where(
        repeats.c.queue_id == queue.id, repeats.c.repeat_for == reviewer_id
    )
    query = (
        select(QUEUE_ITEM.c.response_id)
        .join(REVIEW, REVIEW.c.queue_item_id == QUEUE_ITEM.c.id)
        .where(
            QUEUE_ITEM.c.queue_id == queue.id,
            QUEUE_ITEM.c.repeat_for.is_(None),
            REVIEW.c.reviewer_id == reviewer_id,
            REVIEW.c.at <= now - EARLIEST,
            func.coalesce(REVIEW.c.stage, "").not_in(
                (Stage.REVEALED.value, Stage.ADJUDICATION.value)
            ),
            is_current(),
            QUEUE_ITEM.c.response_id.not_in(repeated_ids),
        )
        .order_by(REVIEW.c.id)
        .limit(1)
    )
    return connection.scalar(query)


def add_training_items(
    connection: Connection, queue: Queue, reviewer_id: int, now: datetime
) -> int:
    """Add the items of a training queue that a person does not have yet; return how many were added."""
    new = [
        NewItem(
            response_id=response_id,
            position=sampling_number(f"{queue.seed}:order", "gold", str(response_id)),
            repeat_for=reviewer_id,
            test=True,
        )
        for response_id in training_answers(connection, queue, reviewer_id)
    ]
    if new:
        insert_items(connection, queue.id, new, now)
    return len(new)


def training_answers(connection: Connection, queue: Queue, reviewer_id: int) -> list[int]:
    """Return the answers that a training queue has not given to a person yet, the oldest gold label first."""
    golds = _golds(queue, reviewer_id).where(*response_conditions(connection, queue.filter))
    if queue.max_items is not None:
        is_own = QUEUE_ITEM.c.queue_id == queue.id, QUEUE_ITEM.c.repeat_for == reviewer_id
        golds = golds.limit(max(queue.max_items - count_rows(connection, QUEUE_ITEM, *is_own), 0))
    return list(dict.fromkeys(connection.scalars(golds)))


def count_gold(connection: Connection, where: RowFilter, schema_id: int | None) -> int:
    """Return the number of answers with a gold label that a filter matches."""
    gold = _gold_reviews(schema_id, func.count(REVIEW.c.response_id.distinct()))
    return number_of(connection, gold.where(*response_conditions(connection, where)))


def _golds(queue: Queue, reviewer_id: int) -> Select[Any]:
    """Select answers with a gold label that a queue does not have for a reviewer yet, the oldest gold label first."""
    is_in_queue = exists().where(
        QUEUE_ITEM.c.queue_id == queue.id,
        QUEUE_ITEM.c.response_id == REVIEW.c.response_id,
        or_(
            QUEUE_ITEM.c.repeat_for == reviewer_id,
            and_(QUEUE_ITEM.c.repeat_for.is_(None), QUEUE_ITEM.c.state.in_(UNFINISHED)),
        ),
    )
    return (
        _gold_reviews(queue.label_schema_id, REVIEW.c.response_id)
        .where(~is_in_queue)
        .order_by(REVIEW.c.id)
    )


def _gold_reviews(schema_id: int | None, column: ColumnElement[Any]) -> Select[Any]:
    """Select a column of the gold labels with a label schema (None: without one), except for forgotten answers."""
    return (
        select(column)
        .join_from(REVIEW, RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .where(
            IS_GOLD,
            is_current(),
            REVIEW.c.label_schema_id.is_not_distinct_from(schema_id),
            RESPONSE.c.answer.is_not(None),
        )
    )


_OTHER = LEASE.alias("other")

# SQLite uses the partial index of unused leases only if the condition is written as in the index.
_NOT_DONE: ColumnElement[bool] = literal_column("NOT unused.done")


def take_lease(
    connection: Connection,
    queue_id: int,
    reviewer_id: int,
    token: str,
    *,
    now: datetime,
    until: datetime,
) -> Lease | None:
    """Lease the first free item of a queue to a reviewer, in one statement; None if no item is left.

    Items that the reviewer reviewed, leased or skipped, and repeats for other reviewers, are left
    out.
    """
    has_lease = exists().where(
        _OTHER.c.queue_item_id == UNUSED.c.queue_item_id,
        _OTHER.c.reviewer_id == reviewer_id,
        _OTHER.c.id != UNUSED.c.id,
    )
    free_leases = (
        select(UNUSED.c.id)
        .where(
            UNUSED.c.queue_id == queue_id,
            _NOT_DONE,
            or_(UNUSED.c.until.is_(None), UNUSED.c.until <= now),
            is_for(reviewer_id),
            ~has_lease,
            ~skipped_by(UNUSED.c.queue_item_id, reviewer_id),
        )
        .order_by(UNUSED.c.position, UNUSED.c.queue_item_id, UNUSED.c.slot)
    )
    return _take_first(connection, free_leases, reviewer_id, token, now, until)


def take_lease_at(
    connection: Connection,
    item_id: int,
    reviewer_id: int,
    token: str,
    *,
    now: datetime,
    until: datetime,
) -> Lease | None:
    """Lease one item to a reviewer; None if the item left the queue, is for another reviewer, or has no free lease."""
    free_leases = (
        select(UNUSED.c.id)
        .where(
            UNUSED.c.queue_item_id == item_id,
            UNUSED.c.done.is_(False),
            is_available(reviewer_id, now),
            is_for(reviewer_id),
            ~reviewed_by(item_id, reviewer_id),
        )
        .order_by(UNUSED.c.reviewer_id.is_distinct_from(reviewer_id), UNUSED.c.slot)
    )
    return _take_first(connection, free_leases, reviewer_id, token, now, until)


def _take_first(
    connection: Connection,
    free_leases: Select[Any],
    reviewer_id: int,
    token: str,
    now: datetime,
    until: datetime,
) -> Lease | None:
    """Take the first of these leases whose item is still needed.

    PostgreSQL skips a row that another transaction is taking, and does not wait (SKIP LOCKED).
    """
    first = free_leases.limit(1).with_for_update(skip_locked=True)
    condition = LEASE.c.id == first.scalar_subquery()
    while (
        lease := assign_lease(connection, condition, reviewer_id, token, now=now, until=until)
    ) is not None:
        # Whether an item has an open flag or needs none (pairs, repeats, queues that are not
        # `flagged_only`).
        of_item = QUEUE_ITEM_FLAG.c.queue_item_id == lease.queue_item_id
        still_open = exists().where(
            of_item, FLAG.c.id == QUEUE_ITEM_FLAG.c.flag_id, FLAG.c.state == FlagState.OPEN.value
        )
        any_answer = exists().where(
            QUEUE_ITEM.c.id == lease.queue_item_id,
            QUEUE.c.id == QUEUE_ITEM.c.queue_id,
            QUEUE.c.flagged_only.is_(False),
        )
        if connection.scalar(select(or_(~exists().where(of_item), still_open, any_answer))):
            break
        if not _leave(connection, lease, now):
            lease = assign_lease(
                connection, LEASE.c.id == lease.id, reviewer_id, token, now=now, until=until
            )
            break
    if lease is not None:
        # Store who took a lease, and when.
        row = {"queue_item_id": lease.queue_item_id, "reviewer_id": lease.reviewer_id}
        connection.execute(insert(TAKEN_LEASE), row | {"token": lease.token, "at": lease.taken_at})
    return lease


def _leave(connection: Connection, lease: Lease, now: datetime) -> bool:
    """Release a lease, and remove the item if the answer no longer matches the queue; return whether it was removed."""
    item = item_by_id(connection, lease.queue_item_id)
    # A transaction that has locked the answer also updates the queues. A wait with this lease could
    # deadlock.
    if item.response_id is None or not lock_free_responses(connection, [item.response_id]):
        return False
    release_lease(connection, lease.id)
    follow_queues(connection, [item.response_id], now)
    return item_by_id(connection, lease.queue_item_id).state is not ItemState.OPEN
