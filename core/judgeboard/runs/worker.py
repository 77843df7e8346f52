"""Runs jobs durably: each job is a DBOS workflow, which continues after a crash."""

import asyncio
import logging
import os
import secrets
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from dbos import DBOS, DBOSConfig, SetWorkflowID
from sqlalchemy.exc import OperationalError

from judgeboard.domain import RunState
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.runs.jobs import OWN_KEY, forget_key, held_key, judge_with_key
from judgeboard.runs.judging import Judging, make_judge
from judgeboard.runs.method import Begun, RunAccount, ask_run
from judgeboard.runs.rule_jobs import RuleJobs
from judgeboard.runs.runner import INTERRUPTED, Runner
from judgeboard.store.engine import Store, with_advice
from judgeboard.store.filters import from_dict
from judgeboard.store.jobs import (
    StoredJob,
    get_job,
    live_workers,
    lock_live_workers,
    record_heartbeat,
    register_worker,
    remove_worker,
    set_failed,
    set_run,
    unfinished_jobs,
)
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judging_rules import release_abandoned
from judgeboard.store.push_targets import release_abandoned_targets
from judgeboard.store.runs import finish_run, get_run, resume_run, run_counts
from judgeboard.targets.push_jobs import PushJobs


class JobsLock(NamedTuple):
    """The lock of the process that takes jobs; its workflows have the ``executor_id``. Closing the lock releases it."""

    executor_id: str
    lock: sqlite3.Connection | None = None


def lock_jobs(store: Store) -> JobsLock | None:
    """Lock the jobs for this process; None while another process on this SQLite file has the lock.

    The lock is a transaction on a small file beside the database, so it ends with the process. Each holder has the same
    executor id, so the next holder continues the jobs of a killed holder at once.
    """
    if not store.is_sqlite:
        return JobsLock(f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}")
    lock = sqlite3.connect(f"{store.engine.url.database}.jobs-lock", timeout=0, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        return None
    return JobsLock("server", lock)


def workflow_database(store: Store) -> str:
    """Return the URL of the database for workflows: a separate file beside SQLite, or the PostgreSQL database."""
    if store.is_sqlite:  # writes to another file never lock the store
        return f"sqlite:///{Path(str(store.engine.url.database)).resolve()}.jobs"
    return store.engine.url.render_as_string(hide_password=False)


CANCELLED = "cancelled"
KEY_LOST = "its API key was in the memory of a server that no longer runs jobs: start the same job again"
KEY_SECONDS = 30.0  # after this time, the process with the key would have taken the job
LOOK_SECONDS = 0.2


def rejudge(store: Store, job_id: str, closing: threading.Event) -> dict[str, Any]:
    """Run a job to its end and return its state. If it runs again after a crash, it asks only what is left.

    Every expected error becomes a state of the job or of its run, so that no durable step fails for ever. When
    ``closing`` is set, the calls in flight are finished and the run is stored as interrupted; it can be continued.
    """
    with store.reading() as connection:
        job = get_job(connection, job_id)
    if job.cancelled_at is not None:  # cancelled before this process started it
        with store.writing() as connection:
            run = None if job.run_id is None else get_run(connection, job.run_id)
            if run is not None and run.state in {RunState.RUNNING, RunState.INTERRUPTED}:
                finish_run(connection, run.id, RunState.STOPPED, why_stopped=CANCELLED)
        return {"state": CANCELLED}
    try:
        key = held_key(job_id)
        if key is None and job.filter.get(OWN_KEY):
            raise BadInput(KEY_LOST)
        judge = make_judge(**judge_with_key(job.judge, key), concurrency=job.filter["concurrency"])
        method = Judging(judge=judge, where=from_dict(job.filter["where"]), mode=job.filter["mode"])
        begun = _begun(store, job, method)
    except JudgeboardError as error:
        with store.writing() as connection:
            set_failed(connection, job_id, str(error))
        forget_key(job_id)
        return {"state": "failed", "why": str(error)}
    run = begun.run
    if run.state in {RunState.DONE, RunState.STOPPED}:  # it ended, but a crash came before DBOS recorded that
        return {"state": run.state.value}
    account = asyncio.run(_judge(begun, method, job, closing))
    forget_key(job_id)
    return {"state": account.state.value, "asked": account.asked, "selected": run.selected or 0}


def _begun(store: Store, job: StoredJob, method: Judging) -> Begun:
    """Return the run of a job. The first call makes the run and stores its id with the job in one transaction."""
    with store.writing() as connection:
        version = ensure_version(connection, method.judge.version)
        if job.run_id is not None:
            run = get_run(connection, job.run_id)
            run = resume_run(connection, run.id) if run.state is RunState.INTERRUPTED else run
        else:
            run = method.begin(connection, version, job.actor)
            set_run(connection, job.id, run.id)
        return Begun(store, version, run)


async def _judge(begun: Begun, method: Judging, job: StoredJob, closing: threading.Event) -> RunAccount:
    store = begun.store
    with store.reading() as connection:  # the limit is for this job only; an earlier job may have begun the run
        spent = run_counts(connection, [begun.run.id], since=job.created_at)[begun.run.id].cost_micro or 0
    limit = job.filter["max_cost"]
    try:
        return await ask_run(
            begun,
            method,
            on_start=lambda runner: asyncio.create_task(_watch(store, job.id, runner, closing)),
            concurrency=job.filter["concurrency"],
            max_cost=None if limit is None else max(limit - spent / 1_000_000, 0),
        )
    finally:
        await method.judge.aclose()


async def _watch(store: Store, job_id: str, runner: Runner[Any, Any], closing: threading.Event) -> None:
    # A job can be cancelled from any process.

    def is_cancelled() -> bool:
        with store.reading() as connection:
            return get_job(connection, job_id).cancelled_at is not None

    while not closing.is_set():
        started = time.monotonic()
        try:
            if await asyncio.to_thread(is_cancelled):
                runner.stop(CANCELLED)
                return
        except Exception as error:  # noqa: BLE001 - an unreachable database comes back: the job can still be cancelled
            _log_failure("cannot read whether a job is cancelled", error)
            await asyncio.sleep(1)
        await asyncio.sleep(max(0.0, LOOK_SECONDS - (time.monotonic() - started)))
    runner.stop(INTERRUPTED)


QUEUE = "judgeboard-jobs"
AT_ONCE = 2  # jobs at a time in one process, so that a small job need not wait for a large one
POLL_SECONDS = 0.3  # between two polls while there are jobs
IDLE_POLL_SECONDS = 1.0  # between two polls while there are no jobs
ENGINE_IDLE_SECONDS = 5.0  # the workflow engine is closed after this time without a job: its polling uses 2 % of a core
BEAT_SECONDS = 5.0
TURN_SECONDS = 1.0  # between two attempts to lock the jobs, while another process has the lock
FINISH_SECONDS = 90.0  # for the calls in flight when the process ends

BROKE_OFF = "it ended unexpectedly (see the server's log); to continue it, start the same job again"

_log = logging.getLogger("judgeboard.jobs")


def _log_failure(what: str, error: Exception) -> None:
    if isinstance(error, OperationalError):  # the database is locked, full or unreachable: not our bug
        _log.warning("%s: %s; trying again", what, with_advice(str(error.orig).partition("\n")[0]))
    else:
        _log.error("%s; trying again", what, exc_info=error)


class _Workplace:
    """The database for the workflows below. They are registered once per process, before any database is open."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.closing = threading.Event()  # finish the calls in flight
        self.closed = threading.Event()  # the workflows' database is closed: nothing more is recorded there
        self._active = 0
        self._changed = threading.Condition()

    @contextmanager
    def working(self) -> Iterator[Store]:
        if self.store is None:
            raise RuntimeError("no database is open")
        with self._changed:
            self._active += 1
        try:
            yield self.store
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify_all()

    @property
    def idle(self) -> bool:
        return self._active == 0

    def wait_until_idle(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._active == 0, timeout=seconds)


class _CutOff(Exception):
    """Leaves a workflow unfinished, so that DBOS resumes it."""


_workplace = _Workplace()


# If the database is unreachable for a moment, the run fails and is retried. Stored judgments are not asked again.
@DBOS.step(
    name="rejudge",
    retries_allowed=True,
    interval_seconds=0.3,
    max_attempts=4,
    backoff_rate=3,
    should_retry=lambda error: not isinstance(error, _CutOff),
)
def _rejudge_step(job_id: str) -> dict[str, Any]:
    with _workplace.working() as store:
        outcome = rejudge(store, job_id, _workplace.closing)
    if outcome["state"] == RunState.INTERRUPTED.value:
        _workplace.closed.wait(FINISH_SECONDS)
        raise _CutOff
    return outcome


@DBOS.step(name="give-up", retries_allowed=True, interval_seconds=2, max_attempts=10)
def _give_up_step(job_id: str) -> dict[str, Any]:
    with _workplace.working() as store, store.writing() as connection:
        set_failed(connection, job_id, BROKE_OFF)
    forget_key(job_id)
    return {"state": "failed", "why": BROKE_OFF}


@DBOS.workflow(name="job")
def _job(job_id: str) -> dict[str, Any]:
    # A job is one step, because the endpoint's reply format and the money spent are known only within a run. A repeated
    # step continues the run, because every judgment is stored.
    try:
        return _rejudge_step(job_id)
    except Exception:
        if _workplace.closed.is_set():  # nothing can be recorded any more; the next start continues the job
            raise
        # After any other error, the job must not look as if it were still running.
        _log.exception("job %s ended unexpectedly", job_id)
        return _give_up_step(job_id)


class Worker:
    """Runs the jobs of one database in threads of this process, from `start` to `stop`; one worker per process.

    While it takes jobs, each of the functions ``beside`` runs in a thread of its own, until its event is set.
    """

    def __init__(self, store: Store, beside: Sequence[Callable[[Store, threading.Event], None]] = ()) -> None:
        self._store = store
        self._beside = beside
        self._closing = threading.Event()
        self._handed_over: set[str] = set()
        self._engine_runs = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="judgeboard-jobs", daemon=True)

    def start(self) -> None:
        """Start to take jobs; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the calls in flight and wait until the worker has ended; the next worker continues its jobs."""
        self._closing.set()
        self._ended.wait(FINISH_SECONDS + 10)

    def wait(self) -> None:
        """Wait until the worker ends, that is, until `stop` is called. Ctrl-C interrupts the wait."""
        # Not `join`: after Ctrl-C, Python 3.11 treats the thread as ended, and the process would not wait for it.
        while not self._ended.wait(0.5):
            pass

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                try:
                    self._take_jobs()
                except Exception as error:  # noqa: BLE001 - whatever the database or DBOS raises: the pages go on
                    _log_failure("cannot take jobs", error)
                    self._closing.wait(BEAT_SECONDS)
        finally:
            self._ended.set()

    def _take_jobs(self) -> None:
        while (jobs_lock := lock_jobs(self._store)) is None:
            if self._closing.wait(TURN_SECONDS):
                return
        _workplace.store, _workplace.closing = self._store, self._closing
        _workplace.closed.clear()
        for name in ("dbos", "dbos.dbos"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            with self._store.writing() as connection:
                register_worker(connection, jobs_lock.executor_id, socket.gethostname(), os.getpid(), datetime.now(UTC))
            rule_jobs = RuleJobs(self._store, jobs_lock.executor_id)
            push_jobs = PushJobs(self._store, jobs_lock.executor_id)
            ending = threading.Event()
            threads = [threading.Thread(target=run, args=(self._store, ending), daemon=True) for run in self._beside]
            for thread in threads:
                thread.start()
            try:
                self._poll(jobs_lock, rule_jobs, push_jobs)
            finally:
                ending.set()
                push_jobs.stop(0)  # it finishes its request while the others end
                rule_jobs.stop(FINISH_SECONDS)
                push_jobs.stop(FINISH_SECONDS)
                for thread in threads:
                    thread.join(FINISH_SECONDS)
        finally:
            # The engine is closed first, so that interrupted workflows stay pending and are resumed later.
            self._stop_engine()
            _workplace.closed.set()
            _workplace.wait_until_idle(FINISH_SECONDS)
            try:
                with self._store.writing() as connection:
                    remove_worker(connection, jobs_lock.executor_id)
            finally:
                if jobs_lock.lock is not None:
                    jobs_lock.lock.close()

    def _start_engine(self, jobs_lock: JobsLock) -> None:
        config: DBOSConfig = {
            "name": "judgeboard",
            "system_database_url": workflow_database(self._store),
            # The default is a hash of the source: after an upgrade, old jobs would wait for ever.
            "application_version": "1",
            "executor_id": jobs_lock.executor_id,
            "log_level": "CRITICAL",
            "console_log_level": "CRITICAL",
        }
        self._handed_over.clear()
        DBOS(config=config)
        try:
            DBOS.launch()
            self._queue = DBOS.register_queue(QUEUE, worker_concurrency=AT_ONCE, polling_interval_sec=POLL_SECONDS)
        except Exception:
            DBOS.destroy()
            raise
        self._engine_runs = True

    def _stop_engine(self) -> None:
        if self._engine_runs:
            DBOS.destroy()
        self._engine_runs = False

    def _poll(self, jobs_lock: JobsLock, rule_jobs: RuleJobs, push_jobs: PushJobs) -> None:
        last_beat = last_job = 0.0
        while not self._closing.wait(POLL_SECONDS if self._engine_runs else IDLE_POLL_SECONDS):
            try:
                now = time.monotonic()
                rule_jobs.look()
                push_jobs.look()
                if self._hand_over(jobs_lock):
                    last_job = now
                elif now - last_job > ENGINE_IDLE_SECONDS and _workplace.idle:
                    self._stop_engine()
                if now - last_beat >= BEAT_SECONDS:
                    self._beat(jobs_lock)
                    last_beat = now
            except Exception as error:  # noqa: BLE001 - an unreachable database comes back; running jobs go on
                _log_failure("cannot look for jobs", error)
                self._closing.wait(BEAT_SECONDS)

    def _hand_over(self, jobs_lock: JobsLock) -> bool:
        """Pass waiting jobs to the workflow engine; return whether any job has not ended."""
        with self._store.reading() as connection:
            unfinished = unfinished_jobs(connection)
        if unfinished and not self._engine_runs:
            self._start_engine(jobs_lock)  # it also resumes the jobs of a killed worker
        for job in unfinished:
            if job.run_id is None and job.cancelled_at is None and job.id not in self._handed_over:
                own_key = job.filter.get(OWN_KEY, False)
                if own_key and held_key(job.id) is None:
                    self._without_key(job)
                    continue
                with SetWorkflowID(job.id):  # because of the id, passing a job twice changes nothing
                    if own_key:  # not through the queue: a process without the key could take it
                        DBOS.start_workflow(_job, job.id)
                    else:
                        self._queue.enqueue(_job, job.id)
                self._handed_over.add(job.id)
        return bool(unfinished)

    def _without_key(self, job: StoredJob) -> None:
        """End a job whose key no process has any more. A process with the key takes the job within seconds."""
        if (datetime.now(UTC) - job.created_at).total_seconds() > KEY_SECONDS:
            with self._store.writing() as connection:
                set_failed(connection, job.id, KEY_LOST)

    def _beat(self, jobs_lock: JobsLock) -> None:
        now = datetime.now(UTC)
        with self._store.writing() as connection:
            record_heartbeat(connection, jobs_lock.executor_id, now)
            living = live_workers(connection, now)
            release_abandoned(connection, living)
            release_abandoned_targets(connection, living)
        if not self._engine_runs or not _left_behind(living):
            return
        # Checked again under a lock: otherwise two workers that see the same abandoned job would both resume it.
        with self._store.writing() as connection:
            for workflow_id in _left_behind(lock_live_workers(connection, now)):
                DBOS.resume_workflow(workflow_id)


def _left_behind(living: set[str]) -> list[str]:
    pending = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
    return [workflow.workflow_id for workflow in pending if workflow.executor_id not in living]
