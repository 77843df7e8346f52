"""Runs the steps of a stored run, for methods that do not go through `judgeboard.method` yet."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from judgeboard.blocking import on_first_ctrl_c
from judgeboard.domain import RunState
from judgeboard.method import RunOptions as RunKeywords
from judgeboard.method import require_price
from judgeboard.runner import INTERRUPTED, Ended, Runner, S, T, Tally, Work
from judgeboard.store.engine import Store
from judgeboard.store.runs.runs import finish_run

__all__ = ["INTERRUPTED", "Ended", "RunKeywords", "require_price"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is done, whatever it asks.

    Attributes:
        concurrency: Tasks in flight at most.
        max_cost: In the price file's currency; nothing further is asked once it is reached.
        actor: Who asks.
        on_progress: Told after every commit: the tally and how many steps are expected in all.
        on_stop: Told if asking ends early (Ctrl-C, the cost limit, a refusal): why, and how many tasks are in flight.
    """

    concurrency: int = 16
    max_cost: float | None = None
    actor: str = "library"
    on_progress: Callable[[Tally, int], None] | None = None
    on_stop: Callable[[str, int], None] | None = None

    @property
    def max_cost_micro(self) -> int | None:
        """The limit in millionths."""
        return None if self.max_cost is None else round(self.max_cost * 1_000_000)


def stoppable(options: RunKeywords) -> RunKeywords:
    """Return the options as they are: whoever waits for a run has Ctrl-C handled."""
    return options


async def run_steps(
    store: Store,
    run_id: int,
    work: Work[T, S],
    read: Callable[[int], list[T]],
    write: Callable[[list[S]], None],
    *,
    options: RunOptions,
    expected: int,
    all_done: Callable[[], bool] = lambda: False,
    on_start: Callable[[Runner[Any, Any]], asyncio.Task[None]] | None = None,
) -> Ended:
    """Do what ``read`` hands out, store every step at the latest 50 ms after it came, and write how the run ended.

    A run that raises is left as interrupted. ``expected`` counts the steps that are still to do, for the progress
    line; ``all_done`` tells of a run that was stopped whether nothing was left out; ``on_start`` may begin a task that
    lives as long as the run and can stop it.
    """
    on_progress = options.on_progress
    runner = Runner(
        work,
        read,
        write,
        concurrency=options.concurrency,
        max_cost_micro=options.max_cost_micro,
        on_progress=None if on_progress is None else lambda tally: on_progress(tally, expected),
        on_stop=options.on_stop,
    )
    state = RunState.INTERRUPTED
    why: str | None = "it broke off"
    beside = None if on_start is None else on_start(runner)
    try:
        with on_first_ctrl_c(lambda: runner.stop(INTERRUPTED)):
            await runner.run()
        why = runner.stopped_because
        if why is None or all_done():  # stopped too late to leave anything out
            state, why = RunState.DONE, None
        elif why != INTERRUPTED:
            state = RunState.STOPPED
    finally:
        if beside is not None:
            beside.cancel()
        with store.writing() as connection:
            finish_run(connection, run_id, state, why_stopped=why)
    return Ended(state, why, runner.tally)
