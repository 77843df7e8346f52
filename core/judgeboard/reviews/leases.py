"""Leases of queue items: take, renew, release a lease; and items that reviewers skip."""

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from judgeboard.domain import Action, ItemState, QueueState
from judgeboard.errors import BadInput
from judgeboard.people.permissions import allowed
from judgeboard.reviews.outcome import update_item_state
from judgeboard.reviews.queues import check_open
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.leases import (
    CANNOT_BE_JUDGED,
    OFFLINE,
    active_leases,
    insert_skip,
    own_lease,
    release_lease,
    renew_lease,
    skipped_items,
    withdraw_skips,
)
from judgeboard.store.next_items import add_training_items, own_item, take_lease, take_lease_at
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.queue_items import insert_items, item_by_id
from judgeboard.store.queues import may_take_from, queue_by_id, queue_named
from judgeboard.store.reviews import lock_response
from judgeboard.store.tables import Lease, Queue, QueueItem, Reviewer
from judgeboard.text import unstorable

LONGEST_REASON = 500  # characters
TRIES = 5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LeasedItem:
    """An item leased to a reviewer, who decides with ``token``; after ``until`` (UTC) others may take the item."""

    token: str
    until: datetime
    item_id: int
    response_id: int | None
    pair_id: int | None
    queue: Queue


def next_item(
    store: Store,
    queue: str | Queue,
    reviewer: Reviewer,
    *,
    holding: Collection[str] = (),
    now: datetime | None = None,
) -> LeasedItem | None:
    """Lease the next item of a queue to a reviewer; None if no item is left for the reviewer.

    ``holding`` are the tokens of the leased items that the reviewer's page shows or preloads. Other
    items that the reviewer has leased come first, so that work goes on after a reload. Raises
    BadInput if the queue is closed or assigned to others, or other sessions of the reviewer take
    items from the queue at this moment.
    """
    at = now or utc_now()

    def take() -> LeasedItem | None:
        with allowed(store, reviewer, Action.REVIEW) as connection:
            return _next(connection, queue, reviewer, holding, at)

    return tried(take, reviewer)


def take_item(
    store: Store, item_id: int, reviewer: Reviewer, *, now: datetime | None = None
) -> LeasedItem | None:
    """Lease one item by id, also if the reviewer skipped the item.

    Returns None if others have given or leased all reviews of the item, the reviewer has reviewed
    the item already, the item is a repeat for somebody else, or the item left the queue. Raises
    BadInput if the queue is closed or assigned to others, or other sessions of the reviewer take
    the item at this moment.
    """
    at = now or utc_now()

    def take() -> LeasedItem | None:
        with allowed(store, reviewer, Action.REVIEW) as connection:
            return _take(connection, item_id, reviewer, at)

    return tried(take, reviewer)


def renew(
    store: Store, token: str, reviewer: Reviewer, *, now: datetime | None = None
) -> datetime | None:
    """Extend a lease, with the same token; return the new end (UTC), None if the reviewer does not hold the lease."""
    at = now or utc_now()
    with allowed(store, reviewer, Action.REVIEW) as connection:
        lease = own_lease(connection, token, reviewer.id)
        if lease is None or lease.token is None:
            return None
        queue = queue_by_id(connection, lease.queue_id)
        until = _until(queue, at)
        renewed = queue.state is QueueState.OPEN and renew_lease(
            connection, lease.token, reviewer.id, until
        )
        return until if renewed else None


def is_leased(connection: Connection, token: str, reviewer: Reviewer) -> bool:
    """Whether the item of a token is still leased to the reviewer and not decided."""
    lease = own_lease(connection, token, reviewer.id)
    return lease is not None and not lease.done


def release(store: Store, token: str, reviewer: Reviewer, *, now: datetime | None = None) -> bool:
    """Release a leased item undecided; False if the lease had ended."""
    with store.writing() as connection:
        return _release(connection, token, reviewer, now or utc_now()) is not None


def skip(
    store: Store,
    token: str,
    reviewer: Reviewer,
    *,
    reason: str | None = None,
    now: datetime | None = None,
) -> bool:
    """Release a leased item and never lease the item to this reviewer again; False if the lease had ended.

    The reason "cannot be judged" declines the item: no other reviewer gets it. Raises BadInput if
    the reason cannot be stored.
    """
    at = now or utc_now()
    text = (reason or "").strip() or None
    if text is not None and text.casefold() == CANNOT_BE_JUDGED:
        text = CANNOT_BE_JUDGED
    if text is not None and (len(text) > LONGEST_REASON or unstorable(text)):
        raise BadInput(f"a reason has at most {LONGEST_REASON} characters that can be stored")
    with allowed(store, reviewer, Action.REVIEW) as connection:
        item = _release(connection, token, reviewer, at)
        if item is None:
            return False
        insert_skip(connection, item.id, reviewer.id, text, at)
        details = {"item": item.id, "queue": item.queue_id}
        record_event(
            connection, "skip", reviewer.name, response_id=item.response_id, details=details, now=at
        )
        if text == CANNOT_BE_JUDGED:
            item_by_id(connection, item.id, lock=True)
            update_item_state(connection, item.id, at)
        return True


def undo_skip(
    store: Store, item_id: int, reviewer: Reviewer, *, now: datetime | None = None
) -> LeasedItem | None:
    """Withdraw a reviewer's skip of an item and lease the item again. A declined item needs reviews again.

    Returns None if others have given or leased all reviews of the item, or if the item left the
    queue. Raises BadInput if the queue is closed or assigned to others, or other sessions of the
    reviewer take the item at this moment.
    """
    at = now or utc_now()

    def take() -> LeasedItem | None:
        with allowed(store, reviewer, Action.REVIEW) as connection:
            _withdraw_skip(connection, item_id, reviewer, at)
            return _take(connection, item_id, reviewer, at)

    return tried(take, reviewer)


def undo_skips(
    store: Store, queue: Queue, reviewer: Reviewer, *, now: datetime | None = None
) -> list[int]:
    """Withdraw a reviewer's skips of all items of a queue that the reviewer could review now; return the item ids.

    `next_item` leases these items like the other items of the queue. Raises BadInput if the queue
    is closed or assigned to others.
    """
    at = now or utc_now()
    with store.reading() as connection:
        item_ids = skipped_items(connection, queue.id, reviewer.id, at)
    for item_id in item_ids:  # one transaction each, so that no transaction locks several answers
        with allowed(store, reviewer, Action.REVIEW) as connection:
            _withdraw_skip(connection, item_id, reviewer, at)
    return item_ids


def tried(take: Callable[[], T], reviewer: Reviewer) -> T:
    """Run ``take``, a transaction that leases items, again if another session was first; return the result."""
    for _ in range(TRIES):
        try:
            return take()
        except IntegrityError:
            continue
    raise BadInput(
        f"{reviewer.name} is leasing an item in another session at this moment: try again"
    )


def check_may_take(connection: Connection, queue: Queue, reviewer: Reviewer) -> Queue:
    """Return a queue if a reviewer may take items; raise `BadInput` if the queue is closed or assigned to others."""
    check_open(queue)
    if not may_take_from(connection, queue.id, reviewer.id):
        raise BadInput(f"the queue {queue.name!r} is assigned to others: ask its lead")
    return queue


def leased_item(
    lease: Lease, item: QueueItem, queue: Queue, until: datetime | None = None
) -> LeasedItem:
    """Return a lease with the item and the queue."""
    return LeasedItem(
        token=_token_of(lease),
        until=until or lease.until or datetime.min.replace(tzinfo=UTC),
        item_id=item.id,
        response_id=item.response_id,
        pair_id=item.pair_id,
        queue=queue,
    )


def _withdraw_skip(connection: Connection, item_id: int, reviewer: Reviewer, now: datetime) -> None:
    item = item_by_id(connection, item_id)
    check_may_take(connection, queue_by_id(connection, item.queue_id), reviewer)
    if item.response_id is not None:
        lock_response(connection, item.response_id)
    item = item_by_id(connection, item_id, lock=True)
    if not withdraw_skips(connection, item_id, reviewer.id, now):
        return
    details = {"item": item.id, "queue": item.queue_id}
    record_event(
        connection,
        "undo_skip",
        reviewer.name,
        response_id=item.response_id,
        details=details,
        now=now,
    )
    if item.state is not ItemState.LEFT:
        update_item_state(connection, item_id, now)


def _take(
    connection: Connection, item_id: int, reviewer: Reviewer, now: datetime
) -> LeasedItem | None:
    item = item_by_id(connection, item_id)
    queue = check_may_take(connection, queue_by_id(connection, item.queue_id), reviewer)
    if item.state is not ItemState.OPEN:
        return None
    token = secrets.token_urlsafe(16)
    lease = take_lease_at(
        connection, item_id, reviewer.id, token, now=now, until=_until(queue, now)
    )
    return None if lease is None else leased_item(lease, item, queue)


def _next(
    connection: Connection,
    queue_or_name: str | Queue,
    reviewer: Reviewer,
    holding: Collection[str],
    now: datetime,
) -> LeasedItem | None:
    queue = (
        queue_named(connection, queue_or_name)
        if isinstance(queue_or_name, str)
        else queue_by_id(connection, queue_or_name.id)
    )
    check_may_take(connection, queue, reviewer)
    until = _until(queue, now)
    if (leased := _leased_before(connection, queue, reviewer, holding, now, until)) is not None:
        return leased
    if queue.training:
        add_training_items(connection, queue, reviewer.id, now)
    if (repeat_item := own_item(connection, queue, reviewer.id, now)) is not None:
        insert_items(connection, queue.id, [repeat_item], now)
    lease = take_lease(
        connection, queue.id, reviewer.id, secrets.token_urlsafe(16), now=now, until=until
    )
    if (
        lease is None
    ):  # another session of the reviewer may have taken the last item between these statements
        return _leased_before(connection, queue, reviewer, holding, now, until)
    return leased_item(lease, item_by_id(connection, lease.queue_item_id), queue)


def _leased_before(
    connection: Connection,
    queue: Queue,
    reviewer: Reviewer,
    holding: Collection[str],
    now: datetime,
    until: datetime,
) -> LeasedItem | None:
    """Renew and return the reviewer's lease of an item that is not in ``holding``."""
    for lease in active_leases(connection, reviewer.id, now, queue.id):
        # A page does not show an item that is in an offline bundle.
        if lease.token is None or lease.token.startswith(OFFLINE) or _token_of(lease) in holding:
            continue
        renew_lease(connection, lease.token, reviewer.id, until)
        return leased_item(lease, item_by_id(connection, lease.queue_item_id), queue, until)
    return None


def _release(
    connection: Connection, token: str, reviewer: Reviewer, now: datetime
) -> QueueItem | None:
    unlocked = own_lease(connection, token, reviewer.id)
    if unlocked is None:
        return None
    item = item_by_id(connection, unlocked.queue_item_id)
    if item.response_id is not None:
        lock_response(
            connection, item.response_id
        )  # locked before the lease, in the same order as in `submit`
    lease = own_lease(connection, token, reviewer.id, lock=True)
    if lease is None or lease.done:
        return None
    release_lease(connection, lease.id)
    if item.response_id is not None:
        follow_queues(
            connection, [item.response_id], now
        )  # the answer may have stopped matching during the lease
    return item


def _token_of(lease: Lease) -> str:
    return f"{lease.queue_item_id}.{lease.token}"


def _until(queue: Queue, now: datetime) -> datetime:
    return now + timedelta(seconds=queue.lease_seconds)
