"""The share of one worker in a work: one judge judges the chunks that the engine gives this worker."""

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import OperationalError

from judgeboard.domain import Verdict
from judgeboard.runs.judging import Ask
from judgeboard.runs.locks import asked_by_commands
from judgeboard.runs.method import shared_rate_limits, store_steps
from judgeboard.runs.runner import Answered, Keep, Runner
from judgeboard.runs.work import CHUNKS_AHEAD, CLOSED, Entry, Opened, PutBackError, Steps, Work
from judgeboard.store.engine import Store
from judgeboard.store.jobs import cost_elsewhere
from judgeboard.store.outages import tried_again

if TYPE_CHECKING:
    from anyio import CancelScope

LINGER_SECONDS = 5.0  # the judge stays open this long without a chunk
ELSEWHERE_SECONDS = 0.2  # until a worker may take an entry again that the worker left to others


@dataclass(eq=False)
class _Chunk:
    """Answers to judge: ``unread`` are not read yet; of ``open_ids``, no judgment is stored yet."""

    unread: deque[int]
    open_ids: set[int]
    done: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None  # of an answer whose judgment cannot be stored

    def end(self, ids: Iterable[int]) -> None:
        """Note that nothing more is done for these answers."""
        self.open_ids.difference_update(ids)
        if not self.open_ids:
            self.done.set()


class Share:
    """The share of one worker, from the first chunk until no chunk came for a while or there is a reason to stop."""

    def __init__(
        self,
        store: Store,
        work: Work,
        opened: Opened,
        executor_id: str,
        on_stop: Callable[[], None],
    ) -> None:
        self._store, self._work, self._opened, self._executor_id = store, work, opened, executor_id
        self._on_stop = on_stop
        self._chunks: deque[_Chunk] = deque()
        self._of: dict[int, _Chunk] = {}  # by answers that are not done yet
        self._ids_in_flight: set[int] = set()
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()
        self._error: BaseException | None = None
        self._runner: Runner[Ask, Answered[Ask, Verdict]] | None = None
        self.is_closed = False
        self._task = asyncio.create_task(self._run())

    async def judge(self, ids: tuple[int, ...], cancellation: "CancelScope") -> None:
        """Judge a chunk. After a cancellation, the calls in flight are finished and stored."""
        chunk = _Chunk(deque(ids), set(ids))
        self._of.update(dict.fromkeys(ids, chunk))
        self._chunks.append(chunk)
        self._more.set()
        with cancellation:
            await chunk.done.wait()
        if not chunk.done.is_set():
            self._forget(chunk)
            await chunk.done.wait()
        if chunk.error is not None:
            raise chunk.error
        if self._error is not None and chunk.open_ids:
            raise self._error
        if chunk.open_ids and self._runner is not None and self._runner.stopped_because == CLOSED:
            raise PutBackError(CLOSED)

    @property
    def is_current(self) -> bool:
        """Whether the share judges further chunks; the share closes itself when the run is over."""
        if not self.is_closed and not self._work.is_current(self._opened):
            self._end_reading()
        return not self.is_closed

    def close(self) -> None:
        """Start no more calls; the calls in flight are finished and stored."""
        if self._runner is not None:
            self._runner.stop(CLOSED)
        self._end_reading()

    async def wait(self) -> None:
        """Wait until nothing more is done."""
        await asyncio.gather(self._task, return_exceptions=True)

    def _forget(self, chunk: _Chunk) -> None:
        """Drop answers without a call that has begun."""
        waiting_ids = {*chunk.unread, *(chunk.open_ids - self._ids_in_flight)}
        chunk.unread.clear()
        for id_ in waiting_ids:
            self._of.pop(id_, None)  # if read already: skipped when the turn of the answer comes
        chunk.end(waiting_ids)

    async def _run(self) -> None:
        opened = self._opened
        spent_elsewhere = partial(
            cost_elsewhere, self._store, opened.begun.run.id, self._executor_id
        )
        try:
            # Read first: the limit must count what others spend meanwhile.
            elsewhere = 0 if opened.cost_left is None else await asyncio.to_thread(spent_elsewhere)
            self._runner = runner = Runner(
                self._ask,
                self._read,
                self._save,
                concurrency=opened.concurrency,
                max_cost_micro=None if opened.cost_left is None else opened.cost_left + elsewhere,
                spent_elsewhere=spent_elsewhere,
                on_stop=lambda _why, _in_flight: self._end_reading(),
            )
            with shared_rate_limits(self._store):
                await runner.run()
            if (why := runner.stopped_because) is not None and why != CLOSED:
                await asyncio.to_thread(self._work.stop, why)
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception):
                raise
        finally:
            self._end_reading()
            for chunk in {*self._chunks, *self._of.values()}:
                chunk.done.set()
            self._on_stop()
            await opened.method.judge.aclose()

    def _end_reading(self) -> None:
        self.is_closed = True
        self._more.set()

    async def _read(self, limit: int) -> list[Ask]:
        """Return the next answers of the oldest chunk; none when no chunk has come for a while."""
        while not self.is_closed:
            while self._chunks and not self._chunks[0].unread:
                self._chunks.popleft()
            if not self._chunks:
                self._more.clear()
                # Not `wait_for`: Python 3.11 loses a cancellation at the end of the wait.
                with suppress(TimeoutError):
                    async with asyncio.timeout(LINGER_SECONDS):
                        await self._more.wait()
            if not self._chunks:
                break
            chunk = self._chunks[0]
            ids = [chunk.unread.popleft() for _ in range(min(limit, len(chunk.unread)))]
            tasks = await asyncio.to_thread(tried_again(self._load), ids)
            self._end(id_ for id_ in ids if id_ not in tasks)  # judged or forgotten meanwhile
            if tasks:
                return list(tasks.values())
        self._end_reading()
        return []

    def _load(self, ids: list[int]) -> dict[int, Ask]:
        """Return the asks that are still to be made, in a thread."""
        of_commands = asked_by_commands(self._store, [self._opened.begun.version.id], ids)
        return self._work.load(self._opened, [id_ for id_ in ids if id_ not in of_commands])

    async def _ask(self, task: Ask, keep: Keep[Answered[Ask, Verdict]]) -> None:
        id_ = task.item.response_id
        if (
            id_ not in self._of or id_ in self._ids_in_flight
        ):  # the chunk was cancelled, or the answer came again in a later chunk
            return
        self._ids_in_flight.add(id_)
        await self._opened.method.ask(task, keep)

    def _save(self, steps: Steps, ended_tasks: list[Ask]) -> None:
        """Store judgments, in a thread."""
        errors = self._store_steps(steps)
        why = self._work.stored(steps)
        self._loop.call_soon_threadsafe(
            self._end_stored, [task.item.response_id for task in ended_tasks], errors, why
        )

    def _store_steps(self, steps: Steps) -> dict[int, Exception]:
        """Store judgments; if some cannot be stored, store each alone, and return the errors by answer."""
        opened = self._opened
        if not steps:
            return {}
        try:
            store_steps(opened.begun, opened.method, self._executor_id, steps)
        except OperationalError:  # the database is away, and none of the judgments is wrong
            raise
        except Exception as error:  # noqa: BLE001 - the others are paid for
            if len(steps) == 1:
                return {steps[0].task.item.response_id: error}
            return {
                id_: wrong for step in steps for id_, wrong in self._store_steps([step]).items()
            }
        return {}

    def _end_stored(self, ids: list[int], errors: dict[int, Exception], why: str | None) -> None:
        for id_, error in errors.items():
            if (chunk := self._of.get(id_)) is not None:
                chunk.error = error
        self._ids_in_flight.difference_update(ids)
        self._end(ids)
        if why is not None and self._runner is not None:
            self._runner.stop(why)

    def _end(self, ids: Iterable[int]) -> None:
        for id_ in ids:
            chunk = self._of.pop(id_, None)
            if chunk is not None:
                chunk.end([id_])


class Shares:
    """The shares of one worker in all works. ``work_of`` returns the work with a key."""

    def __init__(
        self, store: Store, executor_id: str, work_of: Callable[[Store, str], Work]
    ) -> None:
        self._store, self._executor_id, self._work_of = store, executor_id, work_of
        self._shares: dict[str, Share] = {}  # by work
        self._in_hand: Counter[str] = Counter()  # chunks, by work
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._is_closed = False

    @property
    def are_open(self) -> bool:
        """Whether the judge of any work is open."""
        return bool(self._shares)

    async def judge(self, entry: Entry, cancellation: "CancelScope") -> None:
        """Judge a chunk; leave the chunk to others if this worker has enough chunks of the work."""
        if self._in_hand[entry.work] >= CHUNKS_AHEAD:
            raise PutBackError("this worker has enough of it", ELSEWHERE_SECONDS)
        self._in_hand[entry.work] += 1
        try:
            async with self._opening[entry.work]:
                share = self._shares.get(entry.work)
                if share is not None and not share.is_current:
                    await share.wait()  # the reason for the end is stored then
                    share = None
                if share is None:
                    share = await self._open(entry.work)
            if share is not None:
                await share.judge(entry.ids, cancellation)
        finally:
            self._in_hand[entry.work] -= 1

    def close(self) -> None:
        """Start no more calls; the calls in flight are finished and stored."""
        self._is_closed = True
        for share in self._shares.values():
            share.close()

    async def wait(self) -> None:
        """Wait until nothing more is done."""
        await asyncio.gather(*(share.wait() for share in self._shares.values()))

    async def _open(self, key: str) -> Share | None:
        work = self._work_of(self._store, key)
        opened = await asyncio.to_thread(work.open)
        if opened is None:
            return None

        def forget() -> None:
            if self._shares.get(key) is share:
                del self._shares[key]

        share = self._shares[key] = Share(self._store, work, opened, self._executor_id, forget)
        if self._is_closed:
            share.close()
        return share
