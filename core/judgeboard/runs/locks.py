"""Locks that end with the holding process: on a run that a command makes, and on the jobs of a SQLite file.

On PostgreSQL a lock belongs to a connection, on SQLite to an open file beside the database.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from judgeboard.errors import BadInput
from judgeboard.store.engine import Store
from judgeboard.store.file_locks import FileLock, this_process
from judgeboard.store.jobs import live_workers, runs_in_progress
from judgeboard.store.runs import AskMode, running_runs, select_asks, selection_of

_RUNS = 72_164  # the class of these locks among the advisory locks of PostgreSQL
_HOLDER = text(
    "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted "
    "AND classid = :runs AND objid = :run "
    "AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_MARK = "jb: "
_LONGEST_NAME = 63  # of a connection on PostgreSQL, in bytes
LOOK_SECONDS = 0.2  # a process that only looks whether a lock is held takes the lock for a moment


@contextmanager
def hold_run(store: Store, run_id: int) -> Iterator[Callable[[], None]]:
    """Hold a run for this process; raises BadInput that names the process that holds the run already.

    Call the returned function before further tasks are begun. The function takes the lock again if
    the database has lost the lock, and raises BadInput if another process holds the run by now.
    """
    if store.is_sqlite:
        lock = FileLock.take(_run_file(store, run_id), seconds=LOOK_SECONDS)
        if lock is None:
            raise _refusal(holder_of(store, run_id))
        try:
            yield lambda: None
        finally:
            lock.release()
        return
    of_connection = ConnectionLock(store, run_id)
    try:
        of_connection.take()
        yield of_connection.keep
    finally:
        of_connection.release()


class ConnectionLock:
    """The lock of a run in PostgreSQL, which belongs to a separate connection, and ends with this connection."""

    def __init__(self, store: Store, run_id: int) -> None:
        self._store, self._run_id = store, run_id
        self._connection: Connection | None = None

    def take(self) -> None:
        """Take the lock; raises BadInput if another process has the lock."""
        name = f"{_MARK}{this_process()}".encode()[:_LONGEST_NAME].decode(errors="ignore")
        self._connection = self._store.engine.connect()
        is_taken = self._connection.scalar(select(func.pg_try_advisory_lock(_RUNS, self._run_id)))
        self._connection.execute(select(func.set_config("application_name", name, False)))
        self._connection.commit()
        if not is_taken:
            raise _refusal(holder_of(self._store, self._run_id))

    def keep(self) -> None:
        """Take the lock again if the connection has ended, for example because the database was restarted."""
        with suppress(DBAPIError):
            if self._connection is not None:
                self._connection.execute(select(1))
                self._connection.commit()
                return
        self.release()
        with suppress(
            DBAPIError
        ):  # the database is still away: the reader of tasks waits, and comes again
            self.take()

    def release(self) -> None:
        """Release the lock. The connection does not go back to the pool, which would keep the lock."""
        if self._connection is not None:
            # The server notices some milliseconds later that a connection ended: the lock ends now.
            with suppress(Exception):
                self._connection.execute(select(func.pg_advisory_unlock_all()))
            with suppress(Exception):
                self._connection.invalidate()
                self._connection.close()
        self._connection = None


def refuse_held(store: Store, run_id: int) -> None:
    """Raise BadInput if a process holds a run."""
    holder = holder_of(store, run_id)
    if holder is not None:
        raise _refusal(holder)


def holder_of(store: Store, run_id: int) -> str | None:
    """Return which process makes a run, and since when; None if no command does."""
    if not store.is_sqlite:
        with store.reading() as connection:
            name = connection.scalar(_HOLDER, {"runs": _RUNS, "run": run_id})
        return None if name is None else str(name).removeprefix(_MARK)
    path = _run_file(store, run_id)
    if not path.exists():
        return None
    lock = FileLock.take(path)
    if lock is not None:  # the process was killed
        lock.release()
        return None
    with suppress(OSError):
        return path.read_text()
    return None


def asked_by_commands(store: Store, version_ids: Collection[int], ids: Collection[int]) -> set[int]:
    """Return the answers among ``ids`` about which a command asks one of these judge versions now."""
    asked_ids: set[int] = set()
    if not ids:
        return asked_ids
    with store.reading() as connection:
        runs = running_runs(connection, version_ids)
    for run in runs:
        selection = selection_of(run)
        is_judging = selection is not None and selection.mode is not AskMode.ANCHORS
        if is_judging and holder_of(store, run.id) is not None:
            with store.reading() as connection:
                asked_ids.update(
                    id_ for id_, _ in select_asks(connection, run, among=ids, limit=len(ids))
                )
    return asked_ids


def refuse_work(store: Store) -> None:
    """Raise BadInput if a server, a worker or a command works on the database now."""
    with store.reading() as connection:
        workers = live_workers(connection)
        runs = runs_in_progress(connection, since=datetime.min.replace(tzinfo=UTC))
    if workers:
        raise BadInput(
            f"servers or workers use {store.shown_url} ({len(workers)}): stop them first. One that was killed counts "
            "for 15 seconds"
        )
    for run in runs:
        refuse_held(store, run.id)


def _refusal(holder: str | None) -> BadInput:
    """Return the error for a run that ``holder`` holds (None: that process has ended since)."""
    return BadInput(
        f"{holder or 'another process'} makes this run: wait for its end, or stop it there with Ctrl-C"
    )


def _run_file(store: Store, run_id: int) -> Path:
    return Path(f"{store.engine.url.database}.run-{run_id}.lock")
