"""The worker of a process: it joins the jobs of a database, and tells other processes that it is alive."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from judgeboard.domain import RuleState
from judgeboard.errors import BadInput
from judgeboard.runs.rejudge_jobs import RejudgeJob, can_take
from judgeboard.runs.rule_jobs import RuleJob
from judgeboard.runs.shared_job import SharedJob, log_failure
from judgeboard.runs.task_claims import BEAT_SECONDS, beat, new_executor_id
from judgeboard.settings.model import load_settings, setting_hashes
from judgeboard.store.engine import Store
from judgeboard.store.jobs import record_settings, register_worker, release_claims, remove_worker, unfinished_jobs
from judgeboard.store.judging_rules import list_rules
from judgeboard.store.settings import check_primary_judge
from judgeboard.store.tools import release_abandoned_targets
from judgeboard.tools.push import PushJobs

_log = logging.getLogger("judgeboard.jobs")


class JobsLock(NamedTuple):
    """The lock of the process that takes jobs; its claims have the ``executor_id``. Closing the lock releases it."""

    executor_id: str
    lock: sqlite3.Connection | None = None


def lock_jobs(store: Store) -> JobsLock | None:
    """Lock the jobs for this process; None while another process on this SQLite file has the lock.

    The lock is a transaction on a small file beside the database, so it ends with the process. Each holder has the same
    executor id, so the next holder takes over the claims of a killed holder at once.
    """
    if not store.is_sqlite:
        return JobsLock(new_executor_id())
    lock = sqlite3.connect(f"{store.engine.url.database}.jobs-lock", timeout=0, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        return None
    return JobsLock("server", lock)


AT_ONCE = 2  # rejudge jobs at a time in one process, so that a small job need not wait for a large one


class Jobs:
    """The jobs that this process has joined."""

    def __init__(self, store: Store, executor_id: str) -> None:
        self._store, self._executor_id = store, executor_id
        self._closing = threading.Event()
        self._running: dict[int | str, SharedJob] = {}  # by the id of the rule or the job
        with store.writing() as connection:  # of a killed holder of the same id
            release_claims(connection, executor_id)

    def look(self) -> None:
        """Join each active rule and the first rejudge jobs."""
        with self._store.reading() as connection:
            rules, rejudges = list_rules(connection), unfinished_jobs(connection)
        self._running = {key: job for key, job in self._running.items() if not job.ended}
        for rule in rules:
            if rule.state is RuleState.ACTIVE:
                self._join(rule.id, RuleJob, rule)
        for job in [job for job in rejudges if can_take(job)][:AT_ONCE]:
            self._join(job.id, RejudgeJob, job)

    def _join(self, key: int | str, kind: Callable[..., SharedJob], job: object) -> None:
        if key not in self._running:
            self._running[key] = kind(self._store, job, self._executor_id, self._closing)
            self._running[key].start()

    @property
    def ended(self) -> bool:
        """Whether this process does nothing more for any job."""
        return all(job.ended for job in self._running.values())

    def stop(self, seconds: float) -> None:
        """Finish the calls in flight; wait at most this long."""
        self._closing.set()
        end = time.monotonic() + seconds
        for job in self._running.values():
            job.wait(max(0.0, end - time.monotonic()))


POLL_SECONDS = 1.0  # between two looks for jobs
TURN_SECONDS = 1.0  # between two attempts to lock the jobs, while another process has the lock
FINISH_SECONDS = 90.0  # for the calls in flight when the process ends


class Worker:
    """Does the jobs of one database in threads of this process, from `start` to `stop`; one worker per process.

    While it takes jobs, each of the functions ``beside`` runs in a thread of its own, until its event is set.
    """

    def __init__(self, store: Store, beside: Sequence[Callable[[Store, threading.Event], None]] = ()) -> None:
        self._store = store
        self._beside = beside
        self._closing = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="judgeboard-worker", daemon=True)
        self._recorded_settings: dict[str, str] | None = None

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
            self._warn_of_primary_judge()
            while not self._closing.is_set():
                try:
                    self._take_jobs()
                except Exception as error:  # noqa: BLE001 - whatever the database raises: the pages go on
                    log_failure("cannot take jobs", error)
                    self._closing.wait(BEAT_SECONDS)
        finally:
            self._ended.set()

    def _warn_of_primary_judge(self) -> None:
        """Log a warning if the primary judge does not exist: here, once for all jobs of the process."""
        try:
            with self._store.reading() as connection:
                check_primary_judge(connection)
        except BadInput as error:
            _log.warning("%s", error)
        except Exception as error:  # noqa: BLE001 - an unreachable database comes back
            log_failure("cannot check the primary judge", error)

    def _take_jobs(self) -> None:
        while (jobs_lock := lock_jobs(self._store)) is None:
            if self._closing.wait(TURN_SECONDS):
                return
        try:
            with self._store.writing() as connection:
                register_worker(connection, jobs_lock.executor_id)
            self._recorded_settings = None
            jobs = Jobs(self._store, jobs_lock.executor_id)
            push_jobs = PushJobs(self._store, jobs_lock.executor_id)
            ending = threading.Event()
            threads = [threading.Thread(target=run, args=(self._store, ending), daemon=True) for run in self._beside]
            for thread in threads:
                thread.start()
            try:
                self._poll(jobs_lock, jobs, push_jobs)
            finally:
                ending.set()
                push_jobs.stop(0)  # it finishes its request while the others end
                self._finish(jobs_lock, jobs)
                push_jobs.stop(FINISH_SECONDS)
                for thread in threads:
                    thread.join(FINISH_SECONDS)
        finally:
            try:
                with self._store.writing() as connection:
                    remove_worker(connection, jobs_lock.executor_id)
            finally:
                if jobs_lock.lock is not None:
                    jobs_lock.lock.close()

    def _poll(self, jobs_lock: JobsLock, jobs: Jobs, push_jobs: PushJobs) -> None:
        last_beat = 0.0
        while not self._closing.is_set():
            try:
                jobs.look()
                push_jobs.look()
                if time.monotonic() - last_beat >= BEAT_SECONDS:
                    self._beat(jobs_lock)
                    last_beat = time.monotonic()
            except Exception as error:  # noqa: BLE001 - an unreachable database comes back; running jobs go on
                log_failure("cannot look for jobs", error)
                self._closing.wait(BEAT_SECONDS)
            self._closing.wait(POLL_SECONDS)

    def _finish(self, jobs_lock: JobsLock, jobs: Jobs) -> None:
        jobs.stop(0)
        end = time.monotonic() + FINISH_SECONDS
        while not jobs.ended and time.monotonic() < end:
            try:  # without a heartbeat, others would release the claims on the calls in flight
                self._beat(jobs_lock)
            except Exception as error:  # noqa: BLE001 - an unreachable database comes back
                log_failure("cannot store a heartbeat", error)
            jobs.stop(BEAT_SECONDS)

    def _beat(self, jobs_lock: JobsLock) -> None:
        settings = self._recorded_settings
        with suppress(BadInput, OSError):  # a file that somebody edits now is read at the next heartbeat
            settings = setting_hashes(load_settings())
        with self._store.writing() as connection:
            release_abandoned_targets(connection, beat(connection, jobs_lock.executor_id, takes_jobs=True))
            if settings is not None and settings != self._recorded_settings:
                record_settings(connection, jobs_lock.executor_id, settings)
        self._recorded_settings = settings
