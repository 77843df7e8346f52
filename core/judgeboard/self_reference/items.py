"""What was sampled and judged of each item, as arrays that every figure is computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgeboard.domain import Preference
from judgeboard.self_reference.majority import Majority
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray

RIGHT, WRONG, UNKNOWN = 1, 0, -1


class TwoOrders(NamedTuple):
    """What the judge preferred in both orders, in terms of the stored answers; None is unusable or not asked."""

    ab: Preference | None = None
    ba: Preference | None = None
    asked: bool = False


NOT_ASKED = TwoOrders()


@dataclass(frozen=True, slots=True)
class Item:
    """A question with two answers: what the samples agree on, and the judge's verdicts.

    ``right`` tells whether the majority is the correct answer, None where that is not known or there is no majority.
    ``reference`` is what the judge said when it was shown the majority's answer as correct, ``plain`` without.
    """

    pair_id: int
    category: str
    gold: Preference | None
    majority: Majority
    right: bool | None = None
    plain: TwoOrders = NOT_ASKED
    reference: TwoOrders = NOT_ASKED


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A judge's verdicts in one condition, each array one entry per item.

    ``score`` is 1 where both orders name the gold answer, 0 where both name another, 0.5 where the orders differ (a
    ``split``), NaN where it is unmeasured: not ``asked``, an order without a usable verdict, or no gold answer.
    """

    score: FloatArray
    split: BoolArray
    asked: BoolArray
    usable: BoolArray

    def where(self, rows: BoolArray, others: "Verdicts") -> "Verdicts":
        """Return these on ``rows``, and ``others`` elsewhere."""
        return Verdicts(
            *(
                np.where(rows, getattr(self, name), getattr(others, name))
                for name in ("score", "split", "asked", "usable")
            )
        )


@dataclass(frozen=True, slots=True)
class Items:
    """All items as arrays, one entry per item.

    Attributes:
        k: Samples of each item.
        pair_ids: Their pairs.
        categories: Category of each.
        agree: How many of the k samples gave the majority's answer; 0 where no sample has an answer.
        tie: Whether another answer is as common.
        right: ``RIGHT``, ``WRONG`` or ``UNKNOWN``: whether the majority's answer is the correct one.
        gold: Whether it is known which of the two answers is better.
        without: Condition A, the judge without a reference.
        always: Condition B, always with its own answer; where there is none, the verdict of A.
    """

    k: int
    pair_ids: IntArray
    categories: tuple[str, ...]
    agree: IntArray
    tie: BoolArray
    right: IntArray
    gold: BoolArray
    without: Verdicts
    always: Verdicts

    @property
    def n(self) -> int:
        """How many items there are."""
        return len(self.pair_ids)

    @property
    def answered(self) -> BoolArray:
        """Which items have an answer at all."""
        return self.agree > 0

    def gate(self, needed: int) -> BoolArray:
        """Return where at least ``needed`` samples agree: the gate is on. Without an answer it never is."""
        return self.answered & (self.agree >= needed)

    def selective(self, needed: int) -> Verdicts:
        """Return condition C: B where the gate is on, A elsewhere."""
        return self.always.where(self.gate(needed), self.without)


def items_of(items: Sequence[Item], k: int) -> Items:
    """Return items as arrays; each has ``k`` samples."""
    rights = {None: UNKNOWN, True: RIGHT, False: WRONG}
    plain = _verdicts([item.plain for item in items], items)
    agree = np.array([item.majority.agree for item in items], dtype=np.int64)
    return Items(
        k=k,
        pair_ids=np.array([item.pair_id for item in items], dtype=np.int64),
        categories=tuple(item.category for item in items),
        agree=agree,
        tie=np.array([item.majority.tie for item in items], dtype=np.bool_),
        right=np.array([rights[item.right] for item in items], dtype=np.int64),
        gold=np.array([item.gold is not None for item in items], dtype=np.bool_),
        without=plain,
        always=_verdicts([item.reference for item in items], items).where(agree > 0, plain),
    )


def _verdicts(said: Sequence[TwoOrders], items: Sequence[Item]) -> Verdicts:
    usable = np.array([one.ab is not None and one.ba is not None for one in said], dtype=np.bool_)
    split = usable & np.array([one.ab != one.ba for one in said], dtype=np.bool_)
    hits = np.array([one.ab == item.gold for one, item in zip(said, items, strict=True)], dtype=np.float64)
    gold = np.array([item.gold is not None for item in items], dtype=np.bool_)
    score = np.where(usable & gold, np.where(split, 0.5, hits), np.nan)
    return Verdicts(score, split, np.array([one.asked for one in said], dtype=np.bool_), usable)
