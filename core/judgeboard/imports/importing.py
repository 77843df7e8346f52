"""Reads a file of any kind and stores its rows in batches. Rejected rows are written to another file."""

import hashlib
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import Connection

from judgeboard.domain import Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import AUTO, ByteSource, Format, Row, Unreadable, find_format
from judgeboard.imports.exports import AnswersOfExport, Export, ExportRows, RowOfAnswer, RowWithEarlier, recognised
from judgeboard.imports.exports.turns import IN_MESSAGES
from judgeboard.imports.fields import (
    MAX_COLUMNS,
    Cells,
    Columns,
    ColumnUse,
    Unusable,
    fault_in,
    field_meant,
    simple_name,
)
from judgeboard.imports.kinds import DEFAULT_SOURCE, KINDS, ImportKind, kind_class
from judgeboard.imports.labels import LabelWord, check_label_set
from judgeboard.imports.rejected_rows import RejectedFile, is_rejected_file, rejected_before, rejected_path
from judgeboard.imports.values import Meanings, meanings_of
from judgeboard.people.permissions import Action, Actor, actor_name, allowed
from judgeboard.store.engine import Store
from judgeboard.store.storing import ASPECTS_ADDED, finish_batch, same_file_before, start_batch
from judgeboard.store.withdrawals import ImportUndo, withdraw_import
from judgeboard.text import MAX_NAME, counted

BATCH_ROWS = 1_000
LOOK_AHEAD = 1_000
IDS_FROM_CONTENT = ("responses", "pairs")
LABELLED = ("grades", "verdicts")  # kinds of files with labels
_COUNTS = ("rows", "new", "unchanged", "feedback_added", "rejected")
MOST_KEPT = 20  # maximum number of first records and of first rejected rows in a summary

OnProgress = Callable[[int, float | None], None]
"""Called after each batch with the number of rows so far and the share of the file that was read (None: unknown)."""


@dataclass(slots=True)
class ImportSummary:
    """The result of an import: rows = new + unchanged + rejected.

    Rejected rows include ``differing`` rows, whose id is stored with other content. ``unreadable`` is the reason if the
    file could not be read to its end. ``before`` is the time of an earlier import of the same bytes.
    ``older_file`` has the rejected rows of an earlier import, if this one rejected none. ``first_differing`` is a
    separate list because all unusable rows of a batch come before its differing rows.
    ``labels`` are the words that the file has for labels, ``messages`` tell what else people should know. ``export`` is
    what the file was recognised as, if it is an export of another tool, ``of_traces`` if its answers are those of
    traces; ``others`` counts its rows of other kinds.
    ``tool_source`` is the source of its answers, if none was chosen.
    ``unknown`` names its numbers that may be scores, but are no metrics of the tool.
    """

    file: str
    kind: str
    dry_run: bool
    format: str = ""
    export: str | None = None
    tool_source: str | None = None
    of_traces: bool = False
    others: Mapping[str, int] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    new: int = 0
    unchanged: int = 0
    feedback_added: int = 0
    rejected: int = 0
    differing: int = 0
    columns: tuple[ColumnUse, ...] = ()
    labels: tuple[LabelWord, ...] = ()
    messages: tuple[str, ...] = ()
    unreadable: str | None = None
    rejected_file: Path | None = None
    rejected_problem: str | None = None
    older_file: Path | None = None
    before: datetime | None = None
    first_records: list[Any] = field(default_factory=list)
    first_rejected: list[Rejected] = field(default_factory=list)
    first_differing: list[Rejected] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Number of rows read."""
        return self.new + self.unchanged + self.rejected

    @property
    def usable(self) -> int:
        """Number of rows that are stored (in a dry run: that would be)."""
        return self.new + self.unchanged

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the file."""
        return tuple(use.theirs for use in self.columns if use.theirs is not None)

    @property
    def not_read(self) -> dict[str, int]:
        """The columns that are not read, although no mapping excludes them, with their numbers of values."""
        return {use.theirs: use.times for use in self.columns if use.unasked and use.theirs is not None}

    @property
    def id_from_content(self) -> bool:
        """Whether the ids are derived from the content, so that another mapping would import these rows again."""
        return self.kind in IDS_FROM_CONTENT and "external_id" in {
            use.ours for use in self.columns if use.theirs is None
        }

    @property
    def not_found(self) -> tuple[str, ...]:
        """The required fields without a column."""
        fields = {use.ours for use in self.columns if use.ours is not None and use.theirs is not None}
        return tuple(name for name in kind_class(self.kind).required(fields) if name not in fields)

    def more_words(self, columns: int, listed: int) -> str:
        """Return " and 12 more" for the columns that are not listed. For very many columns, it is a lower bound."""
        if columns <= listed:
            return ""
        if len(self.names) > MAX_COLUMNS:
            return f" and more than {columns - listed - 1:,} more"
        return f" and {columns - listed:,} more"


def import_file(
    store: Store,
    file: str | Path | BinaryIO,
    *,
    kind: str = "responses",
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    values: Mapping[str, Mapping[str, str]] | None = None,
    constants: Mapping[str, str] | None = None,
    source: str | None = None,
    label_set: str | None = None,
    dry_run: bool = False,
    rejected: Path | None = None,
    actor: Actor = "library",
    name: str | None = None,
    export: Export | None = None,
    newer_counts: bool = False,
    batch: "OpenBatch | None" = None,
    on_progress: OnProgress | None = None,
    on_rejected: Callable[[Rejected], None] | None = None,
) -> ImportSummary:
    """Import one file. Importing the same file again changes nothing.

    Rows are stored in batches of 1,000, each in one transaction. After a crash, import the file again for the rest.
    Rejected rows are written to ``rejected`` (default: ``FILE.rejected.jsonl``) with line, field and reason. If no row
    is rejected, such a file of an earlier import stays, because it may be of another database.

    ``file`` is a path, ``-`` for standard input, or a stream of bytes, gzipped or not; ``name`` names a stream in
    messages. ``kind`` is one of `KINDS`, ``format`` is ``auto`` or one of `FORMATS`, ``mapping`` is ``{theirs: ours}``
    for columns that are not recognised. ``values``, ``{field: {word: value}}``, has the values of words in a field;
    an empty value means missing. ``constants``, ``{field: value}``, has the values of fields that are the same in all
    rows.
    ``source`` is the log of rows without a source (default: ``default``; of an export, the source of its tool). For
    kinds that refer to stored responses or pairs, it is the log with these (default: any). With a ``label_set``, the
    labels of grades and verdicts are options of a label schema with this name. ``export`` reads the rows of another
    tool (default: it is recognised). With ``newer_counts``, a verdict that differs from the stored one is stored as a
    newer one. With a ``batch``, the rows belong to it, and the caller finishes it. A ``dry_run`` stores and writes
    nothing. ``on_rejected`` gets each rejected row, also in a dry run, and replaces the file of rejected rows.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        BadInput: The file, format, kind or mapping cannot be used; nothing is stored.
    """
    digest = _sha256(file)
    with read_records(
        file,
        kind=kind,
        format=format,
        mapping=mapping,
        values=values,
        constants=constants,
        source=source,
        label_set=label_set,
        name=name,
        actor=actor_name(actor),
        export=export,
        newer_counts=newer_counts,
    ) as reading:
        summary = ImportSummary(file=reading.name, kind=kind, dry_run=dry_run, format=reading.format.title)
        if digest is not None:
            with store.reading() as connection:
                summary.before = same_file_before(connection, digest, kind)
        target = rejected or rejected_path(name or (file if isinstance(file, str | Path) else "upload"))
        with RejectedFile(target) as rejects:
            reject = on_rejected or (rejects.add if not dry_run else lambda _rejected: None)
            opened = batch or OpenBatch(Path(reading.name).name, digest)
            reading.kind.runs = opened.runs
            rows = _Rows(store, reading.kind, summary, reject, actor, opened)
            for item in reading:
                rows.add(reading.line, reading.row, item)
                if len(rows.records) >= BATCH_ROWS:
                    rows.flush()
                    if on_progress is not None:
                        on_progress(summary.rows, reading.share_read)
            rows.flush()
            rows.finish(whole=batch is None)
        summary.columns = reading.columns()
        summary.labels = reading.kind.labels.report()
        summary.messages = (*reading.kind.messages(), *(reading.export.messages() if reading.export else ()))
        if reading.export is not None:
            summary.export, summary.others = reading.export.title, dict(reading.export.others)
            summary.unknown, summary.of_traces = tuple(reading.export.unknown), reading.export.of_traces
            summary.tool_source = reading.kind.tool_source
        summary.unreadable = reading.unreadable
        summary.rejected_file = target if rejects.count and not dry_run and rejects.problem is None else None
        summary.rejected_problem = rejects.problem
        if on_rejected is None and not dry_run and not rejects.count and target.is_file() and str(target) != str(file):
            with suppress(OSError):  # another user's file; this import is done
                summary.older_file = target if is_rejected_file(target) else None
    return summary


@dataclass(slots=True)
class OpenBatch:
    """An import batch of one kind of rows, of one file or of several that come one after the other.

    ``name`` is what the list of imports shows as the file. ``digest`` is the hash of a single file. ``runs`` are the
    runs of recorded judges, by judge version. ``id`` is None while nothing new was stored.
    """

    name: str
    digest: str | None = None
    id: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    runs: dict[int, int] = field(default_factory=dict)

    def finish(self, store: Store) -> None:
        """Store the end of the batch."""
        with store.writing() as connection:
            self.finish_in(connection, datetime.now(UTC))

    def finish_in(self, connection: Connection, now: datetime) -> None:
        """Store the end of the batch in the caller's transaction."""
        if self.id is not None:
            finish_batch(connection, self.id, dict(self.counts), now)


def undo_import(
    store: Store, number: int | None = None, *, with_reviews: bool = False, actor: Actor = "library"
) -> ImportUndo:
    """Withdraw the rows of an import (default: the latest), with what was derived from them, in one transaction.

    The ids are free then: the file can be imported again. Answers and pairs on which people decided stay, unless
    ``with_reviews`` is given.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        NotFound: There is no such import.
        BadInput: Nothing of it is left, or its rows cannot be told apart from those of other imports.
    """
    with allowed(store, actor, Action.IMPORT) as connection:
        return withdraw_import(connection, number, with_reviews=with_reviews, actor=actor_name(actor))


@dataclass(slots=True)
class _Rows:
    store: Store
    kind: ImportKind[Any]
    summary: ImportSummary
    pass_on: Callable[[Rejected], None]
    actor: Actor
    batch: OpenBatch
    records: list[Any] = field(default_factory=list)
    rows: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def add(self, line: int, row: dict[str, Any], item: Any) -> None:
        if isinstance(item, Rejected):
            self._reject(item)
            return
        self.records.append(item)
        self.rows.append((line, row))
        if len(self.summary.first_records) < MOST_KEPT:
            self.summary.first_records.append(item)

    def flush(self) -> None:
        if not self.records:
            return
        summary = self.summary
        with allowed(self.store, self.actor, Action.IMPORT) as connection:
            attempt, now = connection.begin_nested(), datetime.now(UTC)
            batch_id = self._started_batch(connection, now)
            stored = self.kind.store(connection, self.records, now)
            # A file with nothing new stores nothing, not even an import batch.
            if summary.dry_run or not (stored.new or stored.feedback_added):
                attempt.rollback()
            else:
                attempt.commit()
                self.batch.id = batch_id
        summary.new += stored.new
        summary.unchanged += stored.unchanged
        summary.feedback_added += stored.feedback_added
        for problem in stored.problems:
            line, row = self.rows[problem.index]
            self._reject(Rejected(line, problem.field, problem.reason, row, differs=problem.differs))
        self.records, self.rows = [], []
        self.kind.file_answers.clear()
        self.kind.earlier.clear()

    def finish(self, *, whole: bool) -> None:
        with allowed(self.store, self.actor, Action.IMPORT) as connection:
            attempt, now = connection.begin_nested(), datetime.now(UTC)
            batch_id = self._started_batch(connection, now)
            late = self.kind.finish(connection, now)
            self.summary.new += late
            self.summary.unchanged -= late
            counts = {name: getattr(self.summary, name) for name in _COUNTS}
            self.batch.counts.update(counts | {"conflicts": self.summary.differing})
            if self.kind.aspects_added:
                self.batch.counts[ASPECTS_ADDED] += self.kind.aspects_added
            if self.summary.dry_run or (self.batch.id is None and not late):
                attempt.rollback()
                return
            attempt.commit()
            self.batch.id = batch_id
            if whole:
                self.batch.finish_in(connection, now)

    def _started_batch(self, connection: Connection, now: datetime) -> int:
        """Return the batch of the records that are stored next; the caller keeps it if some are new."""
        self.kind.batch_id = self.batch.id or start_batch(
            connection,
            file=self.batch.name,
            sha256=self.batch.digest,
            importer=self.summary.format,
            kind=self.summary.kind,
            actor=actor_name(self.actor),
            now=now,
        )
        return self.kind.batch_id

    def _reject(self, rejected: Rejected) -> None:
        self.summary.rejected += 1
        self.summary.differing += rejected.differs
        if rejected.differs and len(self.summary.first_differing) < MOST_KEPT:
            self.summary.first_differing.append(rejected)
        if len(self.summary.first_rejected) < MOST_KEPT:
            self.summary.first_rejected.append(rejected)
        self.pass_on(rejected)


def _sha256(file: str | Path | BinaryIO) -> str | None:
    """Return the hash of a file, None if it can be read only once, like standard input."""
    if not isinstance(file, str | Path):
        if not file.seekable():
            return None
        start, digest = file.tell(), hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
        file.seek(start)
        return digest.hexdigest()
    if str(file) == "-" or not Path(file).is_file():
        return None
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Reading(Iterator[Any], AbstractContextManager["Reading"]):
    """Reads an import file: an iterator over its records and its `Rejected` rows.

    If the file cannot be read to its end, the last item is a Rejected row and ``unreadable`` is the reason. ``line`` is
    the number of the last line or row, ``row`` its values. In a file of rejected rows, the original rows are read.
    """

    def __init__(
        self,
        source: ByteSource,
        format_: Format,
        kind: ImportKind[Any],
        mapping: Mapping[str, str] | None,
        meanings: Meanings,
        recognises: str | None,
        export: ExportRows | None = None,
        constants: Mapping[str, str] | None = None,
        *,
        key_mapping: Mapping[str, str] | None = None,
        any_source: bool = False,
    ) -> None:
        self.name = source.name
        self.format = format_
        self.kind = kind
        self.unreadable: str | None = None
        self.line = 0
        self.row: dict[str, Any] = {}
        self._source = source
        self._meanings = meanings
        self._columns = Columns(
            kind.columns,
            mapping,
            left_over=kind.left_over,
            reads_left_over=kind.reads_left_over,
            meanings=meanings,
            constants=constants,
        )
        self.export = export
        self._recognises = recognises
        self._key_mapping = key_mapping or {}
        self._any_source = any_source
        self._answers: AnswersOfExport | None = None
        self._rows_of_file = self._noting_the_end(format_.read(source))
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
        return self._source.position / self._source.size if self._source.size else None

    def columns(self) -> tuple[ColumnUse, ...]:
        """Return how the columns of the rows read so far are used."""
        report = self._columns.report()
        return report if self.export is None else self.export.columns(report, self.kind.left_over)

    def close(self) -> None:
        """Close the file. Reading it to the end closes it too."""
        self._rows_of_file.close()
        self._source.close()

    def _opened(self) -> Iterator[Row | Rejected]:
        """Read rows until all mapped columns are found, at least one, so that a wrong file or option fails at once."""
        items = self._rows_of_file
        ahead = list(itertools.islice(items, 1))
        for item in ahead:
            if isinstance(item, Row):
                self._columns.plan(self._columns.unfolded(item.values), counts=False)
            if self._unseen and len(ahead) < LOOK_AHEAD:
                ahead.extend(itertools.islice(items, 1))
        if missing := self._unseen:
            names = self._columns.known(nested="." in missing[0]) if self.export is None else self.export.names
            raise BadInput(
                f"--map: {self.name} has no column {missing[0]!r} in its first {counted(len(ahead), 'row')}; "
                f"it has {', '.join(names) or 'no columns'}"
            )
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
        ahead = list(itertools.islice(items, 1))
        if self._recognises and self.export is None and ahead and isinstance(ahead[0], Row):
            self.export = recognised(ahead[0].values, self._recognises, self._key_mapping)
            if self._key_mapping and self.export is None:
                raise BadInput(
                    f"--map {next(iter(self._key_mapping))}: {self.name} is not a log of conversations. "
                    "Each row needs a list `messages` whose messages have role and content."
                )
        rows = itertools.chain(ahead, items)
        if self.export is None:
            return rows
        self.kind.of_traces = self.export.of_traces
        if self._any_source:
            self.kind.tool_source = self.export.source
            self.kind.source = self.export.source if self.kind.brings_answers else None
        return self.export.rows(rows)

    def _record(self, row: Row) -> Any:
        if isinstance(row, RowOfAnswer):
            self._answers = self._answers or AnswersOfExport(self.format.textual)
            answer = self._answers.of(row)
            if isinstance(answer, Rejected):
                return Rejected(row.line, answer.field, f"its answer is rejected: {answer.reason}", row.values)
            self.kind.file_answers[answer.external_id] = answer
        values = self._columns.unfolded(row.values)
        taken, others = self._columns.plan(values)
        if fault := fault_in(row.values):
            theirs, reason = fault
            ours = next((ours for ours, name in taken.items() if name == theirs), theirs)
            return Rejected(row.line, ours, reason, row.values)
        cells = Cells(values, taken, others, self.format.textual, meanings=self._meanings)
        try:
            record = self.kind.build(cells)
        except Unusable as error:
            other = kind_meant(type(self.kind), taken, row.values)
            if other is None:
                return Rejected(row.line, error.field, error.reason, cells.as_json())
            reason = f"{error.reason}; the row looks like the kind {other}: use --kind {other}"
            return OfAnotherKind(row.line, error.field, reason, cells.as_json())
        self.row = cells.as_json()
        if isinstance(row, RowWithEarlier):
            self.kind.earlier[record.external_id] = row.earlier
        return record


def read_records(
    file: str | Path | BinaryIO,
    *,
    kind: str = "responses",
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    values: Mapping[str, Mapping[str, str]] | None = None,
    constants: Mapping[str, str] | None = None,
    source: str | None = None,
    label_set: str | None = None,
    name: str | None = None,
    actor: str = "library",
    export: Export | None = None,
    newer_counts: bool = False,
) -> Reading:
    """Read a file of one kind lazily. The arguments are those of `import_file`."""
    chosen = kind_class(kind)
    any_source = source is None
    if source is None and chosen.brings_answers:
        source = DEFAULT_SOURCE
    if source is not None and (not source.strip() or len(source) > MAX_NAME or fault_in({"source": source})):
        raise BadInput(f"--source must be a name of 1 to {MAX_NAME} characters")
    if label_set is not None and kind not in LABELLED:
        raise BadInput(f"--label-set is for the kinds {' and '.join(LABELLED)}")
    if label_set is not None:
        check_label_set(label_set)
    importing = chosen(source, actor)
    importing.labels.label_set = label_set
    importing.newer_counts = newer_counts
    meanings = meanings_of(values or {}, chosen.columns, chosen.choices, mapping or {})
    opened = ByteSource(file, name)
    try:
        # A format or a mapping says how to read the file, so that nothing has to be recognised. A mapping of keys of
        # messages is for the log of conversations that the file must be.
        keys = dict(mapping or {}) if any(name.startswith(IN_MESSAGES) for name in mapping or ()) else {}
        keys = {theirs: field_meant(chosen.columns, theirs, ours) for theirs, ours in keys.items()}
        recognises = kind if keys or (format == AUTO and not mapping and not constants) else None
        rows = None if export is None else ExportRows(export, kind)
        return Reading(
            opened,
            find_format(opened, format),
            importing,
            None if keys else mapping,
            meanings,
            recognises,
            rows,
            constants,
            any_source=any_source,
            key_mapping=keys,
        )
    except BaseException:
        opened.close()
        raise


class OfAnotherKind(Rejected):
    """A rejected row with the columns of another kind."""

    __slots__ = ()


def kind_meant(chosen: type[ImportKind[Any]], taken: Collection[str], columns: Iterable[str]) -> str | None:
    """Return a kind other than ``chosen`` whose required fields are among the columns of a row.

    Return None if ``taken`` (the fields with a column) has all required fields of ``chosen``, or if no other kind fits.
    Kinds with answers are tried first, then kinds with more required fields. A log with thumbs whose answer has an
    unknown name is still a log: where a required field of ``chosen`` is found, another kind needs a field that
    ``chosen`` does not have.
    """
    if all(name in taken for name in chosen.needed):
        return None
    partly = any(name in taken for name in chosen.needed)
    names = {simple_name(column) for column in columns}
    classes = [(kind, kind_class(kind)) for kind in KINDS]
    classes.sort(key=lambda item: (not item[1].brings_answers, -len(item[1].needed)))
    for kind, other in classes:
        if partly and chosen.columns.keys() >= set(other.needed):
            continue
        if other is not chosen and not any(names.isdisjoint(other.columns[name]) for name in other.needed):
            return kind
    return None
