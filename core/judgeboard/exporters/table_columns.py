"""Declares the columns of an exported table, so that every format writes the same types."""

from dataclasses import dataclass
from enum import StrEnum


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
