"""The trial (dry run) of an uploaded file in sentences and tables, for the Import page."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Unpack

from judgeboard.domain import Rejected
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.imports.fields import ColumnUse
from judgeboard.imports.importing import ImportSummary, OnProgress, import_file
from judgeboard.imports.kinds import KINDS, kind_class
from judgeboard.imports.mapping import FileMapping, MappedField
from judgeboard.imports.reading import ImportRequest
from judgeboard.imports.rejected_rows import rejected_line
from judgeboard.store.tables import Reviewer
from judgeboard.text import shortened
from judgeboard_dashboard.session import store
from judgeboard_dashboard.widgets.texts import UNKNOWN, count

MAX_REJECTED = 10_000_000  # bytes of rejected rows that can be downloaded
WORDS = {
    "external_id": "id",
    "query": "question",
    "context": "passages",
    "generator_model": "written by",
    "generator_cost": "cost of the answer",
    "feedback": "user feedback",
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
}
# The effect of a missing field, for fields whose absence shows on a page.
MISSED = {
    "external_id": "ids are derived from the content",
    "query_type": "all answers get the type unspecified",
    "asked_at": "Trends will not include these rows",
    "context": "groundedness is not available",
}
_LONGEST = 160  # characters of a cell


@dataclass(frozen=True, slots=True)
class Choice:
    """An uploaded file and how to import the file; equal choices give equal trials."""

    file_id: str
    request: ImportRequest

    @property
    def kind(self) -> str | None:
        """The chosen kind of the file, None if the columns show the kind."""
        return self.request["kind"]

    def changed(self, **changes: Unpack[ImportRequest]) -> "Choice":
        """Return the same file with another request."""
        return Choice(self.file_id, self.request | changes)

    @property
    def plain(self) -> "Choice":
        """The same file, without a person's choices for columns and labels."""
        return self.changed(mapping={}, constants={}, values={})


@dataclass(slots=True)
class RejectedRows:
    """Rejected rows as lines of JSON, of ``size`` characters; rows beyond the limit are only counted."""

    lines: list[str] = field(default_factory=list)
    size: int = 0
    left_out: int = 0

    def add(self, rejected: Rejected) -> None:
        """Keep a rejected row, unless the limit is reached."""
        line = rejected_line(rejected)
        self.size += len(line)
        if self.size > MAX_REJECTED:
            self.left_out += 1
        else:
            self.lines.append(line)

    def file(self) -> bytes:
        """Return the rows as a file that can be corrected and imported again."""
        return "".join(self.lines).encode()


@dataclass(frozen=True, slots=True)
class Imported:
    """A finished import or dry run.

    ``others`` are the imports of the verdicts and grades that an export of another tool has beside
    the answers. A dry run tries these imports only if the answers have nothing new, because verdicts
    and grades need stored answers.
    """

    choice: Choice
    summary: ImportSummary
    rejected: RejectedRows
    others: tuple["Imported", ...] = ()

    @property
    def has_news(self) -> bool:
        """Whether an import would change anything."""
        return has_news(self.summary) or bool(self.new_others)

    @property
    def new_others(self) -> str:
        """The new rows of other kinds: "12 verdicts and 1 grade", or an empty text."""
        new = (
            count(each.summary.new, KINDS[each.summary.kind].noun)
            for each in self.others
            if each.summary.new
        )
        return " and ".join(new)


def try_file(stream: BinaryIO, choice: Choice, on_progress: OnProgress) -> Imported:
    """Import a file in a dry run.

    Raises UnclearFile if a person must check the mapping, and BadInput if the file cannot be used.
    """
    trial = import_upload(stream, choice, on_progress, dry_run=True)
    others = () if has_news(trial.summary) else _others(stream, trial, on_progress, dry_run=True)
    return replace(trial, others=others)


def import_all(
    stream: BinaryIO, choice: Choice, on_progress: OnProgress, *, actor: Reviewer
) -> Imported:
    """Import a file: the answers, and then the verdicts and grades beside the answers."""
    answers = import_upload(stream, choice, on_progress, actor=actor)
    return replace(answers, others=_others(stream, answers, on_progress, actor=actor))


def _others(
    stream: BinaryIO, answers: Imported, on_progress: OnProgress, **more: Unpack[ImportRequest]
) -> tuple[Imported, ...]:
    """Import the rows of other kinds in an export whose answers are stored."""
    if answers.summary.kind != "responses" or not answers.summary.usable:
        return ()
    choice = (
        answers.choice.plain
        if answers.summary.export is not None
        else answers.choice.changed(beside=True)
    )
    others = (choice.changed(kind=kind) for kind in answers.summary.others)
    return tuple(import_upload(stream, choice, on_progress, **more) for choice in others)


def import_upload(
    stream: BinaryIO, choice: Choice, on_progress: OnProgress, **more: Unpack[ImportRequest]
) -> Imported:
    """Import the file as the choice and ``more`` say.

    Raises UnclearFile if the columns or dates are not clear, and BadInput if the mapping cannot be
    used.
    """
    stream.seek(0)
    rejected = RejectedRows()
    summary = import_file(
        store(),
        stream,
        on_progress=on_progress,
        on_rejected=rejected.add,
        **choice.request | more,
    )
    return Imported(choice, summary, rejected)


def dry_lead(trial: Imported) -> str:
    """Return how many rows can be imported: "4,980 of 5,000 rows can be imported."."""
    others = f", and {trial.new_others}" if trial.new_others else ""
    return f"{trial.summary.new:,} of {count(trial.summary.rows, 'row')} can be imported{others}."


def other_rows(summary: ImportSummary) -> str:
    """Return what happens to the rows of a dry run that are not new: "2 rejected, 3 already stored"."""
    numbers = {
        "rejected": summary.rejected - summary.differing,
        "different from stored rows": summary.differing,
        "already stored": summary.unchanged,
        "with user feedback": summary.feedback_added,
    }
    return ", ".join(f"{n:,} {words}" for words, n in numbers.items() if n)


def has_news(summary: ImportSummary) -> bool:
    """Whether an import would change anything."""
    return bool(summary.new or summary.feedback_added)


def done_lead(summary: ImportSummary) -> str:
    """Return what was imported: "4,980 answers were imported."."""
    what = count(summary.new, KINDS[summary.kind].noun)
    words = (
        f"{what} {'was' if summary.new == 1 else 'were'} imported."
        if summary.new
        else "No new rows."
    )
    words += f" {summary.feedback_added:,} with user feedback." if summary.feedback_added else ""
    return f"{words} {count(summary.flags, 'flag')} raised." if summary.flags else words


def required(kind: str, columns: Sequence[ColumnUse]) -> tuple[str, ...]:
    """Return the fields that every row of this file needs."""
    fields = {use.ours for use in columns if use.ours is not None and use.theirs is not None}
    return kind_class(kind).required(fields)


def field_words(field: str | None) -> str | None:
    """Return the name of a field on a page."""
    return None if field is None else WORDS.get(field, field.replace("_", " "))


def columns_table(kind: str, columns: Sequence[ColumnUse]) -> Table:
    """Return the recognised columns, the unknown columns, and the fields that the file lacks."""
    fields = required(kind, columns)
    shown_columns: Columns[ColumnUse] = {
        Column("Judgeboard", width=130): lambda use: field_words(use.ours) or UNKNOWN,
        Column("In your file", width=150): lambda use: use.theirs or UNKNOWN,
        Column("How", width=370): lambda use: _how_words(use, fields),
        Column("First row", width=260): lambda use: shown(use.example),
    }

    def rank(use: ColumnUse) -> int:
        if use.theirs is None:
            return 0 if use.ours in fields else 3
        return 1 if use.ours is not None else 2

    # The most important columns come first; a missing field is listed only if the field matters.
    uses = [
        use for use in columns if use.theirs is not None or use.ours in MISSED or use.ours in fields
    ]
    return Table.of(sorted(uses, key=rank), shown_columns)


def _how_words(use: ColumnUse, fields: Sequence[str]) -> str:
    """Return how a column was recognised, or the effect of a missing field."""
    effect = MISSED.get(use.ours or "") if use.theirs is None and use.ours not in fields else None
    passages = (
        f", a list of {len(use.example)}"
        if use.ours == "context" and isinstance(use.example, list)
        else ""
    )
    return f"{use.how}{passages}{f': {effect}' if effect else ''}"


def shown(value: Any) -> str | None:
    """Return a value in one line, shortened."""
    if isinstance(value, list) and value:
        value = value[0]
    return None if value is None else shortened(" ".join(str(value).split()), _LONGEST)


def mapping_table(mapping: FileMapping) -> Table:
    """Return the fields of a mapping, each with the column and two values in the stored form."""
    fields = (*mapping.fields, *(MappedField(ours, None, ()) for ours in mapping.missing))
    left_over = (MappedField("", theirs, ()) for theirs in mapping.left_over)
    shown_columns: Columns[MappedField] = {
        Column("Judgeboard", width=150): lambda each: field_words(each.ours) or UNKNOWN,
        Column("In your file", width=170): lambda each: each.theirs or UNKNOWN,
        Column("First value", width=280): lambda each: next(iter(each.values), None),
        Column("Second value", width=280): lambda each: (
            each.values[1] if len(each.values) > 1 else None
        ),
    }
    return Table.of([*fields, *left_over], shown_columns)
