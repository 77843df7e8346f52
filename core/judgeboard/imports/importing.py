"""Stores a file of any kind, in whole batches; rejected rows go to a file beside it."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self, TextIO

from sqlalchemy import Connection

from judgeboard.domain import Rejected
from judgeboard.imports.columns import ColumnUse
from judgeboard.imports.kind import ImportKind, Stored
from judgeboard.imports.kinds import kind_class
from judgeboard.imports.reading import read_records
from judgeboard.people.permissions import Action, Actor, actor_name, allowed
from judgeboard.store.engine import Store
from judgeboard.store.storing import finish_batch, same_file_before, start_batch

BATCH_ROWS = 1_000


class OnProgress(Protocol):
    """Told after every batch: rows read so far and the share of the file, None where that is not known."""

    def __call__(self, rows: int, share: float | None) -> None:
        """Show it."""


@dataclass(slots=True)
class ImportSummary:
    """What became of the rows of one file: rows = new + unchanged + rejected (conflicts among them).

    ``unreadable`` says why the file broke off; ``before`` is when the same bytes came in earlier. The first conflicts
    are kept apart too: rows that nobody could read come before them in a batch.
    """

    file: str
    kind: str
    dry_run: bool
    format: str = ""
    new: int = 0
    unchanged: int = 0
    feedback_added: int = 0
    rejected: int = 0
    conflicts: int = 0
    columns: tuple[ColumnUse, ...] = ()
    unreadable: str | None = None
    rejected_file: Path | None = None
    rejected_problem: str | None = None
    before: datetime | None = None
    first_rejected: list[Rejected] = field(default_factory=list)
    first_conflicts: list[Rejected] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Rows read."""
        return self.new + self.unchanged + self.rejected

    @property
    def usable(self) -> int:
        """Rows that are in the store now (or could be, in a dry run)."""
        return self.new + self.unchanged

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the file."""
        return tuple(use.theirs for use in self.columns if use.theirs is not None)

    @property
    def not_read(self) -> tuple[str, ...]:
        """The columns with values that are not read, though nobody said to leave them out."""
        return tuple(use.theirs for use in self.columns if use.unasked and use.theirs is not None)

    @property
    def id_from_content(self) -> bool:
        """Whether the ids of the rows are made of what is read of them: read otherwise, the same rows are new."""
        return self.kind == "responses" and "external_id" in {use.ours for use in self.columns if use.theirs is None}

    @property
    def not_found(self) -> tuple[str, ...]:
        """The fields that no row goes without and no column is taken for."""
        empty = {use.ours for use in self.columns if use.theirs is None}
        return tuple(name for name in kind_class(self.kind).needed if name in empty)

    def counts(self) -> dict[str, int]:
        """Return the numbers that the batch keeps."""
        return {
            "rows": self.rows,
            "new": self.new,
            "unchanged": self.unchanged,
            "feedback_added": self.feedback_added,
            "rejected": self.rejected,
            "conflicts": self.conflicts,
        }


def import_file(
    store: Store,
    file: str | Path | BinaryIO,
    *,
    kind: str = "responses",
    format: str = "auto",  # noqa: A002 - the name of the command's option
    mapping: Mapping[str, str] | None = None,
    source: str | None = None,
    dry_run: bool = False,
    rejected: Path | None = None,
    actor: Actor = "library",
    name: str | None = None,
    on_progress: OnProgress | None = None,
    on_rejected: Callable[[Rejected], None] | None = None,
) -> ImportSummary:
    """Import one file; the same file again changes nothing.

    Rows come in batches of 1,000, each in one transaction: a crash leaves whole batches, and the next import
    completes them. Rows that cannot come in go to ``rejected`` (default: ``FILE.rejected.jsonl``) with line, field
    and reason. A dry run stores and writes nothing.

    Args:
        store: Where to.
        file: A path, ``-`` for standard input, or a stream of bytes; gzipped or not.
        kind: What is in the file: one of `KINDS`.
        format: ``auto`` or one of `FORMATS`.
        mapping: ``{theirs: ours}`` for columns that are not recognised.
        source: The log's name for rows without their own; for grades, verdicts and comparisons, where the responses
            or pairs are looked for.
        dry_run: Only say what would happen.
        rejected: Where rejected rows go.
        actor: Who imports.
        name: How messages call a stream.
        on_progress: Told after each batch.
        on_rejected: Given each rejected row, in a dry run too; no file of them is then written.

    Raises:
        NotAllowed: The actor is neither lead nor admin.
        BadInput: The file, format, kind or mapping cannot be used; nothing is stored.
    """
    digest = _sha256(file)
    with read_records(
        file, kind=kind, format=format, mapping=mapping, source=source, name=name, actor=actor_name(actor)
    ) as reading:
        summary = ImportSummary(file=reading.name, kind=kind, dry_run=dry_run, format=reading.format.title)
        if digest is not None:
            with store.reading() as connection:
                summary.before = same_file_before(connection, digest, kind)
        target = rejected or rejected_path(name or (file if isinstance(file, str | Path) else "upload"))
        with RejectedFile(target) as rejects:
            reject = on_rejected or (_drop if dry_run else rejects.add)
            batch = _Batch(store, reading.kind, summary, reject, actor, digest)
            for item in reading:
                batch.add(reading.line, item)
                if batch.full:
                    batch.store()
                    if on_progress is not None:
                        on_progress(summary.rows, reading.share_read)
            batch.store()
            batch.finish()
        summary.columns = reading.columns()
        summary.unreadable = reading.unreadable
        summary.rejected_file = target if rejects.count and not dry_run and rejects.problem is None else None
        summary.rejected_problem = rejects.problem
    return summary


class _Batch:
    """Rows on their way into the store, stored 1,000 at a time."""

    def __init__(
        self,
        store: Store,
        kind: ImportKind[Any],
        summary: ImportSummary,
        reject: Callable[[Rejected], None],
        actor: Actor,
        digest: str | None,
    ) -> None:
        self._store = store
        self._kind = kind
        self._summary = summary
        self._pass_on = reject
        self._actor = actor
        self._digest = digest
        self._records: list[Any] = []
        self._lines: list[int] = []
        self._batch_id: int | None = None

    @property
    def full(self) -> bool:
        return len(self._records) >= BATCH_ROWS

    def add(self, line: int, item: Any) -> None:
        if isinstance(item, Rejected):
            self._reject(item)
        else:
            self._records.append(item)
            self._lines.append(line)

    def store(self) -> None:
        if not self._records:
            return
        with allowed(self._store, self._actor, Action.IMPORT) as connection:
            attempt = connection.begin_nested()
            batch_id = self._batch_id or self._start(connection)
            stored = self._kind.store(connection, self._records, batch_id, datetime.now(UTC))
            # A file that brings nothing new leaves nothing behind, not even a batch.
            if self._summary.dry_run or not (stored.new or stored.feedback_added):
                attempt.rollback()
            else:
                attempt.commit()
                self._batch_id = batch_id
        self._count(stored)
        self._records, self._lines = [], []

    def finish(self) -> None:
        with allowed(self._store, self._actor, Action.IMPORT) as connection:
            attempt, now = connection.begin_nested(), datetime.now(UTC)
            late = self._kind.finish(connection, now)
            self._summary.new += late
            self._summary.unchanged -= late
            if self._summary.dry_run:
                attempt.rollback()
            elif self._batch_id is not None:
                finish_batch(connection, self._batch_id, self._summary.counts(), now)

    def _start(self, connection: Connection) -> int:
        return start_batch(
            connection,
            file=Path(self._summary.file).name,
            sha256=self._digest,
            importer=self._summary.format,
            kind=self._summary.kind,
            actor=actor_name(self._actor),
            now=datetime.now(UTC),
        )

    def _count(self, stored: Stored) -> None:
        self._summary.new += stored.new
        self._summary.unchanged += stored.unchanged
        self._summary.feedback_added += stored.feedback_added
        for problem in stored.problems:
            row = self._kind.as_row(self._records[problem.index])
            self._reject(
                Rejected(self._lines[problem.index], problem.field, problem.reason, row, conflict=problem.conflict)
            )

    def _reject(self, rejected: Rejected) -> None:
        self._summary.rejected += 1
        self._summary.conflicts += rejected.conflict
        if rejected.conflict and len(self._summary.first_conflicts) < 20:
            self._summary.first_conflicts.append(rejected)
        if len(self._summary.first_rejected) < 20:
            self._summary.first_rejected.append(rejected)
        self._pass_on(rejected)


def _drop(_rejected: Rejected) -> None:
    """Keep no rejected row: a dry run writes nothing."""


def _sha256(file: str | Path | BinaryIO) -> str | None:
    """Hash a file that can be read twice; standard input and other streams without a way back cannot."""
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


def rejected_path(file: str | Path) -> Path:
    """Return where the rejected rows of a file go: ``FILE.rejected.jsonl``; for ``-`` into the current folder."""
    return Path("stdin.rejected.jsonl") if str(file) == "-" else Path(f"{file}.rejected.jsonl")


_START = b'{"line": '  # how every line of such a file starts


class RejectedFile:
    """JSON lines of line, field, reason and row; the file is made with the first of them.

    It replaces an older one of its kind and nothing else: the log itself, or the database, may have been named.

    Attributes:
        path: Where it is written.
        count: How many rows were rejected, written or not.
        problem: Why they could not be written, None where they could: the good rows come in all the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.problem: str | None = None
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as failure:  # a full disk shows here at the latest, after the good rows came in
            self.problem = self.problem or self._unwritten(failure)

    def add(self, rejected: Rejected) -> None:
        """Write one rejected row."""
        self.count += 1
        if self.problem is not None:
            return
        try:
            if self._file is None:
                if not _replaceable(self.path):
                    self.problem = f"{self.path} holds something else than rejected rows: use --rejected PATH"
                    return
                self._file = self.path.open("w", encoding="utf-8")
            self._file.write(rejected_line(rejected))
        except OSError as error:
            self.problem = self._unwritten(error)

    def _unwritten(self, error: OSError) -> str:
        return f"the rejected rows cannot be written to {self.path} ({error.strerror}): use --rejected PATH"


def _replaceable(path: Path) -> bool:
    """Whether nothing is there, or what an earlier import wrote (pipes and devices lose nothing)."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        return file.read(len(_START)) in {b"", _START}


def rejected_line(rejected: Rejected) -> str:
    """Return a rejected row as a line of JSON, whatever it holds."""
    line = {"line": rejected.line, "field": rejected.field, "reason": rejected.reason, "row": rejected.row}
    return _json(line) + "\n"


def _json(line: dict[str, Any]) -> str:
    # Escaped to ASCII: half characters, one reason to be rejected, have no bytes in UTF-8.
    try:
        return json.dumps(line, allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({**line, "row": _shown(line["row"])})


def _shown(row: Any) -> str:
    try:
        return repr(row)
    except RecursionError:
        return "nested too deeply to be shown"
