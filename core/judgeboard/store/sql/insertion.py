"""INSERT statements with ON CONFLICT, which SQLAlchemy spells once per engine; each is built once."""

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

    Insertion: TypeAlias = sqlite.Insert | postgresql.Insert


def insert_into(connection: Connection, table: Table) -> "Insertion":
    """Return an INSERT that knows ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    return _insert(connection.dialect.name, table)


def insert_or_skip(connection: Connection, table: Table, *key: str) -> "Insertion":
    """Return an INSERT that skips rows whose ``key`` columns (any unique ones where none are named) are there."""
    return _insert_or_skip(connection.dialect.name, table, key)


def upsert(connection: Connection, table: Table, *key: str) -> "Insertion":
    """Return an INSERT that overwrites every other column of a row whose ``key`` columns are there."""
    return _upsert(connection.dialect.name, table, key)


def _insert(dialect: str, table: Table) -> "Insertion":
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # brings all its drivers along: only where it is spoken

    return postgresql.insert(table)


@cache
def _insert_or_skip(dialect: str, table: Table, key: tuple[str, ...]) -> "Insertion":
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=key or None)


@cache
def _upsert(dialect: str, table: Table, key: tuple[str, ...]) -> "Insertion":
    statement = _insert(dialect, table)
    others = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=others)
