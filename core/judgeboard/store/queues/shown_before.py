"""Whether a blind item lay open to a person before they took it, so that what they say is not blind."""

from datetime import datetime

from sqlalchemy import Connection, exists, select

from judgeboard.domain import Decision
from judgeboard.store.queues.item_rows import ITEM, QueueItem
from judgeboard.store.queues.leases import JUDGE, LEASE, PEOPLE
from judgeboard.store.queues.queue_rows import ASSIGNMENT, QUEUE
from judgeboard.store.reviews.standing import REVIEW

_HIDES = {JUDGE: QUEUE.c.blind_judge, PEOPLE: QUEUE.c.blind_people}


def had_all_reviews(connection: Connection, item: QueueItem, reviewer_id: int) -> bool:
    """Whether an item that waits now was done before, by others, so that nothing of it was hidden from anybody.

    It waits again because somebody took their word back.
    """
    columns = (REVIEW.c.id, REVIEW.c.reviewer_id, REVIEW.c.decision, REVIEW.c.replaces)
    query = select(*columns).where(REVIEW.c.queue_item_id == item.id, REVIEW.c.reviewer_id != reviewer_id)
    standing: dict[int, int] = {}
    for row in connection.execute(query.order_by(REVIEW.c.id)):
        if row.decision == Decision.WITHDRAWN.value and len(set(standing.values())) >= item.reviews_needed:
            return True
        standing.pop(row.replaces, None)
        if row.decision != Decision.WITHDRAWN.value:
            standing[row.id] = row.reviewer_id
    return False


def held_in_sight(connection: Connection, item: QueueItem, reviewer_id: int, what: str, taken_at: datetime) -> bool:
    """Whether a person took the same answer in a queue that shows ``what`` before it was hidden from them here.

    That is when the item joined, where its queue is given to them, else when they took it (``taken_at``).
    """
    given = exists().where(ASSIGNMENT.c.queue_id == item.queue_id, ASSIGNMENT.c.reviewer_id == reviewer_id)
    joined = connection.execute(select(ITEM.c.joined_at).where(ITEM.c.id == item.id, given)).scalar_one_or_none()
    in_sight = (
        select(ITEM.c.id)
        .join(QUEUE, QUEUE.c.id == ITEM.c.queue_id)
        .where(ITEM.c.response_id == item.response_id, ITEM.c.id != item.id, _HIDES[what].is_(False))
    )
    # From the few items of this answer, not from all that its reviewer ever took.
    elsewhere = select(LEASE.c.id).where(
        LEASE.c.queue_item_id.in_(in_sight),
        LEASE.c.reviewer_id == reviewer_id,
        LEASE.c.taken_at <= (joined or taken_at),
    )
    return connection.execute(elsewhere.limit(1)).first() is not None
