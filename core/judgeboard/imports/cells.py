"""The cells of one row by field name, each checked for its type; a value that cannot be stored is named."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from judgeboard.formats.jsonl import json_kind
from judgeboard.text import as_utc

MAX_ID = 512  # characters; the unique index over source and external id holds 2,704 bytes on PostgreSQL
MAX_NAME = 128

Choice = TypeVar("Choice", bound=StrEnum)
Value = TypeVar("Value")
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class Unusable(Exception):
    """A row cannot come in because of one field; `Reading` turns it into a rejected row."""

    def __init__(self, field: str | None, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Cells:
    """One row, with the columns its fields are taken from.

    ``textual`` says that the format knows only texts (CSV): an empty cell is then an absent value, and a number is
    read from its text. In other formats the text "3" is not a number.
    """

    values: Mapping[str, Any]
    taken: Mapping[str, str]
    extra: tuple[str, ...] = ()
    textual: bool = False

    def get(self, field: str) -> Any:
        """Return the raw value of a field, None where it is absent."""
        if field not in self.taken:  # no default name here: a column may be called anything, "" too
            return None
        value = self.values.get(self.taken[field])
        return None if value == "" and self.textual else value

    def text(self, field: str) -> str | None:
        """Return a text exactly as it stands."""
        value = self.get(field)
        if value is not None and not isinstance(value, str):
            raise Unusable(field, f"{json_kind(value)} where a text should be")
        return value

    def required_text(self, field: str) -> str:
        """Return a text that is neither absent nor blank, exactly as it stands."""
        value = self.text(field)
        if value is None or not value.strip():
            raise Unusable(field, f"no {field.replace('_', ' ')}")
        return value

    def name(self, field: str, limit: int = MAX_NAME) -> str | None:
        """Return an id or a name: a text or a whole number, None where it is absent or blank."""
        value = self.get(field)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # pandas writes whole numbers so where one is missing
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is not None and not isinstance(value, str):
            raise Unusable(field, f"{json_kind(value)} where a text or whole number should be")
        if value is None or not value.strip():
            return None
        if len(value) > limit:
            raise Unusable(field, f"longer than {limit} characters")
        return value

    def required_name(self, field: str, limit: int = MAX_NAME) -> str:
        """Return an id or a name that is neither absent nor blank."""
        value = self.name(field, limit)
        if value is None:
            raise Unusable(field, f"no {field.replace('_', ' ')}")
        return value

    def number(self, field: str) -> Any:
        """Return a value for a strict check of numbers: in CSV the number its text spells, else as it stands."""
        value = self.get(field)
        return spelled_number(value) if self.textual and isinstance(value, str) else value

    def time(self, field: str) -> datetime | None:
        """Return a moment in UTC."""
        value = self.get(field)
        return None if value is None else checked(field, as_utc, value)

    def choice(self, field: str, choices: type[Choice]) -> Choice | None:
        """Return a member of an enumeration by its word, in any case."""
        value = self.get(field)
        if value is None:
            return None
        try:
            return choices(value.strip().lower() if isinstance(value, str) else value)
        except ValueError:
            shown = repr(value) if isinstance(value, str) else json_kind(value)
            raise Unusable(field, f"{shown[:60]} is not one of {', '.join(choices)}") from None

    def json(self, field: str) -> Any:
        """Return a value that is not a text: as it stands, or parsed where the format could only hold its text."""
        value = self.get(field)
        return parsed_json(field, value) if isinstance(value, str) else value

    def objects(self, field: str) -> tuple[dict[str, Any], ...] | None:
        """Return a list of objects."""
        value = self.json(field)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise Unusable(field, "not a list of objects")
        return tuple(value)


def checked(field: str, check: Callable[[Any], Value], value: Any) -> Value:
    """Return ``check(value)``, a ValueError of it named with the field."""
    try:
        return check(value)
    except ValueError as error:
        raise Unusable(field, str(error)) from None


def spelled_number(text: str) -> Any:
    """Return the number that a text spells, or the text where it spells none ("3" is 3, "3.0" is 3.0)."""
    if _INTEGER.fullmatch(text.strip()):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def parsed_json(field: str, text: str) -> Any:
    """Return the JSON value of a text inside a cell, held to the same rules as a row."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unusable(field, "a text that is not JSON") from None
    if fault := fault_in({field: value}):
        raise Unusable(*fault)
    return value


MAX_DEPTH = 100
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def fault_in(values: dict[str, Any]) -> tuple[str, str] | None:
    """Return the first column that holds such a value, with the reason, or None where the row is fine."""
    for name, value in values.items():
        if reason := _fault(name):
            return name, f"the column's name {reason}"
        if reason := _fault(value):
            return name, reason
    return None


def _fault(value: Any) -> str | None:
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            if reason := _text_fault(item):
                return reason
        elif isinstance(item, float):
            if not math.isfinite(item):
                return "holds a number that is not finite"
        elif isinstance(item, int):
            if not _SMALLEST <= item <= _LARGEST:
                return "holds a number beyond 64 bits: write it as a text"
        elif isinstance(item, list | dict):
            if depth == MAX_DEPTH:
                return f"is nested more than {MAX_DEPTH} levels deep"
            inner = [*item, *item.values()] if isinstance(item, dict) else item
            waiting.extend((part, depth + 1) for part in inner)
    return None


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "holds a NUL character"
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        # Readers keep a byte that is not UTF-8 as U+DC80 to U+DCFF (surrogateescape).
        if 0xDC80 <= code <= 0xDCFF:
            return "is not UTF-8"
        return f"holds half a character (the lone surrogate U+{code:04X})"
    return None


def raw_text(value: Any) -> str | None:
    """Return a judge's reply: a text as it stands, any other JSON value as its JSON text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def metadata_in(cells: Cells, **more: Any) -> dict[str, Any]:
    """Return the row's metadata with every column that is no field, and with ``more`` where it is not None.

    Raises:
        Unusable: The metadata is no object.
    """
    given = cells.json("metadata")
    if given is not None and not isinstance(given, dict):
        raise Unusable("metadata", f"{json_kind(given)} where an object should be")
    metadata = dict(given or {})
    for name, value in {**{name: cells.values[name] for name in cells.extra}, **more}.items():
        if value is not None and not (cells.textual and value == ""):
            metadata[_free_key(metadata, name)] = value
    return metadata


def _free_key(metadata: dict[str, Any], name: str) -> str:
    while name in metadata:
        name += " (column)"
    return name
