"""Finds the JSON object in a model's reply."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from judgeboard.storable_text import storable

_CODE_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)


class UnusableReply(ValueError):
    """A reply that cannot be used; the text (300 characters at most) says why, in words for the model itself."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason if len(reason) <= 300 else f"{reason[:299]}…")


@dataclass(frozen=True, slots=True)
class JsonReply:
    """The object in a reply; ``replaced`` tells that escapes in it stood for characters that cannot be stored."""

    content: dict[str, Any]
    replaced: bool


def _no_constant(name: str) -> NoReturn:
    raise UnusableReply(f"{name} is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnusableReply(f"the field {twice!r} is given twice")
    return content


def _candidates(text: str) -> Iterator[str]:
    """The reply as it is, without a reasoning model's thoughts, inside a code fence, from the first { to the last }."""
    yield text
    spoken = _THOUGHT.sub("", text)
    yield spoken
    yield from _CODE_FENCE.findall(spoken)
    start, end = spoken.find("{"), spoken.rfind("}")
    if 0 <= start < end:
        yield spoken[start : end + 1]


def _storable(content: Any) -> tuple[Any, bool]:
    """Replace what cannot be stored in every text of ``content``: an escaped NUL comes to life in parsing."""
    if isinstance(content, str):
        return storable(content)
    if isinstance(content, list):
        entries = [_storable(entry) for entry in content]
        return [entry for entry, _ in entries], any(changed for _, changed in entries)
    if isinstance(content, dict):
        pairs = [(_storable(name), _storable(value)) for name, value in content.items()]
        return {name[0]: value[0] for name, value in pairs}, any(name[1] or value[1] for name, value in pairs)
    return content, False


def read_json_object(text: str) -> JsonReply:
    """Return the JSON object in ``text``, tolerating text and code fences around it.

    Raises:
        UnusableReply: There is none, or it repeats a field, or it holds NaN or Infinity.
    """
    if not text.strip():
        raise UnusableReply("the reply is empty")
    for candidate in _candidates(text):
        try:
            content = json.loads(candidate, object_pairs_hook=_once, parse_constant=_no_constant)
        except UnusableReply:
            if candidate.lstrip().startswith("{"):
                raise
            continue
        except (ValueError, RecursionError):
            continue
        if isinstance(content, dict):
            return JsonReply(*_storable(content)) if "\\u" in candidate else JsonReply(content, replaced=False)
    raise UnusableReply("there is no JSON object in the reply")
