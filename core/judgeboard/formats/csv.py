"""CSV with a header. Written texts cannot become formulas in a spreadsheet."""

import csv
import io
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import (
    MAX_ROW_BYTES,
    SHOWN_BYTES,
    ByteSource,
    Column,
    ColumnType,
    Row,
    TooLong,
    byte_lines,
    too_long,
)
from judgeboard.text import iso_z

_BOM = b"\xef\xbb\xbf"
_DELIMITERS = ",;\t|"
MOST_COLUMNS = 10_000
_NOT_UTF8 = "not UTF-8; Excel saves it as 'CSV UTF-8'"
_LONG_BYTES = 1024 * 1024  # Python's reader takes 4 bytes for each character of a cell


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield records as rows of texts; ``line`` is the line on which a record begins.

    The delimiter is the comma, semicolon, tab or bar that splits the header into most columns. A
    single record is rejected if the record is not UTF-8, has more or fewer cells than the header,
    is too long, or has a quote that is not closed properly. If a quote is never closed, the
    following text (up to 64 MB) becomes one rejected record with the first line number. Columns
    with the same name must have the same cells.
    """
    lines = _Lines(source)
    names, delimiter = _header(lines, source.name)
    records = csv.reader(lines, delimiter=delimiter, strict=True)
    twice = [name for name, times in Counter(names).items() if times > 1]
    is_checked = not twice
    while True:
        line = lines.number + 1
        lines.start_record()
        try:
            try:
                cells = next(records)
            except _Long:
                cells = _cells(lines.finish_record(), delimiter.encode())
        except StopIteration:
            return
        except _TooLongRecord:
            yield too_long(line, bytes(lines.record[:SHOWN_BYTES]), source.most_row)
            continue
        except (csv.Error, UnicodeDecodeError) as error:
            reason = f"not CSV: {_reason(error)}" if isinstance(error, csv.Error) else _NOT_UTF8
            yield Rejected(line, None, reason, lines.text())
            continue
        if lines.not_utf8:
            yield Rejected(line, None, _NOT_UTF8, lines.text())
        elif len(cells) == len(names):
            row = dict(zip(names, cells, strict=True))
            # pandas writes the index of a table also if the index is a column: equal cells are one.
            differ = (
                next((n for n, cell in zip(names, cells, strict=True) if row[n] != cell), None)
                if twice
                else None
            )
            if differ is not None and not is_checked:
                raise BadInput(f"{source.name} has two columns named {differ!r}: rename one")
            is_checked = True
            yield (
                Rejected(line, None, f"the two columns {differ!r} differ", cells)
                if differ
                else Row(line, row)
            )
        elif cells:
            reason = f"{len(cells)} cells, but the header has {len(names)}"
            yield Rejected(line, None, reason, cells[:MOST_COLUMNS])


def _header(lines: "_Lines", name: str) -> tuple[list[str], str]:
    """Return the names of the columns and the delimiter. Raises BadInput if the first line is not a header."""
    csv.field_size_limit(MAX_ROW_BYTES)
    try:
        first = next(lines, "")
        delimiter = max(
            _DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), []))
        )
        header = next(
            csv.reader(itertools.chain([first], lines), delimiter=delimiter, strict=True), []
        )
        if len(header) > MOST_COLUMNS:
            raise csv.Error(f"it has more than {MOST_COLUMNS:,} columns")
    except _Long:
        raise BadInput(
            f"{name} is not CSV: its first line is longer than {_LONG_BYTES >> 20} MB"
        ) from None
    except csv.Error as error:
        raise BadInput(
            f"{name} is not CSV: its first line is not a header ({_reason(error)})"
        ) from error
    if lines.not_utf8:
        raise BadInput(
            f"{name} is not UTF-8 in its first line: save it as UTF-8 (Excel: 'CSV UTF-8')"
        )
    return [
        column.strip() or f"column_{number}" for number, column in enumerate(header, start=1)
    ], delimiter


def _reason(error: csv.Error) -> str:
    # Python's message for this error is for programmers.
    return (
        "a line ends with CR alone: save it with LF line ends"
        if "new-line" in str(error)
        else str(error)
    )


class _Long(Exception):
    """The current record is longer than `_LONG_BYTES` so far."""


class _TooLongRecord(Exception):
    """The current record is longer than a row may be."""


class _Lines(Iterator[str]):
    """Yields lines as text and keeps the lines of the current ``record``. Bytes that are not UTF-8 become surrogates.

    Raises _Long within a long record, so that `csv` does not collect the record.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._lines = byte_lines(source)
        self._is_too_long = False
        self.record = bytearray()  # a list would take far more memory for short lines
        self.number = 0
        self.not_utf8 = False

    def __next__(self) -> str:
        data = self._next()
        if len(self.record) > _LONG_BYTES or self._is_too_long:
            raise _Long
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.not_utf8 = True
            return data.decode("utf-8", "surrogateescape")

    def _next(self) -> bytes:
        data = next(self._lines)
        self.number += 1
        if self.number == 1 and data.startswith(_BOM):
            data = data[len(_BOM) :]
        self.record += data
        self._is_too_long = isinstance(data, TooLong)
        return data

    def start_record(self) -> None:
        self.record.clear()
        self.not_utf8 = False

    def finish_record(self) -> bytearray:
        """Read the rest of a long record and return the record. Raises _TooLongRecord if a row may not be so long."""
        quotes = self.record.count(b'"')
        while len(self.record) <= self._source.most_row and not self._is_too_long:
            if quotes % 2 == 0:
                return self.record
            try:
                quotes += self._next().count(b'"')
            except StopIteration:
                quotes += 1  # `_cells` says that the quote is not closed
        raise _TooLongRecord

    def text(self) -> str:
        return self.record.decode("utf-8", "backslashreplace").rstrip("\r\n")


def _cells(record: bytearray, delimiter: bytes) -> list[str]:
    """Return the cells of a long record. Raises csv.Error or UnicodeDecodeError for a damaged record."""
    end = len(record.rstrip(b"\r\n"))
    cells: list[str] = []
    at = 0
    while True:
        if record[at : at + 1] == b'"':
            at, close = at + 1, record.find(b'"', at + 1)
            while close >= 0 and record[close + 1 : close + 2] == b'"':
                close = record.find(b'"', close + 2)
            if close < 0:
                raise csv.Error("a quote is not closed")
            cells.append(str(memoryview(record)[at:close], "utf-8").replace('""', '"'))
            at = close + 1
        else:
            mark = record.find(delimiter, at, end)
            cells.append(str(memoryview(record)[at : mark if mark >= 0 else end], "utf-8"))
            at = mark if mark >= 0 else end
        if at >= end:
            return cells
        if record[at : at + 1] != delimiter:
            raise csv.Error(f"'{delimiter.decode()}' expected after '\"'")
        at += 1


# Spreadsheets run texts that start with these marks, some also after white space (OWASP, CSV
# injection).
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001 - the full-width marks are meant
_CONTROL = ("\t", "\r", "\n")


def write(rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO) -> int:
    """Write a header and one record per row in UTF-8, and return the number of rows.

    Reading the file back is not exact: defused texts keep the apostrophe, and both unknown values
    and empty texts are empty cells. JSON lines and Parquet are exact.
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
    """Return a text, with an apostrophe in front if a spreadsheet would run the text as a formula."""
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
