"""Reads a file of any kind, one record or rejected row after the other, or only its start."""

import itertools
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import ByteSource, Row, Unreadable
from judgeboard.formats.table import AUTO, Format, find_format
from judgeboard.imports.cells import MAX_NAME, Cells, Unusable, fault_in
from judgeboard.imports.columns import Columns, ColumnUse, simple_name
from judgeboard.imports.kind import ImportKind
from judgeboard.imports.kinds import KINDS, kind_class

LOOK_AHEAD = 1000
ROWS_READ = 1000
DEFAULT_SOURCE = "default"


class Reading(Iterator[Any]):
    """An import file being read: iterate over it once, over records and `Rejected` rows; it is complete at the end.

    A file that breaks off gives the rows before, then one Rejected that says so, and sets ``unreadable``.

    Attributes:
        name: The file, for messages.
        format: The format that it is read as.
        kind: What builds and stores its records.
        unreadable: Why the file could not be read to its end, None while it can.
        line: The line or row that was read last.
    """

    def __init__(
        self,
        source: ByteSource,
        format_: Format,
        kind: ImportKind[Any],
        kind_name: str,
        mapping: Mapping[str, str] | None,
    ) -> None:
        self.name = source.name
        self.format = format_
        self.kind = kind
        self.unreadable: str | None = None
        self.line = 0
        self._source = source
        self._kind_name = kind_name
        self._columns = Columns(kind.columns, mapping, left_over=kind.left_over, reads_left_over=kind.reads_left_over)
        self._rows_of_file = self._noting_the_end(format_.read(source))
        self._items = self._opened()

    def __next__(self) -> Any:
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

    def _record(self, row: Row) -> Any:
        plan = self._columns.plan(row.values)
        if fault := fault_in(row.values):
            theirs, reason = fault
            ours = next((ours for ours, name in plan.taken.items() if name == theirs), theirs)
            return Rejected(row.line, ours, reason, row.values)
        try:
            return self.kind.build(Cells(row.values, plan.taken, plan.extra, self.format.textual))
        except Unusable as error:
            other = kind_meant(self._kind_name, plan.taken, row.values)
            if other is None:
                return Rejected(row.line, error.field, error.reason, row.values)
            reason = f"{error.reason}; the row looks like one of {other}: choose that kind (--kind {other})"
            return OfAnotherKind(row.line, error.field, reason, row.values, other_kind=other)


def read_records(
    file: str | Path | BinaryIO,
    *,
    kind: str = "responses",
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str | None = None,
    name: str | None = None,
    actor: str = "library",
) -> Reading:
    """Read a file of one kind, lazily.

    Args:
        file: A path, ``-`` for standard input, or a stream opened for bytes; gzipped or not.
        kind: One of `KINDS`.
        format: ``auto`` or a key of `FORMATS`.
        mapping: Columns that their names do not tell, ``{theirs: ours}``.
        source: The log's name for rows that do not carry their own (``default`` where it is not given); for kinds
            that speak of what is stored, where it is looked for (everywhere where it is not given).
        name: How messages call the file, when it is not its path.
        actor: Who imports it.

    Raises:
        BadInput: The file, the kind, the format or the mapping cannot be used.
    """
    chosen = kind_class(kind)
    if source is None and chosen.brings_answers:
        source = DEFAULT_SOURCE
    importing = chosen(None if source is None else _source_name(source), actor)
    opened = ByteSource(file, name)
    try:
        return Reading(opened, find_format(opened, format), importing, kind, mapping)
    except BaseException:
        opened.close()
        raise


def _source_name(source: str) -> str:
    if not source.strip() or len(source) > MAX_NAME or fault_in({"source": source}):
        raise BadInput(f"--source must be a name of 1 to {MAX_NAME} characters")
    return source


@dataclass(frozen=True, slots=True, kw_only=True)
class OfAnotherKind(Rejected):
    """A rejected row that has what ``other_kind`` needs: that kind would read it, other names of columns would not."""

    other_kind: str


def kind_meant(said: str, taken: Collection[str], columns: Iterable[str]) -> str | None:
    """Return the kind whose columns a row has, None where it has those of the kind that was ``said``, or of none.

    The kinds that bring texts and need most columns come first: they tell most.

    Args:
        said: A kind of file.
        taken: The fields of that kind that a column was found for.
        columns: The columns of the row.
    """
    if all(name in taken for name in kind_class(said).needed):
        return None
    names = {simple_name(column) for column in columns}
    classes = {kind: kind_class(kind) for kind in KINDS if kind != said}
    for kind, one in sorted(classes.items(), key=lambda item: (not item[1].brings_answers, -len(item[1].needed))):
        if not any(names.isdisjoint(one.columns[name]) for name in one.needed):
            return kind
    return None


@dataclass(frozen=True, slots=True)
class Preview:
    """The start of a file: ``records`` are the first that can come in, ``rejected`` those of the rows read.

    ``complete`` says that the rows read are the whole file.
    """

    format: str
    columns: tuple[ColumnUse, ...]
    records: tuple[Any, ...]
    rejected: tuple[Rejected, ...]
    rows_read: int
    complete: bool


def preview(
    file: str | Path | BinaryIO,
    *,
    kind: str = "responses",
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str | None = None,
    name: str | None = None,
    rows: int = 20,
) -> Preview:
    """Read at most 1,000 rows of a file of ``kind`` (one of `KINDS`), keeping ``rows`` records.

    Raises:
        BadInput: The file, the format or the mapping cannot be used.
    """
    reading = read_records(file, kind=kind, format=format, mapping=mapping, source=source, name=name)
    with reading:
        records: list[Any] = []
        rejected: list[Rejected] = []
        read = 0
        for item in itertools.islice(reading, ROWS_READ):
            read += 1
            if isinstance(item, Rejected):
                rejected.append(item)
            elif len(records) < rows:
                records.append(item)
        complete = next(reading, None) is None
        where = "not in the file" if complete else f"not in the first {ROWS_READ:,} rows"
        return Preview(
            format=reading.format.title,
            columns=reading.columns(where),
            records=tuple(records),
            rejected=tuple(rejected),
            rows_read=read,
            complete=complete,
        )
