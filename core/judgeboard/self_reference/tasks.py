"""Reads the items of a run with what is stored of each, so that a resume asks for the rest alone."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from judgeboard.domain import Shown, Status
from judgeboard.next_ask import Again
from judgeboard.self_reference.plan import Order, Plan, Task
from judgeboard.store.pairs.comparisons import StoredComparison, stored_comparisons
from judgeboard.store.pairs.pairs import PairItem, load_pairs
from judgeboard.store.pairs.samples import FAILED, StoredSample, stored_samples
from judgeboard.store.sql.batches import batches

_ITEMS = 500  # each comes with all its samples


def read_tasks(
    connection: Connection, version_id: int, pair_ids: Sequence[int], again: Again | None = None
) -> list[Task]:
    """Return these items in their order with what a judge version has of them.

    Args:
        connection: A transaction.
        version_id: Who samples and judges.
        pair_ids: Which items.
        again: Where given, samples whose call failed and orders without a usable verdict are to be asked again.
    """
    stored: defaultdict[int, _Stored] = defaultdict(_Stored)
    for (pair_id, number), sample in stored_samples(connection, version_id, pair_ids).items():
        stored[pair_id].add_sample(number, sample, again)
    said = stored_comparisons(connection, version_id, pair_ids)
    for key in sorted(said, key=lambda key: key.ask):
        stored[key.pair_id].add_order((key.condition, Shown(key.shown)), key.ask, said[key], again)
    pairs = {pair.id: pair for pair in load_pairs(connection, pair_ids)}
    return [stored[pair_id].task(pairs[pair_id]) for pair_id in pair_ids if pair_id in pairs]


@dataclass(slots=True)
class _Stored:
    """What is stored of one item, gathered for its task."""

    answers: dict[int, str | None] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)
    compared: set[Order] = field(default_factory=set)
    asks: dict[int | Order, int] = field(default_factory=dict)

    def add_sample(self, number: int, sample: StoredSample, again: Again | None) -> None:
        if sample.status not in FAILED:
            self.answers[number] = sample.answer
        elif again is not None and again.opens(sample.run_id):
            self.asks[number] = sample.ask + 1
        else:
            self.failed.add(number)

    def add_order(self, order: Order, ask: int, said: StoredComparison, again: Again | None) -> None:
        """Add an ask of an order; the asks of one order come in their order."""
        if said.status != Status.OK and again is not None and again.opens(said.run_id):
            self.compared.discard(order)
            self.asks[order] = ask + 1
        else:
            self.compared.add(order)

    def task(self, pair: PairItem) -> Task:
        return Task(pair, self.answers, frozenset(self.compared), frozenset(self.failed), self.asks)


def askable(connection: Connection, pair_ids: Collection[int]) -> tuple[int, ...]:
    """Return those of the pairs that have a question and two answers: neither forgotten nor never there."""
    return tuple(
        pair.id
        for batch in batches(sorted(set(pair_ids)), _ITEMS)
        for pair in load_pairs(connection, batch)
        if None not in {pair.question, pair.answer_a, pair.answer_b}
    )


def calls_left(
    connection: Connection, version_id: int, pair_ids: Sequence[int], plan: Plan, again: Again | None = None
) -> int:
    """Return how many calls these items still need, at most."""
    return sum(
        task.calls_left(plan)
        for batch in batches(pair_ids, _ITEMS)
        for task in read_tasks(connection, version_id, batch, again)
    )
