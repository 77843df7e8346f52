"""Processes that share a run: each task is done once, and another process takes over the tasks of a dead one."""

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, select, update

from graded_log import GradedLog
from judgeboard.errors import BadInput
from judgeboard.runs import task_claims
from judgeboard.runs.method import id_keys
from judgeboard.runs.task_claims import TaskClaims, beat, taking_part
from judgeboard.store.engine import Store
from judgeboard.store.jobs import TaskKey, count_claims, live_workers, register_worker, release_tasks, remove_worker
from judgeboard.store.tables import WORKER

KEYS = [TaskKey(item_id, part) for item_id in range(4) for part in ("first", "second")]


class Process:
    """A process that does tasks of the run, as far as the test lets it."""

    def __init__(self, store: Store, name: str, run_id: int, done: list[TaskKey]) -> None:
        self.store, self.name, self.done = store, name, done
        self.claims = TaskClaims(store, run_id, 1, name, iter(KEYS), self.left)
        with store.writing() as connection:
            register_worker(connection, name, takes_jobs=False)

    def left(self, keys: Sequence[TaskKey]) -> dict[TaskKey, str]:
        return {key: "task" for key in keys if key not in self.done}

    def take(self, count: int) -> list[TaskKey]:
        return [claimed.key for claimed in self.claims.take(count)]

    def finish(self, keys: Sequence[TaskKey]) -> None:
        self.done += keys
        with self.store.writing() as connection:
            release_tasks(connection, 1, self.name, keys)


@pytest.fixture
def run_id(store: Store) -> int:
    log = GradedLog(store)
    return log.run(log.version(), {})


def test_each_task_is_done_once_also_if_a_process_dies(
    store: Store, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_claims, "LOOK_SECONDS", 0.01)
    done: list[TaskKey] = []
    one, two = (Process(store, name, run_id, done) for name in ("one", "two"))
    of_one = one.take(3)
    assert of_one == KEYS[:3]
    assert two.take(3) == KEYS[3:6]
    one.finish(of_one[:1])
    two.finish(KEYS[3:6])
    assert two.take(3) == KEYS[6:]
    two.finish(KEYS[6:])
    rest: list[TaskKey] = []
    waiting = threading.Thread(target=lambda: rest.extend(two.take(3)))
    waiting.start()
    with store.writing() as connection:
        assert count_claims(connection, run_id, besides="two") == 2, "nothing is taken from a living process"
        remove_worker(connection, "one")
        beat(connection, "two", takes_jobs=False)
    waiting.join()
    assert rest == of_one[1:]
    two.finish(rest)
    assert two.take(3) == []
    assert sorted(done) == KEYS
    with store.reading() as connection:
        assert count_claims(connection, run_id) == 0


def test_a_killed_process_is_forgotten_later_and_a_suspended_one_comes_back(store: Store) -> None:
    with store.writing() as connection:
        for name, days in (("killed", 8), ("suspended", 8), ("killed yesterday", 1)):
            register_worker(connection, name)
            heartbeat = update(WORKER).where(WORKER.c.executor_id == name)
            connection.execute(heartbeat.values(heartbeat_at=datetime.now(UTC) - timedelta(days=days)))
    with taking_part(store) as command, store.writing() as connection:
        assert set(connection.scalars(select(WORKER.c.executor_id))) == {"killed yesterday", command}
        assert beat(connection, "suspended", takes_jobs=True) == {"suspended", command}
        assert live_workers(connection) == {"suspended"}


def test_a_closed_process_does_not_wait_for_the_others(store: Store, run_id: int) -> None:
    one, two = (Process(store, name, run_id, []) for name in ("one", "two"))
    one.take(len(KEYS))
    rest: list[TaskKey] = [KEYS[0]]
    waiting = threading.Thread(target=lambda: rest.__setitem__(slice(None), two.take(3)))
    waiting.start()
    two.claims.close()
    waiting.join()
    assert rest == []


def test_the_heartbeat_goes_on_after_a_database_that_could_not_be_opened(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats, again = [], threading.Event()

    def beat_but_once(connection: Connection, executor_id: str, *, takes_jobs: bool) -> set[str]:
        beats.append(executor_id)
        if len(beats) == 2:
            raise BadInput("cannot write: unable to open database file")
        if len(beats) > 2:
            again.set()
        return beat(connection, executor_id, takes_jobs=takes_jobs)

    monkeypatch.setattr(task_claims, "BEAT_SECONDS", 0.001)
    monkeypatch.setattr(task_claims, "beat", beat_but_once)
    with taking_part(sqlite_store):
        assert again.wait(20)


def test_ids_are_read_in_their_order_and_no_earlier_than_needed(sqlite_store: Store) -> None:
    reads = []

    def read(_connection: Connection, after_id: int | None, limit: int) -> list[int]:
        reads.append(after_id)
        return [id_ for id_ in range(1, 1000) if after_id is None or id_ > after_id][:limit]

    keys: Iterator[TaskKey] = id_keys(sqlite_store, read)
    assert next(keys) == TaskKey(1)
    assert reads == [None]
    assert [key.item_id for key in keys] == list(range(2, 1000))
