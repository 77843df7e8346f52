"""Reads the headers of Parquet pages, because a small file may unpack to far more memory than there is.

PyArrow unpacks a page whole, and the sizes in the footer of a file say nothing about single pages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from judgeboard.formats.files import Unreadable

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
