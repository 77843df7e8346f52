"""Parquet, read and written in groups of rows, so that memory use does not grow with the file."""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Column, ColumnType, Row, Unreadable

BATCH_ROWS = 256
ROW_GROUP = 2000
BUFFER_BYTES = 1024 * 1024


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield rows as JSON values: times as ISO text, bytes as UTF-8, NaN (how pandas writes a missing number) as null.

    Values of types that JSON does not have (durations, UUIDs) become texts.
    """
    try:
        table = parquet.ParquetFile(source.seekable(), buffer_size=BUFFER_BYTES, pre_buffer=False)
        names = table.schema_arrow.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: a column name is not UTF-8
        raise BadInput(f"{source.name} is not a whole Parquet file: {first_line(error)}") from error
    if len(set(names)) < len(names):
        raise BadInput(f"{source.name} has two columns with the same name: rename one")
    yield from rows_of_batches(table.iter_batches(batch_size=BATCH_ROWS), "Parquet")


def rows_of_batches(batches: Iterable[Any], title: str) -> Iterator[Row | Rejected]:
    """Yield the rows of record batches as JSON values. Raises Unreadable if a batch is damaged."""
    number = 0
    try:
        for batch in batches:
            for values in _batch_rows(batch):
                number += 1
                yield Rejected(number, None, values, None) if isinstance(values, str) else Row(number, values)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"the {title} data are damaged ({first_line(error)})") from error


def _batch_rows(batch: Any) -> Iterator[dict[str, Any] | str]:
    """Yield the rows of a batch. For a row that cannot be read, yield the reason as a text."""
    try:
        rows = batch.to_pylist()
    except (ValueError, OverflowError):  # one wrong cell must not reject other rows
        rows = [_single_row(batch.slice(index, 1)) for index in range(batch.num_rows)]
    for row in rows:
        yield row if isinstance(row, str) else {name: _json_value(value) for name, value in row.items()}


def _single_row(batch: Any) -> dict[str, Any] | str:
    try:
        return dict(batch.to_pylist()[0])
    except UnicodeDecodeError:
        return "not UTF-8"
    except (ValueError, OverflowError) as error:
        return f"contains a value that cannot be read: {first_line(error)}"


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(inner) for inner in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if value is None or isinstance(value, str | int | float):
        return None if isinstance(value, float) and math.isnan(value) else value
    return value.isoformat() if isinstance(value, date | time) else str(value)


def first_line(error: Exception) -> str:
    """Return the first line of an error, or its type."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def write(rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO) -> int:
    """Write the rows and return how many. Times are written in microseconds (UTC), JSON values as JSON text."""
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
