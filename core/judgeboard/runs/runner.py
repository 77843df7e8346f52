"""The one place where asking is concurrent: tasks, bounded in number, whose steps are stored as they come."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from judgeboard.domain import RunState, Status, StepRecord, Verdict
from judgeboard.errors import EndpointRefused

# What came back is committed at the latest 50 ms later: this long a batch gathers, the rest is for the commit itself.
GATHER_SECONDS = 0.02
# Tasks read at a time: enough that reading costs little, few enough that two processes at one run seldom do the same.
LEAST_READ_AHEAD = 64

INTERRUPTED = "Ctrl-C"


class Step(Protocol):
    """What one request to a model gave, waiting to be stored."""

    @property
    def status(self) -> Status:
        """What became of it."""

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; None is unknown."""


T = TypeVar("T")
S = TypeVar("S", bound=Step)

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Answered(Generic[T, V]):
    """The step of most methods: a task, the result of asking it, and the record of the call."""

    task: T
    result: V
    record: StepRecord | Verdict

    @property
    def status(self) -> Status:
        """Outcome of the call."""
        return self.record.status

    @property
    def cost_micro(self) -> int | None:
        """Cost of the call in millionths; None where unknown."""
        return self.record.cost_micro


# Hands over a step to be stored; the answer is whether to go on.
Keep = Callable[[S], Awaitable[bool]]
# Does one task, a step or several after each other, each of them kept as soon as it came.
Work = Callable[[T, Keep[S]], Awaitable[None]]


@dataclass(slots=True)
class Tally:
    """What a run has got so far; ``cost_micro`` is None as soon as one call's cost is unknown."""

    ok: int = 0
    unparsable: int = 0
    refused: int = 0
    error: int = 0
    cost_micro: int | None = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def asked(self) -> int:
        """All steps that came back; always the sum of the four statuses."""
        return self.ok + self.unparsable + self.refused + self.error

    @property
    def rate(self) -> float:
        """Steps a second since the start."""
        elapsed = time.monotonic() - self.started
        return self.asked / elapsed if elapsed > 0 else 0.0

    def add(self, step: Step) -> None:
        """Count one step."""
        setattr(self, step.status.value, getattr(self, step.status.value) + 1)
        if step.cost_micro is None:
            self.cost_micro = None
        elif self.cost_micro is not None:
            self.cost_micro += step.cost_micro


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its state, why it was stopped, and what this process got done of it."""

    state: RunState
    why_stopped: str | None
    tally: Tally


class Runner(Generic[T, S]):
    """Does the tasks that ``read`` hands out, and hands batches of their steps to ``write``.

    Both are plain blocking functions, called in a thread, one call of each at a time:
    ``read(n)`` returns up to ``n`` further tasks, fewer only at the end; ``write(batch)`` commits a batch.
    ``work`` does one task: it keeps each step as soon as it came, and ends where keeping says that no more is wanted;
    what it had kept before a crash, ``read`` tells it next time. ``on_progress`` is told after every commit,
    ``on_stop`` once if asking ends early: why, and how many tasks are in flight still.
    """

    def __init__(
        self,
        work: Work[T, S],
        read: Callable[[int], list[T]],
        write: Callable[[list[S]], None],
        *,
        concurrency: int,
        max_cost_micro: int | None = None,
        on_progress: Callable[[Tally], None] | None = None,
        on_stop: Callable[[str, int], None] | None = None,
    ) -> None:
        self.tally = Tally()
        self.stopped_because: str | None = None
        self._do = work
        self._read = read
        self._write = write
        self._concurrency = concurrency
        self._max_cost_micro = max_cost_micro
        self._on_progress = on_progress
        self._on_stop = on_stop
        self._in_flight = 0
        self._read_ahead = max(LEAST_READ_AHEAD, concurrency)
        self._tasks: asyncio.Queue[T | None] = asyncio.Queue(maxsize=concurrency)
        self._waiting: list[S] = []
        self._something_waits = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._closing = False

    def stop(self, why: str) -> None:
        """Ask nothing further; calls in flight are finished and stored."""
        if self.stopped_because is None:
            self.stopped_because = why
            if self._on_stop is not None:
                self._on_stop(why, self._in_flight)

    async def run(self) -> Tally:
        """Ask until nothing is left or somebody stops it; everything that came back is stored when this returns.

        A refusal of the endpoint (401, 403, 404) is no row's failure: it ends the run, as ``stopped_because``.
        """
        writer = asyncio.create_task(self._store_as_it_comes())
        producer = asyncio.create_task(self._hand_out())
        workers = [asyncio.create_task(self._work()) for _ in range(self._concurrency)]
        try:
            await self._first_failure([producer, writer, *workers], until=workers)
        finally:
            for task in (producer, *workers):
                task.cancel()
            await asyncio.gather(producer, *workers, return_exceptions=True)
            self._closing = True
            self._something_waits.set()
            await writer
        return self.tally

    @staticmethod
    async def _first_failure(tasks: list[asyncio.Task[None]], until: list[asyncio.Task[None]]) -> None:
        left = set(tasks)
        while any(not task.done() for task in until):
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()

    async def _hand_out(self) -> None:
        while self.stopped_because is None:
            batch = await asyncio.to_thread(self._read, self._read_ahead)
            for task in batch:
                await self._tasks.put(task)
            if len(batch) < self._read_ahead:
                break
        for _ in range(self._concurrency):
            await self._tasks.put(None)

    async def _work(self) -> None:
        while self.stopped_because is None:
            task = await self._tasks.get()
            if task is None or self.stopped_because is not None:
                return
            self._in_flight += 1
            try:
                await self._do(task, self._keep)
            except EndpointRefused as refusal:
                self.stop(str(refusal))
                return
            finally:
                self._in_flight -= 1

    async def _keep(self, step: S) -> bool:
        self.tally.add(step)
        self._waiting.append(step)
        self._something_waits.set()
        if len(self._waiting) >= 4 * self._concurrency + self._read_ahead:
            self._room.clear()  # the store is behind: ask no more than it can take
        limit = self._max_cost_micro
        if limit is not None and (self.tally.cost_micro is None or self.tally.cost_micro >= limit):
            self.stop("the cost limit is reached" if self.tally.cost_micro is not None else "a call's cost is unknown")
        await self._room.wait()
        await asyncio.sleep(0)  # an offline judge never waits: let the writer have its turn
        return self.stopped_because is None

    async def _store_as_it_comes(self) -> None:
        while not self._closing or self._waiting:
            await self._something_waits.wait()
            if not self._closing:
                await asyncio.sleep(GATHER_SECONDS)
            self._something_waits.clear()
            batch, self._waiting = self._waiting, []
            if batch:
                await asyncio.to_thread(self._write, batch)
            self._room.set()
            if self._on_progress is not None:
                self._on_progress(self.tally)
