"""What a reader of a format yields: numbered rows, up to the point where a file can be read no further."""

from dataclasses import dataclass
from typing import Any

MAX_ROW_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file: ``line`` is its first line (text formats) or its number (JSON arrays, Parquet), from 1."""

    line: int
    values: dict[str, Any]


class Unreadable(Exception):
    """The file can be read no further; what came before stands. Readers raise it, `Reading` turns it into a row."""
