"""Reads CSV: a header, then one record per row, whose cells may run over several lines."""

import csv
from collections.abc import Iterator

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.importers.byte_lines import byte_lines
from judgeboard.importers.byte_source import ByteSource
from judgeboard.importers.rows import MAX_ROW_BYTES, Row

_BOM = b"\xef\xbb\xbf"
_DELIMITERS = ",;\t|"


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield records as rows of texts; ``line`` is the line on which a record begins.

    Comma, semicolon, tab or bar: what cuts the header into most columns. A record with other bytes than UTF-8, more
    or fewer cells than the header, or a quote that is not closed properly is rejected by itself. A quote that is
    never closed swallows what follows, up to 64 MB: that is one rejected record too, and says where it began.

    Raises:
        BadInput: The first line is no header in UTF-8, or two columns have one name.
    """
    csv.field_size_limit(MAX_ROW_BYTES)
    lines = _Lines(source)
    first = next(lines, "")
    try:
        records = csv.reader(_with(first, lines), delimiter=_delimiter(first), strict=True)
        names = _names(next(records, []))
    except csv.Error as error:
        raise BadInput(f"{source.name} is not CSV: its first line is no header ({error})") from error
    if lines.not_utf8:
        raise BadInput(f"{source.name} is not UTF-8 in its first line: save it as UTF-8 (Excel: 'CSV UTF-8')")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadInput(f"{source.name} has two columns named {twice!r}: rename one")
    while True:
        line = records.line_num + 1
        lines.start_record()
        try:
            cells = next(records)
        except StopIteration:
            return
        except csv.Error as error:
            yield Rejected(line, None, f"not CSV: {error}", lines.text())
            continue
        if lines.not_utf8:
            yield Rejected(line, None, "not UTF-8; Excel saves it as 'CSV UTF-8'", lines.text())
        elif len(cells) == len(names):
            yield Row(line, dict(zip(names, cells, strict=True)))
        elif cells:
            reason = f"{len(cells)} cells where the header names {len(names)}"
            yield Rejected(line, None, reason, cells)


class _Lines(Iterator[str]):
    """Lines as text, those of the present record kept; bytes that are not UTF-8 become surrogates and are noted."""

    def __init__(self, source: ByteSource) -> None:
        self._lines = byte_lines(source.chunks())
        self._record: list[bytes] = []
        self._begun = False
        self.not_utf8 = False

    def __next__(self) -> str:
        data = next(self._lines)
        if not self._begun:
            data, self._begun = data.removeprefix(_BOM), True
        self._record.append(data)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.not_utf8 = True
            return data.decode("utf-8", "surrogateescape")

    def start_record(self) -> None:
        self._record.clear()
        self.not_utf8 = False

    def text(self) -> str:
        return b"".join(self._record).decode("utf-8", "backslashreplace").rstrip("\r\n")


def _names(header: list[str]) -> list[str]:
    return [name.strip() or f"column_{number}" for number, name in enumerate(header, start=1)]


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))
