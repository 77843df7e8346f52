"""Gives a statement many values: in parts, or all as one parameter."""

import json
from collections.abc import Iterator, Sequence
from typing import TypeVar

from sqlalchemy import ARRAY, BigInteger, ColumnElement, Connection, Select, bindparam, func, literal_column, select

T = TypeVar("T")

AT_ONCE = 1_000


def batches(items: Sequence[T], size: int = AT_ONCE) -> Iterator[Sequence[T]]:
    """Yield the items in their order, ``size`` at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def listed(connection: Connection, ids: tuple[int, ...]) -> Select[tuple[int]]:
    """Return ids as one parameter: a list of them would end at the engine's limit of variables."""
    if connection.dialect.name == "sqlite":
        given: ColumnElement[str] = bindparam(None, json.dumps(ids), unique=True)
        return select(literal_column("value")).select_from(func.json_each(given))
    return select(func.unnest(bindparam(None, list(ids), ARRAY(BigInteger), unique=True)))
