"""What a format reads and writes: numbered rows, and columns with types."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

MAX_ROW_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file: ``line`` is its first line (text formats) or its number (JSON arrays, Parquet), from 1."""

    line: int
    values: dict[str, Any]


class Unreadable(Exception):
    """The file can be read no further; what came before stands. Formats raise it, `Reading` turns it into a row."""


class ColumnType(StrEnum):
    """What the cells of a column are; each may also be None, which is unknown and never 0 or empty.

    ``time`` is an aware datetime, ``texts`` a list of texts, ``json`` anything that JSON can say.
    """

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "time"
    TEXTS = "texts"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Column:
    """A named column of one type."""

    name: str
    type: ColumnType = ColumnType.TEXT
