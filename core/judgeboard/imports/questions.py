"""What must be known before a file can be imported: which column is which field, and the order of day and month."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from judgeboard.errors import BadInput
from judgeboard.imports.dates import DateOrder, DatesOfColumn, dates_of
from judgeboard.imports.fields import Columns, ColumnUse, nested_names
from judgeboard.imports.kinds import KINDS, ImportKind, kind_meant
from judgeboard.imports.proposals import is_time, propose
from judgeboard.store.filters import metadata_path, value_at

TIMES = frozenset({"asked_at", "at"})
_TEXTS = frozenset({"query", "answer"})  # an object in these fields has the text inside
_TEXTS_OF_LOG = frozenset({"query", "answer", "context"})
_NAMED = 30  # columns in a message
_EXAMPLES = 50  # rows from which fields are guessed


@dataclass(frozen=True, slots=True)
class Question:
    """What a file leaves open.

    ``fields`` has all fields of the kind of file, ``missing`` the required ones without a column, ``columns`` how the
    columns are read so far. ``proposed``,
    ``{theirs: ours}``, has the likely fields of the other columns. ``other_kind`` is the kind of file that the columns
    belong to, if all its required fields are there. ``dates`` is a column whose dates may have day or month first.
    ``rows`` are the first rows of the file, at most 3. ``other_step`` is what to do with such a file in place of an
    import.
    """

    file: str
    fields: tuple[str, ...]
    missing: tuple[str, ...]
    columns: tuple[ColumnUse, ...]
    proposed: Mapping[str, str]
    other_kind: str | None
    dates: DatesOfColumn | None
    rows: Sequence[Mapping[str, Any]]
    other_step: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the file, and the paths of values inside them that have a likely field."""
        names = [use.theirs for use in self.columns if use.theirs is not None]
        return (*names, *(theirs for theirs in self.proposed if theirs not in names))

    @property
    def unproposed(self) -> tuple[str, ...]:
        """The required fields that no column fits."""
        return tuple(ours for ours in self.missing if ours not in self.proposed.values())

    @property
    def kind_alone(self) -> str | None:
        """The other kind of file, if only this kind fits: the other columns cannot have all the required texts."""
        texts = sum(ours in _TEXTS_OF_LOG for ours in self.proposed.values())
        return self.other_kind if self.unproposed and texts < len(self.missing) else None

    @property
    def sentence(self) -> str:
        """What is not clear, in one sentence."""
        if self.other_step is not None:
            return f"{self.file}: {self.other_step}. Nothing was stored."
        if self.kind_alone is not None:
            title = KINDS[self.kind_alone].title.lower()
            return f"{self.file}: the rows look like another kind of file: {title}. Nothing was stored."
        if self.missing:
            return f"{self.file}: no column was recognised as {' or '.join(self.missing)}. Nothing was stored."
        column = "" if self.dates is None else f" of {self.dates.column!r}"
        return f"{self.file}: the dates{column} may have the day or the month first. Nothing was stored."


class UnclearFile(BadInput):
    """A file cannot be imported before its `question` is answered; nothing was stored."""

    def __init__(self, question: Question) -> None:
        answers = [f"--map {theirs}={ours}" for theirs, ours in question.proposed.items()]
        answers += [f"--map COLUMN={ours}" for ours in question.unproposed]
        answers += ["--dates day-first"] if question.dates is not None else []
        names = ", ".join(name or "(no name)" for name in question.names[:_NAMED])
        answer = f"It has {names}. Use for example {' '.join(answers)}"
        if question.kind_alone is not None:
            answer = f"To import them, use --kind {question.kind_alone}"
        super().__init__(question.sentence if question.other_step is not None else f"{question.sentence} {answer}")
        self.question = question


class FirstRows:
    """Collects from the first rows of a file what shows how to read it.

    With an ``order``, the order of day and month is known. ``decided`` is the column whose dates showed it.
    """

    def __init__(self, kind: type[ImportKind[Any]], columns: Columns, order: DateOrder | None) -> None:
        self._kind = kind
        self._columns = columns
        self._order = order
        self._rows: list[Mapping[str, Any]] = []
        self._taken: dict[str, str] = {}
        self._undecided: DatesOfColumn | None = None
        self._has_other_dates = False  # with the year first, or numbers
        self.decided: DatesOfColumn | None = None

    @property
    def order(self) -> DateOrder | None:
        """The order of day and month in dates with the year last; None if it is not known."""
        return self._order if self.decided is None else self.decided.order

    @property
    def is_clear(self) -> bool:
        """Whether all required fields have a column, and the order of day and month is known or not needed.

        A first row without a date, or with a date that has the year first, does not show which dates come later.
        """
        return bool(self._rows) and not self._missing and (self.order is not None or TIMES.isdisjoint(self._taken))

    @property
    def _open_dates(self) -> DatesOfColumn | None:
        return self._undecided if self.order is None else None

    @property
    def _missing(self) -> tuple[str, ...]:
        return tuple(ours for ours in self._kind.required(self._taken) if ours not in self._taken)

    def add(self, values: Mapping[str, Any]) -> None:
        """Add a row."""
        taken, _ = self._columns.plan(values, counts=False)
        if len(self._rows) < _EXAMPLES:
            self._rows.append(values)
        self._taken |= {
            ours: theirs
            for ours, theirs in taken.items()
            if not (ours in _TEXTS and self._kind.brings_answers and isinstance(values[theirs], dict))
        }
        self.add_dates(values)

    def add_dates(self, values: Mapping[str, Any]) -> None:
        """Add the dates of a row."""
        for theirs in {self._taken[ours] for ours in TIMES & self._taken.keys()}:
            value = values.get(theirs)
            dates = dates_of(theirs, [value]) if self.order is None else None
            if dates is not None and dates.order is not None:
                self.decided = dates
            # If the file has other dates, a later one that may be either is one rejected row: the file is not refused.
            self._has_other_dates = self._has_other_dates or (dates is None and is_time(value))
            if not self._has_other_dates:
                self._undecided = self._undecided or dates

    def proposed(self, needed: Collection[str]) -> dict[str, str]:
        """Return the likely fields of columns that are not read, ``{theirs: ours}``."""
        if not self._kind.brings_answers and not needed:
            return {}
        used = {use.theirs for use in self._columns.report() if use.ours in self._taken or use.how.startswith("--map")}
        names: dict[str, list[Any]] = {}
        for values in self._rows:
            for name in [*values, *nested_names(values)]:
                with suppress(BadInput):  # a name that --map cannot give
                    path = (name,) if name in values else metadata_path(name)
                    if path[0] not in used:
                        names.setdefault(name, []).append(value_at(values, path))
        free = [ours for ours in self._kind.columns if ours not in self._taken]
        return propose(self._kind.columns, needed, free, names)

    def question(self, file: str) -> Question | None:
        """Return what is open; None if nothing is."""
        missing, dates = self._missing, self._open_dates
        if not self._rows or not (missing or dates):
            return None
        proposed = self.proposed(missing) if missing else {}
        for theirs in [theirs for theirs, ours in proposed.items() if ours in TIMES and self._order is None]:
            shown = dates_of(theirs, [values.get(theirs) for values in self._rows])
            dates = dates or (shown if shown is not None and shown.order is None else None)
        return Question(
            file,
            tuple(self._kind.columns),
            missing,
            self._columns.report(),
            proposed,
            kind_meant(self._kind, self._taken, self._rows[0]) if missing else None,
            dates,
            self._rows[:3],
            self._kind.other_step(self._taken) if missing else None,
        )
