"""The two labels in the words of files, such as "inconsistent", "no" or 0."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from judgeboard.domain import Label
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports.fields import Cells, Unusable, simple_name
from judgeboard.imports.values import word_of
from judgeboard.text import counted

_GOOD, _BAD = Label.GROUNDED, Label.HALLUCINATED
RATINGS: dict[Label, str] = {_BAD: "bad", _GOOD: "good"}

# Words that describe the answer. In any column, they have the same meaning.
_DESCRIPTIONS = (
    ("grounded", "hallucinated"),
    ("no hallucination", "hallucination"),
    ("grounded", "ungrounded"),
    ("consistent", "inconsistent"),
    ("correct", "incorrect"),
    ("faithful", "unfaithful"),
    ("supported", "unsupported"),
    ("pass", "fail"),
    ("passed", "failed"),
    ("good", "bad"),
)
# Words that answer the question of their column: "yes" is good in a column "faithful" and bad in a column
# "hallucination".
_ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_LABELS = {good: _GOOD for good, _ in _DESCRIPTIONS} | {bad: _BAD for _, bad in _DESCRIPTIONS}
_LABELS |= {f"not {word}": _BAD if label is _GOOD else _GOOD for word, label in _LABELS.items()}
_ASK_FOR_BAD = ("halluc", "ungrounded", "inconsisten", "incorrect", "unfaithful", "unsupported", "fail", "bad")
_NEGATIONS = frozenset({"no", "not", "non", "without"})

_MAX_UNKNOWN = 20
_MAX_WORD = 60  # characters


@dataclass(frozen=True, slots=True)
class LabelWord:
    """A word for a label in a file, and its number of rows. ``label`` is None if the word is not known.

    ``sure`` is False if the word could also mean the other label: "yes" depends on what the column asks.
    """

    word: str
    label: Label | None
    rows: int
    sure: bool = True


class LabelWords:
    """Reads the labels of a file and counts their words."""

    def __init__(self) -> None:
        self._rows: Counter[tuple[str, Label | None, bool]] = Counter()

    def read(self, cells: Cells) -> Label | None:
        """Return the label of a row, None if it has none. Raises Unusable for an unknown word."""
        value = cells.raw("label")
        if value is None:
            return None
        word = _short(value)
        mapped = cells.meanings.get("label", {}).get(word)
        label = _known(word, cells.taken["label"]) if mapped is None else Label(mapped)
        key = word, label, mapped is not None or word not in _ANSWERS
        if label is not None or key in self._rows or len(self._rows) < _MAX_UNKNOWN:
            self._rows[key] += 1
        if label is None:
            ways = " or ".join(f"{map_option(word, each)} ({rating})" for each, rating in RATINGS.items())
            raise Unusable("label", f"unknown label {word!r}: to read it, use {ways}")
        return label

    def report(self) -> tuple[LabelWord, ...]:
        """Return the words of the rows so far, by word."""
        return tuple(
            LabelWord(word, label, rows, sure)
            for (word, label, sure), rows in sorted(self._rows.items(), key=lambda item: (item[0][0], -item[1]))
        )


def map_option(word: str, label: Label) -> str:
    """Return the option of the command that reads a word as a label."""
    return f"--map-value {quote(f'label:{word}={label}')}"


def in_other_words(words: Sequence[LabelWord]) -> bool:
    """Whether any label of a file was read from a word that is not its name."""
    return any(each.label is not None and each.word != each.label for each in words)


def labels_sentence(words: Sequence[LabelWord]) -> str:
    """Return which word was read as which label: "hallucinated (bad) from 'no' (3 rows), grounded (good) from …"."""
    parts = []
    for label, rating in RATINGS.items():
        its = [f"{each.word!r} ({counted(each.rows, 'row')})" for each in words if each.label is label]
        if its:
            parts.append(f"{label} ({rating}) from {' and '.join(its)}")
    return ", ".join(parts)


def other_way(words: Sequence[LabelWord]) -> str:
    """Return the options that turn around the words that are not sure; empty if there are none."""
    turned = {_GOOD: _BAD, _BAD: _GOOD}
    return " ".join(map_option(each.word, turned[each.label]) for each in words if not each.sure and each.label)


def _short(value: Any) -> str:
    word = word_of(value)
    if word is None:
        raise Unusable("label", f"expected a word, found {json_kind(value)}")
    return word[:_MAX_WORD]


def _known(word: str, column: str) -> Label | None:
    if word not in _ANSWERS:
        return _LABELS.get(word)
    parts = simple_name(column.rpartition(".")[2]).split("_")
    asks_for_bad = any(part.startswith(_ASK_FOR_BAD) for part in parts) != (not _NEGATIONS.isdisjoint(parts))
    return _BAD if _ANSWERS[word] is asks_for_bad else _GOOD
