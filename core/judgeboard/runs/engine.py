"""The engine of background work, PgQueuer: in PostgreSQL for many workers, in memory for the one worker of SQLite.

The engine gives entries to free workers, by priority, and gives the entries of a dead worker to
another worker. The engine tells a running entry that somebody cancelled the entry, and tries a
failed entry again before the entry is held. The database alone stores what is to be done and what
is done: the queue in memory may be lost at any time. Loading this module takes most of a second, so
a worker loads the module only where work begins.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from pgqueuer import PgQueuer
from pgqueuer.adapters.inmemory import InMemoryDriver, InMemoryQueries
from pgqueuer.errors import RetryRequested
from pgqueuer.models import Context, Job, Log
from pgqueuer.queries import Queries
from pgqueuer.types import JobId
from sqlalchemy.exc import SQLAlchemyError

from judgeboard.errors import JudgeboardError
from judgeboard.runs.work import (
    HELD,
    PICKED,
    QUEUED,
    TRIES,
    Entry,
    Handler,
    PutBackError,
    QueuedEntry,
)
from judgeboard.store.engine import AdvisoryLock, Store
from judgeboard.store.jobs import WAKE_CHANNEL
from judgeboard.store.outages import Outage, is_outage, reason_of

if TYPE_CHECKING:
    from judgeboard.runs.engine_connection import NoticesWithoutWait

AT_ONCE = 16  # entries in one worker
HEARTBEAT_TIMEOUT = timedelta(seconds=10)  # of a worker; other workers take the entries then
LOOK = timedelta(seconds=5)  # between two looks for entries of dead workers
FIRST_PAUSE = timedelta(seconds=1)  # after the first failure, four times as long after the second
RECONNECT_SECONDS = 2.0
LOST_SECONDS = 1.0  # between two looks whether the connection has ended
KEPT_LOG = timedelta(days=1)  # what the engine notes of entries that have ended
_FAILED = "failed: "  # begins the reason of a failure in the engine's log; entries that were put back differ
_MOST = 10_000  # entries that are read at a time; a few chunks of each work are in the queue

_log = logging.getLogger("judgeboard.jobs")


class EntryError(Exception):
    """An entry failed, for this reason."""


class Engine:
    """The engine of one worker, for one event loop.

    ``wake`` is called when there may be something to do, ``lost`` when the connection has ended. A
    new connection is made once all running entries have ended.
    """

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Handler],
        wake: Callable[[], None],
        lost: Callable[[], None],
        outage: Outage,
    ) -> None:
        self._store, self._handlers, self._wake, self._lost, self._outage = (
            store,
            handlers,
            wake,
            lost,
            outage,
        )
        self._queries: Queries | InMemoryQueries | None = None  # None without a connection
        self._manager: PgQueuer | None = None
        self._serving: asyncio.Task[None] | None = None
        self._has_ended = False
        self._leads = False
        self._errors: tuple[type[Exception], ...] = ()  # of the driver of PostgreSQL
        self._tried_at = 0.0  # when the connection was asked for, or when it was lost

    async def start(self) -> None:
        """Take entries from now on."""
        if self._store.is_sqlite:
            self._leads = True  # the only worker
            driver = InMemoryDriver()
            self._queries = InMemoryQueries(driver)
            self._manager = PgQueuer(driver, queries=self._queries)
            self._register(self._manager)
            self._serving = asyncio.create_task(self._run(self._manager))
        else:
            self._serving = asyncio.create_task(self._serve_postgresql())

    async def stop(self, seconds: float) -> None:
        """Take no more entries, and wait at most ``seconds`` for the running entries."""
        self._has_ended = True
        if self._manager is not None:
            self._manager.shutdown.set()
        if self._serving is not None:
            ended_tasks, _ = await asyncio.wait({self._serving}, timeout=seconds)
            if not ended_tasks:
                self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)

    async def enqueue(self, entries: Sequence[Entry]) -> None:
        """Put entries into the queue, except entries that wait or run already."""
        if not entries or self._queries is None:
            return  # if the connection has just ended, whoever leads next enqueues them
        await self._queries.enqueue(
            [entry.kind for entry in entries],
            [json.dumps({"work": entry.work, "ids": entry.ids}).encode() for entry in entries],
            [entry.priority for entry in entries],
            dedupe_key=[entry.key for entry in entries],
            on_conflict="skip",
        )

    async def entries(self) -> list[QueuedEntry]:
        """Return the entries that wait, run or are held."""
        if self._queries is None:
            return []
        jobs = await self._queries.browse_queue(limit=_MOST, statuses=[QUEUED, PICKED, HELD])
        return [
            QueuedEntry(job.id, job.status, _entry_of(job))
            for job in jobs
            if (job.payload or b"").startswith(b'{"work"')
        ]

    async def cancel(self, entries: Iterable[QueuedEntry], *, abandoned: bool = False) -> None:
        """Remove waiting and held entries, and tell running entries, which end when their calls have ended.

        Running entries of a process that has ended (``abandoned``) are removed too.
        """
        if self._queries is None:
            return
        queued = [entry for entry in entries if abandoned or entry.status != PICKED]
        running = [entry.id for entry in entries if not abandoned and entry.status == PICKED]
        if queued:
            await self._queries.mark_job_as_cancelled([JobId(entry.id) for entry in queued])
        if running:
            await self._queries.notify_job_cancellation([JobId(id_) for id_ in running])

    async def forget_log(self) -> None:
        """Delete what the engine noted of entries that ended more than a day ago."""
        if isinstance(self._queries, Queries):
            table = self._queries.qbe.settings.qualified.queue_table_log
            old_lines = f"DELETE FROM {table} WHERE created < now() - $1 RETURNING 1"  # noqa: S608 - no input
            await self._queries.driver.fetch(old_lines, KEPT_LOG)

    async def reason_held(self, entry: QueuedEntry) -> str:
        """Return why an entry failed the last time."""
        history = (
            [] if self._queries is None else await self._queries.job_log_history(JobId(entry.id))
        )
        records = [log.traceback for log in history if log.traceback is not None]
        return records[-1].exception_message if records else "unknown"

    async def tell(self) -> None:
        """Tell the leading worker that there may be something to do."""
        if self._store.is_sqlite:
            self._wake()
        elif self._queries is not None:
            with suppress(*self._errors):  # the leading worker looks again once a connection exists
                await self._queries.driver.notify(WAKE_CHANNEL, "")

    async def lead(self) -> bool:
        """Become the worker that enqueues, unless there is one; return whether this worker is the one."""
        if self._queries is not None and not self._leads:
            (row,) = await self._queries.driver.fetch(
                "SELECT pg_try_advisory_lock($1) AS leads", AdvisoryLock.LEADER.value
            )
            self._leads = bool(row["leads"])
        return self._leads

    async def _serve_postgresql(self) -> None:
        """Take entries over a connection; when the connection ends, over a new one."""
        while not self._has_ended:
            self._tried_at = time.monotonic()
            try:
                await self._serve_connection()
            except Exception as error:  # noqa: BLE001 - whatever the database raises: it comes back
                if is_outage(error):
                    self._outage.note(error, self._tried_at, "trying again")
                else:
                    _log.warning(
                        "the connection for jobs ended: %s; trying again", reason_of(error)
                    )
            self._queries, self._manager, self._leads = None, None, False
            if not self._has_ended:
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _serve_connection(self) -> None:
        from judgeboard.runs.engine_connection import (
            ERRORS,
            LostError,
            connected,
        )  # with psycopg: 9 MB less on SQLite

        self._errors = ERRORS
        async with connected(self._store) as driver:
            queries = Queries(driver)
            # Make or upgrade the tables of the engine; one worker at a time.
            tables_lock = AdvisoryLock.ENGINE_TABLES.value
            await driver.fetch("SELECT pg_advisory_lock($1)", tables_lock)
            try:
                if await queries.schema_is_installed():
                    await queries.upgrade()
                else:
                    await queries.install()
            finally:
                await driver.fetch("SELECT pg_advisory_unlock($1)", tables_lock)
            self._manager, self._queries = PgQueuer(driver), queries
            self._register(self._manager)
            await driver.add_listener(WAKE_CHANNEL, lambda _payload: self._wake())
            self._outage.end(self._tried_at)
            self._wake()
            watch = asyncio.create_task(self._notice_loss(driver))
            try:
                if not self._has_ended:
                    await self._run(self._manager)
                if not self._has_ended:  # the queue ends without an error
                    raise LostError("the connection is lost")
            finally:
                if not watch.done():
                    self._tried_at = time.monotonic()
                watch.cancel()

    async def _notice_loss(self, driver: "NoticesWithoutWait") -> None:
        while not driver.is_closed:  # noqa: ASYNC110 - the driver has no event for this
            await asyncio.sleep(LOST_SECONDS)
        self._tried_at = time.monotonic()
        self._queries, self._leads = (
            None,
            False,
        )  # the next connection comes after the running entries
        self._lost()

    async def _run(self, manager: PgQueuer) -> None:
        await manager.qm.run(
            dequeue_timeout=LOOK,
            batch_size=1,
            max_concurrent_tasks=AT_ONCE,
            heartbeat_timeout=HEARTBEAT_TIMEOUT,
            # A connection that is gone without a word is noticed by its failing health check.
            shutdown_on_listener_failure=True,
        )

    def _register(self, manager: PgQueuer) -> None:
        for kind, handler in self._handlers.items():
            manager.entrypoint(kind, accepts_context=True, on_failure="hold")(self._tried(handler))

    def _tried(self, handler: Handler) -> Callable[[Job, Context], Awaitable[None]]:
        """Return a function that does an entry. After a failure, the engine tries again, later each time."""

        async def do(job: Job, context: Context) -> None:
            entry = _entry_of(job)
            try:
                await handler(entry, context.cancellation)
            except PutBackError as error:
                if (
                    error.most is not None
                    and await self._count_pauses(job, str(error)) >= error.most
                ):
                    raise EntryError(str(error)) from None
                raise RetryRequested(timedelta(seconds=error.seconds), str(error)) from None
            except Exception as error:  # noqa: BLE001 - the entry is held, and its job or rule shows why
                # The engine stores and logs what is raised: never raise the error itself, which may
                # contain texts of answers.
                if isinstance(error, SQLAlchemyError):
                    reason = f"database error: {reason_of(error)}"
                elif isinstance(error, JudgeboardError):
                    reason = str(error)
                else:
                    reason = f"{type(error).__name__}; the worker's log says more"
                    _log.error("%s failed", entry.work, exc_info=error)
                failure = EntryError(reason)
                failures = await self._count_pauses(job, _FAILED)
                if failures + 1 >= TRIES:
                    raise failure from None
                raise RetryRequested(FIRST_PAUSE * 4**failures, _FAILED + str(failure)) from None

        return do

    async def _count_pauses(self, job: Job, begin: str) -> int:
        """Return how often an entry was put off in all workers with a reason that begins like this."""
        history: list[Log] = []
        if self._queries is not None:
            with suppress(
                *self._errors
            ):  # without the connection, the engine cannot note another failure either
                history = await self._queries.job_log_history(job.id)
        reasons = [
            log.traceback.additional_context or {} for log in history if log.traceback is not None
        ]
        return sum(str(each.get("reason")).startswith(begin) for each in reasons)


def _entry_of(job: Job) -> Entry:
    payload = json.loads(job.payload or b"{}")
    return Entry(job.entrypoint, payload["work"], tuple(payload["ids"]), job.priority)
