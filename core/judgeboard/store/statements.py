"""Parts of SQL statements: batches, inserts, common conditions, and results read as columns."""

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Executable,
    Float,
    FromClause,
    Select,
    String,
    Table,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator
from sqlmodel import SQLModel

from judgeboard.errors import NotFound
from judgeboard.flags.rule import HALF_STEP
from judgeboard.settings.model import Cuts
from judgeboard.stats.arrays import AnyArray, BoolArray, IntArray
from judgeboard.store.columns import Row, table_of

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

    Insertion: TypeAlias = sqlite.Insert | postgresql.Insert


K = TypeVar("K")
R = TypeVar("R", bound=Row)
T = TypeVar("T")

AT_ONCE = 1_000


def batches(items: Sequence[T], size: int = AT_ONCE) -> Iterator[Sequence[T]]:
    """Yield the items in order, ``size`` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def rows_with(
    connection: Connection,
    query: Select[Any],
    column: ColumnElement[Any],
    values: Collection[Any] | None,
) -> Iterator[Any]:
    """Yield the rows in which ``column`` has one of these values (None: all rows), in batches of ascending values."""
    if values is None:
        yield from connection.execute(query)
        return
    for batch in batches(sorted(set(values))):
        yield from connection.execute(query.where(column.in_(batch)))


def below_cut(
    groundedness: ColumnElement[float | None], query_type: ColumnElement[str], cuts: Cuts
) -> ColumnElement[bool]:
    """Return the condition that a groundedness is below the cut of the query type."""
    default = cuts.default - HALF_STEP
    if not cuts.by_type:
        return groundedness < default
    values = {name: value - HALF_STEP for name, value in cuts.by_type.items()}
    return groundedness < case(values, value=query_type, else_=default)


def any_row(connection: Connection, *conditions: ColumnElement[bool]) -> bool:
    """Return whether any row of the tables in these conditions meets all conditions."""
    return connection.scalar(select(1).where(*conditions).limit(1)) is not None


def number_of(connection: Connection, query: Executable) -> int:
    """Return the one number that a query selects, 0 for NULL or without a row."""
    return int(connection.scalar(query) or 0)


def count_rows(connection: Connection, table: FromClause, *conditions: ColumnElement[bool]) -> int:
    """Return the number of rows of a table that meet all conditions."""
    return number_of(connection, select(func.count()).select_from(table).where(*conditions))


def rows_by_key(
    connection: Connection,
    table: Table,
    keys: Collection[tuple[str, str]],
    *columns: ColumnElement[Any],
) -> dict[tuple[str, str], Any]:
    """Return the rows of a table with these keys (source and external id) by key, with these columns."""
    # SQLite would read the whole index for (source, external_id) IN (...).
    of_sources = table.c.source.in_({source for source, _ in keys})
    query = select(table.c.source, table.c.external_id, *columns).where(of_sources)
    rows = rows_with(
        connection, query, table.c.external_id, {external_id for _, external_id in keys}
    )
    by_key = {(row.source, row.external_id): row for row in rows}
    return {key: by_key[key] for key in keys if key in by_key}


def rounded_sum(total: float | None) -> float:
    """Return a sum of scores without the last digits, which depend on the order in which an engine adds the rows."""
    return round(float(total or 0), 12)


def listed(connection: Connection, ids: Iterable[int]) -> Select[tuple[int]]:
    """Return ids as one parameter, because engines limit the number of parameters."""
    if connection.dialect.name == "sqlite":
        as_json: ColumnElement[str] = bindparam(None, json.dumps(list(ids)), unique=True)
        return select(literal_column("value")).select_from(func.json_each(as_json))
    return select(func.unnest(bindparam(None, list(ids), ARRAY(BigInteger), unique=True)))


def plain_insert(connection: Connection, table: Table) -> "Insertion":
    """Return an INSERT of the engine's dialect, to which ``ON CONFLICT`` can be added."""
    return _insert(connection.dialect.name, table)


def insert_or_skip(connection: Connection, table: Table, *key: str) -> "Insertion":
    """Return an INSERT that skips rows whose ``key`` is stored already (default: any unique key)."""
    return _insert_or_skip(connection.dialect.name, table, key)


def upsert(connection: Connection, table: Table, *key: str) -> "Insertion":
    """Return an INSERT that overwrites every other column of a row whose ``key`` is stored."""
    return _upsert(connection.dialect.name, table, key)


def _insert(dialect: str, table: Table) -> "Insertion":
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import (
        postgresql,
    )  # imported only here, because this module imports all drivers

    return postgresql.insert(table)


@cache
def _insert_or_skip(dialect: str, table: Table, key: tuple[str, ...]) -> "Insertion":
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=key or None)


@cache
def _upsert(dialect: str, table: Table, key: tuple[str, ...]) -> "Insertion":
    statement = _insert(dialect, table)
    others = {
        column.name: statement.excluded[column.name]
        for column in table.columns
        if column.name not in key
    }
    return statement.on_conflict_do_update(index_elements=key, set_=others)


def rows_of(connection: Connection, query: Select[T]) -> list[T]:
    """Return rows of a table as instances of the class of the table. No later statement returns the same instances."""
    with Session(
        connection
    ) as session:  # a new session for each read: a kept session returns rows that were hidden since
        return list(session.scalars(query))


def first_row(connection: Connection, query: Select[T]) -> T | None:
    """Return the first row of a query (as `rows_of`), None without a row."""
    return next(iter(rows_of(connection, query.limit(1))), None)


def get_row(connection: Connection, row: type[R], id_: Any, noun: str) -> R:
    """Return the row of a table with this id. Raises NotFound, with the ``noun``."""
    instance = first_row(connection, select(row).where(table_of(row).c.id == id_))
    if instance is None:
        raise NotFound(f"no {noun} {id_}")
    return instance


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return the values of each key, in order."""
    groups: dict[K, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def record_of(cls: type[T], row: Any, **values: object) -> T:
    """Return a record with ``values`` and the columns or fields of ``row`` (also a dataclass or a row of a table)."""
    source_values = (
        row._asdict()
        if hasattr(row, "_asdict")
        else {name: getattr(row, name) for name in _field_names(type(row))}
    )
    return cls(
        **{name: source_values[name] for name in _field_names(cls) if name in source_values}
        | values
    )


def columns_of(cls: type, *tables: FromClause) -> list[ColumnElement[Any]]:
    """Return a column for each field of a dataclass or named tuple, from the first table with this column."""
    columns = {column.name: column for table in reversed(tables) for column in table.c}
    return [columns[name] for name in _field_names(cls) if name in columns]


_FIELD_NAMES: dict[type, tuple[str, ...]] = {}
"""The results of `_field_names` by record type: an import needs a result per row."""


def _field_names(cls: type) -> tuple[str, ...]:
    if cls not in _FIELD_NAMES:
        if is_dataclass(cls):
            _FIELD_NAMES[cls] = tuple(field.name for field in fields(cls) if field.init)
        else:
            # Every other record is a named tuple.
            is_row = issubclass(cls, SQLModel)
            _FIELD_NAMES[cls] = tuple(cls.model_fields if is_row else cls._fields)  # type: ignore[attr-defined]
    return _FIELD_NAMES[cls]


# A transaction holds this lock on a table from before it gets the first id until it ends.
_WRITERS = text(
    "SELECT virtualtransaction FROM pg_locks "
    "WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND mode = 'RowExclusiveLock' AND relation = ANY(CAST(CAST(:tables AS text[]) AS regclass[]))"
)


def last_ids(connection: Connection, *tables: Table) -> tuple[Hashable, ...]:
    """Return the highest id of each table, 0 for an empty table. Such tables only grow; forgetting adds an event.

    On PostgreSQL, a row can be committed after rows with higher ids. So the transactions that write
    to the tables now follow there.
    """
    highest = (func.coalesce(select(func.max(table.c.id)).scalar_subquery(), 0) for table in tables)
    ids = tuple(connection.execute(select(*highest)).one())
    if connection.dialect.name != "postgresql":
        return ids
    names = [table.name for table in tables]
    return *ids, *sorted(connection.scalars(_WRITERS, {"tables": names}))


# SQLite uses a partial index only if the query contains the same text as the condition of the
# index.
LOGGED: ColumnElement[bool] = literal_column("response.kind = 'log'")
OPEN: ColumnElement[bool] = literal_column("flag.state = 'open'")
NOT_OK: ColumnElement[bool] = literal_column("judgment.status <> 'ok'")
PICKED: ColumnElement[bool] = literal_column(
    "flag.state <> 'superseded' AND flag.rule <> 'random_sample'"
)
"""Flags that count, of all rules except the random sample."""
CURRENT_OF_VERSION: ColumnElement[bool] = literal_column("current_judgment.response_kind = 'log'")
"""Current verdicts of judge versions on logged answers."""
CURRENT_OF_NAME: ColumnElement[bool] = literal_column(
    "current_judgment.is_current AND current_judgment.response_kind = 'log'"
)
"""Current verdicts of judge names, by any version, on logged answers."""

_PART = 2_000


class TextColumn(NamedTuple):
    """A column of texts: the distinct ``names``, sorted, and for each row the index of the name (``codes``)."""

    names: tuple[str, ...]
    codes: IntArray

    def at(self, rows: AnyArray) -> "TextColumn":
        """Return some of the rows, by a mask or by positions."""
        return TextColumn(self.names, self.codes[rows])

    def plus(self, other: "TextColumn") -> "TextColumn":
        """Return the rows of this column, then the rows of the other column."""
        place = {name: place for place, name in enumerate(sorted({*self.names, *other.names}))}
        places = [
            np.array([place[name] for name in each.names], dtype=np.int64) for each in (self, other)
        ]
        return TextColumn(
            tuple(place), np.concatenate([places[0][self.codes], places[1][other.codes]])
        )

    def without_unused(self) -> "TextColumn":
        """Return the same rows, with the names that occur."""
        occurs = np.bincount(self.codes, minlength=len(self.names)) > 0
        return TextColumn(tuple(compress(self.names, occurs)), (np.cumsum(occurs) - 1)[self.codes])

    def equal(self, name: str | None) -> BoolArray:
        """Return which rows have this text."""
        return np.asarray(self.codes == (self.names.index(name) if name in self.names else -1))

    def positions(self) -> dict[str, IntArray]:
        """Return the positions, ascending, of the rows of each name. One sort does for all names."""
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.names)))[:-1]
        return dict(
            zip(self.names, np.split(np.argsort(self.codes, kind="stable"), ends), strict=True)
        )


NO_DAY = -1
"""The UTC day of an answer without a time, in arrays of days since 1970-01-01."""


class Columns:
    """Columns of equal length: the base of dataclasses of arrays."""

    def at(self, rows: AnyArray) -> Self:
        """Return some of the rows, by a mask or by positions."""
        columns = (getattr(self, name) for name in _field_names(type(self)))
        return type(self)(
            *(each[rows] if isinstance(each, np.ndarray) else each.at(rows) for each in columns)
        )

    def plus(self, other: Self) -> Self:
        """Return these rows, then the rows of ``other``."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in _field_names(type(self)))
        return type(self)(
            *(
                np.concatenate(pair) if isinstance(pair[0], np.ndarray) else pair[0].plus(pair[1])
                for pair in pairs
            )
        )


def read_columns(connection: Connection, query: Select[Any]) -> list[Any]:
    """Return the columns of a query: arrays of floats or integers, or a ``TextColumn``, by SQL type.

    NULL becomes NaN in floats; integers and texts must not be NULL (use coalesce).
    """
    types: list[Any] = [column.type for column in query.selected_columns]
    types = [type_.impl if isinstance(type_, TypeDecorator) else type_ for type_ in types]
    name_codes: list[dict[str, int] | None] = [
        {} if isinstance(type_, String) else None for type_ in types
    ]
    kinds = [np.float64 if isinstance(type_, Float) else np.int64 for type_ in types]
    parts: list[list[npt.NDArray[Any]]] = [[np.empty(0, dtype=kind)] for kind in kinds]
    with connection.execute(query) as result:
        # Rows are read in parts, because the garbage collector would scan a hundred thousand live
        # tuples repeatedly. The rows come from the driver's cursor, because a third of the time is
        # needed to create a Row for each.
        cursor = result.cursor
        if cursor is None:
            raise ValueError("this statement returns no rows")
        for rows in iter(lambda: cursor.fetchmany(_PART), []):
            for part, kind, names, values in zip(
                parts, kinds, name_codes, zip(*rows, strict=True), strict=True
            ):
                codes = (
                    values
                    if names is None
                    else [names.setdefault(each, len(names)) for each in values]
                )
                part.append(np.array(codes, dtype=kind))
    arrays = [np.concatenate(part) for part in parts]
    return [
        array if names is None else _in_order(names, array)
        for names, array in zip(name_codes, arrays, strict=True)
    ]


def read_numbers(
    connection: Connection, *queries: Select[Any]
) -> tuple[TextColumn, list[IntArray]]:
    """Return the rows of queries with equal columns: a text, then whole numbers. No value may be NULL.

    The engine joins the numbers of each text into one value, and NumPy splits this value. For many
    rows this takes a fifth of the time of `read_columns`, because no number becomes a Python
    object.
    """
    name_codes: dict[str, int] = {}
    parts: list[list[IntArray]] = [
        [np.empty(0, dtype=np.int64)] for _ in queries[0].selected_columns
    ]
    for query in queries:
        name, *numbers = query.subquery().c
        number_lists = (func.aggregate_strings(cast(each, String), ",") for each in numbers)
        for value, *texts in connection.execute(select(name, *number_lists).group_by(name)):
            columns = [np.fromstring(column, dtype=np.int64, sep=",") for column in texts]
            codes = np.full(len(columns[0]), name_codes.setdefault(value, len(name_codes)))
            for part, column in zip(parts, (codes, *columns), strict=True):
                part.append(column)
    types, *arrays = map(np.concatenate, parts)
    return _in_order(name_codes, types), arrays


def _in_order(name_codes: dict[str, int], codes: IntArray) -> TextColumn:
    names = tuple(sorted(name_codes))
    position = np.zeros(len(names), dtype=np.int64)
    position[[name_codes[name] for name in names]] = np.arange(len(names))
    return TextColumn(names, position[codes])
