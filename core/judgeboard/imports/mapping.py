"""Proposes the mapping of a file (which column is which field), and tries the mapping on the first rows."""

import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from judgeboard.domain import Response
from judgeboard.errors import BadInput
from judgeboard.imports.dates import DateOrder, DatesOfColumn, dates_of
from judgeboard.imports.fields import (
    BESIDE,
    EXTRA,
    Cells,
    Columns,
    ColumnUse,
    Unusable,
    fault_in,
    is_beside,
    nested_names,
    simple_name,
)
from judgeboard.imports.kinds import KINDS, ImportKind, kind_class
from judgeboard.imports.proposals import FILE_NAME, are_stars, is_time, judged_columns, propose
from judgeboard.imports.values import Meanings, is_missing
from judgeboard.store.filters import metadata_path, value_at
from judgeboard.text import shortened

LEAST_FIT = 0.95
"""The share of the tried rows that a mapping must read."""
TIMES = frozenset({"asked_at", "at"})
TEXTS = ("query", "answer", "context")
_TEXTS = frozenset({"query", "answer"})  # an object in these fields has the text inside
_OPTIONAL = frozenset({"context"})  # optional fields that values show in columns with any name
_LABEL, _BY_PERSON = "grades.label", {"grades.annotator": "human"}  # a label without a name
_EXAMPLES = 50  # rows from which fields are proposed


@dataclass(frozen=True, slots=True)
class MappedField:
    """A field, the column (None: the same value in all rows), and up to two values in the stored form."""

    ours: str
    theirs: str | None
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileMapping:
    """How the columns of a file are read.

    ``kind`` is the kind of the rows. ``columns``, ``{theirs: ours}``, and ``constants``, ``{ours:
    value}``, map fields that the names of the columns do not show. ``missing`` are the required
    fields without a column. ``left_over`` are the columns that are not read. ``dates`` is a column
    of dates with the year last, with the order if one date shows the order. ``rows`` were tried.
    ``fit`` is the share of the tried rows that can be stored. ``is_certain`` is False if a person
    must look at the mapping first. ``further`` is the column and the field of a label that a person
    may have given.
    """

    file: str
    kind: str
    fields: tuple[MappedField, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    dates: DatesOfColumn | None = None
    rows: int = 0
    fit: float = 0.0
    is_certain: bool = False
    further: tuple[str, str] | None = None
    other_step: str | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the tried rows can be stored with this mapping, once the order of day and month is known."""
        return not self.missing and self.fit >= LEAST_FIT

    @property
    def reads_some(self) -> bool:
        """Whether at least one of the tried rows can be stored: a person decides whether the others are rejected."""
        return not self.missing and self.fit > 0

    @property
    def asks_dates(self) -> DatesOfColumn | None:
        """The column whose dates may have the day or the month first."""
        return self.dates if self.dates is not None and self.dates.order is None else None

    def words(self, typed: Collection[str] = (), *, kind: bool = True) -> tuple[str, ...]:
        """Return the options of `judgeboard import` for the mapping, without the columns and fields in ``typed``."""
        of_kind = ("--kind", self.kind) if kind and self.kind != "responses" else ()
        columns = [
            f"{theirs}={ours}" for theirs, ours in self.columns.items() if theirs not in typed
        ]
        constants = [
            f"{ours}={value}" for ours, value in self.constants.items() if ours not in typed
        ]
        pairs = [*(("--map", each) for each in columns), *(("--set", each) for each in constants)]
        return (*of_kind, *itertools.chain.from_iterable(pairs))

    @property
    def unclear(self) -> str:
        """The reason why the mapping is not clear."""
        if self.other_step is not None:
            return self.other_step
        if self.missing:
            return f"no column was recognised as {' or '.join(self.missing)}"
        if not self.is_usable:
            return f"only {self.fit * 100:.0f} % of the first rows can be read"
        if self.asks_dates is not None:
            return f"the dates of {self.asks_dates.column!r} may have the day or the month first"
        return "look at the columns first"


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of a file, with the options for reading.

    In rows ``of_turns``, passages may be in the metadata, and scores may be about the whole
    conversation.
    """

    file: str
    rows: Sequence[Mapping[str, Any]]
    textual: bool
    meanings: Meanings
    dates: DateOrder | None
    of_turns: bool = False

    def mapping(
        self, kind: str, mapped: Mapping[str, str], constants: Mapping[str, str]
    ) -> FileMapping:
        """Return the mapping of the rows as a kind; ``mapped`` and ``constants`` are options of a request."""
        class_ = kind_class(kind)
        column_of = self._taken(columns_of(class_, mapped, constants, self.meanings))
        fields = {*column_of, *mapped.values()}
        # A question may be missing, but a column of questions is looked for.
        required_fields = class_.needed if kind == "responses" else class_.required(column_of)
        missing_fields = [ours for ours in required_fields if ours not in fields]
        used_columns = {*column_of.values(), *mapped}
        open_ = used_columns - {column_of.get("metadata")} if self.of_turns else used_columns
        free = {
            name: values
            for name, values in self._columns(open_).items()
            if name not in used_columns
        }
        # Proposed are missing fields, and verdicts or grades beside the answers.
        columns, values_of_all = dict(mapped), dict(constants)
        sure = not missing_fields
        rating = column_of.get("feedback")
        if rating is not None and "stars" not in fields and are_stars(self._columns(set())[rating]):
            columns[rating] = "stars"
        if kind == "responses" and not self.of_turns:
            names = {name for row in self.rows[:_EXAMPLES] for name in row}
            top = {
                name: values for name, values in self._columns(set(mapped)).items() if name in names
            }
            for name, beside in judged_columns(top).items():
                if not any(ours.startswith(f"{name}.") for ours in (*mapped.values(), *constants)):
                    columns |= {
                        theirs: ours
                        for theirs, ours in beside.columns.items()
                        if theirs not in mapped
                    }
                    values_of_all |= beside.constants
                    sure &= beside.is_sure
        if missing_fields or class_.brings_answers:
            likely = [ours for ours in class_.columns if ours not in fields]
            proposals = propose(class_.columns, missing_fields, likely, free)
            columns |= {
                theirs: ours
                for theirs, ours in proposals.items()
                if theirs not in columns and (not sure or ours in _OPTIONAL)
            }
        mapping = self._tried(kind, columns, values_of_all, mapped, sure=sure)
        label = next((name for name in mapping.left_over if simple_name(name) == "label"), None)
        if kind != "responses" or label is None or not mapping.is_certain:
            return mapping
        trial = self._tried(
            kind, {**columns, label: _LABEL}, {**values_of_all, **_BY_PERSON}, mapped, sure=True
        )
        return (
            replace(mapping, further=(label, _LABEL))
            if _LABEL in trial.columns.values()
            else mapping
        )

    def texts(self, mapped: Mapping[str, str]) -> list[str]:
        """Return the columns of question, answer and passages that names or values show."""
        class_ = kind_class("responses")
        column_of = self._taken(columns_of(class_, mapped, {}, self.meanings))
        free = self._columns({*column_of.values()})
        missing_fields = [ours for ours in TEXTS if ours not in column_of]
        columns = {name: values for name, values in free.items() if name not in column_of.values()}
        column_of |= {
            ours: theirs
            for theirs, ours in propose(
                class_.columns, _TEXTS.intersection(missing_fields), missing_fields, columns
            ).items()
        }
        return [column_of[ours] for ours in TEXTS if ours in column_of]

    def _tried(
        self,
        kind: str,
        columns: dict[str, str],
        constants: dict[str, str],
        mapped: Mapping[str, str],
        *,
        sure: bool,
    ) -> FileMapping:
        """Return the mapping without the columns that do not fit the rows."""
        while True:
            trial = _Trial(self, kind, columns, constants)
            if trial.likely.keys() - constants.keys():
                constants, sure = {**trial.likely, **constants}, False
                continue
            unfit = (
                trial.unfit - mapped.keys()
                if kind == "responses"
                else trial.unfit & columns.keys() - mapped.keys()
            )
            if not unfit:
                break
            for theirs in unfit:
                ours = columns.get(theirs, EXTRA)
                group, dot, _ = ours.partition(".")
                if dot and group in BESIDE:  # the verdict or the grade cannot be read as a whole
                    columns = {
                        name: each
                        for name, each in columns.items()
                        if not each.startswith(f"{group}.")
                    }
                    constants = {
                        name: each
                        for name, each in constants.items()
                        if not name.startswith(f"{group}.")
                    }
                elif theirs in columns and ours != EXTRA:
                    del columns[theirs]
                else:
                    columns[theirs] = EXTRA
        return trial.result(sure=sure)

    def _taken(self, columns: Columns) -> dict[str, str]:
        column_of: dict[str, str] = {}
        for values in self.rows:
            unfolded = columns.unfolded(dict(values))
            plan, _ = columns.plan(unfolded, counts=False)
            column_of |= _of_texts(plan, unfolded)
        return column_of

    def _columns(self, used_columns: set[str]) -> dict[str, list[Any]]:
        """Return the first values of the columns, and of the values inside columns that are not used."""
        values: dict[str, list[Any]] = {}
        for row in self.rows[:_EXAMPLES]:
            for name in [
                *row,
                *nested_names(
                    {name: each for name, each in row.items() if name not in used_columns}
                ),
            ]:
                try:
                    path = (name,) if name in row else metadata_path(name)
                except BadInput:  # a name that --map cannot give
                    continue
                values.setdefault(name, []).append(value_at(row, path))
        return values


class _Trial:
    """Reads the first rows with a mapping, and notes the columns that do not fit."""

    def __init__(
        self, first: FirstRows, kind: str, columns: Mapping[str, str], constants: Mapping[str, str]
    ) -> None:
        self.first, self.kind, self.columns, self.constants = first, kind, columns, constants
        self._class = kind_class(kind)
        self._plans = columns_of(self._class, columns, constants, first.meanings)
        self.read = 0
        self.values: dict[str, list[str]] = {}
        self.taken: dict[str, str] = {}
        rows = []
        for row in first.rows:
            values = self._plans.unfolded(dict(row))
            column_of, others = self._plans.plan(values, counts=False)
            self.taken |= _of_texts(column_of, values)
            rows.append((values, column_of, others))
        self.dates = self._dates()
        order = first.dates or (None if self.dates is None else self.dates.order)
        self._reading = self._class("default")
        self._beside = {name: kind_class(name)("default") for name in BESIDE}
        self._faults: Counter[str] = Counter()
        self._times: Counter[str] = Counter()
        self._files: Counter[str] = Counter()  # values that are no question or answer
        cells = [
            Cells(
                values,
                column_of,
                others,
                first.textual,
                meanings=first.meanings,
                dates=order,
                judged=any(map(is_beside, column_of)),
                masks=None,  # a look at the file stores nothing
            )
            for values, column_of, others in rows
        ]
        self.likely = self._reading.look(cells)
        for each in cells:
            self._try(each)

    @property
    def unfit(self) -> set[str]:
        """The columns whose values do not fit.

        A field recognised by name stays, but a column with repeated values is no id.
        """
        names = {*self.columns, *(self.taken[name] for name in {"external_id"} & self.taken.keys())}
        faults = {name: self._faults[name] for name in names} | self._files
        return {
            name for name, count in faults.items() if count > (1 - LEAST_FIT) * self._times[name]
        }

    def _try(self, cells: Cells) -> None:
        """Read a row, and count the columns that cannot be read."""
        column_of = cells.taken
        self._times.update(
            theirs for ours, theirs in column_of.items() if cells.get(ours) is not None
        )
        if fault_in(dict(cells.values)):
            return
        texts = [
            (column_of[ours], cells.get(ours))
            for ours in _TEXTS & column_of.keys()
            if column_of[ours] != ours
        ]
        self._files.update(
            name
            for name, text in texts
            if isinstance(text, str) and FILE_NAME.fullmatch(text.strip())
        )
        try:
            record = self._reading.build(cells)
        except Unusable as error:
            self._faults.update(
                [column_of[error.field]]
                if error.field is not None and error.field in column_of
                else ()
            )
            return
        self.read += 1
        undecided = (
            self.dates.column if self.dates is not None and self.dates.order is None else None
        )
        self._faults.update(cells.unread.keys() - {column_of.get("external_id"), undecided})
        for ours, theirs in column_of.items():
            if theirs in cells.unread or (value := cells.get(ours)) is None:
                continue
            # Show the value in the stored form.
            if isinstance(record, Response):
                if ours == "context" and record.passages is not None:
                    passages = record.passages
                    value = f"{len(passages)}: {passages[0]}" if passages else "none"
                elif ours == "feedback":
                    value = ", ".join(each.words for each in record.feedback)
                else:
                    value = getattr(record, ours, value)
            self._show(ours, str(value))
        for ours, value in self._plans.parts_of(cells.values):
            self._show(ours, str(value))
        for name, importing in self._beside.items() if isinstance(record, Response) else ():
            cells_beside = beside_cells(cells, name, record)
            try:
                if cells_beside is not None:
                    importing.build(cells_beside)
            except Unusable:
                self._faults.update(
                    theirs for ours, theirs in column_of.items() if ours.startswith(f"{name}.")
                )

    def _show(self, ours: str, value: str) -> None:
        examples = self.values.setdefault(ours, [])
        if len(examples) < 2:
            examples.append(shortened(" ".join(value.split()), 60))

    def result(self, *, sure: bool) -> FileMapping:
        """Return the mapping that was tried."""
        first, column_of = self.first, self.taken
        missing_fields = tuple(
            ours for ours in self._class.required(column_of) if ours not in column_of
        )
        columns = {
            **column_of,
            **{ours: theirs for theirs, ours in self.columns.items() if ours != EXTRA},
        }
        fields = [
            MappedField(ours, theirs, tuple(self.values.get(ours, ())))
            for ours, theirs in columns.items()
            if ours != theirs or ours in self._class.columns or ours in self.constants
        ]
        read = {*columns.values()}
        others = [
            {name: value for name, value in row.items() if name not in read}
            for row in first.rows[:_EXAMPLES]
        ]
        inside = {
            name: nested_names({name: value}) for row in others for name, value in row.items()
        }
        left_over = dict.fromkeys(
            each for name, names in inside.items() for each in names or [name] if each not in read
        )
        # A column of scores has the name of the dimension.
        for use in self._reading.uses([ColumnUse(None, name, "") for name in left_over]):
            if use.ours is not None and use.theirs is not None:
                del left_over[use.theirs]
                values = tuple(str(row.get(use.theirs, "")) for row in first.rows[:2])
                fields.append(MappedField(use.ours, use.theirs, values))
        return FileMapping(
            first.file,
            self.kind,
            tuple(
                replace(each, theirs=None) if each.ours in self.constants else each
                for each in fields
            ),
            self.columns,
            self.constants,
            missing_fields,
            tuple(left_over),
            self.dates,
            len(first.rows),
            self.read / max(1, len(first.rows)),
            sure
            and not missing_fields
            and not (self.dates is not None and self.dates.order is None),
            other_step=self._class.other_step(column_of) if missing_fields else None,
        )

    def _dates(self) -> DatesOfColumn | None:
        """Return the column of dates with the year last; None without a clear order if others have the year first."""
        for theirs in (
            self.taken[ours] for ours in TIMES & self.taken.keys() if self.first.dates is None
        ):
            values = [value for row in self.first.rows if not is_missing(value := row.get(theirs))]
            dates = dates_of(theirs, values)
            if dates is not None and (dates.order is not None or not any(map(is_time, values))):
                return dates
        return None


def _of_texts(column_of: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of fields without a question or an answer that is an object: the text is inside the object."""
    return {
        ours: theirs
        for ours, theirs in column_of.items()
        if not (ours in _TEXTS and isinstance(values[theirs], dict))
    }


def columns_of(
    kind: type[ImportKind[Any]],
    mapped: Mapping[str, str],
    constants: Mapping[str, str],
    meanings: Meanings,
    *,
    names_source: bool = False,
) -> Columns:
    """Return the `Columns` for the fields of a kind, and of the kinds beside answers.

    With ``names_source``, a column ``source`` is the source also in files without a column
    ``external_id``.
    """
    return Columns(
        fields_of(kind),
        mapped,
        left_over=kind.left_over,
        reads_left_over=kind.reads_left_over,
        meanings=meanings,
        constants=constants,
        own_export_only=kind.own_export_only - ({"source"} if names_source else set()),
    )


def fields_of(kind: type[ImportKind[Any]]) -> dict[str, tuple[str, ...]]:
    """Return the names of columns by field, also of the kinds beside answers."""
    fields = dict(kind.columns)
    if kind is kind_class("responses"):
        for name in BESIDE:
            fields |= {f"{name}.{ours}": (f"{name}_{ours}",) for ours in kind_class(name).columns}
    return fields


def beside_cells(cells: Cells, kind: str, answer: Response) -> Cells | None:
    """Return the verdict or the grade in the row of an answer, None if the row has none."""
    prefix = f"{kind}."
    column_of = {
        ours.removeprefix(prefix): theirs
        for ours, theirs in cells.taken.items()
        if ours.startswith(prefix)
    }
    values = [
        cells.get(f"{prefix}{name}")
        for name in ("label", "groundedness", "quality", "scores", "aspects", "status")
    ]
    if all(value in (None, "", {}) for value in values):
        return None
    meanings = {
        name.removeprefix(prefix): words
        for name, words in cells.meanings.items()
        if name.startswith(prefix)
    }
    answer_fields = {"external_id": answer.external_id, "source": answer.source or None}
    return replace(
        cells,
        values={**cells.values, **answer_fields},
        taken={**column_of, **{name: name for name in answer_fields}},
        extra=(),
        parsed={},
        meanings=meanings,
        unread={},
    )


def kinds_of(row: Mapping[str, Any]) -> list[str]:
    """Return the kinds whose required fields are columns of a row by name, kinds with answers first."""
    fit = []
    for name in KINDS:
        column_of = columns_of(kind_class(name), {}, {}, {}).plan(row, counts=False)[0]
        if all(ours in column_of for ours in kind_class(name).required(column_of)):
            fit.append(name)
    return sorted(
        fit, key=lambda name: (not kind_class(name).brings_answers, -len(kind_class(name).needed))
    )


def mapping_of(
    first: FirstRows, kind: str | None, mapped: Mapping[str, str], constants: Mapping[str, str]
) -> FileMapping:
    """Return the mapping of a file. Without a kind, the rows are answers, unless only another kind fits."""
    # An exported flag repeats a verdict, but is no verdict.
    if kind is None and first.rows and "raise_key" not in first.rows[0]:
        column_of, _ = columns_of(kind_class("responses"), {}, {}, {}).plan(
            first.rows[0], counts=False
        )
        fields = {*column_of, *mapped.values()}
        # Rows with the answer in a column with a known name are answers.
        for name in () if "answer" in fields else (*kinds_of(first.rows[0]), "responses", "grades"):
            if "query" in fields and not kind_class(name).brings_answers:
                continue  # the answers are in columns with other names
            # A field that a person named may be of another kind.
            with suppress(BadInput):
                mapping = first.mapping(name, mapped, constants)
                if mapping.is_usable:
                    return mapping
    return first.mapping(kind or "responses", mapped, constants)
