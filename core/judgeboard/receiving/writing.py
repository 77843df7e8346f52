"""Writes the records of concurrent requests in shared transactions, so that one commit serves all waiting requests."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from judgeboard.store.engine import Store
from judgeboard.store.outages import is_outage

T = TypeVar("T")
MOST_AT_ONCE = 100  # requests in one transaction
BATCH = 500  # records of one request in one transaction: other writers come in between
PATIENCE_SECONDS = 5.0  # until a write begins; exporters give up after 10 s
LONGEST_WRITE_SECONDS = 60.0  # of a transaction that has begun


class _Write(NamedTuple):
    run: Callable[[Connection], Any]
    future: Future[Any]

    def begin(self) -> bool:
        """Begin the write, so that the request waits for the end. Return False if no request waits."""
        return self.future.running() or (
            not self.future.cancelled() and self.future.set_running_or_notify_cancel()
        )


class Writer:
    """A thread that writes for many requests; a result is there only after the commit.

    A request waits ``patience`` seconds for the write to begin.
    """

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
        future: Future[T] = Future()
        with self._changed:
            self._waiting.append(_Write(write, future))
            self._changed.notify()
        return future

    async def write(self, write: Callable[[Connection], T]) -> T:
        """Write and return the result after the commit.

        Raises TimeoutError if the database is locked for long: then nothing is written. A write
        that has begun is not refused for taking long, because the records will be stored.
        """
        future = self.submit(write)
        result = asyncio.wrap_future(future)
        await asyncio.wait({result}, timeout=self._patience)
        if future.cancel():  # the sender tries again: keep nothing of the request in memory
            with self._changed:
                self._waiting = [each for each in self._waiting if each.future is not future]
            raise TimeoutError
        return await asyncio.wait_for(result, LONGEST_WRITE_SECONDS)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                writes, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
                if not writes:
                    return
            self._write(writes)

    def _write(self, writes: list[_Write]) -> None:
        try:
            with self._store().writing() as connection:
                writes = [
                    write for write in writes if write.begin()
                ]  # a request that gave up is not written
                results = [write.run(connection) for write in writes]
        except Exception as error:  # noqa: BLE001 - the error is the result of the requests
            writes = [write for write in writes if write.begin()]
            if len(writes) == 1 or (
                is_outage(error)
                and not (
                    isinstance(error, OperationalError)
                    and getattr(error.orig, "sqlstate", None) == "40P01"
                )
            ):
                for write in writes:
                    write.future.set_exception(error)
            else:  # one request must not spoil other requests
                for write in writes:
                    self._write([write])
        else:
            for write, result in zip(writes, results, strict=True):
                write.future.set_result(result)
