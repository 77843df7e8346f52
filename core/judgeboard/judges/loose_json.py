"""Reads JSON objects in a text, also broken ones, as a person would read them."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple


class Pairs(list[tuple[str, object]]):
    """The fields of an object in order; a name may occur twice."""


class Cut(str):
    """A value at the end of a text that breaks off: the value may be incomplete."""

    __slots__ = ()


class Unclear(ValueError):
    """An object that can be read in several ways."""


class FoundObject(NamedTuple):
    """An object with the place in the text; ``mended`` if the text was no valid JSON."""

    fields: Pairs
    start: int
    end: int
    mended: bool


_STRICT = json.JSONDecoder(object_pairs_hook=Pairs)
_DEEPEST = 20
# Each opening quotation mark with the closing marks.
_CLOSING = {
    '"': '"',
    "'": "'\u2019",
    "`": "`'",
    "\u2018": "'\u2018\u2019",
    **dict.fromkeys("\u201c\u201d\u201e\u00ab", '"\u201c\u201d\u00bb'),
}
_MARK = f"[{''.join(_CLOSING)}\u2019\u00bb]"
_NAME = (
    rf"(?:{_MARK}(?P<quoted>(?:\\.|[^\\\"\u201c\u201d\n]){{1,200}}?){_MARK}"
    rf"|(?P<bare>[^\W\d][\w .-]{{0,80}}))\s*[:=]"
)
_KEY = re.compile(_NAME)
_INNER_KEY = re.sub(r"\?P<\w+>", "?:", _NAME)
_COMMENT = r"//[^\n]*|/\*[^*\n]{0,500}\*/"
_SPACE = rf"(?:\s|{_COMMENT})*"
_BEFORE = re.compile(_SPACE)
_GAP = re.compile(rf"(?:[\s,;]|{_COMMENT})*")
_START = re.compile(rf'{_SPACE}(?:"(?:\\.|[^"\\])*"\s*:|{_INNER_KEY})', re.DOTALL)
_JUNK = re.compile(r"[^,\n}]+")
# What stands behind a value: a bracket, the end, or the next field. Other commas and quotation
# marks are part of the value.
_NEXT = rf"(?:{_INNER_KEY}|[}}\]]|```|\Z|{_MARK}\w*\Z)"
_BEHIND = rf"{_SPACE}(?:[}}\]]|```|\Z|[,;]+{_SPACE}{_NEXT})|[ \t]*\n{_SPACE}{_INNER_KEY}|\s+(?={_MARK}){_INNER_KEY}"
_BEHIND_VALUE = re.compile(_BEHIND)
_BEHIND_ENTRY = re.compile(rf"{_BEHIND}|{_SPACE},")
_STRUCTURE = re.compile(r"[\s,;]*[:{}\[\]]")
_FIELD_BEFORE = re.compile(rf"[{{,]\s*{_MARK}?\w{{1,80}}{_MARK}?\s*[:=]\s*\Z")
_WORD = re.compile(rf"(?:(?!{_BEHIND}|//|/\*|\n).)*")
_WORD_OF_LIST = re.compile(r"[^,\]}\n]*")
BREAK = re.compile(r"\s*(?:```|\Z)")
"""The end of a text or of a code block: a number before it may lack digits."""
_ENDS = {mark: re.compile(rf"\\.|([{closing}])", re.DOTALL) for mark, closing in _CLOSING.items()}
_LONE_QUOTE = re.compile(r'(\\.)|"', re.DOTALL)
_PYTHON = {"None": None, "True": True, "False": False}


def objects_in(text: str) -> Iterator[FoundObject]:
    """Yield the outermost objects in a text. Raises Unclear if an object can be read in several ways."""
    end = 0
    while (start := text.find("{", end)) >= 0:
        end = start + 1
        if text.startswith('\\"', end):
            raise Unclear
        if not _START.match(text, end):
            continue
        try:
            fields, end = _STRICT.raw_decode(text, start)
            yield FoundObject(fields, start, end, mended=False)
        except (ValueError, RecursionError):
            fields, end = _object(text, end, 0)
            yield FoundObject(fields, start, end, mended=True)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return at if match is None else match.end()


def _object(text: str, at: int, depth: int) -> tuple[Pairs, int]:
    """Return the object whose fields begin at a place, and the end of the object."""
    if depth > _DEEPEST:
        raise Unclear
    fields = Pairs()
    while True:
        at = _end(_GAP, text, at)
        if at == len(text) or text.startswith(("}", "```"), at):
            return fields, min(at + 1, len(text))
        key = _KEY.match(text, at)
        if key is None and text[at] in "{[":
            raise Unclear
        if key is None:
            at = _end(_JUNK, text, at)
            continue
        value, at = _value(text, key.end(), depth, in_list=False)
        fields.append((_unescaped(key["quoted"] or key["bare"]), value))


def _value(text: str, at: int, depth: int, *, in_list: bool) -> tuple[object, int]:
    at = _end(_BEFORE, text, at)
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at + 1, depth + 1)
    if opening == "[" and depth <= _DEEPEST:
        entries: list[object] = []
        at += 1
        while True:
            at = _end(_GAP, text, at)
            if at == len(text) or text.startswith(("]", "}"), at):
                return entries, at + text.startswith("]", at)
            entry, at = _value(text, at, depth + 1, in_list=True)
            entries.append(entry)
    if opening in _ENDS:
        behind = _BEHIND_ENTRY if in_list else _BEHIND_VALUE
        for mark in _ENDS[opening].finditer(text, at + 1):
            if mark[1] and behind.match(text, mark.end()):
                return _unescaped(text[at + 1 : mark.start()]), mark.end()
            preceding = text[max(0, mark.start() - 100) : mark.start()]
            if mark[1] and (_STRUCTURE.match(text, mark.end()) or _FIELD_BEFORE.search(preceding)):
                raise Unclear
        return Cut(_unescaped(text[at + 1 :])), len(text)
    end = _end(_WORD_OF_LIST if in_list else _WORD, text, at)
    # A comma at the end of a text, or a point at the end of a word, may belong to a decimal number.
    is_cut = BREAK.match(text, end) or text[end:] == "," or text[at:end].rstrip().endswith(".")
    if is_cut:
        return Cut(text[at:end]), end
    word = text[at:end].strip()
    value: object = word
    with suppress(ValueError, RecursionError):
        value = _PYTHON[word] if word in _PYTHON else json.loads(word)
    return value, end


def _unescaped(raw: str) -> str:
    text = _LONE_QUOTE.sub(lambda match: (match[1] or r"\"").replace(r"\'", "'"), raw)
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return raw
