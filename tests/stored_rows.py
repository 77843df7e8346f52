"""Reads what the tables of a database hold."""

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Column, Table, func, select

from judgeboard.store.engine import Store

Read = TypeVar("Read")


def rows_of(store: Store, table: Table) -> list[dict[str, Any]]:
    """Return every row of a table, by id."""
    with store.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.id)).mappings()
        return [dict(row) for row in rows]


def values_of(store: Store, column: Column[Any], *conditions: Any) -> list[Any]:
    """Return the values of a column, in the order of the primary key."""
    query = select(column).where(*conditions).order_by(*column.table.primary_key)
    with store.reading() as connection:
        return list(connection.execute(query).scalars())


def row_count(store: Store, *tables: Table) -> int:
    """Return how many rows these tables have together."""
    with store.reading() as connection:
        return sum(
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables
        )


def read(store: Store, function: Callable[..., Read], *given: object, **options: object) -> Read:
    """Return what a function reads from a database."""
    with store.reading() as connection:
        return function(connection, *given, **options)
