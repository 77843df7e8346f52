"""Stores jobs and the workers that run them: rate limits, and each worker's share of a run."""

import os
import secrets
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Select,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    true,
    update,
)

from judgeboard.domain import RunState, Status, StepRecord
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Readable
from judgeboard.store.events import EventFilter, latest_events, record_event
from judgeboard.store.runs import Counts, finish_run
from judgeboard.store.statements import first_row, get_row, number_of, plain_insert, rows_of
from judgeboard.store.tables import JOB, RATE_LIMIT, RUN, RUN_SHARE, WORKER, Job

_NEWEST_FIRST = select(Job).order_by(JOB.c.created_at.desc(), JOB.c.id)
WAKE_CHANNEL = "judgeboard_work"


def wake_workers(connection: Connection) -> None:
    """Tell the workers, once the transaction is stored, that there may be something to do.

    On SQLite, the worker notices that another connection has written.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(WAKE_CHANNEL, "")))


def insert_job(connection: Connection, job: Job) -> None:
    """Store a job."""
    connection.execute(insert(JOB), job.model_dump())
    wake_workers(connection)


def get_job(connection: Connection, job_id: str) -> Job:
    """Return a job, or raise NotFound."""
    return get_row(connection, Job, job_id, "job")


def lock_job(connection: Connection, job_id: str) -> None:
    """Let other workers wait until the transaction ends: one worker begins the run of the job."""
    connection.execute(select(JOB.c.id).where(JOB.c.id == job_id).with_for_update(key_share=True))


def list_jobs(connection: Connection, limit: int = 20) -> list[Job]:
    """Return the latest jobs, newest first."""
    return rows_of(connection, _NEWEST_FIRST.limit(limit))


_LATER = JOB.alias("later_job")
_CONTINUED = exists().where(_LATER.c.run_id == JOB.c.run_id, _LATER.c.created_at > JOB.c.created_at)


def unfinished_jobs(connection: Connection) -> list[Job]:
    """Return the jobs that wait, run or are stopping, oldest first, without jobs whose run a later job continued."""
    running = RUN.c.state.in_([RunState.RUNNING, RunState.INTERRUPTED])
    open_ = running & ~_CONTINUED | (JOB.c.run_id.is_(None) & JOB.c.cancelled_at.is_(None))
    query = (
        select(Job).outerjoin(RUN, RUN.c.id == JOB.c.run_id).where(JOB.c.failed.is_(None), open_)
    )
    return rows_of(connection, query.order_by(JOB.c.created_at, JOB.c.id))


def last_job_of_version(connection: Connection, version_id: int) -> Job | None:
    """Return the latest job with this judge version, or None."""
    query = _NEWEST_FIRST.join(RUN, RUN.c.id == JOB.c.run_id)
    return first_row(connection, query.where(RUN.c.judge_version_id == version_id))


def is_continued(connection: Connection, job: Job) -> bool:
    """Return whether a later job continued the run of this job."""
    return bool(connection.scalar(select(_CONTINUED).where(JOB.c.id == job.id)))


def set_run(connection: Connection, job_id: str, run_id: int) -> None:
    """Store the run of a job."""
    statement = update(JOB).where(JOB.c.id == job_id).values(run_id=run_id)
    actor = connection.scalar(statement.returning(JOB.c.actor))
    record_event(connection, "job_began", actor, details={"job": job_id, "run": run_id})


def set_failed(connection: Connection, job_id: str, why: str) -> None:
    """Store why a job could not start or go on."""
    statement = update(JOB).where(JOB.c.id == job_id).values(failed=why)
    actor = connection.scalar(statement.returning(JOB.c.actor))
    record_event(connection, "job_failed", actor, details={"job": job_id, "reason": why})


def interrupt_work(connection: Connection, why: str) -> None:
    """Interrupt all jobs and runs that have not ended, while no process works on this database.

    No worker continues such a job. A person who starts the same job or command again continues the
    run.
    """
    for job in unfinished_jobs(connection):
        set_failed(connection, job.id, why)
    running = select(RUN.c.id).where(RUN.c.state == RunState.RUNNING).order_by(RUN.c.id)
    for run_id in connection.scalars(running).all():
        finish_run(connection, run_id, RunState.INTERRUPTED, why_stopped=why)
    connection.execute(delete(WORKER))


def set_cancelled(connection: Connection, job_id: str, now: datetime) -> bool:
    """Request that a job stops; return whether this is the first request."""
    statement = (
        update(JOB).where(JOB.c.id == job_id, JOB.c.cancelled_at.is_(None)).values(cancelled_at=now)
    )
    wake_workers(connection)
    return connection.execute(statement).rowcount == 1


_HEARTBEAT_TIMEOUT = timedelta(seconds=15)
_KEPT_AFTER_LAST_HEARTBEAT = timedelta(days=7)  # alert rules look back for a period


def process_name() -> str:
    """Return the machine and the number of this process."""
    return f"{socket.gethostname()}-{os.getpid()}"


def new_executor_id() -> str:
    """Return a name for a worker or a run of this process, which begins with the name of the process."""
    return f"{process_name()}-{secrets.token_hex(3)}"


def register_worker(connection: Connection, executor_id: str) -> None:
    """Store that this process begins to take jobs, and remove the rows of workers that were killed long ago."""
    was_killed = WORKER.c.heartbeat_at < utc_now() - _KEPT_AFTER_LAST_HEARTBEAT
    dead: ColumnElement[bool] = was_killed | (WORKER.c.executor_id == executor_id)
    if connection.dialect.name == "sqlite":  # of a file, only one process at a time is a worker
        dead = true()
    connection.execute(delete(WORKER).where(dead))
    record_heartbeat(connection, executor_id)
    record_event(
        connection, "start_worker", worker_name(executor_id), details={"process": os.getpid()}
    )


def worker_name(executor_id: str) -> str:
    """Return the name of a worker in events, which never contains the name of the machine."""
    return f"worker:{executor_id[-6:]}"


def record_heartbeat(connection: Connection, executor_id: str) -> None:
    """Store that this worker is alive, also after a suspension so long that the row was removed."""
    now = utc_now()
    process = {"executor_id": executor_id, "host": socket.gethostname(), "pid": os.getpid()}
    first = plain_insert(connection, WORKER).values(
        process | {"started_at": now, "heartbeat_at": now}
    )
    connection.execute(
        first.on_conflict_do_update(index_elements=["executor_id"], set_={"heartbeat_at": now})
    )


def remove_worker(connection: Connection, executor_id: str) -> None:
    """Remove a worker that stops normally."""
    statement = delete(WORKER).where(WORKER.c.executor_id == executor_id).returning(WORKER.c.pid)
    for pid in connection.scalars(statement).all():
        record_event(connection, "stop_worker", worker_name(executor_id), details={"process": pid})


def record_settings(connection: Connection, executor_id: str, hashes: Mapping[str, str]) -> None:
    """Store the hashes of the settings that a worker uses from now on, by the name of the setting."""
    record_event(
        connection, "use_settings", worker_name(executor_id), details={"settings": dict(hashes)}
    )


class WorkerSettings(NamedTuple):
    """A living worker, and the hashes of its settings by name."""

    host: str
    process: int
    hashes: Mapping[str, str]


def worker_settings(connection: Connection) -> list[WorkerSettings]:
    """Return the settings that each worker with a heartbeat in the last 15 seconds uses."""
    living = select(WORKER.c.executor_id, WORKER.c.host, WORKER.c.pid).where(
        WORKER.c.executor_id.in_(_alive(_HEARTBEAT_TIMEOUT))
    )
    workers = []
    for worker in connection.execute(living.order_by(WORKER.c.host, WORKER.c.pid)).all():
        where = EventFilter("use_settings", worker_name(worker.executor_id))
        latest = latest_events(connection, where, limit=1)
        if latest:
            workers.append(WorkerSettings(worker.host, worker.pid, latest[0].details["settings"]))
    return workers


def live_workers(connection: Connection, *, within: timedelta | None = None) -> set[str]:
    """Return the executor ids of the workers with a heartbeat in the last 15 seconds, or ``within`` another period."""
    return set(connection.scalars(_alive(within or _HEARTBEAT_TIMEOUT)))


def _alive(within: timedelta) -> Select[Any]:
    return select(WORKER.c.executor_id).where(WORKER.c.heartbeat_at >= utc_now() - within)


# The clock of the database: workers on several machines have different clocks.
_NOW = {
    "sqlite": literal_column("(julianday('now') - 2440587.5) * 86400.0", Float),
    "postgresql": cast(literal_column("extract(epoch FROM clock_timestamp())"), Float),
}


def take_turns(connection: Connection, name: str, seconds: float, owed: float) -> float:
    """Take seconds of the timeline of a rate limit; return the seconds until the taken part begins.

    ``owed`` is the number of seconds that earlier calls took too little (above 0) or too much.
    """
    now, taken_until = _NOW[connection.dialect.name], RATE_LIMIT.c.taken_until
    begin = case((taken_until + owed > now, taken_until + owed), else_=now)
    first = plain_insert(connection, RATE_LIMIT).values(name=name, taken_until=now + seconds)
    statement = first.on_conflict_do_update(
        index_elements=["name"], set_={"taken_until": begin + seconds}
    )
    return float(connection.scalar(statement.returning(taken_until - seconds - now)))


class TaskKey(NamedTuple):
    """The key of a task within a run: the item, and the part if the item has several parts."""

    item_id: int
    part: str = ""


def lock_run(connection: Connection, run_id: int) -> None:
    """Let others who lock the run wait until the transaction ends."""
    # Not FOR UPDATE: judgments that refer to the run are stored meanwhile.
    connection.execute(select(RUN.c.id).where(RUN.c.id == run_id).with_for_update(key_share=True))


def add_to_share(
    connection: Connection,
    run_id: int,
    executor_id: str,
    records: Iterable[StepRecord],
    now: datetime,
) -> None:
    """Add judgments to the share of a worker, in the transaction that stores the judgments."""
    counts = sum(map(Counts.of_step, records), Counts())
    share = counts.by_status | {"unpriced": counts.unpriced, "cost_micro": counts.cost_micro or 0}
    first = plain_insert(connection, RUN_SHARE).values(
        share | {"run_id": run_id, "executor_id": executor_id, "last_at": now}
    )
    more = {name: RUN_SHARE.c[name] + count for name, count in share.items()} | {"last_at": now}
    key = ["run_id", "executor_id"]
    connection.execute(first.on_conflict_do_update(index_elements=key, set_=more))


def cost_elsewhere(store: Readable, run_id: int, executor_id: str) -> int:
    """Return what the other processes of a run have spent, in millionths; calls of unknown cost count as 0."""
    conditions = RUN_SHARE.c.run_id == run_id, RUN_SHARE.c.executor_id != executor_id
    query = select(func.sum(RUN_SHARE.c.cost_micro)).where(*conditions)
    with store.reading() as connection:
        return number_of(connection, query)


@dataclass(frozen=True, slots=True)
class RunInProgress:
    """A run that goes on: ``asked`` of the ``selected`` steps are done."""

    id: int
    kind: str
    selected: int
    asked: int


def runs_in_progress(connection: Connection, since: datetime) -> list[RunInProgress]:
    """Return the running runs that began or stored a result ``since`` a time, newest first.

    Reads one row per worker, not the judgments. Runs without an end, such as those of judging
    rules, are left out.
    """
    steps = sum(
        (func.coalesce(func.sum(RUN_SHARE.c[status.value]), 0) for status in Status), literal(0)
    )
    query = (
        select(RUN.c.id, RUN.c.kind, RUN.c.selected, steps)
        .outerjoin(RUN_SHARE, RUN_SHARE.c.run_id == RUN.c.id)
        .where(RUN.c.state == RunState.RUNNING, RUN.c.selected.is_not(None))
        .group_by(RUN.c.id, RUN.c.kind, RUN.c.selected, RUN.c.started_at)
        .having(or_(RUN.c.started_at >= since, func.max(RUN_SHARE.c.last_at) >= since))
        .order_by(RUN.c.id.desc())
    )
    return [
        RunInProgress(id_, kind, selected_steps, int(asked_steps))
        for id_, kind, selected_steps, asked_steps in connection.execute(query)
    ]


def shared_counts(connection: Connection, *run_ids: int) -> tuple[Counts, datetime | None]:
    """Return the counts and costs of runs that workers share, and the time of the last judgment.

    Reads one row per worker, not the judgments. Tokens are left out.
    """
    names = (*map(str, Status), "unpriced", "cost_micro")
    sums = (func.coalesce(func.sum(RUN_SHARE.c[name]), 0).label(name) for name in names)
    query = select(*sums, func.max(RUN_SHARE.c.last_at).label("last_at")).where(
        RUN_SHARE.c.run_id.in_(run_ids)
    )
    row = connection.execute(query).one()._asdict()
    last_at = row.pop("last_at")
    return Counts(**{name: int(count) for name, count in row.items()}), last_at
