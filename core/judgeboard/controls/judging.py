"""Asks a judge about controls, and about their originals where it has not judged them yet."""

from collections.abc import Collection
from typing import Unpack

from judgeboard.blocking import run_blocking
from judgeboard.controls.kinds import CONTROLS
from judgeboard.domain import ResponseKind
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.judges.protocol import Judge
from judgeboard.judging import judge_pending_async
from judgeboard.judging_summary import JudgingSummary
from judgeboard.step_run import RunKeywords, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.health.controls import list_controls


def judge_controls(
    store: Store, judge: Judge, *, kinds: Collection[str] = (), **options: Unpack[RunKeywords]
) -> JudgingSummary:
    """Judge the controls and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `judge_controls_async`.
    """
    return run_blocking(judge_controls_async, store, judge, kinds=kinds, **stoppable(options))


async def judge_controls_async(
    store: Store, judge: Judge, *, kinds: Collection[str] = (), **options: Unpack[RunKeywords]
) -> JudgingSummary:
    """Judge the controls that are stored and their originals; what this version judged already is not asked again.

    Args:
        store: Where they are.
        judge: Who is asked; closed at the end.
        kinds: Keys of ``CONTROLS``; all by default.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: A kind is unknown, or there are no such controls yet.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    unknown = sorted(set(kinds) - CONTROLS.keys())
    if unknown:
        raise BadInput(f"there is no control {unknown[0]!r}; choose {', '.join(CONTROLS)}")
    with store.reading() as connection:
        controls = [each for each in list_controls(connection) if each.kind in (kinds or CONTROLS)]
    if not controls:
        raise BadInput("there are no such controls yet: make some with `judgeboard controls make`")
    ids = {each.response_id for each in controls} | {each.original_id for each in controls}
    where = RowFilter(response_ids=tuple(ids), kinds=(ResponseKind.CONTROL, ResponseKind.LOG))
    return await judge_pending_async(store, judge, where=where, **options)
