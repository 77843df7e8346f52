"""Says why a word on an item cannot be taken: what has become of it since its holder was given the token."""

from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import ItemState, QueueState
from judgeboard.store.queues.item_rows import QueueItem
from judgeboard.store.queues.leases import Lease, lease_of, places_at
from judgeboard.store.queues.queue_rows import Queue
from judgeboard.store.reviews.reviewers import Reviewer

ELSEWHERE = "You hold this item anew since then: decide it where you took it last."
FREE = "You do not hold this item, and nobody else does: it is free to be taken."
LOST = "You do not hold this item, and somebody else has it now."


def refusal(
    connection: Connection, lease: Lease | None, item: QueueItem, queue: Queue, reviewer: Reviewer, now: datetime
) -> str | None:
    """Say why a word on an item cannot be taken from a place, None where it can.

    Args:
        connection: The open transaction.
        lease: The place that the token is of, None where it is of none.
        item: The item that the token names.
        queue: Its queue.
        reviewer: Who speaks.
        now: What is held beyond this moment is not free.
    """
    if queue.state is QueueState.CLOSED:
        return f"The queue {queue.name} was closed meanwhile."
    if item.state is ItemState.LEFT:
        return "This item left its queue meanwhile."
    if lease is not None and lease.reviewer_id == reviewer.id:
        return "You decided this item already." if lease.done else None
    own = lease_of(connection, item.id, reviewer.id)
    if own is not None:
        return "You decided this item already." if own.done else ELSEWHERE
    places = places_at(connection, item.id)
    free = any(not one.done and (one.until is None or one.until <= now) for one in places)
    return FREE if free and item.again_for in {None, reviewer.id} else LOST
