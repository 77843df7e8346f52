"""Turns whatever a log calls its context into a list of passages."""

import json
from typing import Any

from judgeboard.importers.cells import Cells, Unusable, parsed_json
from judgeboard.importers.json_text import json_kind

_TEXT_KEYS = ("text", "content", "page_content", "passage", "document")


def passages_in(cells: Cells) -> tuple[tuple[str, ...] | None, list[dict[str, Any]] | None]:
    """Return the passages of a row, and what its passage objects held besides their texts.

    Absent or null passages are None (not logged), which is not the same as an empty list (nothing was retrieved). A
    text is one passage and a blank one none; an object is one passage, its JSON text. In CSV, the JSON text of a list
    is that list. An item of a list is a text or an object with a text (``text``, ``content``, ``page_content``, …);
    an object without one counts as its JSON text.
    """
    value = cells.get("context")
    if isinstance(value, str) and cells.textual and value.lstrip().startswith("["):
        value = _list_in(value)
    if value is None:
        return None, None
    if isinstance(value, str):
        return ((value,) if value.strip() else ()), None
    if isinstance(value, dict):
        return (_json_text(value),), None
    if not isinstance(value, list):
        raise Unusable("context", f"{json_kind(value)} where passages should be")
    passages = [_passage(number, item) for number, item in enumerate(value, start=1)]
    details = [rest for _, rest in passages]
    return tuple(text for text, _ in passages), details if any(details) else None


def _list_in(text: str) -> Any:
    try:
        value = parsed_json("context", text)
    except Unusable as error:
        if error.reason == "a text that is not JSON":
            return text
        raise
    return value


def _passage(number: int, item: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(item, str):
        return item, {}
    if not isinstance(item, dict):
        raise Unusable("context", f"passage {number} is {json_kind(item)}, not a text")
    for key in _TEXT_KEYS:
        inner = item.get(key)
        if isinstance(inner, str):
            return inner, {name: value for name, value in item.items() if name != key}
    nested = item.get("document")
    if isinstance(nested, dict):
        text, rest = _passage(number, nested)
        return text, {name: value for name, value in {**item, "document": rest}.items() if value != {}}
    return _json_text(item), {}


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
