"""Values that a file writes as texts: numbers, and words that ``--map-value`` gives a value."""

import ast
import json
import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from judgeboard.errors import BadInput

Meanings = Mapping[str, Mapping[str, str]]
"""The value of a word, by field and word (`word_of`)."""

MISSING = frozenset({"nan", "n/a", "na", "null", "none", "<na>"})
"""Words, in lower case, that tables write for a missing value."""

NO_VERDICT = frozenset(
    {
        "",
        "-",
        "?",
        "abstain",
        "error",
        "failed to judge",
        "invalid",
        "no verdict",
        "not available",
        "parse error",
        "refused",
        "timeout",
        "unknown",
        "unparsable",
        *MISSING,
    }
)
"""Words (`word_of`) of judges for "no usable verdict". "failed" may be the verdict bad."""

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[+-]?(0,\d+|\d+,(?!\d{3}$)\d+)", re.ASCII)  # 1,234 may be a thousand
_JOINED = re.compile(r"(?<=[^\W\d_])[-_](?=[^\W\d_])")
_PYTHON_TEXT = re.compile(r"""\s*('(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")\s*,?""", re.DOTALL)


def spelled_number(text: str) -> Any:
    """Return the number that a text spells ("3" is 3, "3.0" and "3,0" are 3.0), or else the text."""
    if _INTEGER.fullmatch(text.strip()):
        return int(text)
    if _DECIMAL_COMMA.fullmatch(text.strip()):
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return text


def python_list(text: str) -> list[str] | None:
    """Return the texts in a list as JSON, Python or NumPy writes it (`['a', "b"]`, `['a' 'b']`).

    Return None for any other text.
    """
    inner = text.strip()
    if inner[:1] != "[" or inner[-1:] != "]":
        return None
    try:
        texts = json.loads(inner)
        return texts if all(isinstance(each, str) for each in texts) else None
    except (ValueError, RecursionError):
        texts = []
    at, end = 1, len(inner) - 1
    while match := _PYTHON_TEXT.match(inner, at, end):
        at = match.end()
        try:
            texts.append(ast.literal_eval(match[1]))
        except (ValueError, SyntaxError):  # not how Python writes a text
            return None
    return None if inner[at:end].strip() else texts


def word_of(value: Any) -> str | None:
    """Return a value as a word in lower case: "not supported" for "Not_Supported", "true" for True, "1" for 1.0.

    Return None if the value is None, a list or an object.
    """
    if isinstance(value, str):
        number = spelled_number(value)
        value = number if isinstance(number, float) and number.is_integer() else value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float):  # True and False are of type int
        return None
    return " ".join(_JOINED.sub(" ", str(value)).split()).casefold()


def parse_values(texts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return ``{field: {word: value}}`` from texts like ``FIELD:WORD=VALUE``; an empty value means missing."""
    values: dict[str, dict[str, str]] = {}
    for text in texts:
        field, _, word_and_value = text.partition(":")
        word, equals, value = word_and_value.rpartition("=")
        if not field or not word.strip() or not equals:
            example = "--map-value label:inconsistent=hallucinated"
            raise BadInput(
                f"--map-value {text}: write it as FIELD:WORD=VALUE, for example {example}"
            )
        if word in values.setdefault(field, {}):
            raise BadInput(f"--map-value names the word {word!r} of {field} twice")
        values[field][word] = value
    return values


def parse_constants(texts: Iterable[str]) -> dict[str, str]:
    """Return ``{field: value}`` from texts like ``FIELD=VALUE``."""
    constants: dict[str, str] = {}
    for text in texts:
        field, _, value = text.partition("=")
        if not field or not value.strip():
            raise BadInput(f"--set {text}: write it as FIELD=VALUE, for example --set judge=gpt-4o")
        if field in constants:
            raise BadInput(f"--set names the field {field!r} twice")
        constants[field] = value
    return constants


def is_missing(value: Any) -> bool:
    """Whether a value of a table stands for no value: null, NaN, an empty text, or a word such as "N/A"."""
    if isinstance(value, str):
        return not value.strip() or value.strip().casefold() in MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def meanings_of(
    values: Mapping[str, Mapping[str, str]],
    fields: Mapping[str, tuple[str, ...]],
    choices: Mapping[str, type[StrEnum]],
    mapping: Mapping[str, str],
) -> Meanings:
    """Return the values of words. A name is a field, another known name of a field, or a mapped column.

    ``choices`` has the possible values of a field that has only a few.
    """
    meanings: dict[str, dict[str, str]] = {}
    for name, words in values.items():
        field = mapping.get(name, name)
        ours = next(
            (each for each, names in fields.items() if field == each or field in names), None
        )
        if ours is None:
            raise BadInput(f"--map-value: there is no field {name!r}; choose {', '.join(fields)}")
        options = [each.value for each in choices.get(ours, ())]
        for word, value in words.items():
            if options and value and value not in options:
                raise BadInput(
                    f"--map-value {name}:{word}={value}: {value!r} is not one of {', '.join(options)}"
                )
            meanings.setdefault(ours, {})[word_of(word) or word] = value
    return meanings
