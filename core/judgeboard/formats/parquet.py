"""Parquet, read and written in groups of rows, so that memory use does not grow with the file."""

import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import compute, parquet

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Column, ColumnType, Row, Unreadable, too_long
from judgeboard.formats.parquet_pages import BATCH_BYTES, DamagedPages, plan_group

ROW_GROUP = 2000
BUFFER_BYTES = 1024 * 1024


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield rows as JSON values: times as ISO text, bytes as UTF-8, NaN (how pandas writes a missing number) as null.

    Values of types that JSON does not have (durations, UUIDs) become texts.
    """
    file = source.seekable()
    try:
        table = parquet.ParquetFile(file, buffer_size=BUFFER_BYTES, pre_buffer=False)
        names = table.schema_arrow.names
    except (
        pa.ArrowException,
        OSError,
        UnicodeDecodeError,
    ) as error:  # the last: a column name is not UTF-8
        raise BadInput(f"{source.name} is not a whole Parquet file: {first_line(error)}") from error
    if len(set(names)) < len(names):
        raise BadInput(f"{source.name} has two columns with the same name: rename one")
    yield from rows_of_batches(_batches(file, table), "Parquet", source, table.metadata.num_rows)


def _batches(file: BinaryIO, table: Any) -> Iterator[Any]:
    """Yield the batches of a table. Raises Unreadable at a row group that takes too much memory."""
    columns = (table.schema.column(index) for index in range(len(table.schema)))
    levels = {column.path: column.max_repetition_level for column in columns}
    size = file.seek(0, os.SEEK_END)
    for group in range(table.num_row_groups):
        row_group = table.metadata.row_group(group)
        batch_rows, dictionaries = plan_group(file, row_group, levels, size)
        reader = table
        if dictionaries:
            reader = parquet.ParquetFile(
                file,
                metadata=table.metadata,
                read_dictionary=dictionaries,
                buffer_size=BUFFER_BYTES,
            )
        yield from reader.iter_batches(batch_size=batch_rows, row_groups=[group])


def rows_of_batches(
    batches: Iterable[Any], title: str, source: ByteSource, of: int | None = None
) -> Iterator[Row | Rejected]:
    """Yield the rows of record batches as JSON values. ``of`` is the total number of rows, if known.

    Raises Unreadable if a batch is damaged.
    """
    number = 0
    try:
        for batch in batches:
            for part in _parts(batch):
                size = sum(map(_size, part.columns))
                source.note(size, number / of if of else None)
                if size > source.most_row and part.num_rows == 1:
                    number += 1
                    yield too_long(number, b"", source.most_row)
                    continue
                try:
                    rows = part.to_pylist()
                except (ValueError, OverflowError):  # one wrong cell must not reject other rows
                    rows = [_single_row(part.slice(index, 1)) for index in range(part.num_rows)]
                for row in rows:
                    number += 1
                    yield (
                        Rejected(number, None, row, None)
                        if isinstance(row, str)
                        else Row(number, {name: _json_value(value) for name, value in row.items()})
                    )
    except (pa.ArrowException, OSError, UnicodeDecodeError, DamagedPages) as error:
        raise Unreadable(f"the {title} data are damaged ({first_line(error)})") from error


def _parts(batch: Any) -> Iterator[Any]:
    """Yield a batch in parts that take little memory as Python values, if possible."""
    if batch.num_rows <= 1 or sum(map(_size, batch.columns)) <= BATCH_BYTES:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))


def _size(array: Any) -> int:
    """Return about how many bytes the values of an array take; each use of a dictionary's value counts."""
    kind = array.type
    offsets = 8 * len(array)
    if pa.types.is_dictionary(kind):
        values = array.dictionary
        of = values.type
        if pa.types.is_string(of) or pa.types.is_binary(of) or pa.types.is_large_string(of):
            lengths = compute.binary_length(values)
        else:
            length = _size(values) if pa.types.is_nested(of) else 8
            lengths = pa.array([length] * len(values))
        return offsets + int(
            (lengths.take(array.indices).sum().as_py() or 0) if len(lengths) else 0
        )
    if pa.types.is_run_end_encoded(kind):
        return offsets + len(array) * _size(array.values)
    if pa.types.is_struct(kind):
        return offsets + sum(map(_size, array.flatten()))
    if pa.types.is_nested(kind):
        return offsets + _size(array.flatten())
    return offsets + int(array.nbytes)


def _single_row(batch: Any) -> dict[str, Any] | str:
    try:
        return dict(batch.to_pylist()[0])
    except UnicodeDecodeError:
        return "not UTF-8"
    except (ValueError, OverflowError) as error:
        return f"unreadable value: {first_line(error)}"


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
    """Return the first line of an error, or the type of the error."""
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
            cells = {column.name: [row.get(column.name) for row in group] for column in columns}
            for column in columns:
                if column.type is ColumnType.JSON:
                    cells[column.name] = [
                        value
                        if value is None
                        else json.dumps(value, ensure_ascii=False, allow_nan=False)
                        for value in cells[column.name]
                    ]
            writer.write_table(pa.table(cells, schema=schema))
            count += len(group)
    return count
