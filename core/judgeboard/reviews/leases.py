"""Items of a queue leased to a reviewer, renewed, released and skipped."""

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from judgeboard.domain import ItemState, QueueState
from judgeboard.errors import BadInput
from judgeboard.people.permissions import Action, allowed
from judgeboard.reviews.queues import check_open
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.leases import (
    OFFLINE,
    Lease,
    active_leases,
    insert_skip,
    lease_by_token,
    release_lease,
    renew_lease,
)
from judgeboard.store.next_items import add_repeat, take_lease, take_lease_at
from judgeboard.store.queue_filling import follow_queues
from judgeboard.store.queue_items import QueueItem, item_by_id
from judgeboard.store.queues import Queue, may_take_from, queue_by_id, queue_named
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.reviews import lock_response
from judgeboard.text import unstorable

HIGHEST = 2**63 - 1  # a row's number in either database


def new_secret() -> str:
    """Return a secret that nobody guesses."""
    return secrets.token_urlsafe(16)


def token_of(lease: Lease) -> str:
    """Return the token of a place that somebody holds."""
    return f"{lease.queue_item_id}.{lease.token}"


def split_token(token: str) -> tuple[int, str]:
    """Return the item and the secret that a token is made of.

    Raises:
        BadInput: It is no token.
    """
    item, dot, secret = token.partition(".")
    known = item.isdecimal() and len(item) <= len(str(HIGHEST)) and int(item) <= HIGHEST
    if not dot or not known or not secret or unstorable(secret):
        raise BadInput("this is not the token of an item: take one with `judgeboard queue next`")
    return int(item), secret


TRIES = 5
Taken = TypeVar("Taken")


def tried(take: Callable[[], Taken], reviewer: Reviewer) -> Taken:
    """Return what a reviewer's taking comes to; ``take`` is a transaction of its own.

    Raises:
        BadInput: Other sessions of theirs were first each time.
    """
    for _ in range(TRIES):
        try:
            return take()
        except IntegrityError:
            continue
    raise BadInput(f"{reviewer.name} takes items in another session at this moment: try again")


LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class LeasedItem:
    """An item that somebody holds: ``token`` lets them decide it, ``until`` (UTC) is when others may take it."""

    token: str
    until: datetime
    lease_id: int
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
    """Return the next item of a queue for a reviewer, None where none is left for them.

    What they hold already and is not in ``holding`` comes first, with its token: after a reload the work goes on.

    Args:
        store: The open database.
        queue: The queue or its name.
        reviewer: Who takes.
        holding: The tokens of the items that their page has at hand, so that one more is taken.
        now: The present by default.

    Raises:
        NotAllowed: The reviewer may not review.
        NotFound: No such queue.
        BadInput: The queue is closed or given to others, or other sessions of the reviewer take from it at once.
    """

    def take() -> LeasedItem | None:
        with allowed(store, reviewer, Action.REVIEW) as connection:
            return _next(connection, queue, reviewer, holding, now or datetime.now(UTC))

    return tried(take, reviewer)


def take_item(store: Store, item_id: int, reviewer: Reviewer, *, now: datetime | None = None) -> LeasedItem | None:
    """Take one item by its id, skipped before or not.

    None where others hold or did all that it needs, the reviewer did it already, it is served again to another, or
    its answer stopped matching.

    Raises:
        NotAllowed: The reviewer may not review.
        NotFound: No such item.
        BadInput: Its queue is closed or given to others, or other sessions of the reviewer take it at once.
    """
    at = now or datetime.now(UTC)

    def take() -> LeasedItem | None:
        with allowed(store, reviewer, Action.REVIEW) as connection:
            item = item_by_id(connection, item_id)
            queue = open_queue(connection, queue_by_id(connection, item.queue_id), reviewer)
            if item.state is not ItemState.OPEN:
                return None
            lease = take_lease_at(connection, item_id, reviewer.id, new_secret(), now=at, until=_until(queue, at))
            return None if lease is None else leased_item(lease, item, queue)

    return tried(take, reviewer)


def renew(store: Store, token: str, reviewer: Reviewer, *, now: datetime | None = None) -> datetime | None:
    """Hold an item longer, with the same token; return until when (UTC), None where it is not held any more.

    Raises:
        NotAllowed: The reviewer may not review.
    """
    at = now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        secret = split_token(token)[1]
        lease = lease_by_token(connection, secret)
        if lease is None:
            return None
        queue = queue_by_id(connection, lease.queue_id)
        until = _until(queue, at)
        renewed = queue.state is QueueState.OPEN and renew_lease(connection, secret, reviewer.id, until)
        return until if renewed else None


def is_leased(connection: Connection, token: str, reviewer: Reviewer) -> bool:
    """Whether nobody else took, and the reviewer did not decide elsewhere, what they were given a token for."""
    lease = lease_by_token(connection, split_token(token)[1])
    return lease is not None and lease.reviewer_id == reviewer.id and not lease.done


def release(store: Store, token: str, reviewer: Reviewer, *, now: datetime | None = None) -> bool:
    """Give an item back undecided; False where it was not held any more."""
    at = now or datetime.now(UTC)
    with store.writing() as connection:
        return _give_back(connection, token, reviewer, at) is not None


def skip(
    store: Store, token: str, reviewer: Reviewer, *, reason: str | None = None, now: datetime | None = None
) -> bool:
    """Give an item back and put it aside: it is not handed to this reviewer again; False where it was not held.

    Raises:
        NotAllowed: The reviewer may not review.
        BadInput: The reason cannot be stored.
    """
    at = now or datetime.now(UTC)
    said = (reason or "").strip() or None
    if said is not None and (len(said) > LONGEST_REASON or unstorable(said)):
        raise BadInput(f"a reason has at most {LONGEST_REASON} characters that can be stored")
    with allowed(store, reviewer, Action.REVIEW) as connection:
        item = _give_back(connection, token, reviewer, at)
        if item is None:
            return False
        insert_skip(connection, item.id, reviewer.id, said, at)
        details = {"item": item.id, "queue": item.queue_id}
        record_event(connection, "skip", reviewer.name, response_id=item.response_id, details=details, now=at)
        return True


def _next(
    connection: Connection, named: str | Queue, reviewer: Reviewer, holding: Collection[str], now: datetime
) -> LeasedItem | None:
    queue = queue_named(connection, named) if isinstance(named, str) else queue_by_id(connection, named.id)
    open_queue(connection, queue, reviewer)
    until = _until(queue, now)
    if (held := _kept(connection, queue, reviewer, holding, now, until)) is not None:
        return held
    if queue.repeat_rate:
        add_repeat(connection, queue, reviewer.id, now)
    taken = take_lease(connection, queue.id, reviewer.id, new_secret(), now=now, until=until)
    if taken is None:  # another session of theirs may have taken the last one between these statements
        return _kept(connection, queue, reviewer, holding, now, until)
    return leased_item(taken, item_by_id(connection, taken.queue_item_id), queue)


def _kept(
    connection: Connection,
    queue: Queue,
    reviewer: Reviewer,
    holding: Collection[str],
    now: datetime,
    until: datetime,
) -> LeasedItem | None:
    """Return what a reviewer holds already and has not at hand, held anew."""
    for lease in active_leases(connection, reviewer.id, now, queue.id):
        # What lies in somebody's bundle is not served at a page as well.
        if lease.token is None or lease.token.startswith(OFFLINE):
            continue
        if token_of(lease) not in holding:
            renew_lease(connection, lease.token, reviewer.id, until)
            return leased_item(lease, item_by_id(connection, lease.queue_item_id), queue, until)
    return None


def open_queue(connection: Connection, queue: Queue, reviewer: Reviewer) -> Queue:
    """Return an open queue from which somebody may take.

    Raises:
        BadInput: It is closed, or given to others.
    """
    check_open(queue)
    if not may_take_from(connection, queue.id, reviewer.id):
        raise BadInput(f"the queue {queue.name!r} is given to others: ask its lead")
    return queue


def _give_back(connection: Connection, token: str, reviewer: Reviewer, now: datetime) -> QueueItem | None:
    secret = split_token(token)[1]
    found = lease_by_token(connection, secret)
    if found is None:
        return None
    item = item_by_id(connection, found.queue_item_id)
    if item.response_id is not None:
        lock_response(connection, item.response_id)  # before the place, as where it is decided
    lease = lease_by_token(connection, secret, lock=True)
    if lease is None or lease.done or lease.reviewer_id != reviewer.id:
        return None
    release_lease(connection, lease.id)
    if item.response_id is not None:
        follow_queues(connection, [item.response_id], now)  # it may have stopped matching while it was held
    return item


def leased_item(lease: Lease, item: QueueItem, queue: Queue, until: datetime | None = None) -> LeasedItem:
    """Return a place as its holder is told of it."""
    return LeasedItem(
        token=token_of(lease),
        until=until or lease.until or datetime.min.replace(tzinfo=UTC),
        lease_id=lease.id,
        item_id=item.id,
        response_id=item.response_id,
        pair_id=item.pair_id,
        queue=queue,
    )


def _until(queue: Queue, now: datetime) -> datetime:
    return now + timedelta(seconds=queue.lease_seconds)
