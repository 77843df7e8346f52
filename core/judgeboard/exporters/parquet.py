"""Writes Parquet with a declared schema, a row group at a time."""

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO

from judgeboard.exporters.table_columns import Column, ColumnType

ROW_GROUP = 2000


def write(rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO) -> int:
    """Write the rows and return how many; times are microseconds in UTC, JSON values their JSON text."""
    import pyarrow as pa
    from pyarrow import parquet

    types: dict[ColumnType, pa.DataType] = {
        ColumnType.TEXT: pa.string(),
        ColumnType.INTEGER: pa.int64(),
        ColumnType.NUMBER: pa.float64(),
        ColumnType.BOOLEAN: pa.bool_(),
        ColumnType.TIME: pa.timestamp("us", tz="UTC"),
        ColumnType.TEXTS: pa.list_(pa.string()),
        ColumnType.JSON: pa.string(),
    }
    schema = pa.schema([(column.name, types[column.type]) for column in columns])
    count = 0
    waiting = iter(rows)
    with parquet.ParquetWriter(stream, schema) as writer:
        while group := list(itertools.islice(waiting, ROW_GROUP)):
            cells = {column.name: [_cell(row.get(column.name), column) for row in group] for column in columns}
            writer.write_table(pa.table(cells, schema=schema))
            count += len(group)
    return count


def _cell(value: Any, column: Column) -> Any:
    if value is None or column.type is not ColumnType.JSON:
        return value
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
