"""The parts of the Import page without widgets: what would be stored of an uploaded file, in words and in tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import pandas as pd

from judgeboard.domain import OVERALL, Preference, Rejected, Shown
from judgeboard.imports.fields import ColumnUse
from judgeboard.imports.importing import ImportSummary, import_file, rejected_line
from judgeboard.imports.kinds import KINDS, kind_class
from judgeboard.store.engine import Store
from judgeboard.store.reviewers import Reviewer
from judgeboard.text import as_utc
from judgeboard_dashboard.widgets.tables import frame
from judgeboard_dashboard.widgets.texts import capital, count, day, when

MOST_REJECTED = 50_000_000  # bytes of rejected rows that are kept to be downloaded
MOST_NAMED = 6
WORDS = {
    "external_id": "id",
    "query": "question",
    "context": "passages",
    "query_type": "query type",
    "generator_model": "written by",
    "generator_cost": "cost of the answer",
    "asked_at": "asked at",
    "feedback": "user feedback",
    "corrected_answer": "corrected answer",
    "pair_id": "id of the pair",
    "answer_a": "answer A",
    "answer_b": "answer B",
    "response_a": "id of answer A",
    "response_b": "id of answer B",
    "model_a": "A written by",
    "model_b": "B written by",
    "verdict_order_ab": "verdict, A first",
    "verdict_order_ba": "verdict, B first",
    "raw_ab": "raw, A first",
    "raw_ba": "raw, B first",
    "judge_version": "judge version",
}
# What a file without it goes without, where that shows on a page.
MISSED = {
    "external_id": "a hash of the row takes its place",
    "query_type": "all are of one type, unspecified",
    "asked_at": "these rows will not show in Trends",
    "context": "groundedness cannot be judged",
}
_LONGEST = 160
_TITLES = {
    "external_id": "Id",
    "response_id": "Id",
    "pair_id": "Id",
    "annotator": "Reviewer",
    "query_type": "Type",
    "asked_at": "Asked",
    "feedback": "User",
    "human": "People",
    "order": "Shown",
    "aspects": "Prefers",
    "verdict_order_ab": "A first",
    "verdict_order_ba": "B first",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which file, and how it is meant; equal choices give equal trials. ``source`` empty is the default."""

    file_id: str
    name: str
    kind: str
    source: str
    mapping: tuple[tuple[str, str], ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of an import."""
        mapping: Mapping[str, str] = dict(self.mapping)
        return {"kind": self.kind, "mapping": mapping, "source": self.source or None, "name": self.name}


@dataclass(slots=True)
class RejectedRows:
    """Rejected rows as lines of JSON; what is beyond the limit is counted only."""

    lines: list[str] = field(default_factory=list)
    size: int = 0
    left_out: int = 0

    def add(self, rejected: Rejected) -> None:
        """Keep one."""
        line = rejected_line(rejected)
        if self.size + len(line) > MOST_REJECTED:
            self.left_out += 1
            return
        self.lines.append(line)
        self.size += len(line)

    def file(self) -> bytes:
        """Return them as a file that can be mended and imported again."""
        return "".join(self.lines).encode()


@dataclass(frozen=True, slots=True)
class Trial:
    """A dry run of an import; ``unmapped`` are the columns as they are recognised without a mapping."""

    choice: Choice
    unmapped: tuple[ColumnUse, ...]
    summary: ImportSummary
    rejected: RejectedRows


@dataclass(frozen=True, slots=True)
class Done:
    """An import that is done."""

    choice: Choice
    summary: ImportSummary
    rejected: RejectedRows


def try_file(
    store: Store, stream: BinaryIO, choice: Choice, on_rows: Callable[[int], None], before: Trial | None = None
) -> Trial:
    """Import a file in a dry run; ``before`` is the previous trial, perhaps of the same file.

    Raises:
        BadInput: It is no file of rows, or the mapping cannot be used.
    """
    summary, rejected = _import(store, stream, choice, on_rows, dry_run=True)
    plain = replace(choice, mapping=())
    if not choice.mapping:
        unmapped = summary.columns
    elif before is not None and replace(before.choice, mapping=()) == plain:
        unmapped = before.unmapped
    else:
        unmapped = _import(store, stream, plain, on_rows, dry_run=True)[0].columns
    return Trial(choice, unmapped, summary, rejected)


def bring_in(
    store: Store, stream: BinaryIO, choice: Choice, on_rows: Callable[[int], None], actor: Reviewer
) -> tuple[ImportSummary, RejectedRows]:
    """Import the file for good.

    Raises:
        BadInput: As `try_file`.
    """
    return _import(store, stream, choice, on_rows, actor=actor)


def _import(
    store: Store, stream: BinaryIO, choice: Choice, on_rows: Callable[[int], None], **more: Any
) -> tuple[ImportSummary, RejectedRows]:
    stream.seek(0)
    rejected = RejectedRows()
    summary = import_file(
        store,
        stream,
        on_progress=lambda rows, _share: on_rows(rows),
        on_rejected=rejected.add,
        **choice.options,
        **more,
    )
    return summary, rejected


def dry_lead(summary: ImportSummary) -> str:
    """Return how many rows can come in: "4,980 of 5,000 rows can come in."."""
    if not summary.rows:
        return "There is no row in this file."
    if not summary.new and not summary.feedback_added and not summary.rejected:
        since = f" since {day(summary.before)}" if summary.before is not None else ""
        return f"Nothing new: all {count(summary.rows, 'row')} are here{since}."
    if not summary.new and not summary.feedback_added:
        return f"None of {count(summary.rows, 'row')} can come in." if not summary.unchanged else "Nothing new."
    if not summary.new:
        return f"{summary.feedback_added:,} of {count(summary.rows, 'row')} bring new feedback on known answers."
    return f"{summary.new:,} of {count(summary.rows, 'row')} can come in."


def dry_details(summary: ImportSummary) -> str:
    """Return what becomes of the others, and that nothing is written yet."""
    parts = []
    plain = summary.rejected - summary.conflicts
    if plain:
        parts.append(f"{plain:,} {'is' if plain == 1 else 'are'} rejected")
    if summary.conflicts:
        verb = "conflicts" if summary.conflicts == 1 else "conflict"
        parts.append(f"{summary.conflicts:,} {verb} with what is here")
    if summary.unchanged and (summary.new or summary.rejected):
        parts.append(f"{summary.unchanged:,} {'is' if summary.unchanged == 1 else 'are'} here already")
    if summary.new and summary.feedback_added:
        parts.append(f"{summary.feedback_added:,} carry user feedback")
    said = f"{', '.join(parts)}. " if parts else ""
    if has_news(summary):
        return f"{said}Nothing is written before you press Import."
    unclear = any(not use.sure for use in summary.columns)
    return f"{said}Say what the columns mean: they are not sure." if unclear and plain else said.strip()


def not_read_words(summary: ImportSummary) -> str:
    """Name the columns that are taken for no field, and say what a row without an id is known by."""
    names = summary.not_read
    if not names or not summary.new:
        return ""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    said = f"Not read: {', '.join(names[:MOST_NAMED])}{more}."
    if not summary.id_from_content:
        return said
    return f"{said} No id: it is made of what is read of a row, so with another column these rows come in once more."


def has_news(summary: ImportSummary) -> bool:
    """Whether an import would change anything."""
    return bool(summary.new or summary.feedback_added)


def done_lead(summary: ImportSummary) -> str:
    """Return what came in: "4,980 answers are in."."""
    what = count(summary.new, KINDS[summary.kind].noun)
    said = f"{what} {'is' if summary.new == 1 else 'are'} in." if summary.new else "No new row came in."
    if summary.feedback_added:
        said += f" {summary.feedback_added:,} with user feedback."
    return said


def button_words(summary: ImportSummary) -> str:
    """Return what the button does."""
    return f"Import {count(summary.new, 'row')}" if summary.new else "Add the feedback"


def required(kind: str, columns: Sequence[ColumnUse]) -> tuple[str, ...]:
    """Return the fields that no row of this file goes without."""
    taken = {use.ours for use in columns if use.ours is not None and use.theirs is not None}
    return kind_class(kind).required(taken)


def field_words(field: str | None) -> str | None:
    """Return a field as people call it."""
    return None if field is None else WORDS.get(field, field)


def columns_frame(kind: str, columns: Sequence[ColumnUse]) -> pd.DataFrame:
    """Return what was recognised as what: the fields that were found, the columns that are none, what is missed."""
    needed = required(kind, columns)
    titles = {"Judgeboard": "str", "In your file": "str", "How": "str", "First row": "str"}
    return frame(
        titles,
        (
            (field_words(use.ours) or "–", use.theirs or "–", how_words(use, needed), shown(use.example))
            for use in _worth_a_line(needed, columns)
        ),
    )


def _worth_a_line(required: Sequence[str], columns: Sequence[ColumnUse]) -> list[ColumnUse]:
    """The columns in the order of interest; a field that no column holds stands there only if somebody misses it."""
    missed = [use for use in columns if use.theirs is None and (use.ours in MISSED or use.ours in required)]
    held = [use for use in columns if use.theirs is not None]
    needed = [use for use in missed if use.ours in required]
    fields = [use for use in held if use.ours is not None]
    return [*needed, *fields, *(use for use in held if use.ours is None), *(use for use in missed if use not in needed)]


def how_words(use: ColumnUse, needed: Sequence[str] = ()) -> str:
    """Return how it was decided, and what goes without a field that matters but is not required."""
    missed = MISSED.get(use.ours or "") if use.theirs is None and use.ours not in needed else None
    passages = f", a list of {len(use.example)}" if use.ours == "context" and isinstance(use.example, list) else ""
    return f"{use.how}{passages}{f': {missed}' if missed else ''}"


def shown(value: Any) -> str | None:
    """Return a value in one line, shortened."""
    if value is None:
        return None
    if isinstance(value, list) and value:
        value = value[0]
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def first_rows(kind: str, records: Sequence[Any]) -> pd.DataFrame:
    """Return the first records as they will be stored; those with other fields than the first are left out."""
    maker = kind_class(kind)(None)
    rows = [maker.as_row(record) for record in records if type(record) is type(records[0])]
    names = [name for name in rows[0] if any(row.get(name) not in (None, [], {}) for row in rows)]
    cells = {name: [_cell(name, row.get(name)) for row in rows] for name in names}
    types = {name: _type(values) for name, values in cells.items()}
    titles = {_TITLES.get(name, capital(WORDS.get(name, name))): types[name] for name in names}
    return frame(titles, zip(*cells.values(), strict=True))


def _type(values: Sequence[object]) -> str:
    kinds = {type(value) for value in values if value is not None}
    return "Int64" if kinds == {int} else "Float64" if kinds and kinds <= {int, float} else "str"


_CELLS: Mapping[str, Callable[[Any], object]] = {
    "context": len,
    "human": len,
    "asked_at": lambda value: when(as_utc(value)),
    "feedback": lambda value: _feedback_words(value[0]) if value else None,
    "order": {Shown.AB: "A first", Shown.BA: "B first"}.get,
    "shown": {Shown.AB: "A first", Shown.BA: "B first"}.get,
}


def _cell(name: str, value: Any) -> object:
    """Return a value of a record's row as the preview shows it."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    if name in _CELLS:
        return _CELLS[name](value)
    if isinstance(value, dict):
        return ", ".join(_aspect_words(aspect, each) for aspect, each in value.items()) or None
    if isinstance(value, list | tuple):
        return ", ".join(
            "–" if one is None else f"{one:g}" if isinstance(one, float) else str(shown(one)) for one in value
        )
    return shown(value)


def _aspect_words(aspect: str, value: Any) -> str:
    """Return a preference, grade or score: "A", or by aspect "depth A", "depth +1"."""
    if isinstance(value, Preference):
        words = "tie" if value is Preference.TIE else value.upper()
    else:
        words = f"{value:+g}" if isinstance(value, int | float) else str(shown(value))
    return words if aspect == OVERALL else f"{aspect} {words}"


def _feedback_words(feedback: Mapping[str, Any]) -> str:
    if "thumbs" in feedback:
        return "thumbs up" if feedback["thumbs"] == 1 else "thumbs down"
    return f"{feedback['stars']:g} stars"
