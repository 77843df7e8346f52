"""Asks a judge about stored responses: selects, runs, stores, and says what came of it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Unpack

from judgeboard.blocking import run_blocking
from judgeboard.filters import RowFilter
from judgeboard.judge_work import Answered, Ask, asking
from judgeboard.judges.protocol import Judge
from judgeboard.judging_summary import JudgingSummary, summary_of
from judgeboard.runner import Runner
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_inputs import judge_inputs
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version
from judgeboard.store.landing import LandedVerdict, land_judgments
from judgeboard.store.runs.asks import PLAIN
from judgeboard.store.runs.runs import (
    StoredRun,
    keep_if_selected,
    run_counts,
    run_kind,
    select_asks,
    start_or_continue_run,
)


def judge_pending(
    store: Store,
    judge: Judge,
    *,
    where: RowFilter | None = None,
    mode: str = PLAIN,
    limit: int | None = None,
    **options: Unpack[RunKeywords],
) -> JudgingSummary:
    """Judge what is selected and wait for it; Ctrl-C finishes the calls in flight (in the main thread).

    Arguments and errors as `judge_pending_async`.
    """
    how = stoppable(options)
    return run_blocking(judge_pending_async, store, judge, where=where, mode=mode, limit=limit, **how)


async def judge_pending_async(
    store: Store,
    judge: Judge,
    *,
    where: RowFilter | None = None,
    mode: str = PLAIN,
    limit: int | None = None,
    **options: Unpack[RunKeywords],
) -> JudgingSummary:
    """Judge what is selected, storing every verdict at the latest 50 ms after it came.

    An unfinished run of the same judge version, filter and mode is continued.

    Args:
        store: Where the responses are.
        judge: Who is asked; closed at the end.
        where: Which responses; all of the log by default.
        mode: ``plain`` (those without any judgment of this version), ``failed`` (whose latest is not ok) or ``all``.
        limit: Ask for this many at most.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: The mode is none of the three.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    how = RunOptions(**options)
    try:
        require_price(how.max_cost, priced=judge.priced, model=judge.version.model)
        version, run = _started(store, judge, where, mode, limit, how)
        return JudgingSummary(judge=version.title) if run is None else await judge_run(store, judge, run, how)
    finally:
        await judge.aclose()


def _started(
    store: Store, judge: Judge, where: RowFilter | None, mode: str, limit: int | None, how: RunOptions
) -> tuple[StoredVersion, StoredRun | None]:
    with store.writing() as connection:
        attempt = connection.begin_nested()
        version = ensure_version(connection, judge.version)
        run = start_or_continue_run(
            connection,
            version,
            mode=mode,
            where=where,
            limit=limit,
            kind=run_kind(mode),
            actor=how.actor,
            endpoint_host=judge.endpoint_host,
        )
        return version, keep_if_selected(attempt, run)


async def judge_run(
    store: Store,
    judge: Judge,
    run: StoredRun,
    options: RunOptions,
    *,
    on_start: Callable[[Runner[Any, Any]], asyncio.Task[None]] | None = None,
) -> JudgingSummary:
    """Ask what a run has still to ask, and return what the run has come to.

    A durable job and a command in a terminal are both one call of this. ``on_start`` may begin a task that lives as
    long as the run and can stop it.
    """
    with store.writing() as connection:
        version = ensure_version(connection, judge.version)
    selected = run.selected or 0
    ended = await run_steps(
        store,
        run.id,
        asking(judge),
        _Asks(store, run).read,
        lambda batch: _land(store, version, run.id, batch),
        options=options,
        expected=selected - _asked(store, run),
        all_done=lambda: _asked(store, run) >= selected,
        on_start=on_start,
    )
    return summary_of(store, run, ended)


class _Asks:
    """Hands out the asks of a run, each once, by response id.

    From the other end where another process may be at the same run: the two then meet, instead of paying for each
    answer twice.
    """

    def __init__(self, store: Store, run: StoredRun) -> None:
        self._store = store
        self._run = run
        self._after: int | None = None

    def read(self, limit: int) -> list[Ask]:
        """Return up to ``limit`` further asks; fewer only at the end."""
        found: list[Ask] = []
        while len(found) < limit:
            wanted = limit - len(found)
            with self._store.reading() as connection:
                asks = select_asks(
                    connection, self._run, after_id=self._after, downwards=self._run.shared, limit=wanted
                )
                inputs = judge_inputs(connection, [ask.response_id for ask in asks])
            if not asks:
                break
            self._after = asks[-1].response_id
            found += [Ask(inputs[ask.response_id], ask.ask) for ask in asks if ask.response_id in inputs]
        return found


def _land(store: Store, version: StoredVersion, run_id: int, batch: list[Answered]) -> None:
    with store.writing() as connection:
        items = [LandedVerdict(one.ask.item.response_id, one.ask.number, one.ask.repeat, one.verdict) for one in batch]
        land_judgments(connection, version, run_id, items, datetime.now(UTC))


def _asked(store: Store, run: StoredRun) -> int:
    with store.reading() as connection:
        return run_counts(connection, [run.id])[run.id].asked
