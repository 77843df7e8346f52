"""Why a person has nothing left to review in a queue."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.measure.notes import Note, note
from judgeboard.store.clock import utc_now
from judgeboard.store.leases import (
    ItemCounts,
    count_items_for,
    count_with_others,
    own_progress,
    skipped_items,
)
from judgeboard.store.next_items import own_item, training_answers
from judgeboard.store.queues import assignees
from judgeboard.store.tables import Queue


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """A queue in which a person can lease nothing now.

    Others have leased ``with_others`` items that may come later. The person ``skipped`` items that
    still need a review: they can have them back (`undo_skips`). ``assigned_alone``: the queue is
    assigned to this person and nobody else.
    """

    counts: ItemCounts
    with_others: int
    skipped: int
    assigned_alone: bool

    @property
    def note(self) -> Note:
        """The reason."""
        items, others = self.counts.items, self.counts.open - self.skipped
        if not items:
            return note("queue_has_nothing")
        if self.counts.reviewed == items:
            return note("queue_reviewed", n=items)
        if self.with_others:
            return note("queue_leased", n=self.with_others)
        if others:
            return note("queue_of_nobody" if self.assigned_alone else "queue_of_others", n=others)
        return (
            note("queue_skipped", n=self.skipped)
            if self.skipped
            else note("queue_finished", n=items)
        )


def nothing_left(
    connection: Connection, queue: Queue, reviewer_id: int, now: datetime | None = None
) -> NothingLeft | None:
    """Return why a person can lease nothing in a queue now; None if something is left for them."""
    at = now or utc_now()
    _, left = own_progress(connection, queue.id, reviewer_id, at, most=1)
    training = queue.training and training_answers(connection, queue, reviewer_id)
    if left or training or own_item(connection, queue, reviewer_id, at) is not None:
        return None
    counts = count_items_for(connection, queue.id, reviewer_id)
    skipped = len(skipped_items(connection, queue.id, reviewer_id, at))
    alone = [person.id for person in assignees(connection, queue.id)] == [reviewer_id]
    return NothingLeft(
        counts, count_with_others(connection, queue.id, reviewer_id, at), skipped, alone
    )
