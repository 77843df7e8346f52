"""Asks a judge about pairs, each in both orders, and stores every verdict as it comes."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, Unpack

from sqlalchemy import Connection

from judgeboard.blocking import blocking
from judgeboard.domain import Shown
from judgeboard.errors import BadInput
from judgeboard.judges.pairwise import Comparison, PairwiseJudge
from judgeboard.method import AskOnceMethod, Begun, RunOptions, RunOutcome, Selected, run_method
from judgeboard.run_account import RunAccount
from judgeboard.runner import Answered, Keep
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.pairs.compared_pairs import LatestInOrder, latest_asks, pairs_with_texts
from judgeboard.store.pairs.comparisons import LandedComparison, land_comparisons
from judgeboard.store.pairs.pairs import PairItem, load_pairs


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of asking: the judge version, and the account of the run (empty where nothing was to ask)."""

    version: StoredVersion
    account: RunAccount


class _Order(NamedTuple):
    pair_id: int
    shown: Shown


class _Task(NamedTuple):
    pair: PairItem
    shown: Shown
    ask: int


class Comparing(AskOnceMethod[_Order, _Task, Answered[_Task, Comparison], Compared]):
    """Pairs, each asked about in both orders: two calls a pair."""

    kind = "compare"

    def __init__(self, judge: PairwiseJudge, pair_ids: Sequence[int], *, again: bool = False) -> None:
        self.judge: PairwiseJudge = judge
        self.again = again
        self._orders = [_Order(pair_id, shown) for pair_id in pair_ids for shown in Shown]

    def select(self, connection: Connection, version: StoredVersion) -> Selected:
        """Select the orders that this version was not asked in."""
        pair_ids = pairs_with_texts(connection, [order.pair_id for order in self._orders])
        if not pair_ids:
            raise BadInput("no pair has two answers to compare")
        self._orders = [_Order(pair_id, shown) for pair_id in pair_ids for shown in Shown]
        asks = self.open_asks(connection, version, self._orders)
        return Selected(pairs_question(pair_ids, again=self.again), len(asks))

    def keys(self, _begun: Begun) -> Sequence[_Order]:
        """Return both orders of every pair."""
        return self._orders

    def latest(
        self, connection: Connection, version: StoredVersion, keys: Sequence[_Order], **_few: bool
    ) -> Mapping[_Order, LatestInOrder]:
        """Return the latest comparison in each order."""
        pair_ids = list(dict.fromkeys(key.pair_id for key in keys))
        return {_Order(*key): ask for key, ask in latest_asks(connection, version.id, pair_ids).items()}

    def load(self, connection: Connection, asks: Sequence[tuple[_Order, int]]) -> list[_Task]:
        """Return the pairs that still have their texts."""
        ids = pairs_with_texts(connection, [key.pair_id for key, _ in asks])
        pairs = {pair.id: pair for pair in load_pairs(connection, ids)}
        return [_Task(pairs[key.pair_id], key.shown, number) for key, number in asks if key.pair_id in pairs]

    async def ask(self, task: _Task, keep: Keep[Answered[_Task, Comparison]]) -> None:
        """Ask in one order."""
        comparison = await self.judge.compare(task.pair, task.shown)
        await keep(Answered(task, comparison, comparison.record))

    def save(self, connection: Connection, begun: Begun, steps: list[Answered[_Task, Comparison]]) -> None:
        """Store comparisons."""
        items = [
            LandedComparison(
                step.task.pair.id,
                step.task.shown,
                step.result.record,
                step.result.preferences,
                reasoning=step.result.reasoning,
                ask=step.task.ask,
            )
            for step in steps
        ]
        land_comparisons(connection, begun.version, begun.run.id, items, datetime.now(UTC))

    def summarise(self, outcome: RunOutcome) -> Compared:
        """Return version and account; `pair_report` gives the figures."""
        return Compared(outcome.version, outcome.account)


async def compare_pairs_async(
    store: Store,
    judge: PairwiseJudge,
    pair_ids: Sequence[int],
    *,
    again: bool = False,
    **options: Unpack[RunOptions],
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
    return await run_method(store, Comparing(judge, pair_ids, again=again), **options)


compare_pairs = blocking(compare_pairs_async)


def pairs_question(pair_ids: Sequence[int], **options: Any) -> dict[str, Any]:
    """Return what identifies a run over pairs: the same pairs are the same run, however they were named."""
    digest = hashlib.sha256(",".join(map(str, pair_ids)).encode()).hexdigest()
    return {"pairs": len(pair_ids), "pairs_sha256": digest, **options}
