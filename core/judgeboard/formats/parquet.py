"""Parquet, read and written in groups of rows, so that memory use does not grow with the file.

The headers of pages are read first, because a small file may unpack to far more memory than there is.
"""

import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import compute, parquet

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Column, ColumnType, Row, Unreadable, too_long

ROW_GROUP = 2000
BUFFER_BYTES = 1024 * 1024
MOST_PAGES = 28 * 1024 * 1024
"""Unpacked bytes that the largest pages of all columns may have together, beside the size of the file."""
MOST_RATIO = 20
"""The maximum ratio of unpacked to packed size of a column of lists with more than `MOST_PAGES` bytes."""
BATCH_ROWS = 256
BATCH_BYTES = 4 * 1024 * 1024
SMALL_DICTIONARY = 64 * 1024
_LEVEL_BYTES = 2  # of memory for each value of a list, also without space in the file
_HEADER_BYTES = 4096
# Fields of a page header, by number in the Parquet format.
_TYPE, _UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 1, 2, 3, 5, 7, 8
_DICTIONARY_PAGE = 2
_ADVICE = "write the file with smaller pages, or as JSON lines"


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


# PyArrow unpacks a page whole, and the sizes in the footer of a file say nothing about single pages.


class DamagedPages(ValueError):
    """The pages of a column cannot be found, or their headers cannot be read."""


@dataclass(frozen=True, slots=True)
class _Page:
    of_dictionary: bool
    unpacked: int
    values: int


def plan_group(
    file: BinaryIO, group: Any, levels: Mapping[str, int], file_size: int
) -> tuple[int, list[str]]:
    """Return how many rows of a row group to read at a time, and the columns (paths) to read as dictionaries.

    ``group`` is a `pyarrow.parquet.RowGroupMetaData`. ``levels`` has the maximum repetition level
    of each column (path), 0 for columns without lists. Raises Unreadable if the group takes too
    much memory.
    """
    largest, densest = 0, 1.0
    dictionaries: list[str] = []
    for index in range(group.num_columns):
        column = group.column(index)
        path = column.path_in_schema
        if path not in levels:
            raise DamagedPages(f"the schema has no column {path!r}")
        of_lists = levels[path] > 0
        first = column.data_page_offset
        if column.has_dictionary_page:
            first = min(first, column.dictionary_page_offset)
        total, of_data, of_dictionary = 0, 0, 0
        for page in _pages(file, first, column.total_compressed_size):
            unpacked = page.unpacked + (_LEVEL_BYTES * page.values if of_lists else 0)
            total += unpacked
            if page.of_dictionary:
                of_dictionary = max(of_dictionary, unpacked)
            else:
                of_data = max(of_data, unpacked)
                if not of_lists:
                    densest = max(densest, unpacked / max(1, page.values))
        # A row of a list may have a value of the dictionary millions of times.
        if (
            of_dictionary > (0 if of_lists else SMALL_DICTIONARY)
            and column.physical_type == "BYTE_ARRAY"
        ):
            dictionaries.append(path)
        if of_lists:
            densest = max(densest, total / max(1, group.num_rows))
            if total > MOST_PAGES + MOST_RATIO * column.total_compressed_size:
                raise Unreadable(f"{path} unpacks to {total >> 20:,} MB: {_ADVICE}")
        largest += of_data + of_dictionary
    if largest > MOST_PAGES + file_size:
        raise Unreadable(f"pages of {largest >> 20:,} MB: {_ADVICE}")
    return max(1, min(BATCH_ROWS, int(BATCH_BYTES / densest))), dictionaries


def _pages(file: BinaryIO, start: int, size: int) -> Iterator[_Page]:
    at, end = start, start + size
    while at < end:
        length = _HEADER_BYTES
        while True:  # a header with statistics of long texts is long
            file.seek(at)
            header = _Header(file.read(min(length, end - at)))
            try:
                fields = header.struct()
                break
            except IndexError:
                if length >= end - at:
                    raise DamagedPages("a page ends too early") from None
                length *= 16
        packed, unpacked = fields.get(_PACKED), fields.get(_UNPACKED)
        if (
            not isinstance(packed, int)
            or not isinstance(unpacked, int)
            or packed < 0
            or unpacked < 0
        ):
            raise DamagedPages("a page has no size")
        details = next(
            (fields[field] for field in (_DATA, _DATA_2, _DICTIONARY) if field in fields), None
        )
        values = details.get(1, 0) if isinstance(details, dict) else 0
        yield _Page(
            fields.get(_TYPE) == _DICTIONARY_PAGE,
            unpacked,
            values if isinstance(values, int) else 0,
        )
        at += header.at + packed


class _Header:
    """Reads a struct of Thrift's compact protocol. Raises IndexError if the data end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self) -> dict[int, Any]:
        """Return the numbers and structs of a struct by field number."""
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in {1, 2}:
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in {4, 5, 6}:
            return self._signed()
        if kind in {7, 8}:
            length = 8 if kind == 7 else self._varint()
            self.at += length
            return None
        if kind == 12:
            return self.struct()
        raise DamagedPages(f"a page header has a field of the type {kind}")

    def _signed(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number, shift = 0, 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def _byte(self) -> int:
        byte = self._data[self.at]
        self.at += 1
        return byte
