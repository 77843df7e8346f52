"""The tasks that one process takes from a run, while other processes take others of the same run."""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from judgeboard.errors import BadInput, DatabaseAway
from judgeboard.runs.runner import tried_again
from judgeboard.store.engine import Store
from judgeboard.store.jobs import (
    TaskKey,
    claim_tasks,
    live_processes,
    record_heartbeat,
    register_worker,
    release_abandoned,
    release_tasks,
    remove_worker,
)
from judgeboard.store.outages import reason_of

BEAT_SECONDS = 5.0
LOOK_SECONDS = 0.5  # between two looks whether another process has done or left its tasks

T = TypeVar("T")

_log = logging.getLogger("judgeboard.runs")


def new_executor_id() -> str:
    """Return a name for this process that no other process has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def beat(connection: Connection, executor_id: str, *, takes_jobs: bool) -> set[str]:
    """Store that this process is alive, release what dead processes have claimed, and return the living processes."""
    record_heartbeat(connection, executor_id, takes_jobs=takes_jobs)
    living = live_processes(connection)
    # Also of a process that still runs but was not heard of: what it stores then changes nothing.
    release_abandoned(connection, living)
    return living


@contextmanager
def taking_part(store: Store) -> Iterator[str]:
    """Let other processes see that this one is alive and keep its claims; the value is its executor id."""
    executor_id, ending = new_executor_id(), threading.Event()
    with store.writing() as connection:
        register_worker(connection, executor_id, takes_jobs=False)
        beat(connection, executor_id, takes_jobs=False)

    def beat_until_the_end() -> None:
        while not ending.wait(BEAT_SECONDS):
            try:
                with store.writing() as connection:
                    beat(connection, executor_id, takes_jobs=False)
            except DatabaseAway:
                return
            except (SQLAlchemyError, BadInput) as error:  # an unreachable database comes back
                _log.warning("cannot store a heartbeat: %s", reason_of(error))

    thread = threading.Thread(target=beat_until_the_end, name="judgeboard-heartbeat", daemon=True)
    thread.start()
    try:
        yield executor_id
    finally:
        ending.set()
        thread.join()
        # Others find the claims of a process that is not heard of abandoned.
        with suppress(DatabaseAway), store.writing() as connection:
            remove_worker(connection, executor_id)


class Claimed(NamedTuple, Generic[T]):
    """A task that this process has claimed."""

    key: TaskKey
    task: T


class TaskClaims(Generic[T]):
    """Claims the tasks of a run, in the order of ``keys``.

    ``load`` returns the tasks of claimed keys that are still left. A key is claimed before its task is loaded, so a
    task that another process has done is not done again.
    """

    def __init__(
        self,
        store: Store,
        run_id: int,
        version_id: int,
        executor_id: str,
        keys: Iterator[TaskKey],
        load: Callable[[Sequence[TaskKey]], Mapping[TaskKey, T]],
    ) -> None:
        self._store, self._run_id, self._version_id, self._executor_id = store, run_id, version_id, executor_id
        self._keys, self._load = keys, load
        self._skipped: list[TaskKey] = []  # other processes had claimed them
        self._claimed_any = True
        self._has_waited = False
        self._closed = threading.Event()

    def close(self) -> None:
        """Claim nothing more; a waiting `take` returns."""
        self._closed.set()

    def take(self, limit: int) -> list[Claimed[T]]:
        """Return the next tasks; none at the end. Waits while other processes have claimed all that is left."""
        while not self._closed.is_set():
            keys = list(islice(self._keys, limit))
            if not keys:
                if not self._skipped:
                    break
                if not self._claimed_any:
                    self._wait()
                self._keys, self._skipped, self._claimed_any = iter(self._skipped), [], False
                continue
            claimed = tried_again(self._claim)(keys)  # the keys are lost if this raises
            self._skipped += [key for key in keys if key not in claimed]
            if not claimed:
                continue
            self._claimed_any = True
            tasks = tried_again(self._load)([key for key in keys if key in claimed])
            if gone := claimed - tasks.keys():
                with self._store.writing() as connection:
                    release_tasks(connection, self._version_id, self._executor_id, gone)
            if tasks:
                return [Claimed(key, tasks[key]) for key in keys if key in tasks]
        return []

    def _claim(self, keys: list[TaskKey]) -> set[TaskKey]:
        with self._store.writing() as connection:
            return set(claim_tasks(connection, self._run_id, self._version_id, self._executor_id, keys))

    def _wait(self) -> None:
        if not self._has_waited:
            _log.warning("other processes have claimed the last %d tasks of the run: waiting", len(self._skipped))
        self._has_waited = True
        self._closed.wait(LOOK_SECONDS)
