"""A person's work in queues: the items done, the items left for the person, and why nothing is left."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from judgeboard.measure.notes import Note, note
from judgeboard.store.clock import utc_now
from judgeboard.store.leases import (
    count_items_for,
    count_with_others,
    own_progress,
    skipped_items,
)
from judgeboard.store.next_items import own_item, training_answers
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


class NothingLeft(NamedTuple):
    """A queue in which a person can lease nothing now, with the ``items`` for the person.

    The person ``reviewed`` some of the items. Others have leased ``with_others`` items that may
    come later. The person ``skipped`` items that still need a review, and can undo these skips
    (`undo_skips`).
    """

    items: int
    reviewed: int
    with_others: int
    skipped: int

    @property
    def note(self) -> Note:
        """The reason."""
        return note("nothing_left", **self._asdict())


def nothing_left(
    connection: Connection, queue: Queue, reviewer_id: int, now: datetime | None = None
) -> NothingLeft | None:
    """Return why a person can lease nothing in a queue now; None if something is left for the person."""
    at = now or utc_now()
    _, open_items = own_progress(connection, queue.id, reviewer_id, at, most=1)
    training = queue.training and training_answers(connection, queue, reviewer_id)
    if open_items or training or own_item(connection, queue, reviewer_id, at) is not None:
        return None
    items, reviewed_count = count_items_for(connection, queue.id, reviewer_id)
    leased_count = count_with_others(connection, queue.id, reviewer_id, at)
    skipped = len(skipped_items(connection, queue.id, reviewer_id, at))
    return NothingLeft(items, reviewed_count, leased_count, skipped)
