"""Copies a database into an empty one, also from SQLite to PostgreSQL and back."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from alembic import command
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Enum,
    MetaData,
    Select,
    String,
    Table,
    event,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import AddConstraint
from sqlalchemy.types import TypeDecorator, TypeEngine

from judgeboard.errors import BadInput
from judgeboard.store.columns import METADATA, JsonValue, Utc, row_of
from judgeboard.store.engine import Store
from judgeboard.store.metadata import index_metadata, indexed_fields
from judgeboard.store.migrations import HEAD
from judgeboard.store.migrations.run import alembic_config
from judgeboard.store.opening import UNFINISHED
from judgeboard.store.revisions import current_revision
from judgeboard.store.statements import AT_ONCE, any_row, count_rows
from judgeboard.store.triggers import install_guards, install_search

_SET_REVISION = text("UPDATE alembic_version SET version_num = :revision")


def copy_database(
    source: Store, target: Store, progress: Callable[[int, int], None] = lambda *_: None
) -> dict[str, int]:
    """Copy all rows into an empty database, then compare both; return the number of rows of each table.

    Ids are kept. Rows about running processes are left out (``of_process``). Each batch of rows is
    a transaction, so a killed copy goes on after the last batch. Until all is copied, the
    target has a revision that no program opens. ``progress`` gets the rows so far, and all rows.

    Raises BadInput if the target is neither empty nor an unfinished copy of this source, if the
    target cannot hold a value, or if the source changes meanwhile.
    """
    mark = _mark(source)
    if mark == _mark(target):
        raise BadInput(f"{target.shown_url} is the database itself: name another one")
    tables = [_as_stored(each) for each in METADATA.sorted_tables if not row_of(each).of_process]
    if target.is_sqlite:
        # A row may refer to a later row. At the end, all rows are as in the source.
        unchecked = "PRAGMA foreign_keys = OFF"
        event.listen(target.engine, "connect", lambda dbapi, _: dbapi.execute(unchecked))
    if current_revision(target) != mark:
        _make_bare_tables(target, mark)
    if not source.is_sqlite:  # on SQLite, a transaction reads one state
        snapshot = source.engine.execution_options(isolation_level="REPEATABLE READ")
        source = replace(source, engine=snapshot)
    with source.reading() as connection:
        total = sum(count_rows(connection, table) for table in tables)
        copied_rows = 0
        for table in tables:
            for count in _copy_rows(connection, target, table):
                copied_rows += count
                progress(copied_rows, total)
    with source.reading() as connection:  # the current state
        counts = {table.name: _compare(connection, target, table) for table in tables}
        fields = indexed_fields(connection)
    for field in sorted(fields):
        index_metadata(target, field)
    # Add indexes, references and triggers, and set the revision, in one transaction.
    with target.writing() as connection:
        for table in _whole_schema().sorted_tables:
            for index in sorted(table.indexes, key=lambda each: str(each.name)):
                index.create(connection)
            if not target.is_sqlite:
                for reference in table.foreign_key_constraints:
                    connection.execute(AddConstraint(reference))
                if (id_ := table.autoincrement_column) is not None:
                    sequence = func.pg_get_serial_sequence(table.name, id_.name)
                    next_id = select(func.coalesce(func.max(id_), 0) + 1).scalar_subquery()
                    connection.execute(select(func.setval(sequence, next_id, False)))
        install_guards(connection)
        install_search(connection)
        connection.execute(_SET_REVISION, {"revision": HEAD})
        if not target.is_sqlite:
            connection.execute(text("ANALYZE"))
    return counts


def _mark(store: Store) -> str:
    """Return the revision of an unfinished copy of a database. Each source has another revision."""
    url = store.engine.url
    place = (
        str(Path(str(url.database)).resolve())
        if store.is_sqlite
        else f"{url.host}:{url.port or 5432}/{url.database}?{url.query.get('host')}"
    )
    return f"{UNFINISHED}{HEAD} {hashlib.sha256(place.encode()).hexdigest()[:12]}"


def _as_stored(table: Table) -> Table:
    """Return a table that reads values as the database has them: texts, and JSON of whatever class."""
    plain_table = Table(table.name, MetaData())
    for column in table.columns:
        type_: TypeEngine[Any] = column.type
        if isinstance(type_, TypeDecorator) and not isinstance(type_, Utc):
            type_ = type_.impl_instance
        if isinstance(type_, JSON):
            type_ = JsonValue
        elif isinstance(type_, Enum):
            type_ = String()
        plain_table.append_column(Column(column.name, type_, primary_key=column.primary_key))
    return plain_table


def _whole_schema() -> MetaData:
    """Return a copy of the tables, which may be changed."""
    schema = MetaData(naming_convention=METADATA.naming_convention)
    for table in METADATA.sorted_tables:
        table.to_metadata(schema)
    return schema


def _make_bare_tables(target: Store, mark: str) -> None:
    """Create tables without triggers and indexes: rows are stored faster, and none is noted as a change."""
    revision = current_revision(target)
    if revision not in {None, HEAD}:
        what = (
            "is an unfinished copy of another database, or of another version of this program"
            if str(revision).startswith(UNFINISHED)
            else f"has schema revision {revision}"
        )
        raise BadInput(f"{target.shown_url} {what}: copy to an empty database")
    schema = _whole_schema()
    for table in schema.sorted_tables:
        table.indexes.clear()
        if not target.is_sqlite:  # SQLite cannot add foreign keys later
            table.constraints -= table.foreign_key_constraints
    with target.writing() as connection:
        if revision is not None:
            for table in METADATA.sorted_tables:
                if any_row(connection, table.c[0].is_not(None)):
                    raise BadInput(
                        f"{target.shown_url} has rows (in {table.name}): copy to an empty database"
                    )
            connection.execute(text("DROP TABLE IF EXISTS response_search"))
            METADATA.drop_all(connection)
        schema.create_all(connection)
        command.stamp(alembic_config(connection), "head")
        connection.execute(_SET_REVISION, {"revision": mark})


def _copy_rows(source: Connection, target: Store, table: Table) -> Iterator[int]:
    """Copy the rows that the target lacks. Yield the number of rows in the target, then the number of each batch."""
    with target.reading() as connection:
        copied_rows = count_rows(connection, table)
    yield copied_rows
    with source.execute(_in_order(source, table).offset(copied_rows)) as rows:
        for batch in rows.mappings().partitions():
            try:
                with target.writing() as connection:
                    connection.execute(insert(table), [dict(row) for row in batch])
            except IntegrityError:
                raise BadInput(
                    f"{table.name}: another process copies to {target.shown_url}, or the source has changed since the "
                    "copy began. Wait for the other process, or begin again with an empty database"
                ) from None
            except BadInput as error:  # for example NUL in a text that another program wrote
                raise BadInput(f"{table.name}, after row {copied_rows:,}: {error}") from error
            copied_rows += len(batch)
            yield len(batch)


def _in_order(connection: Connection, table: Table) -> Select[Any]:
    """Select the rows by primary key, in an order that both engines have, in batches."""
    is_postgresql = connection.dialect.name == "postgresql"
    keys = (
        each.collate("C") if is_postgresql and isinstance(each.type, String) else each
        for each in table.primary_key
    )
    return select(table).order_by(*keys).execution_options(yield_per=AT_ONCE)


def _compare(source: Connection, target: Store, table: Table) -> int:
    """Compare each row with the copy, and return the number of rows. Raises BadInput for the first difference."""
    count = 0
    with (
        target.reading() as connection,
        source.execute(_in_order(source, table)) as rows,
        connection.execute(_in_order(connection, table)) as copies,
    ):
        for row, copy in zip_longest(rows, copies):
            if row != copy:
                raise BadInput(
                    f"{table.name}: row {count + 1:,} is not as in the source, which was changed while it was "
                    "copied. Stop the servers and commands on it, and begin again with an empty database"
                )
            count += 1
    return count
