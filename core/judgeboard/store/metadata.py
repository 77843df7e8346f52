"""Metadata of logged answers: conditions on fields, indexes of fields, and the names and values that occur.

Each engine compares a field by one expression, so that an index of this expression serves both the
filter and the order. SQLite compares the extracted value, PostgreSQL the JSONB value. PostgreSQL
cannot index long values, so only values of up to 200 characters are compared there.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    String,
    Subquery,
    and_,
    bindparam,
    case,
    cast,
    column,
    func,
    literal,
    or_,
    select,
    table,
    union_all,
)
from sqlalchemy.types import UserDefinedType

from judgeboard.errors import BadInput
from judgeboard.store.engine import Store
from judgeboard.store.filters import (
    MISSING,
    PARTS,
    FieldCondition,
    RowFilter,
    Scalar,
    metadata_conditions,
    metadata_field,
    metadata_path,
    value_at,
)
from judgeboard.store.sql_compiler import with_hidden_rows
from judgeboard.store.statements import LOGGED, rows_with
from judgeboard.store.tables import RESPONSE

MAX_INDEXED = 50  # bytes of a field's name; names of indexes have at most 63 bytes on PostgreSQL
LENGTH = "answer length"  # characters
NO_VALUE = "(no value)"  # the group of the answers without a field
_LONGEST = 200
_INDEX = "ix_metadata "
_SAMPLE = 300  # answers whose metadata is read for names and values
_MOST_FIELDS = 100
MOST_GROUPS = 30
"""The maximum number of offered values of a field. A field with more values does not divide the answers into groups."""
_DEPTH = 4


class Jsonb(UserDefinedType[Any]):
    """The type JSONB of PostgreSQL. An import from the dialect would load the whole dialect."""

    cache_ok = True

    def get_col_spec(self, **_options: object) -> str:
        """Return the name of the type in SQL."""
        return "JSONB"


def metadata_value(
    connection: Connection, field: str, of: FromClause = RESPONSE
) -> ColumnElement[Any]:
    """Return the expression by which a metadata field is compared and sorted; NULL if the field is missing."""
    extra, path = of.c.extra, metadata_path(field)
    if connection.dialect.name == "sqlite":
        return func.json_extract(extra, _written(sqlite_path(path)))
    as_text = extra.op("#>>", return_type=String())(_written(_array(path)))
    as_jsonb = cast(extra, Jsonb()).op("#>", return_type=Jsonb())(_written(_array(path)))
    return case((func.length(as_text) <= _written(_LONGEST), as_jsonb))


def _written(value: Any) -> ColumnElement[Any]:
    """Return a value as a literal of the statement: an engine uses an index only for exactly the index's expression."""
    return bindparam(None, value, unique=True, literal_execute=True)


def sqlite_path(path: Sequence[str | int]) -> str:
    """Return the path to a value in stored JSON as SQLite writes it."""
    # SQLite compares keys with the stored JSON text, in which letters outside ASCII are escaped.
    return "$" + "".join(
        f"[{key}]" if isinstance(key, int) else f".{json.dumps(key)}" for key in path
    )


def _array(path: Sequence[str | int]) -> str:
    # As in JSON: a quote and a backslash are escaped with a backslash.
    return "{" + ",".join(json.dumps(str(key), ensure_ascii=False) for key in path) + "}"


def has_metadata(
    connection: Connection, where: RowFilter, of: FromClause
) -> list[ColumnElement[bool]]:
    """Return the filter's conditions on the metadata of a row of ``of``: the response table or an alias."""
    return [
        or_(*(_matches(connection, each, of) for each in alternatives))
        for alternatives in metadata_conditions(where)
    ]


def _matches(
    connection: Connection, condition: FieldCondition, of: FromClause
) -> ColumnElement[bool]:
    value = metadata_value(connection, condition.field, of)
    if connection.dialect.name == "sqlite":
        return _matches_on_sqlite(value, condition, of)
    if not condition.values:
        path = _written(_array(metadata_path(condition.field)))
        return of.c.extra.op("#>>", return_type=String())(path).is_(None)
    if condition.operator == "=":
        return value.in_([as_stored(connection, each) for each in condition.values])
    bound = as_stored(connection, condition.values[0])
    # In the order of JSONB values, numbers come after texts and before booleans.
    if condition.operator == ">=":
        return and_(value >= bound, value < as_stored(connection, False))
    return and_(value <= bound, func.jsonb_typeof(value) == "number")


def _matches_on_sqlite(
    value: ColumnElement[Any], condition: FieldCondition, of: FromClause
) -> ColumnElement[bool]:
    if not condition.values:
        return value.is_(None)
    kind = func.json_type(of.c.extra, _written(sqlite_path(metadata_path(condition.field))))
    is_number = kind.in_(("integer", "real"))
    if condition.operator != "=":
        bound = literal(condition.values[0])
        return and_(value >= bound if condition.operator == ">=" else value <= bound, is_number)

    def equals(scalar: Scalar) -> ColumnElement[bool]:
        # The extracted value of a boolean is 1 or 0.
        equal: ColumnElement[bool] = value == literal(
            int(scalar) if isinstance(scalar, bool) else scalar
        )
        if isinstance(scalar, str):
            return equal
        return and_(equal, kind == json.dumps(scalar) if isinstance(scalar, bool) else is_number)

    return or_(*map(equals, condition.values))


def as_stored(connection: Connection, value: Any) -> ColumnElement[Any]:
    """Return a value as `metadata_value` compares it."""
    if connection.dialect.name == "sqlite":
        return literal(int(value) if isinstance(value, bool) else value)
    return cast(literal(json.dumps(value), String()), Jsonb())


def with_metadata(connection: Connection, where: RowFilter) -> Select[tuple[int]]:
    """Return the ids of the responses whose metadata matches the filter."""
    alias = RESPONSE.alias("with_metadata")
    return select(alias.c.id).where(
        alias.c.kind.in_(where.kinds or ("log",)), *has_metadata(connection, where, alias)
    )


def indexed_fields(connection: Connection) -> frozenset[str]:
    """Return the metadata fields with an index."""
    if connection.dialect.name == "sqlite":
        name = column("name", String())
        query = select(name).select_from(table("sqlite_master", name))
    else:
        name = column("indexname", String())
        view = table("pg_indexes", name, column("schemaname", String()))
        query = select(name).where(view.c.schemaname == func.current_schema()).select_from(view)
    names = connection.scalars(with_hidden_rows(query.where(name.startswith(_INDEX))))
    return frozenset(each.removeprefix(_INDEX) for each in names)


def index_name(field: str) -> str:
    """Return the name of the index of a field, quoted."""
    return '"' + f"{_INDEX}{field}".replace('"', '""') + '"'


def index_metadata(store: Store, field: str, *, drop: bool = False) -> bool:
    """Create or drop the index of a metadata field; return whether anything changed. Raises BadInput for a bad name."""
    field = metadata_field(metadata_path(field))
    if len(field.encode()) > MAX_INDEXED or "%" in field:
        raise BadInput(
            f"{field!r} cannot have an index: its name can have at most {MAX_INDEXED} bytes and no %"
        )
    with store.writing() as connection:
        if (field in indexed_fields(connection)) is not drop:
            return False
        if drop:
            connection.exec_driver_sql(f"DROP INDEX {index_name(field)}")
            return True
        value = metadata_value(connection, field).compile(
            dialect=connection.dialect,
            compile_kwargs={"literal_binds": True, "include_table": False},
        )
        # With the kind and the id, the index also serves the sorted list.
        connection.exec_driver_sql(
            f"CREATE INDEX {index_name(field)} ON response (kind, ({value}), id)"
        )
        if not store.is_sqlite:
            connection.exec_driver_sql("ANALYZE response")
    return True


@dataclass(frozen=True, slots=True)
class MetadataField:
    """A field that occurs, the frequent values in the form of filters, and whether an index exists.

    ``is_group``: the field divides answers into at most `MOST_GROUPS` groups, of two answers or
    more on average.
    """

    field: str
    values: tuple[str, ...]
    indexed: bool
    is_group: bool


def metadata_fields(connection: Connection) -> tuple[MetadataField, ...]:
    """Return the metadata fields of the newest and oldest logged answers and all indexed fields, by name."""
    rows: dict[int, Any] = {}
    for order in (RESPONSE.c.id.desc(), RESPONSE.c.id):
        query = (
            select(RESPONSE.c.id, RESPONSE.c.extra)
            .where(LOGGED)
            .order_by(order)
            .limit(_SAMPLE // 2)
        )
        rows |= {row.id: row.extra for row in connection.execute(query)}
    fields_with_index = indexed_fields(connection)
    counts = {field: Counter[str]() for field in fields_with_index}
    for extra in rows.values():
        for path, value in _scalars(extra, ()):
            counts.setdefault(metadata_field(path), Counter())[value_text(value)] += 1
    frequent = sorted(
        counts, key=lambda field: (field not in fields_with_index, -counts[field].total())
    )[:_MOST_FIELDS]
    return tuple(
        MetadataField(
            field,
            tuple(value for value, _ in counts[field].most_common(MOST_GROUPS)),
            field in fields_with_index,
            0 < len(counts[field]) <= min(MOST_GROUPS, counts[field].total() / 2),
        )
        for field in sorted(frequent)
    )


def metadata_groups(connection: Connection, field: str, values: Sequence[str]) -> Subquery:
    """Return the logged answers whose field has one of ``values`` (written as in a filter): ``id`` and ``value``."""
    matches = {
        value: and_(*has_metadata(connection, RowFilter(metadata=(f"{field}={value}",)), RESPONSE))
        for value in values
    }
    if field in indexed_fields(connection):  # one index search per value
        parts = [
            select(RESPONSE.c.id, literal(value).label("value")).where(LOGGED, matches[value])
            for value in values
        ]
        return union_all(*parts).subquery("metadata_groups")
    every = case(*((matches[value], literal(value)) for value in values)).label("value")
    return (
        select(RESPONSE.c.id, every)
        .where(LOGGED, or_(*matches.values()))
        .subquery("metadata_groups")
    )


def part_groups(column: str) -> Subquery:
    """Return the logged answers with a value in a column of `PARTS`: ``id`` and ``value``."""
    value = RESPONSE.c[column]
    return (
        select(RESPONSE.c.id, value.label("value"))
        .where(LOGGED, value.is_not(None))
        .subquery("part_groups")
    )


def _scalars(
    value: Any, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Scalar]]:
    """Yield (path, value) of the texts, numbers and booleans in an object that can be filtered."""
    if isinstance(value, dict) and len(path) < _DEPTH:
        for key, inner in value.items():
            yield from _scalars(inner, (*path, key)) if key else ()
    elif isinstance(value, bool | int | float | str) and len(str(value)) <= _LONGEST:
        yield path, value


def metadata_of(
    connection: Connection, ids: Sequence[int], fields: Sequence[str]
) -> dict[int, tuple[Any, ...]]:
    """Return the values of these fields, by response; a missing value is None."""
    paths = [metadata_path(field) for field in fields]
    rows = rows_with(connection, select(RESPONSE.c.id, RESPONSE.c.extra), RESPONSE.c.id, ids)
    return {row.id: tuple(value_at(row.extra, path) for path in paths) for row in rows}


def fields_of(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, Scalar]]:
    """Return the fields of answers by name: the texts that divide the log, metadata, passages, and answer length.

    ``passages`` is "given" or "missing", ``answer length`` a number of characters.
    """
    passages = func.coalesce(cast(RESPONSE.c.passages, String()), "null").label("passages_json")
    columns = (
        RESPONSE.c.id,
        RESPONSE.c.extra,
        passages,
        func.length(RESPONSE.c.answer).label("length"),
    )
    query = select(*columns, *(RESPONSE.c[name] for name in PARTS))
    return {
        row.id: {metadata_field(path): value_text(value) for path, value in _scalars(row.extra, ())}
        | {name.replace("_", " "): getattr(row, name) or MISSING for name in PARTS}
        | {
            "passages": "missing" if row.passages_json in {"null", "[]"} else "given",
            LENGTH: row.length or 0,
        }
        for row in rows_with(connection, query, RESPONSE.c.id, ids)
    }


def shown_value(value: Any) -> str | None:
    """Return a metadata value as text (other types as JSON); None if the value is missing."""
    return (
        value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )


def value_text(value: Scalar) -> str:
    """Return a value in the form of filters; quotes mark a text that could mean a missing value or JSON."""
    text = shown_value(value) or ""
    needs_quotes = isinstance(value, str) and (
        text != text.strip() or text in {"", MISSING} or text[0] == '"'
    )
    return json.dumps(text, ensure_ascii=False) if needs_quotes else text
