"""Items with a gold label for one person: unannounced test items, and the items of training queues.

They are items with ``repeat_for``, as repeats are: they decide nothing and count in no figure of answers.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, exists, func, or_, select

from judgeboard.flags.rules import sampling_number
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.person_reviews import IS_GOLD
from judgeboard.store.queue_items import UNFINISHED, NewItem, insert_items
from judgeboard.store.queues import Queue
from judgeboard.store.reviews import is_current
from judgeboard.store.tables import LEASE, QUEUE_ITEM, RESPONSE, REVIEW

CANDIDATES = 100  # gold labels among which a test item is drawn


def add_test(connection: Connection, queue: Queue, reviewer_id: int, number: float, now: datetime) -> int | None:
    """Add a test item for a reviewer before all other items and return it; None if no gold label is left for them.

    ``number`` (0 to 1) draws among the oldest gold labels of answers that the reviewer never reviewed.
    """
    own = REVIEW.alias("own")
    reviewed = exists().where(own.c.response_id == REVIEW.c.response_id, own.c.reviewer_id == reviewer_id)
    golds = _golds(queue, reviewer_id).where(~reviewed).limit(CANDIDATES)
    candidates = list(connection.execute(golds).scalars())
    if not candidates:
        return None
    first = connection.execute(select(func.min(LEASE.c.position)).where(LEASE.c.queue_id == queue.id)).scalar() or 0.0
    response_id = candidates[int(number * len(candidates))]
    item = NewItem(response_id=response_id, position=first - 1, repeat_for=reviewer_id, test=True)
    return insert_items(connection, queue.id, [item], now)[0]


def add_training_items(connection: Connection, queue: Queue, reviewer_id: int, now: datetime) -> int:
    """Add the items of a training queue that a person does not have yet; return how many were added."""
    has = select(func.count()).where(QUEUE_ITEM.c.queue_id == queue.id, QUEUE_ITEM.c.repeat_for == reviewer_id)
    golds = _golds(queue, reviewer_id).where(*response_conditions(connection, queue.filter))
    if queue.max_items is not None:
        golds = golds.limit(max(queue.max_items - connection.execute(has).scalar_one(), 0))
    new = [
        NewItem(
            response_id=response_id,
            position=sampling_number(f"{queue.seed}:order", "gold", str(response_id)),
            repeat_for=reviewer_id,
            test=True,
        )
        for response_id in dict.fromkeys(connection.execute(golds).scalars())
    ]
    if new:
        insert_items(connection, queue.id, new, now)
    return len(new)


def count_gold(connection: Connection, where: RowFilter, schema_id: int | None) -> int:
    """Return the number of answers with a gold label that a filter matches."""
    conditions = (
        *response_conditions(connection, where),
        REVIEW.c.label_schema_id.is_not_distinct_from(schema_id),
    )
    query = select(func.count(REVIEW.c.response_id.distinct())).join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
    query = query.where(IS_GOLD, is_current(), RESPONSE.c.answer.is_not(None), *conditions)
    return int(connection.execute(query).scalar_one())


def _golds(queue: Queue, reviewer_id: int) -> Select[Any]:
    """The answers with a gold label that are not in a queue for a reviewer yet, the oldest gold label first."""
    known = exists().where(
        QUEUE_ITEM.c.queue_id == queue.id,
        QUEUE_ITEM.c.response_id == REVIEW.c.response_id,
        or_(QUEUE_ITEM.c.repeat_for == reviewer_id, QUEUE_ITEM.c.state.in_(UNFINISHED)),
    )
    return (
        select(REVIEW.c.response_id)
        .join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id)
        .where(
            IS_GOLD,
            is_current(),
            REVIEW.c.label_schema_id.is_not_distinct_from(queue.label_schema_id),
            RESPONSE.c.answer.is_not(None),
            ~known,
        )
        .order_by(REVIEW.c.id)
    )
