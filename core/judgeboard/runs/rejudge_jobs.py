"""The work of a rejudge job, which ends when the whole selection is judged."""

import logging
import math

from judgeboard.domain import RunState
from judgeboard.errors import BadInput, JudgeboardError
from judgeboard.judges.judge import Judge
from judgeboard.runs.addresses import check_host, last_address
from judgeboard.runs.jobs import OWN_KEY, forget_key, held_key, judge_with_key, make_described
from judgeboard.runs.judging import Ask, Judging, make_judge
from judgeboard.runs.locks import asked_by_commands, holder_of
from judgeboard.runs.method import Begun
from judgeboard.runs.runner import COST_LIMIT
from judgeboard.runs.work import (
    CLOSED,
    JUDGE,
    TRIES,
    Opened,
    Outstanding,
    PutBackError,
    Step,
    Work,
    in_chunks,
    room,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.filters import from_dict
from judgeboard.store.jobs import (
    TaskKey,
    get_job,
    live_workers,
    lock_job,
    lock_run,
    set_failed,
    set_run,
    shared_counts,
)
from judgeboard.store.judge_versions import ensure_version, get_version
from judgeboard.store.runs import (
    finish_run,
    get_run,
    resume_run,
    run_counts,
    select_asks,
    set_why_stopped,
)
from judgeboard.store.tables import Job, Run
from judgeboard.text import counted

_log = logging.getLogger("judgeboard.jobs")

CANCELLED = "cancelled"
KEY_LOST = "its API key was in the memory of a server that no longer runs jobs: start the same job again, with its key"
KEY_SECONDS = 30.0  # after this time, the process with the key would have taken the job
# The priority of the entries of a job with at most so many answers: a small job need not wait for a
# large job.
PRIORITIES = ((200, 10), (10_000, 5), (math.inf, 0))
NO_JUDGE = "no worker can use this judge"  # begins the reason
NO_JUDGE_SECONDS, MOST_WITHOUT_JUDGE = (
    1.0,
    20,
)  # until a worker that can make the judge has taken a chunk
PASSES = 3  # over the selection: after the first, over what a chunk could not judge


class RejudgeJob(Work):
    """A rejudge job."""

    def __init__(self, store: Store, job_id: str) -> None:
        super().__init__(store, job_id)
        self._after_id: int | None = None
        self._passes = 0
        self._run_id: int | None = None
        self._versions: frozenset[int] = frozenset()
        self._skipped = False  # answers that are enqueued for other works

    def versions(self) -> frozenset[int]:
        """Return the judge version of the job's run."""
        return self._versions

    def look(self, outstanding: Outstanding, workers: int) -> Step:
        """Begin the run of the job, enqueue what is left, or store the end of the job."""
        job = self._job()
        if self._run_id is not None and job.failed is None and not self._key_lives(job):
            self._fail(KEY_LOST)
            return Step(cancel=outstanding.has_entries, abandoned=True, ended=True)
        if job.failed is not None or (job.cancelled_at is not None and job.run_id is None):
            return Step(cancel=outstanding.has_entries, ended=outstanding.is_empty)
        if self._run_id is None:
            try:
                self._begin(job)
            except JudgeboardError as error:
                self._fail(str(error))
            return Step(again=self._run_id is not None)  # the judge version is known from now on
        with self._store.reading() as connection:
            run = get_run(connection, self._run_id)
        why = CANCELLED if job.cancelled_at is not None else run.why_stopped
        if why is not None or run.state is not RunState.RUNNING:
            if outstanding.is_empty:
                self._end(run.id, why)
            return Step(cancel=outstanding.has_entries, ended=outstanding.is_empty)
        concurrency = job.filter["concurrency"]
        self.priority = next(
            priority for max_answers, priority in PRIORITIES if (run.selected or 0) <= max_answers
        )
        ids = self._left(run, outstanding, room(outstanding, workers, concurrency))
        if ids or not outstanding.is_empty or self._passes < PASSES:
            return Step(in_chunks(ids, concurrency))
        with self._store.reading() as connection:
            held_asks = select_asks(
                connection, run, among=outstanding.held_ids, limit=len(outstanding.held_ids) + 1
            )
        why, answers = outstanding.reason_held, counted(len(held_asks), "answer")
        why = (
            f"{answers} left: {why}"
            if why.startswith(NO_JUDGE)
            else f"{answers} failed {TRIES} times: {why}"
        )
        self._end(run.id, why if held_asks else None)
        return Step(cancel=bool(outstanding.held_ids), ended=True)

    def open(self) -> Opened | None:
        """Return the judge and the run; the job fails if this process cannot make the judge and is the only one."""
        job = self._job()
        if job.run_id is None or job.failed is not None or job.cancelled_at is not None:
            return None
        try:
            judge = self._judge(job)
        except JudgeboardError as error:
            if self._others_live():  # another process may have the key
                raise PutBackError(
                    _without_judge(error), NO_JUDGE_SECONDS, MOST_WITHOUT_JUDGE
                ) from error
            self._fail(_without_judge(error))
            return None
        method = Judging(judge=judge, where=from_dict(job.filter["where"]), mode=job.filter["mode"])
        with self._store.reading() as connection:
            run = get_run(connection, job.run_id)
            if run.state is not RunState.RUNNING or run.why_stopped is not None:
                return None
            version = get_version(connection, run.judge_version_id or 0)
        begun = Begun(self._store, version, run)
        return Opened(begun, method, job.filter["concurrency"], self._cost_left(job, run))

    def load(self, opened: Opened, ids: list[int]) -> dict[int, Ask]:
        """Return the asks that are still to be made."""
        asks = opened.method.load(opened.begun, [TaskKey(id_) for id_ in ids])
        return {key.item_id: ask for key, ask in asks.items()}

    def stop(self, why: str) -> None:
        """Store why no worker is to ask more; the first reason stays."""
        job = self._job()
        if job.run_id is None:
            return
        with self._store.writing() as connection:
            lock_run(connection, job.run_id)
            run = get_run(connection, job.run_id)
            if run.state is RunState.RUNNING and run.why_stopped is None:
                set_why_stopped(connection, run.id, why)

    def leave(self) -> None:
        """Interrupt the run: no worker is left."""
        run_id = self._job().run_id
        if run_id is None:
            return
        with self._store.writing() as connection:
            lock_run(connection, run_id)
            run = get_run(connection, run_id)
            if run.state is RunState.RUNNING:
                finish_run(connection, run.id, RunState.INTERRUPTED, why_stopped=CLOSED)

    def _job(self) -> Job:
        with self._store.reading() as connection:
            return get_job(connection, self.key)

    def _judge(self, job: Job) -> Judge:
        """Return the judge, with the key that this process holds for the job."""
        key = held_key(job.id)
        if key is None and job.filter.get(OWN_KEY):
            raise BadInput(KEY_LOST)
        return make_judge(**judge_with_key(job.judge, key), concurrency=job.filter["concurrency"])

    def _others_live(self) -> bool:
        with self._store.reading() as connection:
            return len(live_workers(connection)) > 1

    def _begin(self, job: Job) -> None:
        """Begin or continue the run of the job, unless another process has to."""
        if self._waits_for_key(job):
            return
        try:
            judge = self._judge(job)
        except JudgeboardError as error:
            if not self._others_live():
                raise BadInput(_without_judge(error)) from error
            judge = make_described(job.judge)
        method = Judging(judge=judge, where=from_dict(job.filter["where"]), mode=job.filter["mode"])
        with self._store.writing() as connection:
            lock_job(connection, job.id)
            version = ensure_version(connection, judge.version)
            if not job.judge.get(
                "base_url"
            ):  # an address in the job was confirmed when the job was requested
                last = last_address(connection, version.id)
                check_host(last, version, judge.address, lambda: "the answers of this job")
            if job.run_id is not None:
                run = get_run(connection, job.run_id)
                if run.state is RunState.INTERRUPTED:
                    run = resume_run(connection, run.id, None, method.destination)
            else:
                run = method.begin(connection, version, job.actor)
                set_run(connection, job.id, run.id)
        if holder_of(self._store, run.id) is None:  # otherwise a command makes the run now
            self._run_id, self._versions = run.id, frozenset([version.id])

    def _waits_for_key(self, job: Job) -> bool:
        """Return whether another live process may have the key that a person typed; then only that process judges."""
        if not job.filter.get(OWN_KEY):
            return False
        self.kind = f"{JUDGE}@{job.filter[OWN_KEY]}"
        is_alive = self._key_lives(job)
        if not is_alive and (utc_now() - job.created_at).total_seconds() > KEY_SECONDS:
            raise BadInput(KEY_LOST)
        return not is_alive

    def _key_lives(self, job: Job) -> bool:
        """Return whether the process with the key of the job is alive; True for a job without such a key."""
        process = job.filter.get(OWN_KEY)
        if not process or held_key(job.id) is not None:
            return True
        with self._store.reading() as connection:
            return any(each.startswith(f"{process}-") for each in live_workers(connection))

    def _left(self, run: Run, outstanding: Outstanding, limit: int) -> list[int]:
        """Return the next answers to judge, except answers that are enqueued already."""
        enqueued_ids = outstanding.ids | outstanding.held_ids
        while limit and self._passes < PASSES:
            with self._store.reading() as connection:
                ids = [
                    id_
                    for id_, _ in select_asks(connection, run, after_id=self._after_id, limit=limit)
                ]
            of_commands = asked_by_commands(self._store, self._versions, ids)
            elsewhere = outstanding.elsewhere.intersection(ids) | of_commands
            new = [id_ for id_ in ids if id_ not in enqueued_ids and id_ not in elsewhere]
            self._after_id = ids[-1] if ids else self._after_id
            self._skipped = self._skipped or bool(elsewhere)
            if new or of_commands:
                return new  # a command may ask for hours: the next look goes on behind the command's answers
            if not ids:
                if not outstanding.is_empty:
                    return []  # another pass once these chunks have ended
                if self._skipped:
                    self._skipped, self._after_id = False, None
                    return []
                with self._store.reading() as connection:
                    all_asked = shared_counts(connection, run.id)[0].asked >= (run.selected or 0)
                self._passes, self._after_id = PASSES if all_asked else self._passes + 1, None
        return []

    def _cost_left(self, job: Job, run: Run) -> int | None:
        limit: float | None = job.filter["max_cost"]
        if limit is None:
            return None
        with (
            self._store.reading() as connection
        ):  # the limit is for this job; an earlier job may have begun the run
            cost = run_counts(connection, [run.id], since=job.created_at)[run.id].cost_micro or 0
        return round(limit * 1_000_000) - cost

    def _fail(self, why: str) -> None:
        self._warn(why)
        with self._store.writing() as connection:
            lock_job(connection, self.key)
            job = get_job(connection, self.key)
            if job.failed is None:
                set_failed(connection, self.key, why)
            if job.run_id is not None and get_run(connection, job.run_id).state is RunState.RUNNING:
                finish_run(connection, job.run_id, RunState.INTERRUPTED, why_stopped=why)
        forget_key(self.key)

    def _end(self, run_id: int, why: str | None) -> None:
        """Store the end of the run. The job failed unless it is done, cancelled or at the cost limit."""
        with self._store.writing() as connection:
            lock_job(connection, self.key)
            lock_run(connection, run_id)
            run = get_run(connection, run_id)
            if run.state is RunState.RUNNING:
                ask_count = run_counts(connection, [run_id])[run_id].asked
                is_done = why is None or ask_count >= (
                    run.selected or 0
                )  # the stop came after the last ask
                state = RunState.DONE if is_done else RunState.STOPPED
                finish_run(connection, run_id, state, why_stopped=None if is_done else why)
                if why is not None and not is_done and why not in {CANCELLED, COST_LIMIT}:
                    self._warn(why)
                    set_failed(connection, self.key, why)
        forget_key(self.key)

    def _warn(self, why: str) -> None:
        _log.warning("the job %s ends: %s", self.key, why)


def _without_judge(error: JudgeboardError) -> str:
    """Return why no worker can make the judge of a job, and the next step."""
    reason = str(error)
    if reason == KEY_LOST:
        return reason
    return f"{NO_JUDGE}: {reason.rstrip('.')}. Then restart the workers (or the server), and start the same job again"
