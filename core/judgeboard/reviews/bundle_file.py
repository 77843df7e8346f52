"""The file of an offline bundle: its lines, written and read with every value checked."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeboard.domain import Decision, DimensionScore, Grade, Label, Rejected, checked_groundedness, checked_quality
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Row, Unreadable, write_whole
from judgeboard.formats.jsonl import json_kind, read
from judgeboard.judges.rubric_file import LEVELS, SCALE
from judgeboard.reviews.checks import LONGEST_KEY, LONGEST_LOOK, checked_seconds
from judgeboard.reviews.leases import LeasedItem, split_token
from judgeboard.reviews.queues import ASKED
from judgeboard.reviews.shown import ItemText, PairText
from judgeboard.store.leases import OFFLINE
from judgeboard.text import unstorable


class UnusableLine(Exception):
    """What cannot be used of a line, with the field."""

    def __init__(self, line: int, field: str | None, reason: str) -> None:
        super().__init__(f"line {line}{'' if field is None else f', {field}'}: {reason}")


class FilledIn:
    """Reads what was filled in on a line."""

    def __init__(self, line: int, values: Mapping[str, Any]) -> None:
        self._line, self._values = line, values

    def choice(self, name: str, known: Iterable[str]) -> str | None:
        """Return one of a few words, None where nothing is chosen."""
        value = self._values.get(name)
        if value is None or value == "":
            return None
        choices = [str(each) for each in known]
        if value not in choices:
            raise UnusableLine(self._line, name, f"is one of {', '.join(choices)}, not {_shown(value)}")
        return str(value)

    def text(self, name: str) -> str | None:
        """Return a text, None for a blank one."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise UnusableLine(self._line, name, f"is a text, not {json_kind(value)}")
        if reason := unstorable(value):
            raise UnusableLine(self._line, name, f"cannot be stored: {reason}")
        return value if value.strip() else None

    def seconds(self) -> float | None:
        """Return how long somebody says to have looked."""
        value = self._values.get("seconds")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UnusableLine(self._line, "seconds", f"is a number, not {json_kind(value)}")
        try:
            return checked_seconds(float(value))
        except (BadInput, OverflowError):
            raise UnusableLine(self._line, "seconds", f"is a number of seconds from 0 to {LONGEST_LOOK:,}") from None

    def grade(self) -> Grade:
        """Return the grade that label, scores, note and corrected answer make."""
        label, note = self.choice("label", Label), self.text("note")
        for name, check in (("groundedness", checked_groundedness), ("quality", checked_quality)):
            try:
                check(self._values.get(name))
            except (ValueError, OverflowError) as error:
                raise UnusableLine(self._line, name, str(error)) from None
        return Grade(
            label=None if label is None else Label(label),
            groundedness=checked_groundedness(self._values.get("groundedness")),
            quality=self._values.get("quality"),
            note=None if note is None else note.strip(),
            corrected_answer=self.text("corrected_answer"),
            scores=self._scores(),
        )

    def _scores(self) -> tuple[DimensionScore, ...]:
        given = self._values.get("scores")
        if given is None:
            return ()
        if not isinstance(given, dict):
            raise UnusableLine(self._line, "scores", f"is an object of dimensions, not {json_kind(given)}")
        for name, value in given.items():
            if not name.strip() or len(name) > LONGEST_KEY or unstorable(name):
                raise UnusableLine(self._line, "scores", f"a dimension has a name of 1 to {LONGEST_KEY} characters")
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and value in LEVELS):
                raise UnusableLine(self._line, f"scores.{name}", f"is a whole number from 1 to 5, not {_shown(value)}")
        return tuple(DimensionScore(name, value, SCALE) for name, value in given.items() if value is not None)


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


FORMAT = 1
MOST_NAMED = 20
SIDES = ("left", "tie", "right")
DECISIONS = (Decision.CONFIRM, Decision.DISMISS, Decision.UNSURE)
_HEAD = ("judgeboard_bundle", "bundle", "queue", "subject", "reviewer")
_NAMES = ("item", "token")
_TEXTS = {
    "answers": ("id", "query_type", "question", "passages", "answer"),
    "pairs": ("query_type", "question", "options", "passages", "left", "right"),
}
_FIELDS = {
    "answers": ("decision", "label", "groundedness", "quality", "scores", "note", "corrected_answer", "seconds"),
    "pairs": ("preference", "note", "seconds"),
}
_HOW = {
    "answers": {
        "decision": "confirm (the answer is bad), dismiss or unsure",
        "label": "grounded or hallucinated",
        "groundedness": "0 to 1",
        "quality": "1 to 4",
        "scores": "1 to 5 each",
    },
    "pairs": {"preference": "left, tie or right: which answer is better"},
}


@dataclass(frozen=True, slots=True)
class BundleHead:
    """What the first line of a bundle says: which one it is, of which queue, for whom, how many items follow.

    ``items`` is None in a bundle that was written before it was said.
    """

    bundle: str
    queue: str
    subject: str
    origin: str
    reviewer: str
    items: int | None = None


@dataclass(frozen=True, slots=True)
class BundleLine:
    """A line as it came back: the texts as they stand in the file, and what was filled in."""

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
        """Whether anything is said."""
        return self.decision is not None or self.side is not None or self.grade != Grade()


def write_bundle(
    file: Path, head: BundleHead, until: str, guidelines: str | None, items: Iterable[tuple[LeasedItem, ItemText]]
) -> None:
    """Write a bundle; the file appears whole or not at all.

    Raises:
        BadInput: It cannot be written.
    """
    first = {
        "judgeboard_bundle": FORMAT,
        "bundle": head.bundle,
        "queue": head.queue,
        "subject": head.subject,
        "reviewer": {"origin": head.origin, "name": head.reviewer},
        "items": head.items,
        "held_until": until,
        "guidelines": guidelines,
        "fill_in": _HOW[head.subject],
    }
    lines = [first, *(_line(held, text) for held, text in items)]
    text = "".join(f"{json.dumps(line, ensure_ascii=False, allow_nan=False)}\n" for line in lines)
    write_whole(file, lambda stream: stream.write(text.encode()))


def read_bundle(file: str | Path) -> tuple[BundleHead, list[BundleLine]]:
    """Return a bundle as it came back, checked to its last line.

    Raises:
        BadInput: It cannot be read, is no bundle or not all of one, or lines cannot be used: the message names the
            file, and line and field of the first 20.
    """
    with ByteSource(file) as source:
        try:
            rows = list(read(source))
        except Unreadable as error:
            raise BadInput(f"{source.name}: {error}") from error
        name = source.name
    first, *others = rows or [Rejected(1, None, "no line", None)]
    try:
        head = _head(_values(first))
    except UnusableLine as wrong:
        raise BadInput(f"{name}, {wrong}") from None
    lines, unusable = _read_lines(others, head)
    if unusable:
        more = len(unusable) - MOST_NAMED
        named = "; ".join(str(one) for one in unusable[:MOST_NAMED])
        raise BadInput(f"{name}, {named}{f'; and {more:,} more' if more > 0 else ''}")
    if head.items is not None and len(lines) < head.items:
        raise BadInput(
            f"{name}: {len(lines):,} of its {head.items:,} items are there: it was cut off, or lines were deleted; "
            "a line that says nothing stays as it came"
        )
    return head, lines


def text_values(text: ItemText) -> dict[str, Any]:
    """Return the texts of an item as they stand in a bundle."""
    passages = None if text.passages is None else list(text.passages)
    shared = {"query_type": text.query_type, "question": text.question, "passages": passages}
    if isinstance(text, PairText):
        return shared | {"options": list(text.options), "left": text.left, "right": text.right}
    return shared | {"id": text.external_id, "answer": text.answer}


def _line(held: LeasedItem, text: ItemText) -> dict[str, Any]:
    subject = "pairs" if isinstance(text, PairText) else "answers"
    texts = text_values(text)
    line = {"item": held.item_id, "token": held.token} | {name: texts[name] for name in _TEXTS[subject]}
    if subject == "pairs":
        return line | dict.fromkeys(_FIELDS[subject])
    asked = [grade for grade in ASKED if grade in held.queue.grades]
    dimensions = {grade: None for grade in held.queue.grades if grade not in ASKED}
    scores = {"scores": dimensions} if dimensions else {}
    return line | dict.fromkeys(("decision", *asked)) | scores | dict.fromkeys(("note", "corrected_answer", "seconds"))


def _values(row: Row | Rejected) -> tuple[int, dict[str, Any]]:
    if isinstance(row, Rejected):
        raise UnusableLine(row.line, row.field, row.reason)
    return row.line, row.values


def _head(given: tuple[int, dict[str, Any]]) -> BundleHead:
    line, values = given
    if values.get("judgeboard_bundle") != FORMAT:
        raise UnusableLine(line, "judgeboard_bundle", "this is no bundle of `judgeboard queue export`")
    for name in _HEAD[1:4]:
        if not isinstance(values.get(name), str):
            raise UnusableLine(line, name, "is missing or no text")
    who = values.get("reviewer")
    if not isinstance(who, dict) or not all(isinstance(who.get(key), str) for key in ("origin", "name")):
        raise UnusableLine(line, "reviewer", "is missing or names nobody")
    if values["subject"] not in _TEXTS:
        raise UnusableLine(line, "subject", "is answers or pairs")
    items = values.get("items")
    if items is not None and (isinstance(items, bool) or not isinstance(items, int)):
        raise UnusableLine(line, "items", "is not the number that the file came with")
    return BundleHead(values["bundle"], values["queue"], values["subject"], who["origin"], who["name"], items)


def _read_lines(rows: Iterable[Row | Rejected], head: BundleHead) -> tuple[list[BundleLine], list[UnusableLine]]:
    """Return the lines of the items, and what cannot be used of them; an item that stands twice is there once."""
    lines: dict[int, BundleLine] = {}
    unusable: list[UnusableLine] = []
    for row in rows:
        try:
            one = _read_line(row.line, _values(row), head)
            if one.item_id in lines:
                first = lines[one.item_id].line
                raise UnusableLine(one.line, "item", f"stands on line {first} already: keep one")
        except UnusableLine as wrong:
            unusable.append(wrong)
        else:
            lines[one.item_id] = one
    return list(lines.values()), unusable


def _read_line(line: int, given: tuple[int, dict[str, Any]], head: BundleHead) -> BundleLine:
    values, texts, fields = given[1], _TEXTS[head.subject], _FIELDS[head.subject]
    for name in values:
        if name not in {*_NAMES, *texts, *fields}:
            raise UnusableLine(line, name, f"is no field of a bundle's line; there are {', '.join(fields)}")
    missing = next((name for name in (*_NAMES, *texts) if name not in values), None)
    if missing is not None:
        raise UnusableLine(line, missing, "is missing: leave what the file came with as it is")
    item_id, token = _item(line, values, head)
    said = FilledIn(line, values)
    side, decision = said.choice("preference", SIDES), said.choice("decision", DECISIONS)
    grade, seconds = said.grade(), said.seconds()
    if head.subject == "pairs" and side is None and grade != Grade():
        raise UnusableLine(line, "preference", "is missing: say left, tie or right")
    return BundleLine(
        line=line,
        item_id=item_id,
        token=token,
        texts={name: values[name] for name in texts},
        decision=None if decision is None else Decision(decision),
        side=side,
        grade=grade,
        seconds=seconds,
    )


def _item(line: int, values: Mapping[str, Any], head: BundleHead) -> tuple[int, str]:
    item_id, token = values["item"], values["token"]
    if isinstance(item_id, bool) or not isinstance(item_id, int) or not 0 < item_id < 2**63:
        raise UnusableLine(line, "item", "is not the number that the file came with")
    try:
        named, secret = split_token(token if isinstance(token, str) else "")
    except BadInput:
        raise UnusableLine(line, "token", "is not what the file came with") from None
    if named != item_id or not secret.startswith(f"{OFFLINE}{head.bundle}-"):
        raise UnusableLine(line, "token", "is of another item or bundle")
    return item_id, token
