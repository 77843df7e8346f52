"""Asks a judge about pairs, each in both orders, and stores every verdict as it comes."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Unpack

from sqlalchemy import Connection

from judgeboard.blocking import run_blocking
from judgeboard.domain import Shown, Status
from judgeboard.errors import BadInput
from judgeboard.hand_out import HandOut
from judgeboard.judges.pairwise import Comparison, PairwiseJudge
from judgeboard.next_ask import Again, next_ask
from judgeboard.run_account import RunAccount, account_of
from judgeboard.runner import Keep
from judgeboard.step_run import RunKeywords, RunOptions, require_price, run_steps, stoppable
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion, ensure_version
from judgeboard.store.pairs.compared_pairs import LatestInOrder, latest_asks, pairs_with_texts
from judgeboard.store.pairs.comparisons import LandedComparison, land_comparisons
from judgeboard.store.pairs.pairs import PairItem, load_pairs
from judgeboard.store.runs.method_runs import start_or_continue_method_run
from judgeboard.store.runs.runs import StoredRun, keep_if_selected

KIND = "compare"


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of asking: the judge version, and the account of the run (empty where nothing was to ask)."""

    version: StoredVersion
    account: RunAccount


@dataclass(frozen=True, slots=True)
class _Ask:
    """One order of a pair that is to be asked; ``number`` counts how often it was asked before."""

    pair_id: int
    shown: Shown
    number: int


@dataclass(frozen=True, slots=True)
class _Said:
    """A verdict, waiting to be stored."""

    ask: _Ask
    comparison: Comparison

    @property
    def status(self) -> Status:
        """What became of it."""
        return self.comparison.record.status

    @property
    def cost_micro(self) -> int | None:
        """What it cost, in millionths; None is unknown."""
        return self.comparison.record.cost_micro


def compare_pairs(
    store: Store,
    judge: PairwiseJudge,
    pair_ids: Sequence[int],
    *,
    again: bool = False,
    **options: Unpack[RunKeywords],
) -> Compared:
    """Ask a judge about pairs in both orders and wait for it; Ctrl-C finishes the calls in flight.

    Arguments and errors as `compare_pairs_async`.
    """
    return run_blocking(compare_pairs_async, store, judge, pair_ids, again=again, **stoppable(options))


async def compare_pairs_async(
    store: Store,
    judge: PairwiseJudge,
    pair_ids: Sequence[int],
    *,
    again: bool = False,
    **options: Unpack[RunKeywords],
) -> Compared:
    """Ask a judge about pairs, two calls a pair, storing every verdict at the latest 50 ms after it came.

    An order that this judge version was asked in before is not asked again; a stopped run goes on where it ended.

    Args:
        store: Where the pairs are.
        judge: Who is asked; closed at the end.
        pair_ids: Which pairs; those without their texts are left out.
        again: Also ask again in an order that has no usable verdict.
        options: Fields of `RunOptions`: concurrency, max_cost, actor, …

    Raises:
        BadInput: None of the pairs has its texts.
        UnknownPrice: A cost limit is given and the model has no price.
    """
    how = RunOptions(**options)
    try:
        require_price(how.max_cost, priced=judge.priced, model=judge.version.model)
        with store.writing() as connection:
            wanted = pairs_with_texts(connection, pair_ids)
            if not wanted:
                raise BadInput("no pair has two answers to compare")
            attempt = connection.begin_nested()
            version = ensure_version(connection, judge.version)
            to_ask = _open_asks(wanted, latest_asks(connection, version.id, wanted), Again() if again else None)
            started = start_or_continue_method_run(
                connection,
                KIND,
                version,
                _question(wanted, again=again),
                selected=len(to_ask),
                actor=how.actor,
                endpoint_host=judge.endpoint_host,
            )
            run = keep_if_selected(attempt, started)
        if run is None:
            return Compared(version, RunAccount())
        return Compared(version, await _ask(store, judge, version, run, wanted, how, again=again))
    finally:
        await judge.aclose()


async def _ask(
    store: Store,
    judge: PairwiseJudge,
    version: StoredVersion,
    run: StoredRun,
    pair_ids: tuple[int, ...],
    how: RunOptions,
    *,
    again: bool,
) -> RunAccount:
    async def compare(task: tuple[_Ask, PairItem], keep: Keep[_Said]) -> None:
        ask, pair = task
        await keep(_Said(ask, await judge.compare(pair, ask.shown)))

    def write(batch: list[_Said]) -> None:
        items = [
            LandedComparison(
                one.ask.pair_id,
                one.ask.shown,
                one.comparison.record,
                one.comparison.preferences,
                reasoning=one.comparison.reasoning,
                ask=one.ask.number,
            )
            for one in batch
        ]
        with store.writing() as connection:
            land_comparisons(connection, version, run.id, items, datetime.now(UTC))

    with store.reading() as connection:
        asked = latest_asks(connection, version.id, pair_ids)
    asked_again = Again(run.id) if again else None
    to_ask = _open_asks(pair_ids, asked, asked_again)

    def still_open(connection: Connection, some: Sequence[_Ask]) -> list[tuple[_Ask, PairItem]]:
        ids = pairs_with_texts(connection, [ask.pair_id for ask in some])
        # Another process may be at the same run.
        left = set(_open_asks(ids, latest_asks(connection, version.id, ids), asked_again))
        pairs = {pair.id: pair for pair in load_pairs(connection, ids)}
        return [(ask, pairs[ask.pair_id]) for ask in some if ask in left]

    tasks = HandOut(store, to_ask, still_open, backwards=run.shared)
    ended = await run_steps(store, run.id, compare, tasks.read, write, options=how, expected=len(to_ask))
    return account_of(store, run.id, ended)


def _open_asks(
    pair_ids: tuple[int, ...], asked: dict[tuple[int, Shown], LatestInOrder], again: Again | None
) -> list[_Ask]:
    """Return the orders that are to be asked."""
    return [
        _Ask(pair_id, shown, number)
        for pair_id in pair_ids
        for shown in Shown
        if (number := next_ask(asked.get((pair_id, shown)), again)) is not None
    ]


def _question(pair_ids: tuple[int, ...], *, again: bool) -> dict[str, object]:
    """Return what fixes a run: the same pairs asked again are the same run, however they were named."""
    digest = hashlib.sha256(",".join(map(str, pair_ids)).encode()).hexdigest()
    return {"pairs": len(pair_ids), "pairs_sha256": digest, "again": again}
