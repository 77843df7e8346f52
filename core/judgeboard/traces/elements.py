"""Limits of the elements in a request, counted during the transfer: a small body may have millions of elements.

The objects of an element take a hundred times as much memory as the bytes, so a limit of bytes
alone does not bound the memory.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from judgeboard.errors import BadInput, TooLarge

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

PIECE = 1 << 16
"""Bytes that are counted at a time."""

MOST_RECORDS = 20_000
"""Spans, log records, answers, judgments or feedback in one request."""
MOST_VALUES = 1_000_000
"""Keys and entries of lists in one request, and also objects and lists."""
MOST_OTLP_VALUES = 2_400_000
"""The same in a request of OTLP, where an attribute counts twice: the key, and the value with the type."""
MOST_RECORD_VALUES = 250_000
"""The same between one record and the next: so a bomb ends early, while many records with some values are counted."""
_RECORD_LEVELS = range(1, 4)  # {"batch": [{
_OTLP_RECORD_LEVELS = range(7, 8)  # {"resourceSpans": [{"scopeSpans": [{"spans": [{
_LARGE_TEXT = 100_000  # characters; shorter texts are parsed without counting
_DEEPEST = 100  # levels of messages, the limit of Protobuf
_FIELD_BYTES = 20  # the longest tag and size

# A newline ends a string: JSON has none in strings.
_STRING = re.compile(rb'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+(?:"|\\?\n)')
_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]:"))
# Equal brackets in a row; ( begins an object that is a value. An object in a list is a run of one.
_RUNS = re.compile(rb"(?:\{\})+|\{|[\[(]+|[\]}]+")


class Elements(Protocol):
    """Counts the elements of a body."""

    def count(self, piece: bytes) -> None:
        """Count the elements of the next piece. Raises TooLarge if there are too many."""


class _Counter:
    def __init__(self, most_values: int) -> None:
        self._most_values = most_values
        self._records = self._records_before = self._values_before = 0

    def _check(self, values: int) -> None:
        if self._records > self._records_before:
            self._records_before, self._values_before = self._records, values
        for number, most, noun in (
            (self._records, MOST_RECORDS, "records"),
            (values, self._most_values, "keys and entries of lists"),
            (
                values - self._values_before,
                MOST_RECORD_VALUES,
                "keys and entries of lists in one record",
            ),
        ):
            if number > most:
                raise TooLarge(f"the body has more than {most:,} {noun}: send smaller batches")


class JsonElements(_Counter):
    """Counts the records and values of a JSON text.

    An object is a record by level, unless the object is a key's value.
    """

    def __init__(self, *, of_otlp: bool = False) -> None:
        super().__init__(MOST_OTLP_VALUES if of_otlp else MOST_VALUES)
        self._record_levels = _OTLP_RECORD_LEVELS if of_otlp else _RECORD_LEVELS
        self._commas = self._containers = self._level = 0
        self._start = b""  # of the string in which the last piece ended
        self._colon = b""

    def count(self, piece: bytes) -> None:
        """Count the elements of the next piece."""
        piece = self._start + piece
        if b"\\" in piece or b"\n" in piece:
            outside, quote, text = _STRING.sub(b"", piece).partition(b'"')
            is_escaping = (len(text) - len(text.rstrip(b"\\"))) % 2
            self._start = quote + b"\\" * is_escaping
        else:  # three times as fast
            parts = piece.split(b'"')
            outside, self._start = b"".join(parts[::2]), b"" if len(parts) % 2 else b'"'
        self._commas += outside.count(b",")
        self._containers += outside.count(b"{") + outside.count(b"[")
        # The text after the headers of a part is no value, although headers end in a colon and a
        # string.
        brackets = self._colon + outside.replace(b"\r\n\r\n{", b"[]{").translate(None, _NO_BRACKETS)
        self._colon = b":" if brackets.endswith(b":") else b""
        level, record_levels = self._level, self._record_levels
        brackets = brackets.replace(b":{", b"(").replace(b":", b"")
        for run in _RUNS.findall(brackets.replace(b"(}", b"").replace(b"[]", b"")):
            if run.startswith(b"{}"):
                self._records += len(run) // 2 if level + 1 in record_levels else 0
            elif run.startswith((b"}", b"]")):
                level -= len(run)
            else:
                level += len(run)
                self._records += run == b"{" and level in record_levels
        self._level = level
        self._check(max(self._commas, self._containers))


def has_too_many_values(text: str) -> bool:
    """Whether a JSON text has more values than one request may have."""
    elements = JsonElements()
    try:
        for start in range(0, len(text) if len(text) > _LARGE_TEXT else 0, PIECE):
            elements.count(text[start : start + PIECE].encode(errors="replace"))
    except TooLarge:
        return True
    return False


_Level = Mapping[int, "_Level"]
"""The messages in a message, by the tag of the field."""


def _levels(message: "Descriptor", levels: dict[str, _Level]) -> _Level:
    if message.full_name not in levels:
        inner: dict[int, _Level] = {}
        levels[message.full_name] = inner  # before the fields: a value may have values
        for field in message.fields:
            if field.message_type is not None:
                inner[field.number << 3 | 2] = _levels(field.message_type, levels)
    return levels[message.full_name]


class ProtobufElements(_Counter):
    """Counts the fields of a Protobuf message and of inner messages; messages of the type ``record`` are records."""

    def __init__(self, message: "Descriptor", record: "Descriptor") -> None:
        super().__init__(MOST_OTLP_VALUES)
        levels: dict[str, _Level] = {}
        self._open = [
            (_levels(message, levels), 2**63)
        ]  # the messages around the next field, with their ends
        self._record = levels[record.full_name]
        self._messages = self._fields = 0
        self._rest = b""
        self._begin = self._at = 0  # of the rest, and of the next field

    def count(self, piece: bytes) -> None:
        """Count the fields of the next piece. Raises BadInput if the bytes are no such message."""
        data = self._rest + piece
        try:
            at = self._walk(data, self._at - self._begin)
        except IndexError:  # a number has more bytes than any number
            raise _not_protobuf() from None
        self._at = self._begin + at
        self._rest = data[at:]
        self._begin += len(data) - len(self._rest)
        self._check(max(self._messages, self._fields // 2))

    def _walk(self, data: bytes, at: int) -> int:
        """Count the fields with complete tag and size from a place on, and return the place of the next field."""
        level, end = self._open[-1]
        last, end = len(data) - _FIELD_BYTES, end - self._begin
        fields = messages = 0
        # One function: a call for each of millions of fields takes seconds.
        while at <= last:
            while at == end:
                self._open.pop()
                level, end = self._open[-1]
                end -= self._begin
            fields += 1
            tag, at = data[at], at + 1
            if tag >= 0x80:
                tag, at = _number(data, at - 1)
            kind = tag & 7
            if kind == 2:
                size, at = data[at], at + 1
                if size >= 0x80:
                    size, at = _number(data, at - 1)
                if at + size > end:
                    raise _not_protobuf()
                inner = level.get(tag)
                if inner is None:
                    at += size
                else:
                    level, end = inner, at + size
                    self._open.append((level, end + self._begin))
                    messages += 1
                    self._records += level is self._record
                    if len(self._open) > _DEEPEST:
                        raise _not_protobuf()
            elif kind == 0:
                _, at = _number(data, at)
            elif kind in {1, 5}:
                at += 8 if kind == 1 else 4
            else:  # groups, which OTLP does not use
                raise _not_protobuf()
        self._fields += fields
        self._messages += messages
        return at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of Protobuf, seven bits in each byte, and the place after the number."""
    number = shift = 0
    while True:
        byte, at = data[at], at + 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _not_protobuf() -> BadInput:
    return BadInput("the body is not an OTLP request in protobuf")
