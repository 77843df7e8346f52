"""The worker of a process: takes entries from the engine, does the entries, and stores heartbeats. One worker leads."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from judgeboard.errors import BadInput
from judgeboard.runs.leader import Leader, log_failure, work_keys, work_of
from judgeboard.runs.share import Shares
from judgeboard.runs.work import JUDGE, Entry, duties
from judgeboard.settings.model import load_settings, setting_hashes
from judgeboard.store.engine import Store
from judgeboard.store.file_locks import FileLock
from judgeboard.store.jobs import (
    live_workers,
    new_executor_id,
    process_name,
    record_heartbeat,
    record_settings,
    register_worker,
    remove_worker,
)
from judgeboard.store.outages import Outage
from judgeboard.store.settings import check_primary_judge

if TYPE_CHECKING:
    from anyio import CancelScope

    from judgeboard.runs.engine import Engine

BEAT_SECONDS = 5.0
TURN_SECONDS = 1.0  # between two attempts to lock the jobs, while another process has the lock
TICK_SECONDS = 0.25  # between two looks whether another connection has written to the SQLite file
QUIET_TICK_SECONDS = 1.0  # when nobody has written to the file for a minute
QUIET_SECONDS = 60.0
GATHER_SECONDS = 0.02  # after something changed: more changes mostly follow
LONG_THREADS = 20
REST_SECONDS = 60.0  # without an entry, after which the queue in memory ends
FINISH_SECONDS = 6.0  # for the calls in flight when the process ends

_log = logging.getLogger("judgeboard.jobs")


class Worker:
    """Does the work of one database in a thread of this process, from `start` to `stop`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.executor_id = new_executor_id()
        self._closing = threading.Event()
        self._ended = threading.Event()
        self._outage = Outage()
        self._thread = threading.Thread(target=self._run, name="judgeboard-worker", daemon=True)

    def start(self) -> None:
        """Start to take jobs; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the calls in flight and wait until the worker has ended; the next worker continues the jobs."""
        self._closing.set()
        self._ended.wait(FINISH_SECONDS + 2)

    def wait(self) -> None:
        """Wait until the worker ends, that is, until `stop` is called. Ctrl-C interrupts the wait."""
        # Not `join`: after Ctrl-C, Python 3.11 treats the thread as ended, and the process would
        # end at once.
        while not self._ended.wait(0.5):
            pass

    def _run(self) -> None:
        try:
            self._warn_of_primary_judge()
            while not self._closing.is_set():
                began = time.monotonic()
                try:
                    self._take_jobs()
                except Exception as error:  # noqa: BLE001 - whatever the database raises: the pages go on
                    log_failure("cannot take jobs", error, self._outage, began)
                    self._closing.wait(BEAT_SECONDS)
        finally:
            self._ended.set()

    def _warn_of_primary_judge(self) -> None:
        """Log a warning if the primary judge does not exist: here, once for all jobs of the process."""
        began = time.monotonic()
        try:
            with self._store.reading() as connection:
                check_primary_judge(connection)
        except BadInput as error:
            _log.warning("%s", error)
        except Exception as error:  # noqa: BLE001 - an unreachable database comes back
            log_failure("cannot check the primary judge", error, self._outage, began)

    def _take_jobs(self) -> None:
        lock: FileLock | None = None
        if self._store.is_sqlite:  # one process of a file takes jobs
            while (lock := FileLock.take(jobs_file(self._store))) is None:
                if self._closing.wait(TURN_SECONDS):
                    return
        try:
            with self._store.writing() as connection:
                register_worker(connection, self.executor_id)
            try:
                asyncio.run(
                    _Turn(self._store, self.executor_id, self._closing, self._outage).take()
                )
            finally:
                with self._store.writing() as connection:
                    remove_worker(connection, self.executor_id)
                self._leave()
        finally:
            if lock is not None:
                lock.release()

    def _leave(self) -> None:
        """Store that nothing goes on, if this was the last worker; the next one goes on."""
        with self._store.reading() as connection:
            keys = [] if live_workers(connection) else work_keys(connection)
        for key in keys:
            work_of(self._store, key).leave()


class _Writes:
    """Notices that another process or thread has written to a SQLite file. A look costs a twentieth of a query."""

    def __init__(self, store: Store) -> None:
        self._connection = sqlite3.connect(str(store.engine.url.database), check_same_thread=False)
        self._lock = (
            threading.Lock()
        )  # SQLite ends the process if a connection is closed while a thread uses it
        self._version: int | None = None

    def are_new(self) -> bool:
        """Return whether anything was written since the last look."""
        # The file is locked, because somebody writes, or the connection is closed.
        with self._lock, suppress(sqlite3.OperationalError, sqlite3.ProgrammingError):
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
            if version != self._version:
                self._version = version
                return True
        return False

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()


class _Turn:
    """The time in which a worker takes jobs, in one event loop."""

    def __init__(
        self, store: Store, executor_id: str, closing: threading.Event, outage: Outage
    ) -> None:
        self._store, self._executor_id, self._closing, self._outage = (
            store,
            executor_id,
            closing,
            outage,
        )
        self._duties = duties()
        self._changed = asyncio.Event()
        self._writes = _Writes(store) if store.is_sqlite else None
        self._looking = asyncio.Lock()  # at the writes
        self._written_at = time.monotonic()
        self._engine: Engine | None = None  # on SQLite, None while there is nothing to do
        self._leader = Leader(store, self._start_engine, self._changed.set, outage)
        self._shares = Shares(store, executor_id, work_of)
        self._ending = threading.Event()  # of the duties that run
        self._long = ThreadPoolExecutor(LONG_THREADS)  # long work, so that the store never waits
        self._recorded_settings: dict[str, str] | None = None

    async def take(self) -> None:
        """Take jobs until the worker closes, then finish the calls in flight."""
        if not self._store.is_sqlite:
            await self._start_engine()
        beats = asyncio.create_task(self._beat_until_the_end())
        noticing = [
            asyncio.create_task(self._notice_end()),
            asyncio.create_task(self._notice_writes()),
        ]
        try:
            while not self._closing.is_set():
                began = time.monotonic()
                try:
                    pause = await self._leader.dispatch(self._engine)
                    await self._rest()
                except Exception as error:  # noqa: BLE001 - an unreachable database comes back; running chunks go on
                    log_failure("cannot look for jobs", error, self._outage, began)
                    pause = BEAT_SECONDS
                await self._pause(pause)
        finally:
            for each in noticing:
                each.cancel()
            self._ending.set()
            self._shares.close()
            if self._engine is not None:
                await self._engine.stop(FINISH_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._shares.wait(), 1.0)
            self._long.shutdown(wait=False)
            beats.cancel()
            if self._writes is not None:
                self._writes.close()

    async def _pause(self, seconds: float) -> None:
        """Wait until something changed, at most this long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)
        if not self._closing.is_set():
            await asyncio.sleep(GATHER_SECONDS)
        self._changed.clear()

    async def _notice_end(self) -> None:
        """Notice that the worker is to end."""
        await asyncio.get_running_loop().run_in_executor(self._long, self._closing.wait)
        self._changed.set()

    async def _notice_writes(self) -> None:
        """Notice that somebody else has written to the SQLite file; PostgreSQL notifies by itself."""
        while self._writes is not None:
            async with self._looking:
                if self._writes.are_new():
                    self._note_write()
            is_quiet = time.monotonic() - self._written_at > QUIET_SECONDS
            await asyncio.sleep(QUIET_TICK_SECONDS if is_quiet else TICK_SECONDS)

    def _note_write(self) -> None:
        self._written_at = time.monotonic()
        self._changed.set()

    async def _start_engine(self) -> "Engine":
        if self._engine is None:
            from judgeboard.runs.engine import (
                Engine,
            )  # takes most of a second to load: not before there is work

            judging = dict.fromkeys([JUDGE, f"{JUDGE}@{process_name()}"], self._judge)
            handlers = judging | dict.fromkeys(self._duties, self._do)
            self._engine = Engine(
                self._store, handlers, self._changed.set, self._end_duties, self._outage
            )
            await self._engine.start()
        return self._engine

    def _end_duties(self) -> None:
        """Let the duties that run end soon."""
        self._ending.set()
        self._ending = threading.Event()

    async def _rest(self) -> None:
        """End the queue in memory after a while without an entry; the next entry starts a new queue."""
        is_idle = (
            time.monotonic() - self._leader.last_entry_at >= REST_SECONDS
            and not self._shares.are_open
        )
        if is_idle and self._engine is not None and self._store.is_sqlite:
            engine, self._engine = self._engine, None
            await engine.stop(FINISH_SECONDS)

    async def _judge(self, entry: Entry, cancellation: "CancelScope") -> None:
        """Judge a chunk."""
        await self._shares.judge(entry, cancellation)
        await self._tell()

    async def _tell(self) -> None:
        """Tell the leading worker that an entry has ended."""
        if self._engine is not None:
            await self._engine.tell()

    async def _do(self, entry: Entry, _cancellation: "CancelScope") -> None:
        """Do a duty."""
        key, do = entry.work.removeprefix(f"{entry.kind}:"), self._duties[entry.kind].do
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(
            self._long, do, self._store, key, self._executor_id, self._ending
        )
        await self._tell()

    async def _beat_until_the_end(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = time.monotonic()
            try:
                async with self._looking:
                    await asyncio.to_thread(
                        self._beat, partial(loop.call_soon_threadsafe, self._note_write)
                    )
                self._outage.end(began)
            except Exception as error:  # noqa: BLE001 - an unreachable database comes back
                log_failure("cannot store a heartbeat", error, self._outage, began)
            await asyncio.sleep(BEAT_SECONDS)

    def _beat(self, note_write: Callable[[], object]) -> None:
        settings = self._recorded_settings
        with suppress(
            BadInput, OSError
        ):  # a file that somebody edits now is read at the next heartbeat
            settings = setting_hashes(load_settings())
        with self._store.writing() as connection:
            if (
                self._writes is not None and self._writes.are_new()
            ):  # before the heartbeat: now nobody else can write
                note_write()
            record_heartbeat(connection, self._executor_id)
            if settings is not None and settings != self._recorded_settings:
                record_settings(connection, self._executor_id, settings)
        if self._writes is not None:
            self._writes.are_new()  # a heartbeat is no reason to look for work
        self._recorded_settings = settings


def jobs_file(store: Store) -> Path:
    """Return the lock file of the process that takes the jobs of a SQLite file."""
    return Path(f"{store.engine.url.database}.jobs-lock")
