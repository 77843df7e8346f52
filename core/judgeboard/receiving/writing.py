"""Writes what concurrent requests bring in shared transactions, so that one commit serves all that wait."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from judgeboard.store.engine import Store, is_outage

T = TypeVar("T")
MOST_AT_ONCE = 100  # requests in one transaction
PATIENCE_SECONDS = 5.0  # exporters give up after 10 s


def _is_deadlock(error: Exception) -> bool:
    """Return whether PostgreSQL ended the transaction because another process waited for it."""
    return isinstance(error, OperationalError) and getattr(error.orig, "sqlstate", None) == "40P01"


class _Write(NamedTuple):
    run: Callable[[Connection], Any]
    done: Future[Any]


class Writer:
    """A thread that writes for many requests; a result is there only after its commit."""

    def __init__(self, store: Callable[[], Store], patience: float = PATIENCE_SECONDS) -> None:
        self._store = store
        self._patience = patience
        self._waiting: list[_Write] = []
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="judgeboard-receiving", daemon=True)

    def start(self) -> None:
        """Start to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write the rest, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def submit(self, write: Callable[[Connection], T]) -> "Future[T]":
        """Write soon; the future has the result after the commit, or the error."""
        done: Future[T] = Future()
        with self._changed:
            self._waiting.append(_Write(write, done))
            self._changed.notify()
        return done

    async def write(self, write: Callable[[Connection], T]) -> T:
        """Write and return the result after the commit. Raises TimeoutError if the database is locked for long."""
        done = self.submit(write)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(done), self._patience)
        except TimeoutError:  # the sender tries again: keep nothing of it in memory
            with self._changed:
                self._waiting = [each for each in self._waiting if each.done is not done]
            raise

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                taken, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
                if not taken:
                    return
            # A request that gave up is not written.
            self._write([write for write in taken if write.done.set_running_or_notify_cancel()])

    def _write(self, writes: list[_Write]) -> None:
        if not writes:
            return
        try:
            with self._store().writing() as connection:
                results = [write.run(connection) for write in writes]
        except Exception as error:  # noqa: BLE001 - it is the result of the requests
            if len(writes) == 1 or (is_outage(error) and not _is_deadlock(error)):
                for write in writes:
                    write.done.set_exception(error)
            else:  # one request must not spoil those of others
                for write in writes:
                    self._write([write])
        else:
            for write, result in zip(writes, results, strict=True):
                write.done.set_result(result)
