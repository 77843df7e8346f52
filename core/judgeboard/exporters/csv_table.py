"""Writes CSV for spreadsheets, in which no text of a log can become a formula."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from judgeboard.exporters.table_columns import Column, ColumnType
from judgeboard.times import iso_z

# Spreadsheets evaluate what begins so, some of them after white space and in full width too (OWASP, CSV injection).
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001 - the full-width marks are meant
_CONTROL = ("\t", "\r", "\n")


def write(rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO) -> int:
    """Write a header and one record per row in UTF-8, and return how many rows.

    Reading it back is not exact: a defused text keeps its apostrophe, an unknown value and an empty text are both an
    empty cell. JSON lines and Parquet are exact.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    try:
        table = csv.writer(text)
        table.writerow([column.name for column in columns])
        count = 0
        for row in rows:
            table.writerow([_cell(row.get(column.name), column) for column in columns])
            count += 1
        return count
    finally:
        text.detach()


def defused(text: str) -> str:
    """Return a text with an apostrophe before it where a spreadsheet would take it for a formula."""
    return f"'{text}" if text.startswith(_CONTROL) or text.lstrip().startswith(_FORMULA) else text


def _cell(value: Any, column: Column) -> Any:
    if value is None:
        return ""
    if column.type is ColumnType.TIME:
        return iso_z(value)
    if column.type in {ColumnType.JSON, ColumnType.TEXTS}:
        return defused(json.dumps(value, ensure_ascii=False, allow_nan=False))
    if column.type is ColumnType.BOOLEAN:
        return "true" if value else "false"
    return value if column.type in {ColumnType.INTEGER, ColumnType.NUMBER} else defused(str(value))
