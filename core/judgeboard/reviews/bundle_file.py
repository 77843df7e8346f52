"""The JSON lines file of an offline bundle: writes the file, and reads the file with a check of every value."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeboard.domain import (
    GRADE_TEXTS,
    LONGEST_KEY,
    NOTES,
    Decision,
    DimensionScore,
    Grade,
    Label,
    Rejected,
)
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Row, Unreadable, find_format, write_whole
from judgeboard.formats.jsonl import json_kind
from judgeboard.formats.label_schema import BUILT_IN, FieldType, LabelSchema, Option, SchemaField
from judgeboard.judges.rubric_file import LEVELS, SCALE
from judgeboard.reviews.checks import ASKED, LONGEST_LOOK
from judgeboard.reviews.leases import LeasedItem
from judgeboard.reviews.shown import ItemText, PairText
from judgeboard.store.leases import OFFLINE, split_token
from judgeboard.store.queues import PAIRS
from judgeboard.store.tables import Queue
from judgeboard.text import unstorable

FORMAT = 1
MOST_NAMED = 20
SIDES = ("left", "tie", "right")
DECISIONS = (Decision.CONFIRM, Decision.DISMISS, Decision.UNSURE)
_NAMES = ("item", "token")
_TEXTS = {
    "answers": ("id", "query_type", "question", "passages", "answer"),
    "pairs": ("query_type", "question", "options", "passages", "left", "right"),
}
_SECONDS = SchemaField("seconds", FieldType.NUMBER, low=0, high=LONGEST_LOOK)
_OF_GRADE = {**BUILT_IN, **{name: SchemaField(name, FieldType.TEXT) for name in GRADE_TEXTS}}
_FIELDS = {
    "answers": (
        SchemaField(
            "decision", FieldType.CATEGORY, options=tuple(Option(each.value) for each in DECISIONS)
        ),
        *_OF_GRADE.values(),
        _SECONDS,
    ),
    "pairs": (
        SchemaField("preference", FieldType.CATEGORY, options=tuple(map(Option, SIDES))),
        *(_OF_GRADE[name] for name in NOTES),
        _SECONDS,
    ),
}
_LEVELS = tuple((level, None) for level in LEVELS)
_FILL_IN = {
    "answers": {
        "decision": "confirm (the answer is bad), dismiss (it is good) or unsure",
        "label": "grounded or hallucinated",
        "groundedness": "0 to 1",
        "quality": "1 to 4",
        "scores": "1 to 5 each",
    },
    "pairs": {"preference": "the side of the better answer: left, tie or right"},
}


class UnusableLine(Exception):
    """A line that cannot be used, with the field and the reason."""

    def __init__(self, line: int, field: str | None, reason: str) -> None:
        super().__init__(f"line {line}{'' if field is None else f', {field}'}: {reason}")


@dataclass(frozen=True, slots=True)
class BundleHead:
    """The first line of a bundle: id, queue and reviewer, and the number of items (None in older files)."""

    bundle: str
    queue: str
    subject: str
    origin: str
    reviewer: str
    items: int | None = None


@dataclass(frozen=True, slots=True)
class BundleLine:
    """A line of a bundle: the texts in the file, and the fields that were filled in."""

    line: int
    item_id: int
    token: str
    texts: Mapping[str, Any]
    decision: Decision | None
    side: str | None
    grade: Grade
    seconds: float | None

    @property
    def filled(self) -> bool:
        """Whether any field of a review is filled in."""
        return self.decision is not None or self.side is not None or self.grade != Grade()


def write_bundle(
    file: Path,
    head: BundleHead,
    until: str,
    queue: Queue,
    schema: LabelSchema | None,
    items: Iterable[tuple[LeasedItem, ItemText]],
) -> None:
    """Write a bundle; the file appears whole or not at all."""
    first: dict[str, Any] = {
        "judgeboard_bundle": FORMAT,
        "bundle": head.bundle,
        "queue": head.queue,
        "subject": head.subject,
        "reviewer": {"origin": head.origin, "name": head.reviewer},
        "items": head.items,
        "leased_until": until,
        "guidelines": queue.guidelines,
        "required": ["preference"] if queue.subject == PAIRS else ["decision", *queue.grades],
        "fill_in": _FILL_IN[head.subject],
    }
    own_fields = () if schema is None else schema.own
    if schema is not None:
        first["required"] += [field.name for field in own_fields if field.required]
        first["fields"] = [
            each for each in schema.as_json()["fields"] if each["name"] not in BUILT_IN
        ]
    lines = [first, *(_line(item, text, own_fields) for item, text in items)]
    text = "".join(f"{json.dumps(line, ensure_ascii=False, allow_nan=False)}\n" for line in lines)
    write_whole(file, lambda stream: stream.write(text.encode()))


def read_bundle(
    file: str | Path, schema_of: Callable[[BundleHead], LabelSchema | None]
) -> tuple[BundleHead, list[BundleLine]]:
    """Read a filled-in bundle and check every line. Errors name the file, the line and the field.

    ``schema_of`` returns the label schema of the queue that the first line names.
    """
    with ByteSource(file) as source:
        try:
            rows = list(find_format(source, "jsonl").read(source))
        except Unreadable as error:
            raise BadInput(f"{source.name}: {error}") from error
        name = source.name
    first, *other_rows = rows or [Rejected(1, None, "no line", None)]
    try:
        head = _head(first.line, _values(first))
    except UnusableLine as wrong:
        raise BadInput(f"{name}, {wrong}") from None
    # The usable lines, one per item, and an error for each unusable line.
    by_item: dict[int, BundleLine] = {}
    unusable: list[UnusableLine] = []
    schema = schema_of(head)
    for row in other_rows:
        try:
            line = _read_line(row.line, _values(row), head, schema)
            if line.item_id in by_item:
                same = by_item[line.item_id].line
                raise UnusableLine(line.line, "item", f"is also on line {same}: keep one line")
        except UnusableLine as wrong:
            unusable.append(wrong)
        else:
            by_item[line.item_id] = line
    lines = list(by_item.values())
    if unusable:
        unlisted = len(unusable) - MOST_NAMED
        error_words = "; ".join(str(line) for line in unusable[:MOST_NAMED])
        raise BadInput(f"{name}, {error_words}{f'; and {unlisted:,} more' if unlisted > 0 else ''}")
    if head.items is not None and len(lines) < head.items:
        raise BadInput(
            f"{name}: it has only {len(lines):,} of its {head.items:,} items. The file was cut off, or lines were "
            "deleted: keep the lines without a review, too"
        )
    return head, lines


def text_values(text: ItemText) -> dict[str, Any]:
    """Return the texts of an item by the names of a bundle."""
    passages = None if text.passages is None else list(text.passages)
    shared = {"query_type": text.query_type, "question": text.question, "passages": passages}
    if isinstance(text, PairText):
        return shared | {"options": list(text.options), "left": text.left, "right": text.right}
    return shared | {"id": text.external_id, "answer": text.answer}


def _line(item: LeasedItem, text: ItemText, own_fields: Iterable[SchemaField]) -> dict[str, Any]:
    subject = "pairs" if isinstance(text, PairText) else "answers"
    texts = text_values(text)
    line = {"item": item.item_id, "token": item.token} | {
        name: texts[name] for name in _TEXTS[subject]
    }
    if subject == "pairs":
        return line | {field.name: None for field in _FIELDS[subject]}
    grades = [grade for grade in ASKED if grade in item.queue.asked]
    nested = {
        "scores": {grade: None for grade in item.queue.asked if grade not in ASKED},
        "fields": {field.name: None for field in own_fields},
    }
    filled_objects = {name: values for name, values in nested.items() if values}
    return (
        line
        | dict.fromkeys(("decision", *grades))
        | filled_objects
        | dict.fromkeys((*GRADE_TEXTS, "seconds"))
    )


def _values(row: Row | Rejected) -> dict[str, Any]:
    if isinstance(row, Rejected):
        raise UnusableLine(row.line, row.field, row.reason)
    return row.values


def _head(line: int, values: dict[str, Any]) -> BundleHead:
    version = values.get("judgeboard_bundle")
    if type(version) is not int:
        raise UnusableLine(
            line, "judgeboard_bundle", "this file does not come from `judgeboard queue export`"
        )
    if version != FORMAT:
        reason = f"version {version} is not supported, only {FORMAT}: use the Judgeboard version that exported it"
        raise UnusableLine(line, "judgeboard_bundle", reason)
    for name in ("bundle", "queue", "subject"):
        if not isinstance(values.get(name), str):
            raise UnusableLine(line, name, "is missing or not a text")
    who = values.get("reviewer")
    if not isinstance(who, dict) or not all(
        isinstance(who.get(key), str) for key in ("origin", "name")
    ):
        raise UnusableLine(line, "reviewer", "is missing or has no origin and name")
    texts = [("bundle", values["bundle"]), ("queue", values["queue"])]
    for name, text in (*texts, ("reviewer", who["origin"]), ("reviewer", who["name"])):
        if fault := unstorable(text):
            raise UnusableLine(line, name, f"cannot be stored: {fault}")
    if values["subject"] not in _TEXTS:
        raise UnusableLine(line, "subject", "must be answers or pairs")
    items = values.get("items")
    if items is not None and (type(items) is not int or items < 0):
        raise UnusableLine(line, "items", "differs from the exported file")
    return BundleHead(
        values["bundle"], values["queue"], values["subject"], who["origin"], who["name"], items
    )


def _read_line(
    line: int, values: dict[str, Any], head: BundleHead, schema: LabelSchema | None
) -> BundleLine:
    texts, nested = _TEXTS[head.subject], "scores" if schema is None else "fields"
    names = [field.name for field in _FIELDS[head.subject]] + (
        [nested] if head.subject == "answers" else []
    )
    for name in values:
        if name not in {*_NAMES, *texts, *names}:
            raise UnusableLine(
                line, name, f"is not a field to fill in; the fields are {', '.join(names)}"
            )
    missing_name = next((name for name in (*_NAMES, *texts) if name not in values), None)
    if missing_name is not None:
        raise UnusableLine(line, missing_name, "is missing: leave the exported values as they are")
    item_id, token = values["item"], values["token"]
    if type(item_id) is not int or not 0 < item_id < 2**63:
        raise UnusableLine(line, "item", "differs from the exported file")
    try:
        token_item_id, secret = split_token(token if isinstance(token, str) else "")
    except BadInput:
        raise UnusableLine(line, "token", "differs from the exported file") from None
    if token_item_id != item_id or not secret.startswith(f"{OFFLINE}{head.bundle}-"):
        raise UnusableLine(line, "token", "belongs to another item or bundle")
    try:
        inputs = {
            field.name: field.checked(values.get(field.name)) for field in _FIELDS[head.subject]
        }
        scores = _scores(line, values.get("scores") or {})
    except BadInput as error:
        raise UnusableLine(line, *str(error).split(": ", 1)) from None
    side, decision, label = inputs.get("preference"), inputs.get("decision"), inputs.get("label")
    parts: dict[str, Any] = {name: inputs.get(name) for name in _OF_GRADE} | {
        "label": label and Label(label)
    }
    grade = Grade(scores=scores, **parts)
    if schema is not None:
        # With a label schema, the line has "fields" too, which precede the columns of the grade.
        fields = values.get("fields") or {}
        if not isinstance(fields, dict):
            raise UnusableLine(
                line, "fields", f"must be an object of fields, not {json_kind(fields)}"
            )
        try:
            grade = schema.grade(schema.values(grade) | fields, grade)
        except BadInput as error:
            raise UnusableLine(line, "fields", str(error)) from None
    if head.subject == "pairs" and side is None and grade != Grade():
        raise UnusableLine(line, "preference", "is missing: fill in left, tie or right")
    return BundleLine(
        line=line,
        item_id=item_id,
        token=token,
        texts={name: values[name] for name in texts},
        decision=None if decision is None else Decision(decision),
        side=side,
        grade=grade,
        seconds=inputs["seconds"],
    )


def _scores(line: int, scores: Any) -> tuple[DimensionScore, ...]:
    if not isinstance(scores, dict):
        raise UnusableLine(
            line, "scores", f"must be an object of dimensions, not {json_kind(scores)}"
        )
    dimension_scores = []
    for name, value in scores.items():
        if not name.strip() or len(name) > LONGEST_KEY or unstorable(name):
            raise UnusableLine(
                line, "scores", f"a dimension must have a name of 1 to {LONGEST_KEY} characters"
            )
        level = SchemaField(f"scores.{name}", FieldType.SCALE, levels=_LEVELS).checked(value)
        if level is not None:
            dimension_scores.append(DimensionScore(name, level, SCALE))
    return tuple(dimension_scores)
