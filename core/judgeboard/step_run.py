"""Runs the steps of a stored run, and writes how it ended."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypedDict

from judgeboard.ctrl_c import on_first_ctrl_c
from judgeboard.domain import RunState
from judgeboard.errors import UnknownPrice
from judgeboard.runner import Runner, S, T, Tally, Work
from judgeboard.store.engine import Store
from judgeboard.store.runs.runs import finish_run

INTERRUPTED = "Ctrl-C"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is done, whatever it asks.

    Attributes:
        concurrency: Tasks in flight at most.
        max_cost: In the price file's currency; nothing further is asked once it is reached.
        actor: Who asks.
        on_progress: Told after every commit: the tally and how many steps are expected in all.
        on_stop: Told if asking ends early (Ctrl-C, the cost limit, a refusal): why, and how many tasks are in flight.
        stop_on_ctrl_c: Let the first Ctrl-C stop the asking, not the process; in the main thread.
    """

    concurrency: int = 16
    max_cost: float | None = None
    actor: str = "library"
    on_progress: Callable[[Tally, int], None] | None = None
    on_stop: Callable[[str, int], None] | None = None
    stop_on_ctrl_c: bool = False

    @property
    def max_cost_micro(self) -> int | None:
        """The limit in millionths."""
        return None if self.max_cost is None else round(self.max_cost * 1_000_000)


class RunKeywords(TypedDict, total=False):
    """The fields of `RunOptions` as keywords of the functions that start a run."""

    concurrency: int
    max_cost: float | None
    actor: str
    on_progress: Callable[[Tally, int], None] | None
    on_stop: Callable[[str, int], None] | None
    stop_on_ctrl_c: bool


def stoppable(options: RunKeywords) -> RunKeywords:
    """Return the options of a call that waits for the run: Ctrl-C stops the asking, unless they say otherwise."""
    return {"stop_on_ctrl_c": True, **options}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its state, why it was stopped, and what this process got done of it."""

    state: RunState
    why_stopped: str | None
    tally: Tally


def require_price(max_cost: float | None, *, priced: bool, model: str | None) -> None:
    """Refuse a cost limit that could not be kept.

    Raises:
        UnknownPrice: A cost limit is given and the model has no price.
    """
    if max_cost is not None and not priced:
        raise UnknownPrice(f"--max-cost: no price is known for {model}. Give one with --prices FILE.")


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
        with on_first_ctrl_c(lambda: runner.stop(INTERRUPTED)) if options.stop_on_ctrl_c else nullcontext():
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
