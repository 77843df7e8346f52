"""Rejudge jobs in one worker: each job is done by all workers together, and ends when nothing is left to judge."""

import asyncio
import logging
import threading
import time
from dataclasses import replace

from judgeboard.domain import RunState
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.runs.addresses import check_host, last_address
from judgeboard.runs.jobs import OWN_KEY, forget_key, held_key, judge_with_key
from judgeboard.runs.judging import Ask, Judging, make_judge
from judgeboard.runs.method import Begun, claims_of
from judgeboard.runs.shared_job import CLOSED, SharedJob, log_failure
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filters import from_dict
from judgeboard.store.jobs import (
    StoredJob,
    count_claims,
    get_job,
    lock_job,
    lock_run,
    release_claims,
    set_failed,
    set_run,
)
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.runs import (
    StoredRun,
    finish_run,
    get_run,
    resume_run,
    run_counts,
    set_why_stopped,
)

CANCELLED = "cancelled"
BROKE_OFF = "it ended unexpectedly (see the server's log); to continue it, start the same job again"
KEY_LOST = "its API key was in the memory of a server that no longer runs jobs: start the same job again"
KEY_SECONDS = 30.0  # after this time, the process with the key would have taken the job
TRY_AGAIN_SECONDS = (0.3, 1.0, 3.0)  # after an unexpected error, for example of the database
STEADY_SECONDS = 30.0  # an error after this time is a new one: the tries begin again

ENDED = "the run has ended"
_OWN_REASONS = {CLOSED, BROKE_OFF, ENDED}  # other workers go on

_log = logging.getLogger("judgeboard.jobs")


def can_take(job: StoredJob) -> bool:
    """Return whether this process can join a job: another process may have its API key."""
    if not job.filter.get(OWN_KEY) or held_key(job.id) is not None:
        return True
    # A process with the key takes it within seconds. After that, the job fails: the key is lost.
    return (utc_now() - job.created_at).total_seconds() > KEY_SECONDS


class RejudgeJob(SharedJob):
    """A rejudge job in one worker."""

    def __init__(self, store: Store, job: StoredJob, executor_id: str, closing: threading.Event) -> None:
        super().__init__(store, executor_id, closing)
        self._job = job

    def _run(self) -> None:
        pauses = iter(TRY_AGAIN_SECONDS)
        while True:
            began = time.monotonic()
            try:
                self.take_part()
                break
            except Exception as error:  # noqa: BLE001 - the job must not look as if it were still running
                if time.monotonic() - began > STEADY_SECONDS:
                    pauses = iter(TRY_AGAIN_SECONDS)
                pause = next(pauses, None)
                if pause is None:
                    _log.exception("job %s ended unexpectedly", self._job.id)
                    if not self._others_judge():
                        self._fail(BROKE_OFF)
                    break
                if self._closing.wait(pause):
                    break
                log_failure(f"job {self._job.id}", error)

    def take_part(self) -> None:
        """Judge answers of the job until none is left. Every expected error becomes a state of the job or its run."""
        with self._store.reading() as connection:
            self._job = job = get_job(connection, self._job.id)
        if job.cancelled_at is not None:  # cancelled before this worker could join
            self._leave(CANCELLED)
            return
        try:
            key = held_key(job.id)
            if key is None and job.filter.get(OWN_KEY):
                raise BadInput(KEY_LOST)
            judge = make_judge(**judge_with_key(job.judge, key), concurrency=job.filter["concurrency"])
            method = Judging(judge=judge, where=from_dict(job.filter["where"]), mode=job.filter["mode"])
            begun = self._begin(method)
        except JudgeboardError as error:
            if not self._others_judge():  # for example with a key that this process has not
                self._fail(str(error))
            return
        why: str | None = BROKE_OFF
        try:
            claims = claims_of(begun, method, self._executor_id)

            def take(limit: int) -> list[Ask]:
                return [claimed.task for claimed in claims.take(limit)]

            why = asyncio.run(self._judge(begun, method, take, claims.close, job.filter["concurrency"]))
        finally:
            self._leave(why)
        forget_key(job.id)

    def _others_judge(self) -> bool:
        run_id = self._job.run_id
        with self._store.reading() as connection:
            return run_id is not None and count_claims(connection, run_id, besides=self._executor_id) > 0

    def _fail(self, why: str) -> None:
        with self._store.writing() as connection:
            lock_job(connection, self._job.id)
            if get_job(connection, self._job.id).failed is None:
                set_failed(connection, self._job.id, why)
        forget_key(self._job.id)

    def _begin(self, method: Judging) -> Begun:
        """Return the run of the job. The first worker makes it and stores its id in one transaction."""
        with self._store.writing() as connection:
            lock_job(connection, self._job.id)
            job = get_job(connection, self._job.id)
            version = ensure_version(connection, method.judge.version)
            if not job.judge.get("base_url"):  # an address in the job was confirmed when the job was requested
                last = last_address(connection, version.id)
                check_host(last, version, method.judge.address, lambda: "the answers of this job")
            if job.run_id is not None:
                run = get_run(connection, job.run_id)
                if run.state is RunState.INTERRUPTED:
                    run = resume_run(connection, run.id, None, method.destination)
            else:
                run = method.begin(connection, version, job.actor)
                set_run(connection, job.id, run.id)
            release_claims(connection, self._executor_id, run.id)  # of an attempt that could not release them
        self._job = replace(job, run_id=run.id)
        return Begun(self._store, version, run)

    def _cost_left(self, run: StoredRun) -> int | None:
        limit: float | None = self._job.filter["max_cost"]
        if limit is None:
            return None
        with self._store.reading() as connection:  # the limit is for this job; an earlier job may have begun the run
            spent = run_counts(connection, [run.id], since=self._job.created_at)[run.id].cost_micro or 0
        return round(limit * 1_000_000) - spent

    def _reason_to_stop(self, run: StoredRun) -> str | None:
        with self._store.reading() as connection:
            job, run = get_job(connection, self._job.id), get_run(connection, run.id)
            if job.cancelled_at is not None:
                return CANCELLED
            if job.failed is not None or run.state is not RunState.RUNNING:
                return ENDED
            return run.why_stopped

    def _leave(self, why: str | None) -> None:
        """Release the claims of this worker. The last worker stores the end of the run."""
        run_id = self._job.run_id
        if run_id is None:
            return
        with self._store.writing() as connection:
            lock_run(connection, run_id)
            release_claims(connection, self._executor_id, run_id)
            run = get_run(connection, run_id)
            if run.state not in {RunState.RUNNING, RunState.INTERRUPTED}:
                return
            for_all = None if why in _OWN_REASONS else why
            if count_claims(connection, run_id):
                set_why_stopped(connection, run_id, run.why_stopped or for_all)
                return
            # A run that was interrupted has a reason of its own; it would be continued, and block the job for ever.
            reason = why if why == CANCELLED else run.why_stopped or why
            asked = run_counts(connection, [run_id])[run_id].asked
            if reason is None or asked >= (run.selected or 0):  # the stop came after the last ask
                finish_run(connection, run_id, RunState.DONE)
            elif reason in _OWN_REASONS:
                if run.state is RunState.RUNNING:
                    finish_run(connection, run_id, RunState.INTERRUPTED, why_stopped=reason)
            else:
                finish_run(connection, run_id, RunState.STOPPED, why_stopped=reason)
