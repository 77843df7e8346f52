"""A person's work in queues: the items done, and the items left for the person."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from judgeboard.store.clock import utc_now
from judgeboard.store.leases import own_progress, skipped_items
from judgeboard.store.queues import queues_by_person
from judgeboard.store.tables import Queue

MOST_COUNTED = 1_000  # items left for a person in a queue are counted up to this number


class QueueWork(NamedTuple):
    """A person's work in a queue: items ``done``, and ``left`` for the person now, counted up to `MOST_COUNTED`.

    ``skipped`` of the items left are items that the person skipped and that still need a review.
    """

    queue: Queue
    done: int
    left: int
    skipped: int


def work_in(
    connection: Connection, queues: Iterable[Queue], reviewer_id: int, now: datetime
) -> tuple[QueueWork, ...]:
    """Return the work of a person in each of these queues."""
    work = []
    for queue in queues:
        done_count, open_count = own_progress(
            connection, queue.id, reviewer_id, now, most=MOST_COUNTED
        )
        skipped = len(skipped_items(connection, queue.id, reviewer_id, now))
        work.append(QueueWork(queue, done_count, open_count + skipped, skipped))
    return tuple(work)


def own_queues(
    connection: Connection, reviewer_id: int, now: datetime | None = None
) -> list[QueueWork]:
    """Return the open queues that are assigned to a person and have something left for the person, the oldest first.

    Queues with only skipped items left come last.
    """
    queues = queues_by_person(connection).get(reviewer_id, [])
    queue_work = [
        work for work in work_in(connection, queues, reviewer_id, now or utc_now()) if work.left
    ]
    return sorted(queue_work, key=lambda work: work.left == work.skipped)
