"""What an exported table is: its columns, and its rows read in pieces."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select

from judgeboard.formats.rows import Column

CHUNK = 1_000

NAMED = (Column("source"), Column("external_id"))


@dataclass(frozen=True, slots=True)
class ExportTable:
    """One exported table: its columns, and its rows as dicts by column name."""

    columns: tuple[Column, ...]
    rows: Callable[[Connection], Iterator[dict[str, Any]]]


def chunks(connection: Connection, query: Select[Any], key: Any) -> Iterator[list[dict[str, Any]]]:
    """Give the rows in pieces by key (a column ``id`` of the query), so that memory does not grow with the table."""
    last = 0
    while True:
        rows = connection.execute(query.where(key > last).order_by(key).limit(CHUNK)).mappings().all()
        if not rows:
            return
        yield [dict(row) for row in rows]
        last = rows[-1]["id"]


def in_units(cost_micro: int | None) -> float | None:
    """Return a cost in the price file's currency, None where it is unknown."""
    return None if cost_micro is None else cost_micro / 1_000_000
