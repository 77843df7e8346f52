"""JSON: an array of objects of any length, alone or as a value in one object.

This module only cuts the text into one piece per element. Each piece is parsed separately, so that
an element with NaN or a wrong encoding is one rejected row. A streaming parser would give up on the
rest of the file.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from judgeboard.domain import Rejected
from judgeboard.formats.files import ARRAY_KEY, MAX_ROW_BYTES, ByteSource, Column, Row, Unreadable
from judgeboard.formats.jsonl import object_text, parse_row

_BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(rb"[ \t\r\n]*")
_MARK = re.compile(rb'["\[\]{},]')
_STRING_REST = re.compile(rb'(?:[^"\\]|\\.)*+', re.DOTALL)
_ARRAY_KEY = re.compile(ARRAY_KEY + rb"$")
_ARRAY_KEY_WINDOW = 200


def read(source: ByteSource) -> Iterator[Row | Rejected]:
    """Yield the elements of a top-level array, or of an object's array under one of `ARRAY_KEYS`, as numbered rows.

    An object without such an array is a row itself. A file may have several top-level values.
    """
    cutter = _Cutter(source.text_chunks(), lambda: source.most_row)
    for number, piece in enumerate(_elements(cutter), start=1):
        yield parse_row(number, piece)


def write(rows: Iterable[dict[str, Any]], columns: Sequence[Column], stream: BinaryIO) -> int:
    """Write an array with one object per row, and return how many. Times are written as in JSON lines."""
    count = 0
    for row in rows:
        stream.write((b",\n" if count else b"[\n") + object_text(row, columns))
        count += 1
    stream.write(b"\n]\n" if count else b"[]\n")
    return count


class _Cutter:
    """Cuts values out of a stream by brackets and quotes. Only one value is in memory at a time."""

    def __init__(
        self, chunks: Iterator[bytes], most: Callable[[], int] = lambda: MAX_ROW_BYTES
    ) -> None:
        self._most = most
        self._chunks = chunks
        self._buffer = bytearray()
        self._at = 0
        self._more()
        if self._buffer.startswith(_BOM):
            self._at = len(_BOM)

    def next_byte(self) -> bytes:
        """Return the next byte that is not white space, without consuming the byte. Return no byte at the end."""
        while True:
            self._at = _SPACE.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # matches always
            if self._at < len(self._buffer):
                return bytes(self._buffer[self._at : self._at + 1])
            if not self._more():
                return b""

    def skip(self) -> None:
        """Consume one byte."""
        self._at += 1

    def value(self, *, whole: bool = False) -> bytes | None:
        """Consume a value: a container up to its end, anything else up to the next comma or closing bracket.

        With ``whole``, the value is a top-level value. None then means that only the start of an
        array of rows was consumed.
        """
        at, depth = self._at, 0
        while True:
            match = _MARK.search(self._buffer, at)
            if match is None:
                at = self._wait(len(self._buffer), at_top=whole and depth == 0)
                if at < 0:
                    return self._cut(len(self._buffer))
                continue
            at, mark = match.end(), match[0]
            if mark == b'"':
                at = self._string_end(at)
            elif mark in b"[{":
                depth += 1
                if whole and mark == b"[" and depth == 2 and self._is_array_of_rows(at):
                    self._at = at
                    return None
            elif depth == 0:
                return self._cut(at - 1)
            elif mark != b",":
                depth -= 1
                if depth == 0:
                    return self._cut(at)

    def _string_end(self, at: int) -> int:
        while True:
            at = _STRING_REST.match(self._buffer, at).end()  # type: ignore[union-attr]  # matches always
            if self._buffer[at : at + 1] == b'"':
                return at + 1
            at = self._wait(at)

    def _is_array_of_rows(self, end: int) -> bool:
        return (
            _ARRAY_KEY.search(self._buffer, max(self._at, end - _ARRAY_KEY_WINDOW), end) is not None
        )

    def _cut(self, end: int) -> bytes:
        piece = bytes(self._buffer[self._at : end])
        self._at = end
        return piece

    def _wait(self, at: int, *, at_top: bool = False) -> int:
        """Get more bytes and return the new position of ``at``; -1 if the file ends where a value may end."""
        if len(self._buffer) - self._at > self._most():
            raise Unreadable(f"a row is longer than {self._most() >> 20} MB")
        offset = at - self._at
        if self._more():
            return self._at + offset
        if at_top:
            return -1
        raise Unreadable("the file ends in the middle of a row")

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        if chunk:
            del self._buffer[: self._at]
            self._at = 0
            self._buffer += chunk
        return bool(chunk)


def _elements(cutter: _Cutter) -> Iterator[bytes]:
    while first := cutter.next_byte():
        if first == b"[":
            cutter.skip()
            yield from _array(cutter)
        elif first == b",":  # between the objects of an array without brackets
            cutter.skip()
        elif first in b"]}":
            raise Unreadable(f"expected the start of a row, found {first.decode()}")
        elif (piece := cutter.value(whole=True)) is not None:
            yield piece
        else:
            yield from _array(cutter)
            # The other values of the object around the array are no rows.
            while (mark := cutter.next_byte()) != b"}":
                if mark == b"":
                    raise Unreadable("the closing } is missing")
                if mark in b",]":
                    cutter.skip()
                else:
                    cutter.value()
            cutter.skip()


def _array(cutter: _Cutter) -> Iterator[bytes]:
    while (first := cutter.next_byte()) != b"]":
        if first == b"":
            raise Unreadable("the closing ] is missing")
        if first == b"}":
            raise Unreadable("expected the next row or ], found }")
        if first == b",":
            cutter.skip()
        elif piece := cutter.value():
            yield piece
    cutter.skip()
