"""The one serialiser of results to JSON: dataclasses, enums, dates and NumPy arrays as orjson writes them."""

from typing import Any

import orjson

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_UTC_Z


def to_json(result: object) -> str:
    """Return ``result`` as indented JSON text; NaN becomes null, fields that begin with an underscore are omitted."""
    return orjson.dumps(result, default=_plain, option=_OPTIONS).decode()


def to_plain(result: object) -> Any:
    """Return ``result`` as JSON values (dicts, lists, numbers)."""
    return orjson.loads(to_json(result))


def _plain(value: object) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
