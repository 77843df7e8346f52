"""Queues of pairs: which pairs a queue takes in, and in which order."""

from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.flags.random_sample import draw
from judgeboard.store.pairs.pair_items import PAIR
from judgeboard.store.queues.item_rows import NewItem, insert_items
from judgeboard.store.queues.joining import Joined
from judgeboard.store.queues.matching import reviews_needed
from judgeboard.store.queues.queue_rows import Queue

ORDERS = (QueueOrder.OLDEST, QueueOrder.RANDOM)


def fill_with_pairs(connection: Connection, queue: Queue, now: datetime) -> Joined:
    """Take in every pair with two answers that the queue's filter matches: by query type, source and outside id.

    Raises:
        BadInput: The filter asks for what a pair has not, or the order is not oldest or random.
    """
    where = queue.filter
    if where != RowFilter(query_types=where.query_types, sources=where.sources, ids=where.ids):
        raise BadInput("pairs are chosen by query_type, source and id")
    if queue.sort not in ORDERS:
        raise BadInput(f"pairs are ordered by oldest or random, not {queue.sort.value}")
    query = select(PAIR.c.id, PAIR.c.source, PAIR.c.external_id).where(
        PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None)
    )
    for given, column in (
        (where.query_types, PAIR.c.query_type),
        (where.sources, PAIR.c.source),
        (where.ids, PAIR.c.external_id),
    ):
        if given:
            query = query.where(column.in_(given))
    new = [
        NewItem(
            pair_id=row.id,
            position=_position(queue, row.id, row.source, row.external_id),
            reviews_needed=reviews_needed(queue, row.source, row.external_id),
        )
        for row in connection.execute(query.order_by(PAIR.c.id))
    ]
    insert_items(connection, queue.id, new, now)
    return Joined(len(new), 0, 0)


def _position(queue: Queue, pair_id: int, source: str, external_id: str) -> float:
    return float(pair_id) if queue.sort is QueueOrder.OLDEST else draw(f"{queue.seed}:order", source, external_id)
