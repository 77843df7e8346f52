"""Why a person has nothing left to review in a queue."""

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
from judgeboard.store.tables import Queue


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
