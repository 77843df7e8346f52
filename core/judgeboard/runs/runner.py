"""Runs tasks concurrently, a bounded number at a time, and stores each step as soon as the step arrives.

With `blocking`, callers without an event loop wait for a run; the first Ctrl-C or SIGTERM then
stops only the run.
"""

import asyncio
import functools
import logging
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Generic, ParamSpec, TypeVar

from sqlalchemy.exc import OperationalError

from judgeboard.domain import StepRecord
from judgeboard.errors import EndpointRefused
from judgeboard.llm.own_thread import in_shared_loop
from judgeboard.store import outages
from judgeboard.store.runs import Counts

# A step is committed within 50 ms of its arrival: a batch collects steps for this time unless the
# line of steps is full, the commit takes the rest.
GATHER_SECONDS = 0.02
READ_AHEAD = 2  # tasks per call in flight that are read at a time; few, so that processes that share a run end together
# Steps that may wait for the store while new calls begin, per call in flight: a kill loses paid
# replies that wait.
WAITING_PER_CALL = 0.5
MOST_WAITING = 128  # without a call of a model: a kill loses nothing that is paid for

_log = logging.getLogger("judgeboard.runs")

INTERRUPTED = "Ctrl-C"
COST_LIMIT = "the cost limit is reached"


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")


def reading(tasks: Iterator[T]) -> Callable[[int], Awaitable[list[T]]]:
    """Return the ``read`` of a `Runner` for tasks that are known at the start."""

    async def read(limit: int) -> list[T]:
        return list(islice(tasks, limit))

    return read


@dataclass(frozen=True, slots=True)
class Answered(Generic[T, V]):
    """A step: a task, the result of one request to a model about it, and the record of the call."""

    task: T
    result: V
    record: StepRecord


S = TypeVar("S", bound=Answered[Any, Any])

# Stores a step; returns whether to go on.
Keep = Callable[[S], Awaitable[bool]]
# Does one task, which has one or several steps.
Work = Callable[[T, Keep[S]], Awaitable[None]]


@dataclass(eq=False)
class Runner(Generic[T, S]):
    """Does the tasks of ``read`` and stores the steps with ``write``.

    ``read(n)`` returns about ``n`` tasks, none only at the end. ``write(batch, ended)`` commits a
    batch of steps, after which all steps of the tasks ``ended`` are stored. ``write`` blocks, and
    is called in a thread, one call at a time. ``work(task, keep)`` does one task: each step goes to
    ``keep`` as soon as the step arrives, until ``keep`` returns False. ``on_progress`` is called
    after every commit. ``on_stop`` is called once if the run ends early, with the reason and the
    number of tasks in flight; ``on_cancel`` is called if `run` is cancelled.

    No task is started once the cost limit ``max_cost_micro`` is reached. ``spent_elsewhere``, a
    blocking function, returns what other processes have spent under the same limit, and is called
    before each task.
    """

    work: Work[T, S]
    read: Callable[[int], Awaitable[list[T]]]
    write: Callable[[list[S], list[T]], None]
    concurrency: int
    max_cost_micro: int | None = None
    spent_elsewhere: Callable[[], int] | None = None
    on_progress: Callable[[Counts], None] | None = None
    on_stop: Callable[[str, int], None] | None = None
    on_cancel: Callable[[], None] | None = None
    counts: Counts = field(default_factory=Counts, init=False)
    stored: int = field(default=0, init=False)  # of the counted steps
    stopped_because: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._in_flight = 0
        self._elsewhere = 0
        self._tasks: asyncio.Queue[T | None] = asyncio.Queue(maxsize=self.concurrency)
        self._waiting_steps: list[S] = []
        self._ended_tasks: list[T] = []
        self._something_waits = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._full = asyncio.Event()
        self._most_waiting: float = MOST_WAITING
        self._closing = False

    def stop(self, why: str) -> None:
        """Start no more tasks; calls in flight are finished and stored."""
        if self.stopped_because is None:
            self.stopped_because = why
            if self.on_stop is not None:
                self.on_stop(why, self._in_flight)

    async def run(self) -> Counts:
        """Run until no task is left or the run is stopped (also by a 401, 403 or 404). All steps are stored then."""
        self._check_cost()
        writer = asyncio.create_task(self._store_as_it_comes())
        producer = asyncio.create_task(self._produce())
        workers = [asyncio.create_task(self._work()) for _ in range(self.concurrency)]
        try:
            unfinished = {producer, writer, *workers}
            while any(not task.done() for task in workers):
                finished, unfinished = await asyncio.wait(
                    unfinished, return_when=asyncio.FIRST_COMPLETED
                )
                for task in finished:
                    task.result()  # raises the exception of a failed task
        except asyncio.CancelledError:
            if self.on_cancel is not None:
                self.on_cancel()
            raise
        finally:
            for task in (producer, *workers):
                task.cancel()
            await asyncio.gather(producer, *workers, return_exceptions=True)
            self._closing = True
            self._something_waits.set()
            await writer
        return self.counts

    async def _produce(self) -> None:
        while self.stopped_because is None:
            batch = await self.read(READ_AHEAD * self.concurrency)
            for task in batch:
                await self._tasks.put(task)
            if not batch:
                break
        for _ in range(self.concurrency):
            await self._tasks.put(None)

    async def _work(self) -> None:
        while self.stopped_because is None:
            task = await self._tasks.get()
            if task is None or not await self._may_start():
                return
            self._in_flight += 1
            try:
                await self.work(task, self._keep)
            except EndpointRefused as refusal:
                self.stop(str(refusal))
                return
            finally:
                self._in_flight -= 1
                self._ended_tasks.append(task)
                self._something_waits.set()

    async def _keep(self, step: S) -> bool:
        self.counts += Counts.of_step(step.record)
        self._waiting_steps.append(step)
        self._something_waits.set()
        self._most_waiting = (
            WAITING_PER_CALL * self.concurrency if step.record.attempts else MOST_WAITING
        )
        if not self._has_room:
            self._room.clear()  # the store is slower than the model: ask no more until the store has caught up
            self._full.set()
        self._check_cost()
        await self._room.wait()
        await asyncio.sleep(0)  # an offline judge never waits, so the writer needs this turn
        return self.stopped_because is None

    @property
    def _has_room(self) -> bool:
        return self.counts.asked - self.stored <= self._most_waiting

    async def _may_start(self) -> bool:
        if self.max_cost_micro is not None and self.spent_elsewhere is not None:
            self._elsewhere = await asyncio.to_thread(outages.tried_again(self.spent_elsewhere))
            self._check_cost()
        return self.stopped_because is None

    def _check_cost(self) -> None:
        if self.max_cost_micro is None:
            return
        cost_micro = self.counts.total_cost_micro
        if cost_micro is None:
            self.stop("a call's cost is unknown")
        elif cost_micro + self._elsewhere >= self.max_cost_micro:
            self.stop(COST_LIMIT)

    async def _store_as_it_comes(self) -> None:
        while not self._closing or self._waiting_steps or self._ended_tasks:
            await self._something_waits.wait()
            if not self._closing:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._full.wait(), GATHER_SECONDS)
            self._something_waits.clear()
            self._full.clear()
            batch, self._waiting_steps = self._waiting_steps, []
            ended_tasks, self._ended_tasks = self._ended_tasks, []
            if batch or ended_tasks:
                await self._store(batch, ended_tasks)
            if self._has_room:
                self._room.set()
            if self.on_progress is not None:
                self.on_progress(self.counts)

    async def _store(self, batch: list[S], ended_tasks: list[T]) -> None:
        for pause in (*outages.TRY_AGAIN_SECONDS, None):
            try:
                await asyncio.to_thread(self.write, batch, ended_tasks)
            except OperationalError as error:
                if pause is None:
                    self.stop(
                        f"{len(batch) + len(self._waiting_steps):,} replies could not be stored"
                    )
                    raise
                self._room.clear()  # nothing further is asked meanwhile
                _log.info(
                    "%s; trying again", str(error.orig).partition("\n")[0]
                )  # the store or the worker warns
                await asyncio.sleep(pause)
            else:
                self.stored += len(batch)
                return


# True inside `run_blocking`: only there Ctrl-C is handled. A caller's own event loop keeps its
# handlers.
_owns_ctrl_c = ContextVar("owns_ctrl_c", default=False)


def blocking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return a blocking version of an async function of a run.

    Outside an event loop, the first Ctrl-C in the main thread lets the run end after the calls in
    flight; a second Ctrl-C aborts the run. Inside an event loop, as in a notebook, another thread
    makes the run, and Ctrl-C aborts the run.
    """

    @functools.wraps(function)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_blocking(function, *args, **kwargs)

    wait.__name__ = function.__name__.removesuffix("_async")
    return wait


def run_blocking(
    function: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call an async function of a run and return the result."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        token = _owns_ctrl_c.set(True)
        try:
            return asyncio.run(function(*args, **kwargs))
        finally:
            _owns_ctrl_c.reset(token)
    return in_shared_loop(function, *args, **kwargs)


@contextmanager
def on_first_ctrl_c(do: Callable[[], None]) -> Iterator[None]:
    """Call ``do`` from the running event loop at the first Ctrl-C or SIGTERM; a second signal has the usual effect.

    Does nothing in a caller's own event loop, outside the main thread (only that thread receives
    signals), or if the event loop cannot handle signals (Windows).
    """
    if not _owns_ctrl_c.get() or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    handlers = {
        number: signal.getsignal(number) or signal.SIG_DFL
        for number in (signal.SIGINT, signal.SIGTERM)
    }

    def hand_back() -> None:
        for number, handler in handlers.items():
            if loop.remove_signal_handler(number):
                signal.signal(number, handler)

    def first() -> None:
        hand_back()
        do()

    try:
        for number in handlers:
            loop.add_signal_handler(number, first)
    except NotImplementedError:
        yield
        return
    try:
        yield
    finally:
        hand_back()
