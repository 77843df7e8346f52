"""Reads what the tables of a database hold."""

from datetime import UTC, datetime
from operator import itemgetter

from sqlalchemy import (
    JSON,
    Boolean,
    DateTime,
    Enum,
    Float,
    Integer,
    LargeBinary,
    TypeDecorator,
    func,
    insert,
    select,
)

from judgeboard.store.filters import RowFilter


def rows_of(store, table):
    """Return every row of a table, by id."""
    with store.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.id)).mappings()
        return [dict(row) for row in rows]


def values_of(store, column, *conditions):
    """Return the values of a column, in the order of the primary key."""
    query = select(column).where(*conditions).order_by(*column.table.primary_key)
    with store.reading() as connection:
        return list(connection.execute(query).scalars())


def columns(rows, *names):
    """Return the value of a column in each of these rows; of several columns a tuple."""
    return list(map(itemgetter(*names), rows))


def row_count(store, *tables):
    """Return how many rows these tables have together."""
    with store.reading() as connection:
        return sum(connection.scalar(select(func.count()).select_from(table)) for table in tables)


def read(store, function, *given, **options):
    """Return what a function reads from a database."""
    with store.reading() as connection:
        return function(connection, *given, **options)


def write_to(store, function, *given, **options):
    """Call a function of the store in a transaction of its own."""
    with store.writing() as connection:
        return function(connection, *given, **options)


NOW = datetime(2026, 3, 1, tzinfo=UTC)
# Values of columns that no other value fits.
FITTING = {
    ("refinement", "method"): "reflect",
    ("user_feedback", "value"): 1.0,
    ("pushed", "what"): "gold",
    ("queue", "subject"): "answers",
    ("queue", "filter"): RowFilter(),
    ("issue", "filter"): RowFilter(rules=("r",)),
    ("judging_rule", "filter"): RowFilter(),
    ("alert_rule", "condition"): "spend",
    ("alert_rule", "level"): None,
    ("alert_delivery", "state"): "waiting",
    ("trace", "state"): "waiting",
    ("comparison", "condition"): "reference",
}
OF_ONE_SUBJECT = {"review", "comment", "draft", "queue_item"}


def made_row(table, ids, *, whole=False):
    """Return a row that refers to the rows with these ids; ``whole``: with a value in every column."""
    row = {}
    for column in table.columns:
        parent = next((key.column.table.name for key in column.foreign_keys), None)
        if parent is not None:
            wanted = parent in ids and parent != table.name and (whole or parent != "import_batch")
            if wanted and not (table.name in OF_ONE_SUBJECT and column.name == "pair_id"):
                row[column.name] = ids[parent]
        elif (column.name != "id" or table.name == "job") and (
            whole or (not column.nullable and column.default is None)
        ):
            row[column.name] = FITTING.get((table.name, column.name), _value_of(column))
    return row


def insert_row(store, table, ids, **values):
    """Insert a row as `made_row` returns it, but for these values; return its id."""
    row = made_row(table, ids) | values
    with store.writing() as connection:
        return connection.scalar(insert(table).returning(table.c.id), row)


def _value_of(column):
    stored = column.type.impl if isinstance(column.type, TypeDecorator) else column.type
    if isinstance(stored, Enum):
        return stored.enums[0]
    values = {JSON: {}, Boolean: False, Float: 0.5, DateTime: NOW, LargeBinary: b"x", Integer: 1}
    return next((value for type_, value in values.items() if isinstance(stored, type_)), "x")
