"""Reads one row of JSON text strictly: an object in UTF-8, without NaN or a key that stands twice."""

import json
from collections import Counter
from typing import Any, NoReturn

from judgeboard.domain import Rejected
from judgeboard.importers.rows import MAX_ROW_BYTES, Row

MAX_DIGITS = 4_000  # Python turns no more than 4,300 digits into a number


class _Twice(ValueError):
    """An object has a key twice: which of the values is meant cannot be told."""

    def __init__(self, key: str) -> None:
        super().__init__("stands twice in one object: keep one")
        self.key = key


def parse_row(line: int, data: bytes) -> Row | Rejected:
    """Return the row that the bytes hold, or why they hold none."""
    if len(data) > MAX_ROW_BYTES:
        return Rejected(line, None, f"longer than {MAX_ROW_BYTES >> 20} MB", _shown(data[:1000]))
    try:
        values = _parsed(data)
    except ValueError as error:
        return Rejected(line, error.key if isinstance(error, _Twice) else None, str(error), _shown(data))
    if not isinstance(values, dict):
        return Rejected(line, None, f"not an object but {json_kind(values)}", values)
    return Row(line, values)


def json_kind(value: Any) -> str:
    """Return what a JSON value is, with its article, for a sentence."""
    if value is None:
        return "null"
    for kind, name in ((bool, "true or false"), (str, "a text"), (dict, "an object"), (list, "a list")):
        if isinstance(value, kind):
            return name
    return "a number"


def _parsed(data: bytes) -> Any:
    if b"\0" in data:
        raise ValueError("holds a NUL character")
    try:
        return _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start + 1} of the row)") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:  # Python's own message is about Python
        raise ValueError(f"not usable: a whole number of {len(digits):,} digits")
    return int(digits)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"not JSON: {constant} is not a JSON value; write null where nothing was measured")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _Twice(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return values


# One for all rows: making it anew for each costs more than the look at the keys.
_DECODER = json.JSONDecoder(parse_constant=_refused, parse_int=_whole, object_pairs_hook=_object)


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").rstrip("\r\n")
