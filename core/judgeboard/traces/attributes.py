"""Reads values of attributes: JSON in texts, numbered names, and session, user and tags in metadata."""

import json
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from judgeboard.traces.elements import has_too_many_values

_JSON = re.compile(r'\s*["\[{]')
# The escape of half a character is the group; escaped backslashes and whole pairs are passed over.
_HALF = re.compile(
    r"\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})"
)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_LONGEST_LITERAL = 200_000  # characters; to read a literal, Python takes 100 times the memory
REDACTED = "__REDACTED__"
"""OpenInference writes this instead of a hidden value."""
DEEPEST = 12  # levels of nesting that are searched; hostile values may be nested much deeper
_SESSION_KEYS = (
    "session_id",
    "sessionId",
    "session",
    "thread_id",
    "threadId",
    "conversation_id",
    "conversationId",
)
_USER_KEYS = ("user_id", "userId", "user")
_IDENTITY_KEYS = frozenset({*_SESSION_KEYS, *_USER_KEYS})
_PLUMBING = re.compile(  # frameworks add these to the metadata of every run
    r"(ls_|lc_|langfuse_|langgraph_|LANGSMITH_|LANGCHAIN_|__|checkpoint_|mlflow\.)"
    r"|(tags|usage_metadata|is_langchain_root|finish_reason|_type|model|model_name|stream|temperature|tools)$"
)
_STEP_TAG = re.compile(r"(seq:step|map:key|graph:step|branch|condition|langsmith):")


_OBJECT = re.compile(r"<[\w. ]*\b(?:object|generator|coroutine|function)\b(?:[\w. ]|<locals>)*>")
_FIELDS = re.compile(
    r"<?[A-Z]\w*\((?:\s*\w+=.*)?(?:\)>?|\.\.\.)", re.DOTALL
)  # also if the text was cut off


def is_repr(text: str) -> bool:
    """Whether the text is the repr of a Python object, which some instrumentations write instead of JSON."""
    text = text.strip()
    return bool((len(text) < 300 and _OBJECT.fullmatch(text)) or _FIELDS.fullmatch(text))


def load_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. NaN, which Python writes, becomes None.

    A byte that is no UTF-8 becomes U+FFFD, and so does half an emoji, which JavaScript writes at a
    cut. A control character becomes a blank, but a line feed inside a text is an error, because
    `JsonElements` relies on line feeds. Raises ValueError for anything else that is no JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        content = text if isinstance(text, str) else text.decode("utf-8-sig", errors="replace")
        repaired = _HALF.sub(lambda escape: r"\ufffd" if escape[1] else escape[0], content)
        try:
            return json.loads(_CONTROL.sub(" ", repaired), parse_constant=lambda _: None)
        except RecursionError:
            raise ValueError("nested too deeply") from None


def parsed(text: Any) -> Any:
    """Return the value of a JSON text, also of JSON inside JSON; anything else is returned unchanged.

    Only objects, arrays and quoted texts count as JSON: a bare ``42`` or ``true`` may be an answer.
    """
    for _ in range(3):
        if not isinstance(text, str) or not _JSON.match(text) or has_too_many_values(text):
            break
        try:
            text = load_json(text)
        except ValueError:
            break
    return text


def parsed_object(value: Any) -> dict[str, Any]:
    """Return an object, also from a JSON text; an empty object for any other value."""
    value = parsed(value)
    return value if isinstance(value, dict) else {}


def literal(text: Any) -> Any:
    """Return the value of JSON, or of a dict or list as Python writes it; anything else unchanged."""
    value = parsed(text)
    if isinstance(value, str) and value.startswith(("{", "[")) and len(value) < _LONGEST_LITERAL:
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return literal_eval(value)
    return value


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None, by name."""
    return {name: value for name, value in values.items() if value is not None}


def first(values: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first value that is there and no empty text, else None."""
    return next(
        (values[name] for name in names if values.get(name) is not None and values[name] != ""),
        None,
    )


def first_scalar(values: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first value that is a text or a number, as a text."""
    for name in names if values else ():  # a plain loop: it runs fifty times for each span
        if (value := values.get(name)) is not None and (text := as_text(value)) is not None:
            return text
    return None


def under(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the attributes whose names start with the prefix, under names without prefix; JSON values are parsed."""
    return {
        name[len(prefix) :]: parsed(value)
        for name, value in attributes.items()
        if name.startswith(prefix)
    }


def nested(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return attributes like ``prefix.0.a.b`` as a list of mappings like ``{"a": {"b": …}}``, ordered by number."""
    entries: dict[int, dict[str, Any]] = {}
    start = prefix + "."
    for name, value in attributes.items():
        if not name.startswith(start):
            continue
        number, _, path = name[len(start) :].partition(".")
        if not path or not _is_index(number):
            continue
        # A path that leads through a value which is no mapping is left out.
        target = entries.setdefault(int(number), {})
        *outer, last = path.split(".")[:DEEPEST]
        for step in outer:
            inner = target.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            target = inner
        else:
            target[last] = value
    return [_listed(entries[number]) for number in sorted(entries)]


def session_and_user(metadata: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the session and the user that metadata name."""
    return first_scalar(metadata, _SESSION_KEYS), first_scalar(metadata, _USER_KEYS)


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of the application, without session, user and the additions of frameworks."""
    items = metadata.items()
    return {
        name: value
        for name, value in items
        if name not in _IDENTITY_KEYS and not _PLUMBING.match(name)
    }


def tags_in(value: Any) -> tuple[str, ...]:
    """Return tags of a list or of a text like ``a, b``, without the tags by which LangChain numbers steps."""
    if not value:
        return ()
    value = parsed(value)
    tags = (
        value.split(",")
        if isinstance(value, str)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    texts = dict.fromkeys(str(tag).strip() for tag in tags)
    return tuple(tag for tag in texts if tag and not _STEP_TAG.match(tag))


def as_text(value: Any) -> str | None:
    """Return a text or number as a text; None for an empty text or another value."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_count(value: Any) -> int | None:
    """Return a number of tokens, also from a text; None for other values."""
    number = as_number(value)
    return int(number) if number is not None and number >= 0 else None


def as_number(value: Any) -> float | None:
    """Return a finite number, also from a text; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None  # also leaves out NaN and infinity


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdecimal() and len(name) < 9


def _listed(value: Any) -> Any:
    """Turn mappings whose keys are all numbers into lists."""
    if not isinstance(value, dict):
        return value
    inner = {name: _listed(each) for name, each in value.items()}
    if inner and all(map(_is_index, inner)):
        return [inner[name] for name in sorted(inner, key=int)]
    return inner
