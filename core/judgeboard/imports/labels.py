"""The labels in the words of files, such as "inconsistent", "no" or 0, and label sets with more classes.

`judgeboard --help` loads this file, with the kinds of files: label schemas are imported where a
label set is stored.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

from judgeboard.domain import Label
from judgeboard.errors import BadInput, NotFound
from judgeboard.formats.jsonl import json_kind
from judgeboard.imports.fields import Cells, Unusable, simple_name
from judgeboard.imports.values import MISSING, NO_VERDICT, word_of
from judgeboard.text import counted

if TYPE_CHECKING:  # listing the kinds loads no database library
    from sqlalchemy import Connection

    from judgeboard.formats.label_schema import SchemaField

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
# Words that answer the question of a column: "yes" is good in a column "faithful" and bad in a
# column "hallucination".
_ANSWERS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_LABELS = {good: _GOOD for good, _ in _DESCRIPTIONS} | {bad: _BAD for _, bad in _DESCRIPTIONS}
_LABELS |= {f"not {word}": _BAD if label is _GOOD else _GOOD for word, label in _LABELS.items()}
_ASK_FOR_BAD = (
    "halluc",
    "ungrounded",
    "inconsisten",
    "incorrect",
    "unfaithful",
    "unsupported",
    "fail",
    "bad",
)
_NEGATIONS = frozenset({"no", "not", "non", "without"})

_MAX_UNKNOWN = 20
_MAX_WORD = 60  # characters


@dataclass(frozen=True, slots=True)
class LabelWord:
    """A word for a label in a file, and the number of rows. ``label`` is None for an unknown word.

    ``sure`` is False if the word could also mean the other label: "yes" depends on the question of
    the column.
    """

    word: str
    label: Label | None
    rows: int
    sure: bool = True


class LabelWords:
    """Reads the labels of a file and counts the words. With a ``label_set``, each word is a label."""

    def __init__(self) -> None:
        self.label_set: str | None = None
        self._rows: Counter[tuple[str, Label | None, bool]] = Counter()

    def read(self, cells: Cells) -> Label | None:
        """Return the label of a row, None without a label. Raises Unusable for an unknown word."""
        value = cells.raw("label")
        if value is None or self.label_set is not None:
            return None
        word = _short(value)
        meaning = cells.meanings.get("label", {}).get(word)
        if meaning == "" or (
            meaning is None and word in MISSING - {"none"}
        ):  # "none" may be a class: no hallucination
            return None
        label = _known(word, cells.taken["label"]) if meaning is None else Label(meaning)
        key = word, label, meaning is not None or word not in _ANSWERS
        if label is not None or key in self._rows or len(self._rows) < _MAX_UNKNOWN:
            self._rows[key] += 1
        if label is None:
            ways = " or ".join(
                f"{map_option(word, each)} ({rating})" for each, rating in RATINGS.items()
            )
            ways += " or --map-value label:none= (missing)" if word == "none" else ""
            raise Unusable(
                "label",
                f"unknown label {word!r}: to read it, use {ways}. For other classes, use --label-set NAME",
            )
        return label

    def is_no_verdict(self, cells: Cells) -> bool:
        """Whether the label of a row says that the judge gave no usable verdict: "Invalid", "N/A", "error".

        "none" is no such word: it may be the class of answers without a hallucination, so `read`
        raises for it.
        """
        value = cells.raw("label")
        word = None if value is None else _short(value)
        return word in NO_VERDICT - {"none"} and word not in cells.meanings.get("label", {})

    def word(self, cells: Cells) -> str | None:
        """Return the label of a row in a label set, None if there is no label or no label set."""
        value = cells.raw("label")
        if value is None or self.label_set is None:
            return None
        word = word_of(value)
        if word is not None and not 0 < len(word) <= _MAX_WORD:
            raise Unusable("label", f"a label of a label set has 1 to {_MAX_WORD} characters")
        return _short(value)

    def report(self) -> tuple[LabelWord, ...]:
        """Return the words of the rows so far, by word."""
        return tuple(
            LabelWord(word, label, rows, sure)
            for (word, label, sure), rows in sorted(
                self._rows.items(), key=lambda item: (item[0][0], -item[1])
            )
        )


def label_set_field(
    connection: "Connection", name: str, words: Collection[str], actor: str, now: datetime
) -> "SchemaField":
    """Return the category of a label set, which is the only field of the label schema with the same name.

    New words become the last options, in a new version, so that a word keeps the number in the
    scores of judges. Words beyond the largest number of options are left out, and the rows with
    these words are refused (`no_option`). Raises BadInput if the label schema has other fields.
    """
    from judgeboard.formats.label_schema import MOST_OPTIONS, FieldType, stored_schema
    from judgeboard.store.label_schemas import ensure_schema, schema_named

    try:
        schema = schema_named(connection, name).content
    except NotFound:
        schema = stored_schema(name, [{"name": name, "type": FieldType.CATEGORY.value}])
    field = schema.fields[0]
    if not schema.is_label_set:
        raise BadInput(
            f"--label-set {name}: a label schema with other fields has this name, choose another name"
        )
    new = sorted(set(words) - set(field.values))[: MOST_OPTIONS - len(field.values)]
    if not new:
        return field
    (content,) = schema.as_json()["fields"]
    new_schema = stored_schema(name, [content | {"options": [*content.get("options", ()), *new]}])
    ensure_schema(connection, new_schema, actor, now)
    return new_schema.fields[0]


def no_option(name: str, word: str) -> str:
    """Return why a word did not become an option of a label set."""
    return (
        f"{word!r} is a label too many: the label set {name!r} has the most labels that it can have"
    )


def map_option(word: str, label: Label) -> str:
    """Return the option of the command that reads a word as a label."""
    return f"--map-value {quote(f'label:{word}={label}')}"


def in_other_words(words: Sequence[LabelWord]) -> bool:
    """Whether any label of a file was read from a word other than the label's name."""
    return any(each.label is not None and each.word != each.label for each in words)


def labels_sentence(words: Sequence[LabelWord]) -> str:
    """Return which word was read as which label: "hallucinated (bad) from 'no' (3 rows), grounded (good) from …"."""
    parts = []
    for label, rating in RATINGS.items():
        words_of_label = [
            f"{each.word!r} ({counted(each.rows, 'row')})" for each in words if each.label is label
        ]
        if words_of_label:
            parts.append(f"{label} ({rating}) from {' and '.join(words_of_label)}")
    return ", ".join(parts)


def other_way(words: Sequence[LabelWord]) -> str:
    """Return the options that turn around the words that are not sure; empty if there are none."""
    turned = {_GOOD: _BAD, _BAD: _GOOD}
    return " ".join(
        map_option(each.word, turned[each.label]) for each in words if not each.sure and each.label
    )


def label_of(value: Any, column: str | None) -> Label | None:
    """Return the label that a word in a column means, None for an unknown word.

    Without a column, "yes" and "no" are unknown, because both answer a question.
    """
    word = word_of(value)
    return None if word is None else _known(word, column)


def _short(value: Any) -> str:
    word = word_of(value)
    if word is None:
        raise Unusable("label", f"expected a word, found {json_kind(value)}")
    return word[:_MAX_WORD]


def _known(word: str, column: str | None) -> Label | None:
    if column is None or word not in _ANSWERS:
        return _LABELS.get(word)
    parts = simple_name(column.rpartition(".")[2]).split("_")
    asks_for_bad = any(part.startswith(_ASK_FOR_BAD) for part in parts) != (
        not _NEGATIONS.isdisjoint(parts)
    )
    return _BAD if _ANSWERS[word] is asks_for_bad else _GOOD
