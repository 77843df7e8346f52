"""Takes jobs and does them durably: a workflow of DBOS each, continued after a crash where it was."""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

from judgeboard.domain import RunState
from judgeboard.jobs.rejudging import rejudge
from judgeboard.jobs.taking import TakingRight, taking_right, workflow_database
from judgeboard.store.engine import Store
from judgeboard.store.runs.job_rows import set_failed, unfinished_jobs
from judgeboard.store.runs.worker_rows import alive, alive_one_at_a_time, announce, beat, leave

QUEUE = "judgeboard-jobs"
AT_ONCE = 2  # jobs in one process: a small one need not wait behind a large one
POLL_SECONDS = 0.3  # between two looks for jobs while there are some
IDLE_POLL_SECONDS = 1.0  # the same while there are none
ENGINE_IDLE_SECONDS = 5.0  # without a job, until the workflow engine is closed: its own polling takes 2 % of a core
BEAT_SECONDS = 5.0
TURN_SECONDS = 1.0  # between two looks whether another process still has the right to take jobs
FINISH_SECONDS = 90.0  # for the calls in flight when the process ends

BROKE_OFF = "it broke off: the server's log says why; asking for the same again goes on with it"

_log = logging.getLogger("judgeboard.jobs")


class _Desk:
    """What the workflows below work on: they are registered once per process, before any database is open."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.closing = threading.Event()  # finish the calls in flight
        self.closed = threading.Event()  # the workflows' database is closed: nothing more is recorded there
        self._active = 0
        self._changed = threading.Condition()

    def open(self, store: Store, closing: threading.Event) -> None:
        self.store, self.closing = store, closing
        self.closed.clear()

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
    """Leaves a workflow unfinished in the eyes of DBOS, which then takes it up again."""


_desk = _Desk()


def _may_be_tried_again(error: BaseException) -> bool:
    return not isinstance(error, _CutOff)


# A database that is away for a moment breaks a run off; what it has stored is not asked again.
@DBOS.step(
    name="rejudge",
    retries_allowed=True,
    interval_seconds=0.3,
    max_attempts=4,
    backoff_rate=3,
    should_retry=_may_be_tried_again,
)
def _rejudge_step(job_id: str) -> dict[str, Any]:
    with _desk.working() as store:
        outcome = rejudge(store, job_id, _desk.closing)
    if outcome["state"] == RunState.INTERRUPTED.value:
        _desk.closed.wait(FINISH_SECONDS)
        raise _CutOff
    return outcome


@DBOS.step(name="give-up", retries_allowed=True, interval_seconds=2, max_attempts=10)
def _give_up_step(job_id: str) -> dict[str, Any]:
    with _desk.working() as store, store.writing() as connection:
        set_failed(connection, job_id, BROKE_OFF)
    return {"state": "failed", "why": BROKE_OFF}


@DBOS.workflow(name="job")
def _job(job_id: str) -> dict[str, Any]:
    # One step: the run itself remembers every row, so done again it goes on; and only a whole run knows the reply
    # format that the endpoint takes and what has been spent.
    try:
        return _rejudge_step(job_id)
    except Exception:
        if _desk.closed.is_set():  # cut off: nothing can be recorded any more, and the next start goes on
            raise
        # Whatever it is, the job must not look as if it still ran.
        _log.exception("job %s broke off", job_id)
        return _give_up_step(job_id)


class Worker:
    """Takes the jobs of one database in threads of this process, from `start` to `stop`; one per process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._closing = threading.Event()
        self._right: TakingRight | None = None
        self._handed_over: set[str] = set()
        self._engine_runs = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="judgeboard-jobs", daemon=True)

    @property
    def takes_jobs(self) -> bool:
        """Whether this process has the right to take jobs at present."""
        return self._right is not None

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the calls in flight, leave the jobs to be continued, and wait for that."""
        self._closing.set()
        self._ended.wait(FINISH_SECONDS + 10)

    def wait(self) -> None:
        """Wait until the worker ends, which it does only when `stop` is called; Ctrl-C gets through."""
        # Not join: interrupted by Ctrl-C, Python 3.11 takes the thread for ended, and the process would not wait.
        while not self._ended.wait(0.5):
            pass

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                try:
                    self._take_jobs()
                except Exception:  # noqa: BLE001 - whatever the database or DBOS raises: the pages go on, it is tried again
                    _log.exception("jobs could not be taken; trying again")
                    self._closing.wait(BEAT_SECONDS)
        finally:
            self._ended.set()

    def _take_jobs(self) -> None:
        while (right := taking_right(self._store)) is None:
            if self._closing.wait(TURN_SECONDS):
                return
        _desk.open(self._store, self._closing)
        for name in ("dbos", "dbos.dbos"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            with self._store.writing() as connection:
                announce(connection, right.executor_id, socket.gethostname(), os.getpid(), datetime.now(UTC))
            self._right = right
            self._poll(right)
        finally:
            self._right = None
            # Closed first: what is cut off below is then left as pending, and taken up again.
            self._stop_engine()
            _desk.closed.set()
            _desk.wait_until_idle(FINISH_SECONDS)
            try:
                with self._store.writing() as connection:
                    leave(connection, right.executor_id)
            finally:
                right.release()

    def _start_engine(self, right: TakingRight) -> None:
        config: DBOSConfig = {
            "name": "judgeboard",
            "system_database_url": workflow_database(self._store),
            # By default a hash of the source: after an upgrade, old jobs would wait for ever.
            "application_version": "1",
            "executor_id": right.executor_id,
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

    def _poll(self, right: TakingRight) -> None:
        last_beat = last_job = 0.0
        while not self._closing.wait(POLL_SECONDS if self._engine_runs else IDLE_POLL_SECONDS):
            try:
                now = time.monotonic()
                if self._hand_over(right):
                    last_job = now
                elif now - last_job > ENGINE_IDLE_SECONDS and _desk.idle:
                    self._stop_engine()
                if now - last_beat >= BEAT_SECONDS:
                    self._beat(right)
                    last_beat = now
            except Exception:  # noqa: BLE001 - a database that is away comes back; the jobs that run go on meanwhile
                _log.exception("jobs could not be looked for; trying again")
                self._closing.wait(BEAT_SECONDS)

    def _hand_over(self, right: TakingRight) -> bool:
        """Give the jobs that wait to the workflow engine; return whether any job has not ended."""
        with self._store.reading() as connection:
            unfinished = unfinished_jobs(connection)
        if unfinished and not self._engine_runs:
            self._start_engine(right)  # which also takes up what this worker left when it was killed
        for job in unfinished:
            if job.run_id is None and job.cancelled_at is None and job.id not in self._handed_over:
                with SetWorkflowID(job.id):  # the id makes a second hand-over, by any process, change nothing
                    self._queue.enqueue(_job, job.id)
                self._handed_over.add(job.id)
        return bool(unfinished)

    def _beat(self, right: TakingRight) -> None:
        now = datetime.now(UTC)
        with self._store.writing() as connection:
            beat(connection, right.executor_id, now)
            living = alive(connection, now)
        if not self._engine_runs or not _left_behind(living):
            return
        # Looked again, one worker at a time: two that both saw a job left behind would both take it up.
        with self._store.writing() as connection:
            for workflow_id in _left_behind(alive_one_at_a_time(connection, now)):
                DBOS.resume_workflow(workflow_id)


def _left_behind(living: set[str]) -> list[str]:
    pending = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
    return [workflow.workflow_id for workflow in pending if workflow.executor_id not in living]
