"""The part of one worker in a job that all workers do together: it claims some answers at a time and judges them.

Nothing is kept outside the database: what is judged is stored, and what is left follows from it. So a job goes on after
a crash or a restart without judging anything twice. Claims keep two workers from judging the same answer. Judgment and
claim change in one transaction, which a queue outside the database could not do.
"""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy.exc import OperationalError

from judgeboard.domain import Verdict
from judgeboard.runs.judging import Ask, Judging
from judgeboard.runs.method import Begun, shared_rate_limits, store_steps
from judgeboard.runs.runner import Answered, Runner
from judgeboard.runs.task_claims import LOOK_SECONDS
from judgeboard.store.engine import Store
from judgeboard.store.jobs import TaskKey, cost_elsewhere
from judgeboard.store.outages import reason_of
from judgeboard.store.runs import StoredRun

CLOSED = "the worker ended"

_log = logging.getLogger("judgeboard.jobs")


def log_failure(what: str, error: Exception) -> None:
    """Log an error after which the worker tries again."""
    if isinstance(error, OperationalError):  # the database is locked, full or unreachable: not our bug
        _log.warning("%s: %s; trying again", what, reason_of(error))
    else:
        _log.error("%s; trying again", what, exc_info=error)


Steps = list[Answered[Ask, Verdict]]


class SharedJob(ABC):
    """A job in one worker, in a thread of its own; each kind of job is a subclass."""

    def __init__(self, store: Store, executor_id: str, closing: threading.Event) -> None:
        self._store, self._executor_id, self._closing = store, executor_id, closing
        self._thread = threading.Thread(target=self._run, name="judgeboard-job", daemon=True)

    def start(self) -> None:
        """Start to judge; returns at once."""
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether this worker does nothing more for the job."""
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> None:
        """Wait until the calls in flight are finished."""
        self._thread.join(seconds)

    def _pause(self) -> None:
        self._closing.wait(LOOK_SECONDS)

    @abstractmethod
    def _run(self) -> None:
        """Do the job: begin or join its run, and call `_judge`."""

    @abstractmethod
    def _cost_left(self, run: StoredRun) -> int | None:
        """Return what the run may still cost in all workers, in millionths; None without a limit."""

    @abstractmethod
    def _reason_to_stop(self, run: StoredRun) -> str | None:
        """Return why nothing more is to be asked in a run, read from the database."""

    def _stored(self, steps: Steps) -> None:  # noqa: B027 - most kinds do nothing more
        """Do more after judgments were stored."""

    async def _judge(
        self,
        begun: Begun,
        method: Judging,
        take: Callable[[int], list[Ask]],
        close: Callable[[], None],
        concurrency: int,
    ) -> str | None:
        """Judge answers until none is left or it has to stop; return why it stopped.

        ``take(n)`` claims about ``n`` answers, none only at the end. After ``close``, it returns without waiting.
        """
        if why := await asyncio.to_thread(self._reason_to_stop, begun.run):
            await method.judge.aclose()
            return why
        spent_elsewhere = partial(cost_elsewhere, self._store, begun.run.id, self._executor_id)
        before = spent_elsewhere()  # read first: what others spend meanwhile must not be left out
        cost_left = self._cost_left(begun.run)

        def save(steps: Steps, _ended: list[Ask]) -> None:
            answers = [TaskKey(step.task.item.response_id) for step in steps]
            store_steps(begun, method, self._executor_id, steps, answers)
            self._stored(steps)

        runner: Runner[Ask, Answered[Ask, Verdict]] = Runner(
            method.ask,
            take,
            save,
            concurrency=concurrency,
            max_cost_micro=None if cost_left is None else cost_left + before,
            spent_elsewhere=spent_elsewhere,
            on_stop=lambda _why, _in_flight: close(),
            about=begun.about,
        )
        watch = asyncio.create_task(self._watch(runner, begun.run))
        try:
            with shared_rate_limits(self._store):
                await runner.run()
        finally:
            close()  # also after an error: nothing may wait for the answers of other workers then
            watch.cancel()
            await method.judge.aclose()
        return runner.stopped_because

    async def _watch(self, runner: Runner[Any, Any], run: StoredRun) -> None:
        """Stop the runner when there is a reason, also one of another process; the calls in flight are finished."""
        while not self._closing.is_set():
            try:
                if why := await asyncio.to_thread(self._reason_to_stop, run):
                    return runner.stop(why)
            except Exception as error:  # noqa: BLE001 - an unreachable database comes back
                log_failure("cannot read whether to go on", error)
            await asyncio.sleep(LOOK_SECONDS)
        return runner.stop(CLOSED)
