"""Up to which rows pairs and what was said of them are stored, so that a page knows when what it holds is old."""

from typing import NamedTuple

from sqlalchemy import Connection, func, select

from judgeboard.store.schema.method_tables import COMPARISON, PAIR, SAMPLE
from judgeboard.store.schema.tables import EVENT, REVIEW


class LastRows(NamedTuple):
    """The highest id of each table, 0 where it is empty.

    Rows are added and never changed but by forgetting, which writes an event: equal ids are equal contents.
    """

    pair: int
    comparison: int
    review: int
    sample: int
    event: int


def last_rows(connection: Connection) -> LastRows:
    """Return up to which rows there are, each a look at the end of its primary key."""
    tables = (PAIR, COMPARISON, REVIEW, SAMPLE, EVENT)
    highest = (func.coalesce(select(func.max(each.c.id)).scalar_subquery(), 0) for each in tables)
    return LastRows._make(connection.execute(select(*highest)).one())
