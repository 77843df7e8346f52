"""Which calls an item needs: k samples, then both orders of each condition that its gate calls for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from judgeboard.domain import Shown
from judgeboard.self_reference.majority import Majority, majority
from judgeboard.store.pairs.comparisons import PLAIN, REFERENCE
from judgeboard.store.pairs.pairs import PairItem

Order = tuple[str, Shown]
"""A condition and the order in which the pair is shown."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of every item: ``k`` samples, and the ``conditions`` A, B, C with the gate at ``needed`` of k."""

    k: int
    needed: int
    conditions: Collection[str]

    @property
    def calls_an_item(self) -> int:
        """Calls of an item with an answer: k + 2 for one condition alone, at most k + 4 for more."""
        return self.k + 2 * min(len(self.conditions), 2)

    def orders(self, found: Majority) -> tuple[Order, ...]:
        """Return which orders are asked where the samples agree on ``found``.

        Where no sample has an answer there is nothing to be shown: B then needs the verdict of A.
        """
        on = found.key is not None and found.agree >= self.needed
        always = "B" in self.conditions
        reference = found.key is not None and (always or (on and "C" in self.conditions))
        plain = "A" in self.conditions or (not on and "C" in self.conditions) or (found.key is None and always)
        wanted = [condition for condition, needed in ((PLAIN, plain), (REFERENCE, reference)) if needed]
        return tuple((condition, shown) for condition in wanted for shown in Shown)


@dataclass(frozen=True, slots=True)
class Task:
    """An item with what is stored of it: answers by number of the sample, and the orders that were asked.

    ``failed`` are samples whose call failed and that are not asked for again: the item then is unmeasured, and its
    orders are not asked. ``asks`` counts by sample, or by order, how often what is to be asked was asked before.
    """

    pair: PairItem
    answers: Mapping[int, str | None] = field(default_factory=dict)
    compared: frozenset[Order] = frozenset()
    failed: frozenset[int] = frozenset()
    asks: Mapping[int | Order, int] = field(default_factory=dict)

    def majority(self, k: int) -> Majority:
        """Return what its samples agree on; all ``k`` of them must be there."""
        return majority([self.answers[number] for number in range(k)], self.pair.options)

    def missing_samples(self, k: int) -> list[int]:
        """Return the numbers of the samples that are still to be drawn."""
        return [number for number in range(k) if number not in self.answers and number not in self.failed]

    def calls_left(self, plan: Plan) -> int:
        """Return how many calls it still needs; at most, while the outcome of its samples is not known."""
        missing = len(self.missing_samples(plan.k))
        if any(number < plan.k for number in self.failed):
            return missing
        if missing:
            return missing + plan.calls_an_item - plan.k
        return len(set(plan.orders(self.majority(plan.k))) - self.compared)
