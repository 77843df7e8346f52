"""Reads the records of a file of any kind: `read_records` opens it as a `Reading`."""

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, Unpack

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput, check_known
from judgeboard.formats.files import AUTO, HELD_BYTES, ByteSource, Row, Unreadable, find_format, first_items
from judgeboard.imports.dates import DateOrder, DatesOfColumn
from judgeboard.imports.exports.entry import IN_MESSAGES
from judgeboard.imports.exports.export import (
    AnswersOfExport,
    Export,
    ExportedRow,
    ExportRows,
    has_needed,
    recognised,
)
from judgeboard.imports.fields import (
    Cells,
    Columns,
    ColumnUse,
    Unusable,
    fault_in,
    field_meant,
)
from judgeboard.imports.kinds import DEFAULT_SOURCE, ImportKind, OfAnotherKind, kind_class, kind_meant
from judgeboard.imports.labels import check_label_set
from judgeboard.imports.questions import FirstRows, Question, UnclearFile
from judgeboard.imports.rejected_rows import rejected_before
from judgeboard.imports.values import Meanings, meanings_of
from judgeboard.people.permissions import Actor, actor_name
from judgeboard.text import MAX_NAME, counted

LOOK_AHEAD = 1_000
FIRST_ROWS = 20  # the rows by which an export of another tool is recognised, if they show anything
RESPONSES = "responses"  # the kind of a file, unless another one is requested
LABELLED = ("grades", "verdicts")  # kinds of files with labels


class ImportRequest(TypedDict, total=False):
    """How a file is imported.

    ``kind`` is one of `KINDS` (default: ``responses``), ``format`` is ``auto`` (the default) or one of `FORMATS`,
    ``mapping`` is ``{theirs: ours}`` for columns that are not recognised. ``values``, ``{field: {word: value}}``, has
    the values of words in a field; an empty value means missing. ``constants``, ``{field: value}``, has the values of
    fields that are the same in all rows.
    ``source`` is the log of rows without a source (default: ``default``; of an export, the source of its tool). For
    kinds that refer to stored responses or pairs, it is the log with these (default: any). With ``names_source``, a
    column ``source`` is the source also in files without a column ``external_id``. With a ``label_set``, the labels of
    grades and verdicts are options of a label schema with this name. ``dates`` is the order of day and month in dates
    with the year last (default: as the file shows). ``export`` reads the rows of another tool (default: it is
    recognised). With ``newer_counts``, a verdict that differs from the stored one is stored as a newer one.
    ``name`` names a stream in messages. ``actor`` is who imports (default: ``library``). A ``dry_run`` stores and
    writes nothing. ``rejected`` is the file of the rejected rows (default: ``FILE.rejected.jsonl``).
    """

    kind: str
    format: str
    mapping: Mapping[str, str] | None
    values: Mapping[str, Mapping[str, str]] | None
    constants: Mapping[str, str] | None
    source: str | None
    names_source: bool
    label_set: str | None
    dates: DateOrder | str | None
    export: Export | None
    newer_counts: bool
    name: str | None
    actor: Actor
    dry_run: bool
    rejected: Path | None


class Reading(Iterator[Any], AbstractContextManager["Reading"]):
    """Reads an import file: an iterator over its records and its `Rejected` rows.

    If the file cannot be read to its end, the last item is a Rejected row and ``unreadable`` is the reason. ``line`` is
    the number of the last line or row, ``row`` its values. In a file of rejected rows, the original rows are read.
    """

    def __init__(self, source: ByteSource, kind: ImportKind[Any], meanings: Meanings, request: ImportRequest) -> None:
        self.name = source.name
        self.kind = kind
        self.unreadable: str | None = None
        self.line = 0
        self.row: dict[str, Any] = {}
        self._source = source
        self._meanings = meanings
        mapping, constants = request.get("mapping") or {}, request.get("constants")
        format_, export, dates = request.get("format", AUTO), request.get("export"), request.get("dates")
        of_keys = any(theirs.startswith(IN_MESSAGES) for theirs in mapping)
        # A format or a mapping says how to read the file, so that nothing has to be recognised. A mapping of keys of
        # messages is for the log of conversations that the file must be.
        self._recognises = of_keys or (format_ == AUTO and not mapping and not constants)
        self._key_mapping = {
            theirs: field_meant(kind.columns, theirs, ours) for theirs, ours in mapping.items() if of_keys
        }
        self.format = find_format(source, format_)
        self._columns = Columns(
            kind.columns,
            {} if of_keys else mapping,
            left_over=kind.left_over,
            reads_left_over=kind.reads_left_over,
            meanings=meanings,
            constants=constants,
            own_export_only=kind.own_export_only - ({"source"} if request.get("names_source") else set()),
        )
        self.kind_name = request.get("kind", RESPONSES)
        self.export = None if export is None else ExportRows(export, self.kind_name)
        self._any_source = request.get("source") is None
        self._answers: AnswersOfExport | None = None
        self._first = FirstRows(type(kind), self._columns, None if dates is None else DateOrder(dates))
        self.dates: DatesOfColumn | None = None
        self._rows_of_file = self._noting_the_end(self.format.read(source))
        self._items = self._opened()

    def __next__(self) -> Any:
        item = next(self._items)
        self.line = item.line
        return item if isinstance(item, Rejected) else self._record(item)

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def share_read(self) -> float | None:
        """The share of the file that was read, 0 to 1; None if its size is unknown."""
        return self._source.share_read

    @property
    def unpacked(self) -> int:
        """Number of bytes of the file so far, after decompression."""
        return self._source.unpacked

    @property
    def question(self) -> Question | None:
        """What must be known before the file can be imported, by its first rows. None for an export."""
        return None if self.export is not None else self._first.question(self.name)

    @property
    def likely(self) -> Mapping[str, str]:
        """The likely fields of columns that are not read, ``{theirs: ours}``."""
        return {} if self.export is not None else self._first.proposed(())

    def decide_dates(self) -> DatesOfColumn | None:
        """Read on until a date shows the order of day and month. Return its column, or None if no date does."""
        for item in self._items:
            if isinstance(item, Row):
                self._first.add_dates(self._columns.unfolded(item.values))
            if self._first.decided is not None:
                break
        return self._first.decided

    def columns(self) -> tuple[ColumnUse, ...]:
        """Return how the columns of the rows read so far are used."""
        report = tuple(self.kind.uses(self._columns.report()))
        return report if self.export is None else self.export.columns(report, self.kind.left_over)

    def close(self) -> None:
        """Close the file. Reading it to the end closes it too."""
        self._rows_of_file.close()
        self._source.close()

    def _opened(self) -> Iterator[Row | Rejected]:
        """Read the first rows, until all mapped columns are found and the file is clear, so that it fails at once."""
        items = self._rows_of_file
        ahead: list[Row | Rejected] = []
        for item in itertools.islice(items, LOOK_AHEAD):
            ahead.append(item)
            if isinstance(item, Row):
                self._first.add(self._columns.unfolded(item.values))
            if not self._unseen and (self.export is not None or (self._first.is_clear and not self.kind.looks_ahead)):
                break
            if self.unpacked > HELD_BYTES:
                break
        self.dates = self._first.decided
        if missing := self._unseen:
            names = self._columns.known(nested="." in missing[0]) if self.export is None else self.export.names
            raise BadInput(
                f"--map: {self.name} has no column {missing[0]!r} in its first {counted(len(ahead), 'row')}; "
                f"it has {', '.join(names) or 'no columns'}"
            )
        if self.export is None:
            self.kind.look([self._cells(item) for item in ahead if isinstance(item, Row)], self.name)
        return itertools.chain(ahead, items)

    @property
    def _unseen(self) -> list[str]:
        return self._columns.unseen + ([] if self.export is None else self.export.unseen)

    def _noting_the_end(self, items: Iterator[Row | Rejected]) -> Generator[Row | Rejected]:
        last = 0
        try:
            for item in self._of_export(items):
                last = item.line
                yield rejected_before(item)
        except Unreadable as error:
            self.unreadable = f"unreadable after row {last}: {error}"
            yield Rejected(last + 1, None, self.unreadable, None)
        self._source.close()

    def _of_export(self, items: Iterator[Row | Rejected]) -> Iterator[Row | Rejected]:
        """Yield the rows of the kind; if the file is an export of another tool, they are read from its rows."""
        if self._recognises and self.export is None:
            for count in (FIRST_ROWS, LOOK_AHEAD):
                ahead, items = first_items(items, count, lambda: self.unpacked > HELD_BYTES)
                first = [item.values for item in ahead if isinstance(item, Row)]
                export = recognised(first, self.kind_name, with_mapping=bool(self._key_mapping))
                if export is not None:
                    self.export = ExportRows(export, self.kind_name, self._key_mapping)
                if export is not None or any(has_needed(row, self.kind_name) for row in first):
                    break  # otherwise, all of them may be empty or damaged
            if self._key_mapping and self.export is None and first:
                raise BadInput(
                    f"--map {next(iter(self._key_mapping))}: {self.name} is not a log of conversations. "
                    "Each row needs a list `messages` whose messages have role and content."
                )
        if self.export is None:
            return items
        self.kind.of_traces = self.export.of_traces
        if self._any_source:
            self.kind.tool_source = self.export.source
            self.kind.source = self.export.source if self.kind.brings_answers else None
        return self.export.rows(items)

    def _cells(self, row: Row, *, counts: bool = False) -> Cells:
        values = self._columns.unfolded(row.values)
        plan, judged = self._columns.plan(values, counts=counts), isinstance(row, ExportedRow) and row.judged
        order = self._first.order
        return Cells(values, *plan, self.format.textual, meanings=self._meanings, dates=order, judged=judged)

    def _record(self, row: Row) -> Any:
        if isinstance(row, ExportedRow) and row.answer is not None:
            self._answers = self._answers or AnswersOfExport(self.format.textual)
            answer = self._answers.of(row.answer, row.line)
            if isinstance(answer, Rejected):
                return Rejected(row.line, answer.field, f"its answer is rejected: {answer.reason}", row.values)
            self.kind.file_answers[answer.external_id] = answer
        cells = self._cells(row, counts=True)
        taken = cells.taken
        if fault := fault_in(row.values):
            theirs, reason = fault
            ours = next((ours for ours, name in taken.items() if name == theirs), theirs)
            return Rejected(row.line, ours, reason, row.values)
        try:
            record = self.kind.build(cells)
        except Unusable as error:
            other = kind_meant(type(self.kind), taken, row.values)
            if other is None:
                return Rejected(row.line, error.field, error.reason, cells.as_json())
            reason = f"{error.reason}; the row looks like the kind {other}: use --kind {other}"
            return OfAnotherKind(row.line, error.field, reason, cells.as_json())
        self.row = cells.as_json()
        if isinstance(row, ExportedRow) and row.earlier:
            self.kind.earlier[record.external_id] = row.earlier
        return record


def read_records(
    file: str | Path | BinaryIO, on_read: Callable[[float | None], None] | None = None, **request: Unpack[ImportRequest]
) -> Reading:
    """Read a file of one kind lazily: a path, ``-`` for standard input, or a stream of bytes, gzipped or not.

    ``on_read`` is that of `ByteSource`.
    """
    if unknown := request.keys() - ImportRequest.__optional_keys__:
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}: {', '.join(ImportRequest.__annotations__)}")
    kind, source, label_set = request.get("kind", RESPONSES), request.get("source"), request.get("label_set")
    chosen = kind_class(kind)
    check_known("--dates", request.get("dates"), [*DateOrder])
    if source is None and chosen.brings_answers:
        source = DEFAULT_SOURCE
    if source is not None and (not source.strip() or len(source) > MAX_NAME or fault_in({"source": source})):
        raise BadInput(f"--source must be a name of 1 to {MAX_NAME} characters")
    if label_set is not None and kind not in LABELLED:
        raise BadInput(f"--label-set is for the kinds {' and '.join(LABELLED)}")
    if label_set is not None:
        check_label_set(label_set)
    importing = chosen(source, actor_name(request.get("actor", "library")))
    importing.labels.label_set = label_set
    importing.newer_counts = request.get("newer_counts", False)
    meanings = meanings_of(request.get("values") or {}, chosen.columns, chosen.choices, request.get("mapping") or {})
    opened = ByteSource(file, request.get("name"), on_read)
    try:
        return Reading(opened, importing, meanings, request)
    except BaseException:
        opened.close()
        raise


def clear_records(
    file: str | Path | BinaryIO, request: ImportRequest, on_read: Callable[[float | None], None] | None = None
) -> Reading:
    """Read a file of one kind lazily, if nothing is open.

    If the first dates do not show the order of day and month, the file is read to the first date that does.
    Raises UnclearFile if a required field has no column, or no date shows the order.
    """
    start = None if isinstance(file, str | Path) or not file.seekable() else file.tell()
    reading = read_records(file, on_read, **request)
    question = reading.question
    if question is None:
        return reading
    dates = None if question.missing else reading.decide_dates()
    reading.close()
    if dates is None or (start is None and not Path(str(file)).is_file()):  # a pipe can be read only once
        raise UnclearFile(question)
    if not isinstance(file, str | Path):
        file.seek(start or 0)
    again = read_records(file, on_read, **request | {"dates": dates.order})
    again.dates = dates
    return again
