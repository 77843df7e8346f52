"""Reads a file of any kind, one record or rejected row after the other."""

import itertools
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Generic, Self, TypeVar

from judgeboard.domain import ImportedGrade, ImportedVerdict, Rejected, Response
from judgeboard.errors import BadInput
from judgeboard.importers.byte_source import ByteSource
from judgeboard.importers.cells import MAX_NAME, Cells, Unusable
from judgeboard.importers.columns import Columns, ColumnUse
from judgeboard.importers.formats import AUTO, Importer, find_importer
from judgeboard.importers.kind_meant import OfAnotherKind, kind_meant
from judgeboard.importers.kinds import KINDS, NAMES_ANSWERS, ROWS
from judgeboard.importers.record_rows import RecordRows
from judgeboard.importers.row_check import fault_in
from judgeboard.importers.rows import Row, Unreadable
from judgeboard.pair_records import ImportedPreference

LOOK_AHEAD = 1000
DEFAULT_SOURCE = "default"

T = TypeVar("T")


class Reading(Iterator[T | Rejected], Generic[T]):
    """An import file being read: iterate over it once; what it says of itself is complete at the end.

    A file that breaks off gives the rows before, then one Rejected that says so, and sets ``unreadable``.

    Attributes:
        name: The file, for messages.
        importer: The format that it is read as.
        unreadable: Why the file could not be read to its end, None while it can.
        line: The line or row that was read last.
    """

    def __init__(
        self, source: ByteSource, importer: Importer, rows: RecordRows[T], mapping: Mapping[str, str] | None
    ) -> None:
        self.name = source.name
        self.importer = importer
        self.unreadable: str | None = None
        self.line = 0
        self._source = source
        self._records = rows
        self._columns = Columns(rows.fields, mapping, left_over=rows.left_over, reads_left_over=rows.reads_left_over)
        self._rows_of_file = self._noting_the_end(importer.read(source))
        self._items = self._opened()

    def __next__(self) -> T | Rejected:
        item = next(self._items)
        self.line = item.line
        return item if isinstance(item, Rejected) else self._record(item)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def share_read(self) -> float | None:
        """How much of the file has been read, 0 to 1; None where its size is not known."""
        return self._source.position / self._source.size if self._source.size else None

    def columns(self, where: str = "not in the file") -> tuple[ColumnUse, ...]:
        """Return what was recognised as what in the rows read so far."""
        return self._columns.report(where)

    def close(self) -> None:
        """Give the file back; reading to the end does so too."""
        self._rows_of_file.close()
        self._source.close()

    def _opened(self) -> Iterator[Row | Rejected]:
        """Read the first row now, or as many as the mapping needs, so that a wrong file or option is said at once."""
        items = self._rows_of_file
        ahead = list(itertools.islice(items, 1))
        for item in ahead:
            if isinstance(item, Row):
                self._columns.plan(item.values)
            if self._columns.unseen and len(ahead) < LOOK_AHEAD:
                ahead.extend(itertools.islice(items, 1))
        if missing := self._columns.unseen:
            raise BadInput(
                f"--map: {self.name} has no column {missing[0]!r} in its first {len(ahead):,} rows; "
                f"it has {', '.join(self._columns.names[:30]) or 'no columns'}"
            )
        return itertools.chain(ahead, items)

    def _noting_the_end(self, items: Iterator[Row | Rejected]) -> Generator[Row | Rejected]:
        last = 0
        try:
            for item in items:
                last = item.line
                yield item
        except Unreadable as error:
            self.unreadable = f"unreadable after row {last}: {error}"
            yield Rejected(last + 1, None, self.unreadable, None)
        self._source.close()

    def _record(self, row: Row) -> T | Rejected:
        plan = self._columns.plan(row.values)
        if fault := fault_in(row.values):
            theirs, reason = fault
            ours = next((ours for ours, name in plan.taken.items() if name == theirs), theirs)
            return Rejected(row.line, ours, reason, row.values)
        try:
            return self._records.build(Cells(row.values, plan.taken, plan.extra, self.importer.textual))
        except Unusable as error:
            other = kind_meant(self._records.kind, plan.taken, row.values)
            if other is None:
                return Rejected(row.line, error.field, error.reason, row.values)
            reason = f"{error.reason}; the row looks like one of {other}: choose that kind (--kind {other})"
            return OfAnotherKind(row.line, error.field, reason, row.values, other_kind=other)


def read_records(
    file: str | Path | BinaryIO,
    *,
    kind: str,
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str | None = None,
    name: str | None = None,
) -> Reading[Any]:
    """Read a file of one kind, lazily.

    Args:
        file: A path, ``-`` for standard input, or a stream opened for bytes; gzipped or not.
        kind: One of `kinds.KINDS`.
        format: ``auto`` or a key of `formats.IMPORTERS`.
        mapping: Columns that their names do not tell, ``{theirs: ours}``.
        source: The log's name for rows that do not carry their own (``default`` where it is not given); for kinds
            that speak of what is stored, where it is looked for (everywhere where it is not given).
        name: How messages call the file, when it is not its path.

    Raises:
        BadInput: The file, the kind, the format or the mapping cannot be used.
    """
    if kind not in ROWS:
        raise BadInput(f"--kind is one of {', '.join(KINDS)}, not {kind!r}")
    if source is None and kind in NAMES_ANSWERS:
        source = DEFAULT_SOURCE
    rows = ROWS[kind](None if source is None else _source_name(source))
    opened = ByteSource(file, name)
    try:
        return Reading(opened, find_importer(opened, format), rows, mapping)
    except BaseException:
        opened.close()
        raise


def read_responses(
    file: str | Path | BinaryIO,
    *,
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str = DEFAULT_SOURCE,
    name: str | None = None,
) -> Reading[Response]:
    """Read logged responses, lazily; arguments as `read_records`."""
    return read_records(file, kind="responses", format=format, mapping=mapping, source=source, name=name)


def read_grades(
    file: str | Path | BinaryIO,
    *,
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str | None = None,
    name: str | None = None,
) -> Reading[ImportedGrade | ImportedPreference]:
    """Read people's grades, lazily; arguments as `read_records`."""
    return read_records(file, kind="grades", format=format, mapping=mapping, source=source, name=name)


def read_verdicts(
    file: str | Path | BinaryIO,
    *,
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str | None = None,
    name: str | None = None,
) -> Reading[ImportedVerdict]:
    """Read verdicts recorded elsewhere, lazily; arguments as `read_records`."""
    return read_records(file, kind="verdicts", format=format, mapping=mapping, source=source, name=name)


def _source_name(source: str) -> str:
    if not source.strip() or len(source) > MAX_NAME or fault_in({"source": source}):
        raise BadInput(f"--source must be a name of 1 to {MAX_NAME} characters")
    return source
