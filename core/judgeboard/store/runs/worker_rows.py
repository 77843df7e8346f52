"""Rows of workers: which processes take jobs, and when each was last heard of."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, select, update

from judgeboard.store.events import record_event
from judgeboard.store.schema.tables import WORKER
from judgeboard.store.sql.insertion import insert_into

SILENT_AFTER = timedelta(seconds=15)


def announce(connection: Connection, executor_id: str, host: str, pid: int, now: datetime) -> None:
    """Say that a worker has started."""
    row = {"executor_id": executor_id, "host": host, "pid": pid, "started_at": now, "beat_at": now}
    known = {"host": host, "pid": pid, "started_at": now, "beat_at": now}
    statement = insert_into(connection, WORKER).on_conflict_do_update(index_elements=["executor_id"], set_=known)
    connection.execute(statement, row)
    record_event(connection, "start_worker", worker_name(executor_id), details={"process": pid}, now=now)


def worker_name(executor_id: str) -> str:
    """Return how events call a worker: never by its machine."""
    return f"worker:{executor_id[:8]}"


def beat(connection: Connection, executor_id: str, now: datetime) -> None:
    """Say that a worker is alive."""
    connection.execute(update(WORKER).where(WORKER.c.executor_id == executor_id).values(beat_at=now))


def leave(connection: Connection, executor_id: str) -> None:
    """Say that a worker has ended by itself."""
    gone = delete(WORKER).where(WORKER.c.executor_id == executor_id).returning(WORKER.c.pid)
    for pid in connection.execute(gone).scalars().all():
        record_event(connection, "stop_worker", worker_name(executor_id), details={"process": pid})


def alive(connection: Connection, now: datetime) -> set[str]:
    """Return the workers that were heard of within the last 15 seconds."""
    query = select(WORKER.c.executor_id).where(WORKER.c.beat_at >= now - SILENT_AFTER)
    return set(connection.execute(query).scalars())


def alive_one_at_a_time(connection: Connection, now: datetime) -> set[str]:
    """Return the same, and keep every other worker from asking so until this transaction ends."""
    connection.execute(select(WORKER.c.executor_id).order_by(WORKER.c.executor_id).with_for_update()).all()
    return alive(connection, now)
