"""A note: a code with its numbers, and the sentence that `judgeboard.measure.words` has for the code."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from string import Formatter
from typing import Any

from judgeboard.domain import Estimate
from judgeboard.measure.words import WORDS
from judgeboard.stats.estimates import (
    count_words,
    kappa_words,
    number_words,
    percent,
    percent_words,
    points_words,
    two_decimals,
)
from judgeboard.text import counted, day_words, listed_words

Value = str | int | float | Estimate | Sequence[str]
"""A value in a sentence: a name, a number, a figure with its interval, or a list of names."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence about figures: a headline, a caveat or a next step.

    ``code`` names the kind of sentence, ``values`` are the numbers and names in ``text``.
    """

    code: str
    text: str
    values: Mapping[str, Value]


def note(code: str, **values: Value) -> Note:
    """Return the note of a code.

    Args:
        code: A key of `WORDS`.
        values: The values that the sentence of the code names.

    Raises:
        KeyError: `WORDS` has no such code, or the sentence names another value.
    """
    return Note(code, _SENTENCES.format(WORDS[code], **values), values)


def paragraph(notes: Iterable[Note | None]) -> str:
    """Return the sentences of notes one after the other; None is skipped."""
    return " ".join(each.text for each in notes if each is not None)


_OF_ESTIMATES: dict[str, Callable[[Estimate], str]] = {
    "%": percent_words,
    ".2": number_words,
    "kappa": kappa_words,
    "n": lambda figure: f"{figure.n:,}",
    "points": partial(points_words, sign=True),
    "count": count_words,
}
_OF_NUMBERS: dict[str, Callable[[Any], str]] = {"%": percent, ".2": two_decimals, "day": day_words}


class _Sentences(Formatter):
    """Writes values in sentences, in the formats of Python and in further ones.

    ``%`` is a share in percent, ``.2`` a number with two decimals, ``kappa`` a kappa with its
    strength, ``points`` a difference of shares, ``count`` a number of answers, ``day`` a day,
    ``list`` names. A figure has its interval, or the reason why it has no value. Another word is a
    noun: ``{n:answer}`` is "1 answer" or "2 answers".
    """

    def format_field(self, value: Value, format_spec: str) -> str:
        if isinstance(value, Estimate):
            return _OF_ESTIMATES[format_spec](value)
        if not isinstance(value, int | float):
            return value if isinstance(value, str) else listed_words(value)
        if format_spec in _OF_NUMBERS:
            return _OF_NUMBERS[format_spec](value)
        if isinstance(value, int) and format_spec[:1].isalpha():
            return counted(value, format_spec)
        return format(value, format_spec)


_SENTENCES = _Sentences()
