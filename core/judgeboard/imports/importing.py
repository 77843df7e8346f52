"""Reads a file of any kind and stores its rows in batches. Rejected rows are written to another file."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Unpack

from sqlalchemy import Connection

from judgeboard.domain import Action, Rejected
from judgeboard.errors import BadInput
from judgeboard.formats.files import HELD_BYTES, is_in_use
from judgeboard.imports.dates import DatesOfColumn
from judgeboard.imports.fields import (
    ColumnUse,
)
from judgeboard.imports.kinds import DEFAULT_SOURCE, KINDS, ImportKind, Stored, kind_class
from judgeboard.imports.labels import LabelWord, in_other_words, labels_sentence
from judgeboard.imports.mapping import FileMapping
from judgeboard.imports.reading import (
    RESPONSES,
    ImportRequest,
    Reading,
    UnclearFile,
    Unread,
    clear_records,
)
from judgeboard.imports.rejected_rows import RejectedFile, is_rejected_file, rejected_path
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.flags import count_raised, latest_flag
from judgeboard.store.outages import tried_again
from judgeboard.store.settings import remember_mapping, remembered_mapping
from judgeboard.store.storing import ASPECTS_ADDED, same_file_before, start_batch, store_counts
from judgeboard.store.withdrawals import ImportUndo, withdraw_import
from judgeboard.text import counted, listed_some, shown_name

BATCH_ROWS = 1_000
IDS_FROM_CONTENT = ("responses", "pairs")
_COUNTS = ("rows", "new", "unchanged", "feedback_added", "rejected")
MOST_NAMED = 30  # maximum number of columns in a text
MOST_KEPT = 20  # maximum number of first rejected rows in a summary

OnProgress = Callable[[int, float | None], None]
"""Called during the reading and after each batch.

The function gets the number of rows so far and the share of the file that was read (None: unknown). An error
in the function ends the import.
"""


@dataclass(slots=True)
class ImportSummary:
    """The result of an import: rows = new + unchanged + rejected.

    Rejected rows include ``differing`` rows, whose id is stored with other content. ``unreadable``
    is the reason if the file could not be read to its end. ``before`` is the time of an earlier
    import of the same bytes. ``older_file`` has the rejected rows of an earlier import, if this
    import rejected none. ``first_differing`` is a separate list because all unusable rows of a
    batch come before the differing rows. ``labels`` are the words for labels in the file,
    ``messages`` have further notes for people. ``export`` is the title of a recognised export of
    another tool. ``of_traces`` is True if the answers come from traces. ``others`` counts the rows
    of other kinds. ``tool_source`` is the source of the tool, if no source was chosen. ``mapping``,
    ``left_out``, ``unread`` and ``encoding`` come from the `Reading`. ``dates`` shows how dates
    with the year last were read, if the file decided. ``flags`` counts the flags that the new rows
    raised, 0 in a dry run. ``number`` is the number of the import, None if nothing was stored.
    ``earlier`` has the numbers of the imports with the differing rows.
    """

    file: str
    kind: str
    dry_run: bool
    format: str = ""
    export: str | None = None
    tool_source: str | None = None
    of_traces: bool = False
    others: Mapping[str, int] = field(default_factory=dict)
    mapping: FileMapping | None = None
    left_out: tuple[str, ...] = ()
    unread: Mapping[str, Unread] = field(default_factory=dict)
    encoding: str | None = None
    dates: DatesOfColumn | None = None
    flags: int = 0
    number: int | None = None
    earlier: set[int] = field(default_factory=set)
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
        """The columns that are not read, although no mapping excludes them, with the number of values in each."""
        return {
            use.theirs: use.times for use in self.columns if use.unasked and use.theirs is not None
        }

    @property
    def id_from_content(self) -> bool:
        """Whether the ids are derived from the content, so that another mapping would import these rows again."""
        return self.kind in IDS_FROM_CONTENT and "external_id" in {
            use.ours for use in self.columns if use.theirs is None
        }

    @property
    def facts(self) -> dict[str, str]:
        """Facts about the import by label: what was recognised, read in another way, or not read."""
        others = self.others if self.kind == RESPONSES else {}
        class_ = kind_class(self.kind)
        is_beside = self.mapping is not None and self.mapping.kind != self.kind
        not_read = {} if is_beside else self.not_read
        names = [
            f"{shown_name(name)} ({counted(times, 'time')})" for name, times in not_read.items()
        ]
        dates = self.dates
        facts = {
            "recognised": self.export,
            "source": self.tool_source if self.rows and class_.brings_answers else None,
            "also has": ", ".join(counted(n, KINDS[kind].noun) for kind, n in others.items()),
            "not read": f"{listed_some(names, MOST_NAMED)} ({class_.left_over})" if names else None,
            "ids": "derived from the content"
            if names and self.new and self.id_from_content
            else None,
            "unreadable": "; ".join(
                f"{counted(each.times, 'value')} of {shown_name(theirs)} as {each.ours} (first: {each.reason})"
                for theirs, each in self.unread.items()
            ),
            "left out": listed_some([*map(shown_name, self.left_out)], MOST_NAMED),
            "encoding": self.encoding,
            "dates": None
            if dates is None
            else f"{str(dates.order).replace('-', ' ')}, as {dates.example} in {shown_name(dates.column)} shows",
            "labels": labels_sentence(self.labels) if in_other_words(self.labels) else None,
        }
        return {label: value for label, value in facts.items() if value}


def import_file(
    store: Store,
    file: str | Path | BinaryIO,
    *,
    batch: "OpenBatch | None" = None,
    on_progress: OnProgress | None = None,
    on_rejected: Callable[[Rejected], None] | None = None,
    **request: Unpack[ImportRequest],
) -> ImportSummary:
    """Import one file. Importing the same file again changes nothing.

    Rows are stored in batches of at most 1,000, each in one transaction. After a crash, import the
    file again. Rejected rows are written to a file with line, field and reason. If no row is
    rejected, such a file of an earlier import stays, because that file may belong to another
    database.

    ``file`` is a path, ``-`` for standard input, or a stream of bytes, gzipped or not. The keys of
    `ImportRequest` are keyword arguments: ``import_file(store, file, kind="grades",
    source="shop")``. With a ``batch``, the rows belong to this batch, which the caller finishes.
    ``on_rejected`` gets each rejected row, also in a dry run, and replaces the file of rejected
    rows.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        UnclearFile: A required field has no column, or the order of day and month is not clear;
            nothing is stored.
        BadInput: The file, format, kind or mapping cannot be used; nothing is stored.
    """
    digest = _sha256(file)
    dry_run = request.get("dry_run", False)
    summary = ImportSummary(file="", kind=request.get("kind") or RESPONSES, dry_run=dry_run)

    def note(share: float | None) -> None:
        if on_progress is not None:
            on_progress(summary.rows, share)

    with _opened(store, file, request, note) as reading:
        summary.file, summary.format, summary.kind = (
            reading.name,
            reading.format.title,
            reading.kind_name,
        )
        if digest is not None:
            with store.reading() as connection:
                summary.before = same_file_before(connection, digest, summary.kind)
        file_name = file if isinstance(file, str | Path) else "upload"
        target = request.get("rejected") or rejected_path(request.get("name") or file_name)
        with RejectedFile(target) as rejects:
            reject = on_rejected or (rejects.add if not dry_run else lambda _rejected: None)
            open_batch = batch or OpenBatch(Path(reading.name).name, digest)
            reading.kind.runs = open_batch.runs
            rows = _Rows(
                store, reading.kind, summary, reject, request.get("actor", "library"), open_batch
            )
            flushed = 0  # bytes of the file
            for item in reading:
                rows.add(reading, item)
                if len(rows.records) >= BATCH_ROWS or reading.unpacked - flushed > HELD_BYTES:
                    rows.flush()
                    flushed = reading.unpacked
                    note(reading.share_read)
            rows.flush()
            rows.finish()
            if batch is None:
                open_batch.finish(store)
            summary.number = open_batch.id
            options: dict[str, Any] = {
                name: value for name in _MAPPING if (value := request.get(name))
            }
            if summary.new and not dry_run and reading.mapping is not None and "mapping" in options:
                with store.writing() as connection:
                    remember_mapping(
                        connection,
                        _source(request),
                        options | {"kind": reading.kind_name},
                        actor_name(request.get("actor", "library")),
                    )
        summary.columns = reading.columns()
        summary.labels = reading.kind.labels.report()
        summary.messages = tuple(reading.messages())
        summary.dates, summary.others, summary.unread = (
            reading.dates,
            dict(reading.others),
            reading.unread,
        )
        summary.mapping, summary.left_out, summary.encoding = (
            reading.mapping,
            reading.left_out,
            reading.encoding,
        )
        if reading.export is not None:
            summary.export, summary.of_traces = reading.export.title, reading.export.of_traces
            summary.tool_source = reading.kind.tool_source
        summary.unreadable = reading.unreadable
        summary.rejected_file = (
            target if rejects.count and not dry_run and rejects.problem is None else None
        )
        summary.rejected_problem = rejects.problem
        if (
            on_rejected is None
            and not dry_run
            and not rejects.count
            and target.is_file()
            and str(target) != str(file)
        ):
            with suppress(OSError):  # another user's file; this import is done
                summary.older_file = target if is_rejected_file(target) else None
    return summary


def requests_beside(summary: ImportSummary, request: ImportRequest) -> list[ImportRequest]:
    """Return the requests that import the verdicts and grades beside the stored answers of a file."""
    if summary.kind != RESPONSES or summary.dry_run:
        return []
    return [request | {"kind": kind, "beside": summary.export is None} for kind in summary.others]


_MAPPING = ("mapping", "constants", "values", "dates")
"""The parts of a request that map columns and are remembered."""


def _opened(
    store: Store,
    file: str | Path | BinaryIO,
    request: ImportRequest,
    note: Callable[[float | None], None],
) -> Reading:
    """Open a file. If the mapping is not certain, the last mapping of the same source is used if that mapping fits."""
    start = None if isinstance(file, str | Path) or not file.seekable() else file.tell()
    try:
        return clear_records(file, request, note)
    except UnclearFile:
        with store.reading() as connection:
            mapping = remembered_mapping(connection, _source(request))
        other_kind = mapping is not None and request.get("kind") not in {None, mapping["kind"]}
        if mapping is None or other_kind or request.get("mapping"):
            raise
        with suppress(BadInput):  # the file may have other columns
            if not isinstance(file, str | Path):
                file.seek(start or 0)
            return clear_records(file, {**request, **mapping}, note)  # type: ignore[typeddict-item]  # from JSON
        raise


def _source(request: ImportRequest) -> str:
    return request.get("source") or DEFAULT_SOURCE


@dataclass(slots=True)
class OpenBatch:
    """An import batch of one kind of rows, of one file or of several that come one after the other.

    ``name`` is the name of the file in the list of imports. ``digest`` is the hash of a single
    file. ``runs`` are the runs of recorded judges, by judge version. ``id`` is None while nothing
    new was stored.
    """

    name: str
    digest: str | None = None
    id: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    runs: dict[int, int] = field(default_factory=dict)

    def finish(self, store: Store) -> None:
        """Store the end of the batch."""
        if self.id is not None:
            with store.writing() as connection:
                store_counts(connection, self.id, dict(self.counts), utc_now())


def undo_import(
    store: Store, number: int | None = None, *, with_reviews: bool = False, actor: Actor = "library"
) -> ImportUndo:
    """Withdraw the rows of an import (default: the latest) and all that was derived from the rows, in one transaction.

    Then the ids are free, and the file can be imported again. Answers and pairs on which people
    decided stay, unless ``with_reviews`` is given.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        NotFound: There is no such import.
        BadInput: No row of the import is left, or the rows cannot be told apart from rows of other
            imports.
    """
    with allowed(store, actor, Action.IMPORT) as connection:
        return withdraw_import(
            connection, number, with_reviews=with_reviews, actor=actor_name(actor)
        )


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
    keeps: bool = True

    def add(self, reading: Reading, item: Any) -> None:
        self.keeps = reading.unpacked <= HELD_BYTES
        if isinstance(item, Rejected):
            self._reject(item)
            return
        self.records.append(item)
        self.rows.append((reading.line, reading.row))

    def _keep(self, first: list[Rejected], item: Rejected) -> None:
        """Keep the first rejected rows: one in any case, and further ones of the first bytes of the file."""
        if not first or (self.keeps and len(first) < MOST_KEPT):
            first.append(item)

    @tried_again
    def _store(self) -> Stored:
        """Store the records in one transaction."""
        with allowed(self.store, self.actor, Action.IMPORT) as connection:
            attempt, now = connection.begin_nested(), utc_now()
            batch_id, started_id = self.batch.id, self._started_batch(connection, now)
            newest_flag = latest_flag(connection)
            outcome = self.kind.store(connection, self.records, now)
            # A file with nothing new stores nothing, not even an import batch.
            if self.summary.dry_run or not (outcome.new or outcome.feedback_added):
                attempt.rollback()
            else:
                attempt.commit()
                batch_id = started_id
                new = self.batch.counts["new"] + self.summary.new + outcome.new
                store_counts(connection, started_id, {"new": new})
            # After the rollback of a dry run, which would count the same flags in several batches.
            flags = count_raised(connection, newest_flag, now)
        self.batch.id = batch_id
        self.summary.flags += flags
        return outcome

    def flush(self) -> None:
        if not self.records:
            return
        summary, outcome = self.summary, self._store()
        summary.new += outcome.new
        summary.unchanged += outcome.unchanged
        summary.feedback_added += outcome.feedback_added
        summary.earlier |= outcome.imports
        for problem in outcome.problems:
            line, row = self.rows[problem.line]
            self._reject(replace(problem, line=line, row=row))
        self.records, self.rows = [], []
        self.kind.file_answers.clear()
        self.kind.row_ids.clear()

    def finish(self) -> None:
        with allowed(self.store, self.actor, Action.IMPORT) as connection:
            attempt, now = connection.begin_nested(), utc_now()
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

    def _started_batch(self, connection: Connection, now: datetime) -> int:
        """Return the batch of the records that are stored next; the caller keeps the batch if some records are new."""
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
        if rejected.differs:
            self._keep(self.summary.first_differing, rejected)
        self._keep(self.summary.first_rejected, rejected)
        self.pass_on(rejected)


def _sha256(file: str | Path | BinaryIO) -> str | None:
    """Return the hash of a file, None for a file that can be read only once or is a database in use."""
    if not isinstance(file, str | Path):
        if not file.seekable():
            return None
        start, digest = file.tell(), hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
        file.seek(start)
        return digest.hexdigest()
    if str(file) == "-" or not Path(file).is_file() or is_in_use(Path(file)):
        return None
    with Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
