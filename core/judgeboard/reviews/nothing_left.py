"""Why a person has nothing left to review in a queue."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.store.clock import utc_now
from judgeboard.store.leases import ItemCounts, count_items_for, count_with_others, own_progress, skipped_items
from judgeboard.store.next_items import own_item, training_answers
from judgeboard.store.queues import Queue, assignees
from judgeboard.text import counted


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """A queue in which a person can lease nothing now.

    Others have leased ``with_others`` items that may come later. The person ``skipped`` items that still need a review:
    they can have them back (`undo_skips`). ``assigned_alone``: the queue is assigned to this person and nobody else.
    """

    counts: ItemCounts
    with_others: int
    skipped: int
    assigned_alone: bool

    @property
    def reason(self) -> str:
        """The reason as a sentence."""
        items, reviewed = self.counts.items, self.counts.reviewed
        if not items:
            return "The queue has no items for you."
        if reviewed == items:
            return f"You have reviewed {'the only item' if items == 1 else f'all {items:,} items'}."
        own = f" You have reviewed {counted(reviewed, 'item')}." if reviewed else ""
        if self.skipped:
            needs = "needs a review" if self.skipped == 1 else "need reviews"
            own = f" You skipped {counted(self.skipped, 'item')}, which still {needs}.{own}"
        if self.with_others:
            return f"Others have leased {counted(self.with_others, 'item')}, which may become available later.{own}"
        of_others = self.counts.open - self.skipped
        if of_others:
            needs = "needs" if of_others == 1 else "need"
            nobody = ", but nobody else is assigned to the queue" if self.assigned_alone else ""
            return f"{counted(of_others, 'item')} {needs} reviews by others{nobody}.{own}"
        if self.skipped:
            return own.strip()
        declined = "declined" if self.counts.declined == items else "reviewed or declined"
        finished = declined if self.counts.declined else "reviewed"
        return f"{'The only item is' if items == 1 else f'All {items:,} items are'} {finished}.{own}"


def nothing_left(
    connection: Connection, queue: Queue, reviewer_id: int, now: datetime | None = None
) -> NothingLeft | None:
    """Return why a person can lease nothing in a queue now; None if something is left for them."""
    at = now or utc_now()
    _, left = own_progress(connection, queue.id, reviewer_id, at, most=1)
    training = queue.rules.training and training_answers(connection, queue, reviewer_id)
    if left or training or own_item(connection, queue, reviewer_id, at) is not None:
        return None
    counts = count_items_for(connection, queue.id, reviewer_id)
    skipped = len(skipped_items(connection, queue.id, reviewer_id, at))
    alone = [person.id for person in assignees(connection, queue.id)] == [reviewer_id]
    return NothingLeft(counts, count_with_others(connection, queue.id, reviewer_id, at), skipped, alone)
