"""Where a person stands in a queue: how much they did, how much is left for them."""

from datetime import datetime

from sqlalchemy import Connection, exists, func, or_, select

from judgeboard.store.queues.leases import LEASE, PLACE
from judgeboard.store.schema.queue_tables import SKIP


def own_place(connection: Connection, queue_id: int, reviewer_id: int, now: datetime) -> tuple[int, int]:
    """Return the items that a person did in a queue, and those that are left for them at this moment.

    Left are the items with a place that waits and nobody else holds, less what they did or skipped. It reads every
    waiting place: a page asks once, when somebody begins.
    """
    mine = exists().where(
        LEASE.c.queue_item_id == PLACE.c.queue_item_id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    skipped = exists().where(SKIP.c.queue_item_id == PLACE.c.queue_item_id, SKIP.c.reviewer_id == reviewer_id)
    done = select(func.count()).where(
        LEASE.c.queue_id == queue_id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    left = select(func.count(PLACE.c.queue_item_id.distinct())).where(
        PLACE.c.queue_id == queue_id,
        PLACE.c.done.is_(False),
        or_(PLACE.c.until.is_(None), PLACE.c.until <= now, PLACE.c.reviewer_id == reviewer_id),
        or_(PLACE.c.again_for.is_(None), PLACE.c.again_for == reviewer_id),
        ~mine,
        ~skipped,
    )
    return connection.execute(done).scalar_one(), connection.execute(left).scalar_one()
