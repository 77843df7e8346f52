"""Writes JSON lines, from which the importer reads the same values back."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from judgeboard.exporters.table_columns import Column, ColumnType
from judgeboard.times import iso_z


def write(rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO) -> int:
    """Write one object per row and return how many; times are ISO 8601 in UTC with a final ``Z``."""
    count = 0
    for row in rows:
        line = {column.name: _cell(row.get(column.name), column) for column in columns}
        stream.write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n")
        count += 1
    return count


def _cell(value: Any, column: Column) -> Any:
    return iso_z(value) if value is not None and column.type is ColumnType.TIME else value
