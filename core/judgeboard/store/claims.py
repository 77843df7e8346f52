"""Claims that keep processes from doing a task twice, and the share of each worker in a run."""

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select

from judgeboard.domain import Status, StepRecord
from judgeboard.store.engine import Readable
from judgeboard.store.runs import Counts
from judgeboard.store.statements import insert_or_skip, plain_insert
from judgeboard.store.tables import CLAIM, RUN, RUN_SHARE

Conditions = Collection[ColumnElement[bool]]
"""Conditions for the responses that a run has left to judge."""


class TaskKey(NamedTuple):
    """What names a task within a judge version: the item that it is about, and the part if it has several."""

    item_id: int
    part: str = ""


def claim_tasks(
    connection: Connection, run_id: int, version_id: int, executor_id: str, keys: Collection[TaskKey]
) -> list[TaskKey]:
    """Claim tasks for a process and return those that no other process has claimed, in ascending order.

    Load the tasks after this transaction: a task that is left then is done by no other process.
    """
    values = {"run_id": run_id, "judge_version_id": version_id, "executor_id": executor_id}
    claimed = insert_or_skip(connection, CLAIM).returning(CLAIM.c.item_id, CLAIM.c.part)
    rows = connection.execute(claimed, [values | key._asdict() for key in sorted(keys)])  # one order: no deadlock
    return sorted(TaskKey(*row) for row in rows)


def release_tasks(connection: Connection, version_id: int, executor_id: str, keys: Collection[TaskKey]) -> None:
    """Release the claims of a process on tasks that are done, or not left."""
    if keys:
        own = CLAIM.c.judge_version_id == version_id, CLAIM.c.executor_id == executor_id
        task = CLAIM.c.item_id == bindparam("item"), CLAIM.c.part == bindparam("of_item")
        rows = [{"item": key.item_id, "of_item": key.part} for key in keys]
        connection.execute(delete(CLAIM).where(*own, *task), rows)


def lock_run(connection: Connection, run_id: int) -> None:
    """Let other workers wait until the transaction ends: they choose, or leave a run, one after the other."""
    # Not FOR UPDATE: judgments of the run, which refer to it, are stored meanwhile.
    connection.execute(select(RUN.c.id).where(RUN.c.id == run_id).with_for_update(key_share=True))


def count_claims(connection: Connection, run_id: int, *, besides: str | None = None) -> int:
    """Return the number of claimed tasks of a run, without those of the worker ``besides``."""
    query = select(func.count()).select_from(CLAIM).where(CLAIM.c.run_id == run_id)
    query = query if besides is None else query.where(CLAIM.c.executor_id != besides)
    return int(connection.execute(query).scalar_one())


def release_claims(connection: Connection, executor_id: str, run_id: int | None = None) -> None:
    """Release the claims of a process, or only those of one of its runs."""
    released = delete(CLAIM).where(CLAIM.c.executor_id == executor_id)
    connection.execute(released if run_id is None else released.where(CLAIM.c.run_id == run_id))


def release_abandoned(connection: Connection, living: Collection[str]) -> None:
    """Release the claims of processes that are not among the ``living``."""
    connection.execute(delete(CLAIM).where(CLAIM.c.executor_id.not_in(living)))


_SUMS = (*Status, "cost_micro", "unpriced")


def add_to_share(
    connection: Connection, run_id: int, executor_id: str, records: Iterable[StepRecord], now: datetime
) -> None:
    """Add judgments to the share of a worker; call it in the transaction that stores them."""
    sums: Counter[str] = Counter()
    for record in records:
        sums.update(
            {record.status: 1, "cost_micro": record.cost_micro or 0, "unpriced": int(record.cost_micro is None)}
        )
    row = {str(name): sums[name] for name in _SUMS}
    first = plain_insert(connection, RUN_SHARE).values(row | {"run_id": run_id, "executor_id": executor_id})
    more = {name: RUN_SHARE.c[name] + count for name, count in row.items()} | {"last_at": now}
    key = ["run_id", "executor_id"]
    connection.execute(first.values(last_at=now).on_conflict_do_update(index_elements=key, set_=more))


def cost_elsewhere(store: Readable, run_id: int, executor_id: str) -> int:
    """Return what the other processes of a run have spent, in millionths; calls of unknown cost count as 0."""
    others = RUN_SHARE.c.run_id == run_id, RUN_SHARE.c.executor_id != executor_id
    query = select(func.coalesce(func.sum(RUN_SHARE.c.cost_micro), 0)).where(*others)
    with store.reading() as connection:
        return int(connection.execute(query).scalar_one())


def shared_counts(connection: Connection, run_id: int) -> tuple[Counts, datetime | None]:
    """Return the counts and costs of a run that workers share, and the time of its last judgment.

    Reads one row per worker, not the judgments. Tokens are left out.
    """
    sums = (func.coalesce(func.sum(RUN_SHARE.c[str(name)]), 0).label(str(name)) for name in _SUMS)
    query = select(*sums, func.max(RUN_SHARE.c.last_at).label("last_at")).where(RUN_SHARE.c.run_id == run_id)
    row = connection.execute(query).one()._asdict()
    last_at = row.pop("last_at")
    return Counts(**{name: int(count) for name, count in row.items()}), last_at
