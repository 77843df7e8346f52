"""Reads a query as NumPy arrays, column by column, for figures that rest on many thousand rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Float, Select, String
from sqlalchemy.types import TypeDecorator, TypeEngine

from judgeboard.stats.arrays import IntArray

_PART = 2_000


class Texts(NamedTuple):
    """A column of texts: the names that occur, in order, and each row's position among them."""

    names: tuple[str, ...]
    codes: IntArray


def read_columns(connection: Connection, query: Select[Any]) -> list[Any]:
    """Return the columns of a query: arrays of floats or integers by their type, ``Texts`` for texts.

    A missing float is NaN; integers and texts may not be missing (coalesce them).
    """
    types = [_plain(column.type) for column in query.selected_columns]
    known: list[dict[str, int] | None] = [{} if isinstance(type_, String) else None for type_ in types]
    kinds = [np.float64 if isinstance(type_, Float) else np.int64 for type_ in types]
    parts: list[list[npt.NDArray[Any]]] = [[np.empty(0, dtype=kind)] for kind in kinds]
    with connection.execute(query) as result:
        # Part by part: a hundred thousand tuples alive at once would be walked over and over by the garbage
        # collector. And from the driver's cursor: a Row around each of them costs a third of the whole load.
        cursor = result.cursor
        if cursor is None:
            raise ValueError("this statement returns no rows")
        for rows in iter(lambda: cursor.fetchmany(_PART), []):
            for part, kind, names, values in zip(parts, kinds, known, zip(*rows, strict=True), strict=True):
                part.append(np.array(values if names is None else _codes(values, names), dtype=kind))
    arrays = [np.concatenate(part) for part in parts]
    return [array if names is None else _in_order(names, array) for names, array in zip(known, arrays, strict=True)]


def _plain(type_: TypeEngine[Any]) -> Any:
    """Return the type that SQLModel's own ones decorate."""
    return type_.impl if isinstance(type_, TypeDecorator) else type_


def _codes(texts: Sequence[str], known: dict[str, int]) -> list[int]:
    return [known.setdefault(each, len(known)) for each in texts]


def _in_order(known: dict[str, int], codes: IntArray) -> Texts:
    names = tuple(sorted(known))
    position = np.zeros(len(names), dtype=np.int64)
    position[[known[name] for name in names]] = np.arange(len(names))
    return Texts(names, position[codes])
