"""Finds what no database can keep in a row: NUL, half characters, endless numbers, bottomless nesting."""

import math
from typing import Any

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
