"""The leader of the workers of a database: enqueues the remaining answers of jobs and rules, and due duties."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from judgeboard.errors import NotFound
from judgeboard.runs.rejudge_jobs import RejudgeJob
from judgeboard.runs.rule_jobs import RuleJob
from judgeboard.runs.work import Entry, Outstanding, QueuedEntry, Step, Work, duties
from judgeboard.store.engine import Store
from judgeboard.store.jobs import live_workers, unfinished_jobs
from judgeboard.store.outages import Outage, is_outage
from judgeboard.store.rules import active_rules
from judgeboard.store.tables import JudgingRule

if TYPE_CHECKING:
    from judgeboard.runs.engine import Engine

OPEN_SECONDS = 0.5  # between two looks at jobs that are not finished
IDLE_SECONDS = 5.0  # between two looks at the rules and duties
NOTHING_SECONDS = 60.0  # between two looks when nothing is set up that could be due: whoever sets it up is noticed
FAILED_SECONDS = 2.0  # after a look at a work that failed
FORGET_SECONDS = 3600.0  # between two deletions of what the engine noted long ago

_log = logging.getLogger("judgeboard.jobs")


class Leader:
    """Enqueues for all workers, in the one worker of the database that leads.

    ``start_engine`` returns the engine, and starts a resting engine. ``look_again`` asks for
    another look at once.
    """

    def __init__(
        self,
        store: Store,
        start_engine: "Callable[[], Awaitable[Engine]]",
        look_again: Callable[[], None],
        outage: Outage,
    ) -> None:
        self._store, self._start_engine, self._look_again, self._outage = (
            store,
            start_engine,
            look_again,
            outage,
        )
        self._duties = duties()
        self._works: dict[str, Work] = {}
        self._forgot_at = self.last_entry_at = time.monotonic()

    async def dispatch(self, engine: "Engine | None") -> float:
        """Enqueue what is to be done, if this worker leads; return after how many seconds to look again."""
        if engine is not None and not await engine.lead():
            self._works.clear()
            return IDLE_SECONDS
        entries: dict[str, list[QueuedEntry]] = defaultdict(list)  # by work
        of_duties: list[QueuedEntry] = []
        for queued in [] if engine is None else await engine.entries():
            (of_duties if queued.entry.kind in self._duties else entries[queued.entry.work]).append(
                queued
            )
        workers, due_entries = await asyncio.to_thread(self._read, [*entries])
        enqueued = {
            key: {id_ for queued in each for id_ in queued.entry.ids}
            for key, each in entries.items()
        }
        versions = {
            key: await asyncio.to_thread(_versions_of, work) for key, work in self._works.items()
        }
        for key, work in list(self._works.items()):
            other_works = (
                each
                for each in enqueued
                if each != key and not versions[key].isdisjoint(versions.get(each, ()))
            )
            elsewhere = frozenset[int]().union(*(enqueued[each] for each in other_works))
            new = await self._advance(engine, work, entries.get(key, []), elsewhere, workers)
            enqueued.setdefault(key, set()).update(new)
        if engine is not None:
            await self._clean(engine, of_duties)
        await self._enqueue(due_entries or [])
        if entries or of_duties:
            self.last_entry_at = time.monotonic()
        if entries or not all(map(_is_rule, self._works)):
            return OPEN_SECONDS
        is_idle = not self._works and due_entries is None and engine is None
        return NOTHING_SECONDS if is_idle else IDLE_SECONDS

    def _read(self, with_entries: list[str]) -> tuple[int, list[Entry] | None]:
        """Note the jobs and rules, also ended works that still have entries.

        Return the number of workers, and the duties that are due, None if no duty is set up.
        """
        with self._store.reading() as connection:
            keys = work_keys(connection)
            workers = len(live_workers(connection))
            keys_by_kind = {kind: duty.due(connection) for kind, duty in self._duties.items()}
        for key in (*keys, *with_entries):
            self._works.setdefault(key, work_of(self._store, key))
        entries = [
            Entry(kind, f"{kind}:{key}")
            for kind, due_keys in keys_by_kind.items()
            for key in due_keys or ()
        ]
        return workers, None if all(each is None for each in keys_by_kind.values()) else entries

    async def _advance(
        self,
        engine: "Engine | None",
        work: Work,
        entries: list[QueuedEntry],
        elsewhere: frozenset[int],
        workers: int,
    ) -> list[int]:
        """Enqueue the remaining answers of a work, and return these answers."""
        began = time.monotonic()
        held_entries = [queued for queued in entries if queued.is_held]
        active_entries = [queued for queued in entries if not queued.is_held]
        try:
            outstanding = Outstanding(
                frozenset(id_ for queued in active_entries for id_ in queued.entry.ids),
                len(active_entries),
                elsewhere,
                frozenset(id_ for queued in held_entries for id_ in queued.entry.ids),
                await engine.reason_held(held_entries[-1])
                if held_entries and engine is not None
                else "",
            )
            step = await asyncio.to_thread(work.look, outstanding, workers)
        except NotFound:  # the rule or job is gone
            step = Step(cancel=True, ended=True)
        except Exception as error:  # noqa: BLE001 - whatever it is: other works go on, and this one is tried again
            log_failure(work.key, error, self._outage, began)
            await asyncio.sleep(FAILED_SECONDS)
            return []
        if step.cancel and engine is not None:
            await engine.cancel(entries, abandoned=step.abandoned)
        await self._enqueue([Entry(work.kind, work.key, ids, work.priority) for ids in step.chunks])
        if step.ended:
            self._works.pop(work.key, None)
        if step.again:
            self._look_again()
        return [id_ for ids in step.chunks for id_ in ids]

    async def _clean(self, engine: "Engine", of_duties: list[QueuedEntry]) -> None:
        """Remove old notes of the engine, and duties that failed too often; a removed duty comes again when due."""
        await engine.cancel([queued for queued in of_duties if queued.is_held])
        if time.monotonic() - self._forgot_at >= FORGET_SECONDS:
            self._forgot_at = time.monotonic()
            await engine.forget_log()

    async def _enqueue(self, entries: list[Entry]) -> None:
        if entries:
            self.last_entry_at = time.monotonic()
            await (await self._start_engine()).enqueue(entries)


def _is_rule(key: str) -> bool:
    return key.startswith("rule-")


def _versions_of(work: Work) -> frozenset[int]:
    try:
        return work.versions()
    except NotFound:  # the rule is gone
        return frozenset()


def work_keys(connection: Connection) -> list[str]:
    """Return the keys of the active rules and of the jobs that have not ended."""
    rules = [f"rule-{rule.id}" for rule in active_rules(connection, JudgingRule)]
    return [*rules, *(job.id for job in unfinished_jobs(connection))]


def work_of(store: Store, key: str) -> Work:
    """Return the work with a key."""
    return RuleJob(store, key) if _is_rule(key) else RejudgeJob(store, key)


def log_failure(what: str, error: Exception, outage: Outage, began: float) -> None:
    """Log an error after which the worker tries again; during an outage, only the first error."""
    if is_outage(error):  # the database is locked, full or unreachable: not our bug
        outage.note(error, began, f"{what}; trying again")
    else:
        _log.error("%s; trying again", what, exc_info=error)
