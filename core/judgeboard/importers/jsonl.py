"""Reads JSON lines: one object per line, blank lines ignored."""

from collections.abc import Iterator

from judgeboard.domain import Rejected
from judgeboard.importers.byte_lines import byte_lines
from judgeboard.importers.byte_source import ByteSource
from judgeboard.importers.json_text import parse_row
from judgeboard.importers.rows import Row

_BOM = b"\xef\xbb\xbf"


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield every line as a row; each is decoded by itself, so a wrong encoding costs that line alone."""
    for number, line in enumerate(byte_lines(source.chunks()), start=1):
        data = line.removeprefix(_BOM) if number == 1 else line
        if data.strip():
            yield parse_row(number, data)
