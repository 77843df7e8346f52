"""Reads the records of a file of any kind: `read_records` opens it as a `Reading`."""

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import Any, BinaryIO, TypedDict, Unpack

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput, check_known
from judgeboard.formats.files import (
    AUTO,
    HELD_BYTES,
    UTF_8,
    ByteSource,
    Row,
    Unreadable,
    find_format,
    first_items,
)
from judgeboard.imports.dates import DateOrder, DatesOfColumn, dates_of
from judgeboard.imports.exports.export import (
    AnswersOfExport,
    Export,
    ExportedRow,
    ExportRows,
    has_needed,
    recognised,
)
from judgeboard.imports.fields import BESIDE, Cells, ColumnUse, Unusable, fault_in
from judgeboard.imports.kinds import DEFAULT_SOURCE, ImportKind, kind_class
from judgeboard.imports.mapping import (
    TEXTS,
    TIMES,
    FileMapping,
    FirstRows,
    beside_cells,
    columns_of,
    fields_of,
    kinds_of,
    mapping_of,
)
from judgeboard.imports.rejected_rows import rejected_before
from judgeboard.imports.responses import ResponseImport
from judgeboard.imports.shapes import (
    MessageRows,
    PassageRows,
    Rows,
    Shape,
    TurnRow,
    inner_rows,
    unwrapped,
)
from judgeboard.imports.values import meanings_of
from judgeboard.people.permissions import Actor, actor_name
from judgeboard.registry.masks import masks_in_force
from judgeboard.text import MAX_NAME, counted

LOOK_AHEAD = 1_000
FIRST_ROWS = 20  # the rows by which an export of another tool is recognised, if they show anything
RESPONSES = "responses"  # the kind of a file, unless another one is requested
LABELLED = ("grades", "verdicts")  # kinds of files with labels


class ImportRequest(TypedDict, total=False):
    """How a file is imported.

    ``kind`` is one of `KINDS` (default: as the columns show), ``format`` is ``auto`` (the default)
    or one of `FORMATS`, ``mapping`` is ``{theirs: ours}`` for columns that are not recognised.
    ``values``, ``{field: {word: value}}``, has the values of words in a field; an empty value means
    missing. ``constants``, ``{field: value}``, has the values of fields that are the same in all
    rows. ``source`` is the log of rows without a source (default: ``default``; of an export, the
    source of the tool). For kinds that refer to stored responses or pairs, ``source`` is the log
    with these rows (default: any). With ``names_source``, a column ``source`` is the source also in
    files without a column ``external_id``. With a ``label_set``, the labels of grades and verdicts
    are options of a label schema with this name. ``dates`` is the order of day and month in dates
    with the year last (default: as the file shows). ``export`` reads the rows of another tool
    (default: recognised). With ``beside``, the rows of ``kind`` beside the answers of the file are
    read. With ``newer_counts``, a verdict that differs from the stored one is stored as a newer
    one. ``name`` names a stream in messages. ``actor`` is who imports (default: ``library``). A
    ``dry_run`` stores and writes nothing. ``rejected`` is the file of the rejected rows (default:
    ``FILE.rejected.jsonl``).
    """

    kind: str | None
    format: str
    mapping: Mapping[str, str] | None
    values: Mapping[str, Mapping[str, str]] | None
    constants: Mapping[str, str] | None
    source: str | None
    names_source: bool
    label_set: str | None
    dates: DateOrder | str | None
    export: Export | None
    beside: bool
    newer_counts: bool
    name: str | None
    actor: Actor
    dry_run: bool
    rejected: Path | None


class UnclearFile(BadInput):
    """A file whose `mapping` a person must check before the import; nothing was stored."""

    def __init__(self, mapping: FileMapping) -> None:
        fields = ", ".join(
            f"{each.ours} from {each.theirs!r}"
            for each in mapping.fields
            if each.theirs is not None
        )
        order = () if mapping.asks_dates is None else ("--dates", DateOrder.DAY_FIRST)
        words = (*mapping.words(), *order)
        advice = f" To import it so ({fields}), use {join(words)}" if mapping.is_usable else ""
        super().__init__(f"{mapping.file}: {mapping.unclear}. Nothing was stored.{advice}")
        self.mapping = mapping


class Reading(Iterator[Any], AbstractContextManager["Reading"]):
    """Reads an import file: an iterator over the records and the `Rejected` rows.

    If the file cannot be read to the end, the last item is a Rejected row and ``unreadable`` is the
    reason. ``line`` is the number of the last line or row, ``row`` has the values. In a file of
    rejected rows, the original rows are read. ``export`` is the recognised export of another tool.
    ``mapping`` says how the columns are read, None for an export whose entries are read. ``others``
    counts the rows of other kinds beside the answers so far. ``left_out`` has the parts of a file
    around the rows. ``unread`` counts the optional values that could not be read, by column, field
    and reason of the first one.
    """

    def __init__(self, source: ByteSource, request: ImportRequest) -> None:
        self.name = source.name
        self.unreadable: str | None = None
        self.line = 0
        self.row: dict[str, Any] = {}
        self.others: Counter[str] = Counter()
        self.unread: dict[str, Unread] = {}
        self.left_out: tuple[str, ...] = ()
        self.dates: DatesOfColumn | None = None
        self.mapping: FileMapping | None = None
        self._entries: ExportRows | None = None
        self._source = source
        self._request = request
        self._masks = masks_in_force()
        self._mapped = request.get("mapping") or {}
        self.format = find_format(source, request.get("format", AUTO))
        self._rows_of_file = self._noting_the_end(self.format.read(source))
        # The first rows show the kind of the file.
        ahead, rows = first_items(self._rows_of_file, LOOK_AHEAD, self._is_full)
        first = [item.values for item in ahead if isinstance(item, Row)]
        constants = request.get("constants") or {}
        # A format, or a mapping of question and answer, says how to read the file: then no export
        # is recognised.
        recognises = request.get("format", AUTO) == AUTO and {"query", "answer"}.isdisjoint(
            self._mapped.values()
        )
        with_mapping = bool(self._mapped or constants)
        export = request.get("export")
        if export is None and recognises:
            export = self._recognised(first, with_mapping=with_mapping)
        if export is None and request.get("format", AUTO) == AUTO:
            rows, first = self._shaped(rows, first)
            export = self._recognised(first, with_mapping=with_mapping) if recognises else None
        if export is not None and export.shape is not None:
            rows, first = self._in_shape(export.shape, rows)
        self.export = export
        self._open(first, export)
        if self._entries is not None:
            rows = self._entries.rows(rows)
        if unseen_columns := [theirs for theirs in self._columns.unseen if theirs in self._mapped]:
            names = self._columns.known(nested="." in unseen_columns[0])
            raise BadInput(
                f"{self.name} has no column {unseen_columns[0]!r} in its first {counted(len(first), 'row')}; "
                f"it has {', '.join(names) or 'no columns'}"
            )
        self._items = rows

    def __next__(self) -> Any:
        for item in self._items:
            self.line = item.line
            record = item if isinstance(item, Rejected) else self._record(item)
            if record is not None:
                return record
        raise StopIteration

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def share_read(self) -> float | None:
        """The share of the file that was read, 0 to 1; None if the size is unknown."""
        return self._source.share_read

    @property
    def unpacked(self) -> int:
        """Number of bytes of the file so far, after decompression."""
        return self._source.unpacked

    @property
    def encoding(self) -> str | None:
        """The encoding of a text that is not UTF-8."""
        return self._source.encoding if self._source.encoding != UTF_8 else None

    def columns(self) -> tuple[ColumnUse, ...]:
        """Return how the columns of the rows read so far are used."""
        return tuple(self.kind.uses(self._columns.report()))

    def messages(self) -> Iterator[str]:
        """Yield messages about the rows so far, apart from rejected rows."""
        yield from self.kind.messages()
        yield from self._entries.messages() if self._entries is not None else ()

    def decide_dates(self) -> DatesOfColumn | None:
        """Read on until a date shows the order of day and month.

        Return the column of this date, None if there is none.
        """
        for _ in self:
            if self._order is not None:
                return self.dates
        return None

    def close(self) -> None:
        """Close the file. Reading to the end also closes the file."""
        self._rows_of_file.close()
        self._source.close()

    def _is_full(self) -> bool:
        return self.unpacked > HELD_BYTES

    def _recognised(self, first: list[dict[str, Any]], *, with_mapping: bool) -> Export | None:
        kind = self._request.get("kind") or RESPONSES
        for rows in (first[:FIRST_ROWS], first):  # the first rows may be empty or damaged
            export = recognised(rows, kind, with_mapping=with_mapping)
            if export is not None or any(has_needed(row, kind) for row in rows):
                return export
        return None

    def _shaped(self, rows: Rows, first: list[dict[str, Any]]) -> tuple[Rows, list[dict[str, Any]]]:
        """Return the rows inside an object, or the rows of answers, if a file has a row per message or passage."""
        of_answers = self._request.get("beside") or self._request.get("kind") in {None, RESPONSES}
        if of_answers and (path := inner_rows(first)) is not None and not kinds_of(first[0]):
            self.left_out = tuple(name for name in first[0] if name != path[0])
            shape = unwrapped(path)
        elif first and not self._mapped and (messages := MessageRows(first)).fits:
            shape = messages.rows
        elif of_answers and (passages := self._passages(first)) is not None and passages.fit(first):
            shape = passages.rows
        else:
            return rows, first
        return self._in_shape(shape, rows)

    def _in_shape(self, shape: Shape, rows: Rows) -> tuple[Rows, list[dict[str, Any]]]:
        ahead, rows = first_items(shape(rows), LOOK_AHEAD, self._is_full)
        return rows, [item.values for item in ahead if isinstance(item, Row)]

    def _passages(self, first: list[dict[str, Any]]) -> PassageRows | None:
        columns = FirstRows(self.name, first, self.format.textual, {}, None).texts(self._mapped)
        return PassageRows(*columns) if len(columns) == len(TEXTS) else None

    def _open(self, first: list[dict[str, Any]], export: Export | None) -> None:
        """Choose the kind of the rows, and the columns of the fields."""
        request, constants = self._request, self._request.get("constants") or {}
        kind = request.get("kind")
        answers = RESPONSES if request.get("beside") else kind or RESPONSES
        class_ = kind_class(answers)
        meanings = meanings_of(
            request.get("values") or {}, fields_of(class_), class_.choices, self._mapped
        )
        order = request.get("dates")
        self._order = None if order is None else DateOrder(order)
        mapped = self._mapped
        has_columns = export is None or export.shape is not None
        # A request to a server names the fields, so no mapping is proposed.
        if has_columns and not request.get("names_source"):
            of_turns = export is not None
            rows = FirstRows(
                self.name, first, self.format.textual, meanings, self._order, of_turns=of_turns
            )
            self.mapping = mapping_of(
                rows, answers if request.get("beside") else kind, mapped, constants
            )
            mapped, constants, answers = (
                self.mapping.columns,
                self.mapping.constants,
                self.mapping.kind,
            )
            if self.mapping.dates is not None and self.mapping.asks_dates is None:
                self.dates, self._order = self.mapping.dates, self.mapping.dates.order
        self.kind_name = kind or answers
        self._meanings = meanings
        fields = (
            ()
            if self.mapping is None
            else (each.ours.partition(".")[0] for each in self.mapping.fields)
        )
        self._kinds_beside = sorted({*BESIDE} & {*fields})
        self._columns = columns_of(
            kind_class(answers),
            mapped,
            constants,
            meanings,
            names_source=request.get("names_source", False),
        )
        source = request.get("source") or DEFAULT_SOURCE
        self._answer_kind = None if self.kind_name == answers else ResponseImport(source)
        # What builds and stores the rows.
        kind_of_rows, label_set = kind_class(self.kind_name), request.get("label_set")
        if label_set is not None and self.kind_name not in LABELLED:
            raise BadInput(f"--label-set is for the kinds {' and '.join(LABELLED)}")
        source_name = request.get("source") or (
            DEFAULT_SOURCE if kind_of_rows.brings_answers else None
        )
        self.kind: ImportKind[Any] = kind_of_rows(
            source_name, actor_name(request.get("actor", "library"))
        )
        self.kind.labels.label_set = label_set
        self.kind.newer_counts = request.get("newer_counts", False)
        cells = [self._cells(Row(0, row)) for row in first] if has_columns else []
        if self._answer_kind is None:
            self.kind.look(cells)
        self._answers = None if has_columns else AnswersOfExport(self.format.textual)
        if export is not None:
            if not has_columns:
                self._entries = ExportRows(export, self.kind_name)
                self.others = self._entries.others
            self.kind.of_traces = export.of_traces
            if request.get("source") is None:
                self.kind.tool_source = export.source
                self.kind.source = export.source if self.kind.brings_answers else None

    def _noting_the_end(self, items: Iterator[Row | Rejected]) -> Generator[Row | Rejected]:
        last = 0
        try:
            for item in items:
                last = item.line
                yield rejected_before(item) if isinstance(item, Row) else item
        except Unreadable as error:
            self.unreadable = f"unreadable after row {last}: {error}"
            yield Rejected(last + 1, None, self.unreadable, None)
        self._source.close()

    def _cells(self, row: Row, *, counts: bool = False) -> Cells:
        values = self._columns.unfolded(row.values)
        column_of, others = self._columns.plan(values, counts=counts)
        order = self._order_of(values, column_of)
        is_judged = (isinstance(row, ExportedRow) and row.judged) or bool(self._kinds_beside)
        return Cells(
            values,
            column_of,
            others,
            self.format.textual,
            meanings=self._meanings,
            dates=order,
            judged=is_judged,
            masks=self._masks,
        )

    def _cells_beside(self, cells: Cells, answers: ResponseImport) -> Cells | None:
        """Return the verdict or the grade in the row of an answer, None if the row has none."""
        answer = answers.build(cells)
        if (
            not answers.take_repeated()
        ):  # otherwise, an earlier row has the answer with the metadata
            self.kind.file_answers[answer.external_id] = answer
        return beside_cells(cells, self.kind_name, answer)

    def _record(self, row: Row) -> Any:
        """Return the record of a row, the row as rejected, or None if the row has nothing of the kind."""
        if isinstance(row, ExportedRow) and row.answer is not None and self._answers is not None:
            answer = self._answers.of(row.answer, row.line)
            if isinstance(answer, Rejected):
                return Rejected(
                    row.line, answer.field, f"answer rejected: {answer.reason}", row.values
                )
            self.kind.file_answers[answer.external_id] = answer
        cells = self._cells(row, counts=True)
        column_of = cells.taken
        if fault := fault_in(row.values):
            theirs, reason = fault
            ours = next((ours for ours, name in column_of.items() if name == theirs), theirs)
            return Rejected(row.line, ours, reason, row.values)
        try:
            record_cells = (
                cells if self._answer_kind is None else self._cells_beside(cells, self._answer_kind)
            )
            if record_cells is None:
                return None
            record = self.kind.build(record_cells)
        except Unusable as error:
            return Rejected(row.line, error.field, error.reason, cells.as_json())
        self.row = cells.as_json()
        for theirs, (ours, reason) in cells.unread.items():
            self.unread.setdefault(theirs, Unread(ours, reason)).times += 1
        if self.kind_name == RESPONSES and self.export is None:
            self.others.update(
                kind for kind in self._kinds_beside if beside_cells(cells, kind, record) is not None
            )
        if isinstance(row, TurnRow):
            self.kind.row_ids[record.external_id] = str(row.row_id or record.external_id)
        return record

    def _order_of(
        self, values: Mapping[str, Any], column_of: Mapping[str, str]
    ) -> DateOrder | None:
        """Return the order of day and month. The first date that is possible in only one order decides."""
        if self._order is not None:
            return self._order
        for theirs in (column_of[ours] for ours in TIMES & column_of.keys()):
            dates = dates_of(theirs, [values.get(theirs)])
            if dates is not None and dates.order is not None:
                self.dates, self._order = dates, dates.order
        return self._order


@dataclass(slots=True)
class Unread:
    """The optional values of a column that could not be read: the field, the first reason, and how many."""

    ours: str
    reason: str
    times: int = 0


def read_records(
    file: str | Path | BinaryIO,
    on_read: Callable[[float | None], None] | None = None,
    **request: Unpack[ImportRequest],
) -> Reading:
    """Read a file of one kind lazily: a path, ``-`` for standard input, or a stream of bytes, gzipped or not.

    ``on_read`` is passed to `ByteSource`.
    """
    if unknown_keys := request.keys() - ImportRequest.__optional_keys__:
        raise TypeError(
            f"unexpected keyword argument {min(unknown_keys)!r}: {', '.join(ImportRequest.__annotations__)}"
        )
    source, label_set = request.get("source"), request.get("label_set")
    check_known("--dates", request.get("dates"), [*DateOrder])
    if source is not None and (
        not source.strip() or len(source) > MAX_NAME or fault_in({"source": source})
    ):
        raise BadInput(f"--source must be a name of 1 to {MAX_NAME} characters")
    if label_set is not None:
        from judgeboard.formats.label_schema import (
            BUILT_IN,
            checked_name,
        )  # few imports store a label set

        if label_set in BUILT_IN:
            raise BadInput(
                f"--label-set {label_set}: a part of the built-in grade has this name, choose another name"
            )
        try:
            checked_name(label_set)
        except ValueError as error:
            raise BadInput(f"--label-set: {error}") from None
    if request.get("kind") is not None:
        kind_class(str(request["kind"]))
    byte_source = ByteSource(file, request.get("name"), on_read)
    try:
        return Reading(byte_source, request)
    except BaseException:
        byte_source.close()
        raise


def clear_records(
    file: str | Path | BinaryIO,
    request: ImportRequest,
    on_read: Callable[[float | None], None] | None = None,
) -> Reading:
    """Read a file lazily if the mapping is certain, comes from another tool's export, or was given by a person.

    If the first dates do not show the order of day and month, the file is read to the first date
    that shows the order. Raises UnclearFile if a person must check the mapping.
    """
    reading = read_records(file, on_read, **request)
    mapping = reading.mapping
    if mapping is None or mapping.is_certain or not mapping.rows or reading.export is not None:
        return reading
    if (
        mapping.is_usable
        and mapping.asks_dates is None
        and (request.get("mapping") or request.get("constants"))
    ):
        return reading  # a person gave the mapping
    # Later dates may show the order of day and month. A pipe can be read only once.
    dates = None
    seekable = isinstance(file, str | Path) and Path(file).is_file()
    if seekable and mapping.is_usable and mapping.asks_dates is not None:
        dates = reading.decide_dates()
    reading.close()
    if dates is None:
        raise UnclearFile(mapping)
    return clear_records(file, request | {"dates": dates.order}, on_read)
