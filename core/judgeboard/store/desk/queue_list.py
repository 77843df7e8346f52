"""The list behind a page of the queue: the open flags under a filter, in an order, for a reviewer."""

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, literal_column, select

from judgeboard.filters import RowFilter
from judgeboard.store.desk.queue_order import FLAG
from judgeboard.store.filters.filter_sql import flag_narrowing
from judgeboard.store.listing import KeyedList, Order
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.sql.literal_conditions import OPEN

_UNSURE: ColumnElement[bool] = literal_column("review.decision = 'unsure'")


def queue_list(connection: Connection, given: RowFilter, order: Order, reviewer_id: int | None = None) -> KeyedList:
    """Return the list, without what the reviewer marked as unsure."""
    own, elsewhere = flag_narrowing(connection, given)
    return KeyedList(
        connection,
        FLAG,
        order,
        own=[OPEN, *own],
        elsewhere=elsewhere,
        aside=None if reviewer_id is None else _unsure_of(connection, reviewer_id),
        count_index=_count_index(given),
        gather_index=order.index,
    )


def _count_index(given: RowFilter) -> str:
    """Rule and query type have an index of their own, narrower than those of the orders."""
    counted = RowFilter(rules=given.rules, query_types=given.query_types)
    return "ix_flag_open_rule" if replace(given, states=()) == counted else "ix_flag_open_newest"


def _unsure_of(connection: Connection, reviewer_id: int) -> Select[Any] | None:
    """The flags that a reviewer put aside, None where there are none: most often nothing has to be left out."""
    query = select(REVIEW.c.flag_id).where(
        _UNSURE, REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.flag_id.is_not(None), standing()
    )
    return None if connection.execute(query.limit(1)).first() is None else query
