"""The content of one row of another tool's export: an answer, the verdicts of evaluators, the grades of people."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from judgeboard.domain import GRADE_TEXTS
from judgeboard.formats.files import Row
from judgeboard.imports.fields import Unusable, json_text, simple_name
from judgeboard.imports.grades import GradeImport
from judgeboard.imports.recorded import VerdictImport
from judgeboard.imports.responses import ResponseImport
from judgeboard.imports.scales import scale_in
from judgeboard.imports.values import spelled_number
from judgeboard.text import MAX_NAME, shortened
from judgeboard.traces.attributes import parsed_object, without_none


@dataclass(frozen=True, slots=True)
class Entry:
    """An answer with its verdicts, grades and audits, as rows for the imports of these kinds.

    Verdicts, grades and audits have no id and belong to the answer. Without an answer, ``reason``
    says why, and the row of the entry is rejected. ``of_session`` names scores of the session,
    which are not read.
    """

    answer: dict[str, Any] | None
    verdicts: Sequence[dict[str, Any]] = ()
    grades: Sequence[dict[str, Any]] = ()
    audits: Sequence[dict[str, Any]] = ()
    reason: str | None = None
    of_session: Sequence[str] = ()


Entries = Iterator[tuple[Row, Entry]]
"""Entries, each with its first row."""


def each_row(
    read: Callable[[dict[str, Any]], Iterable[Entry]],
) -> Callable[[Iterable[Row]], Entries]:
    """Return a reader of files in which every row stands for itself."""

    def entries(rows: Iterable[Row]) -> Entries:
        for row in rows:
            for entry in read(row.values):
                yield row, entry

    return entries


class ContentIds:
    """Derives ids from the content of answers without an id. Each equal answer gets another id."""

    def __init__(self) -> None:
        self._copies: Counter[str] = Counter()

    def of(self, answer: Mapping[str, Any]) -> str:
        """Return the id of an answer."""
        content = json.dumps(
            [answer.get(name) for name in ("query", "answer", "context", "messages")]
        )
        id_ = blake2b(content.encode(), digest_size=16).hexdigest()
        self._copies[id_] += 1
        return id_ if self._copies[id_] == 1 else f"{id_}-{self._copies[id_]}"


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; an empty list for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def from_json(value: Any) -> Any:
    """Return the value in a JSON text, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def without_nothing(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are neither None nor empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def named(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value with the first of the names (in snake case) that is present and not empty, else None."""
    simple = {simple_name(name): value for name, value in values.items() if value not in (None, "")}
    return next((simple[name] for name in names if name in simple), None)


# In exports of other tools, "source" and "kind" have other meanings.
_FIELDS = {
    name: called
    for name, called in ResponseImport.columns.items()
    if name not in {"source", "kind"}
}


def answer_row(values: Mapping[str, Any], **fields: object) -> dict[str, Any]:
    """Return the row of an answer from values with common names; ``fields`` that are not None take precedence.

    Values with other names are kept in metadata.
    """
    values_left = without_nothing(values)
    row: dict[str, Any] = {}
    for field, names in _FIELDS.items():
        simple = {simple_name(name): name for name in reversed(values_left)}
        column = next((simple[name] for name in names if name in simple), None)
        if column is not None and fields.get(field) in (None, values_left[column]):
            row[field] = values_left.pop(column)
    metadata = (
        values_left
        | parsed_object(row.pop("metadata", None))
        | parsed_object(fields.pop("metadata", None))
    )
    row |= without_none(fields)
    return row | ({"metadata": metadata} if metadata else {})


def share(value: Any) -> float | None:
    """Return a score between 0 and 1 (true is 1); None for any other value."""
    number = spelled_number(value) if isinstance(value, str) else value
    if isinstance(number, bool):
        return float(number)
    usable = isinstance(number, int | float) and math.isfinite(number) and 0 <= number <= 1
    return float(number) if usable else None


def verdict_row(
    judge: str,
    scores: Mapping[str, Any],
    reasons: Mapping[str, Any] | None = None,
    error: str | None = None,
    scales: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return the verdict of a judge as a list with one row; an empty list if there are no scores.

    Scores between 0 and 1, and scores on one of the ``scales`` (by name of the score), become
    scores by name, or the groundedness or quality. A text under a name of the field ``label``
    becomes the label. The other scores, whose scale is unknown, are kept as the judge's reply.
    """
    values = without_nothing(scores)
    if not values and error is None:
        return []
    row: dict[str, Any] = {"judge": judge[:MAX_NAME]}
    for name, value in values.items():
        part, as_stored = _part_of_verdict(name, value, (scales or {}).get(name))
        if part in {"scores", "raw"}:
            row.setdefault(part, {})[name] = as_stored
        else:
            row[part] = as_stored
    if not row.keys() & {"groundedness", "quality", "label", "scores"}:
        row |= {"status": "error", "error": error or "no score between 0 and 1"}
    texts = [
        f"{name}: {text}"
        for name, text in (reasons or {}).items()
        if isinstance(text, str) and text.strip()
    ]
    return [row | ({"reasoning": "\n".join(texts)} if texts else {})]


def _part_of_verdict(name: str, value: Any, scale: str | None) -> tuple[str, Any]:
    """Return the field of `VerdictImport` for a score, and the value there."""
    simple, number = simple_name(name), share(value)
    if scale is not None:
        try:
            as_share = scale_in("scale", scale).share("scores", value)
        except Unusable:
            return "raw", value
        if simple in VerdictImport.columns["groundedness"]:
            return "groundedness", as_share
        is_quality = (
            scale == "1-4" and isinstance(value, int) and simple in VerdictImport.columns["quality"]
        )
        return ("quality", value) if is_quality else ("scores", {"value": value, "scale": scale})
    if number is not None:
        if simple in VerdictImport.columns["groundedness"]:
            return "groundedness", number
        return "scores", {"value": number, "scale": "0-1"}
    is_label = isinstance(value, str) and simple in VerdictImport.columns["label"]
    return ("label" if is_label else "raw"), value


_GRADED = ("label", "groundedness", "quality", "spans", *GRADE_TEXTS, "failure_modes")


def grade_row(annotator: Any, answers: Mapping[str, Any], at: Any = None) -> list[dict[str, Any]]:
    """Return the grade of a person as a list with one row; an empty list without answers.

    ``answers`` has the answers by question. An answer to a question with the name of a part of a
    grade becomes this part, if the type is right. The other answers are kept in the note.
    """
    row: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in without_nothing(answers).items():
        part = next(
            (part for part in _GRADED if simple_name(name) in GradeImport.columns[part]), None
        )
        if part == "note" and isinstance(value, str):
            notes.insert(0, value)
        elif part is not None and part not in row and _fits(part, value):
            row[part] = value
        else:
            notes.append(f"{name}: {json_text(value)}")
    if not row.keys() - {
        "spans",
        *GRADE_TEXTS,
    }:  # the importer needs a grade, and a text alone is none
        return []
    if notes:
        row["note"] = "\n".join(notes)
    return [row | without_nothing({"annotator": str(annotator)[:MAX_NAME], "at": at})]


def _fits(part: str, value: Any) -> bool:
    if part in {"spans", "failure_modes"}:
        return isinstance(value, list)
    if part == "quality":
        return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4
    return share(value) is not None if part == "groundedness" else isinstance(value, str)


def milliseconds(seconds: Any) -> int | None:
    """Return a duration in whole milliseconds; None for a value that is no number."""
    return (
        round(seconds * 1000)
        if isinstance(seconds, int | float) and math.isfinite(seconds)
        else None
    )


_THUMBS = {"thumb", "thumbs", "like", "liked"}
_FEEDBACK = _THUMBS | {"user", "feedback", "up", "down"}


def user_feedback(name: str, value: Any, comment: str | None = None) -> dict[str, Any] | None:
    """Return the user's feedback in a score with such a name: thumbs (0 or 1) or stars (1 to 5); else None."""
    beside = {"comment": comment} if comment else {}
    if (
        simple_name(name) in ResponseImport.columns["stars"]
        and type(value) in {int, float}
        and 1 <= value <= 5
    ):
        return {"stars": value, **beside}
    words = set(simple_name(name).split("_"))
    # Other kinds of feedback may have scales that begin with 0 or 1.
    plain = "feedback" in words and (isinstance(value, bool) or words <= _FEEDBACK)
    if value not in (0, 1) or not (words & _THUMBS or plain):
        return None
    means_down = "down" in words and "up" not in words
    return {"thumbs": "down" if bool(value) == means_down else "up", **beside}


def shown_reason(text: Any) -> str:
    """Return the first line of an error, for the reason of a rejected row."""
    return shortened((str(text).strip().splitlines() or [""])[0], 200)
