"""Serves people an earlier item of theirs again, to see whether they would say the same."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, exists, func, select

from judgeboard.domain import ItemState, Stage
from judgeboard.flags.random_sample import draw
from judgeboard.store.queues.item_rows import ITEM, NewItem, insert_items
from judgeboard.store.queues.leases import LEASE
from judgeboard.store.queues.queue_rows import Queue
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.queue_tables import SKIP

EARLIEST = timedelta(days=7)


def serve_again(connection: Connection, queue: Queue, reviewer_id: int, now: datetime) -> int | None:
    """Lay an item of a person's own before them again, where the draw says so; return it.

    It is one that they reviewed in this queue a week ago or earlier and have not been served again, the longest ago
    first. The draw depends on the queue's seed, the person and how many items they have done; one draw lays one item at
    most, whether it is then held ahead, given back or skipped.
    """
    done = connection.execute(
        select(func.count()).where(LEASE.c.queue_id == queue.id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done)
    ).scalar_one()
    if draw(f"{queue.seed}:again", str(reviewer_id), str(done)) >= queue.again_share:
        return None
    if _still_waits(connection, queue, reviewer_id):
        return None
    again = ITEM.alias("again")
    served = select(again.c.response_id).where(again.c.queue_id == queue.id, again.c.again_for == reviewer_id)
    query = (
        select(ITEM.c.response_id)
        .join(REVIEW, REVIEW.c.queue_item_id == ITEM.c.id)
        .where(
            ITEM.c.queue_id == queue.id,
            ITEM.c.again_for.is_(None),
            REVIEW.c.reviewer_id == reviewer_id,
            REVIEW.c.at <= now - EARLIEST,
            func.coalesce(REVIEW.c.stage, "").not_in((Stage.REVEALED.value, Stage.ADJUDICATION.value)),
            standing(),
            ITEM.c.response_id.not_in(served),
        )
        .order_by(REVIEW.c.id)
        .limit(1)
    )
    response_id = connection.execute(query).scalar_one_or_none()
    if response_id is None:
        return None
    first = connection.execute(select(func.min(LEASE.c.position)).where(LEASE.c.queue_id == queue.id)).scalar_one()
    item = NewItem(response_id=response_id, position=first - 1, again_for=reviewer_id)
    (item_id,) = insert_items(connection, queue.id, [item], now)
    return item_id


def _still_waits(connection: Connection, queue: Queue, reviewer_id: int) -> bool:
    """Whether what was laid before a person waits for them; what they skipped does until they reviewed another item."""
    reviewed = ITEM.alias("reviewed")
    since = exists().where(
        REVIEW.c.reviewer_id == reviewer_id,
        REVIEW.c.queue_item_id == reviewed.c.id,
        reviewed.c.queue_id == queue.id,
        REVIEW.c.at > SKIP.c.at,
        standing(),
    )
    gone_by = exists().where(SKIP.c.queue_item_id == ITEM.c.id, SKIP.c.reviewer_id == reviewer_id, since)
    laid = exists().where(
        ITEM.c.queue_id == queue.id,
        ITEM.c.again_for == reviewer_id,
        ITEM.c.state == ItemState.OPEN.value,
        ~gone_by,
    )
    return connection.execute(select(laid)).scalar_one()
