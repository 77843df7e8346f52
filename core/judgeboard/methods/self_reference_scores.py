"""The figures of self-reference: conditions, gate, slices, calibration, categories, sweep, tuned thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from judgeboard.domain import Estimate, Preference
from judgeboard.methods.own_answers import Majority
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, grouping
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.intervals import SEED
from judgeboard.stats.means import mean_change
from judgeboard.stats.proportions import half_credit, share

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


NO_REFERENCE = "no correct answer is known"


@dataclass(frozen=True, slots=True)
class ConditionScores:
    """How often a condition prefers the gold answer: in all, and where the gate is on and off.

    ``splits`` counts items whose two orders contradict, each scored as half; ``unmeasured`` those with an order that
    gave no usable verdict; ``not_asked`` those that nobody asked.
    """

    accuracy: Estimate
    on: Estimate
    off: Estimate
    splits: int
    unmeasured: int
    not_asked: int


@dataclass(frozen=True, slots=True)
class GateScores:
    """How often the gate is on, and how often the majority's answer is then right."""

    on_rate: Estimate
    precision: Estimate


@dataclass(frozen=True, slots=True)
class SliceScores:
    """The items with the gate on or off whose majority is right or wrong, and what both conditions make of them."""

    gate_on: bool
    majority_right: bool
    n: int
    without: Estimate
    always: Estimate


@dataclass(frozen=True, slots=True)
class AgreementLevel:
    """Of the ``n`` items on which ``agree`` samples agree, ``right`` have the correct answer as majority."""

    agree: int
    n: int
    right: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class CategoryScores:
    """The same within one category, at the threshold that is used for all."""

    category: str
    n: int
    gate: GateScores
    without: Estimate
    always: Estimate
    selective: Estimate


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What condition C would have come to at another threshold: ``agree`` of k samples, the share ``tau``."""

    agree: int
    tau: float
    gate: GateScores
    scores: ConditionScores


def condition_scores(items: Items, verdicts: Verdicts, on: BoolArray) -> ConditionScores:
    """Return the scores of a condition; ``on`` is where the gate is on."""
    everywhere = np.ones(items.n, dtype=np.bool_)
    return ConditionScores(
        accuracy(items, verdicts, everywhere),
        accuracy(items, verdicts, on),
        accuracy(items, verdicts, ~on),
        int(verdicts.split.sum()),
        int((verdicts.asked & ~verdicts.usable).sum()),
        int((~verdicts.asked).sum()),
    )


def accuracy(items: Items, verdicts: Verdicts, rows: BoolArray) -> Estimate:
    """Return how often a condition prefers the gold answer on ``rows``.

    Undefined where nothing was asked at one of their levels of agreement: what is left would be another population.
    """
    if not rows.any():
        return unmeasured(0, "no such item")
    missing = never_asked(items, verdicts, rows)
    if missing:
        return unmeasured(0, missing)
    scored = rows & ~np.isnan(verdicts.score)
    why = "no item has two usable verdicts" if (rows & items.gold).any() else "which answer is better is not known"
    return half_credit(verdicts.score[scored], undefined=why)


def never_asked(items: Items, verdicts: Verdicts, rows: BoolArray) -> str | None:
    """Return at which levels of agreement a condition was never asked, None where it was asked at all of them."""
    if not verdicts.asked[rows].any():
        return "the judge was not asked"
    agree, asked = items.agree[rows], verdicts.asked[rows]
    levels = [level for level in np.unique(agree).tolist() if not asked[agree == level].any()]
    return f"the judge was not asked where {levels[0]} of {items.k} samples agree" if levels else None


def gate_scores(items: Items, on: BoolArray, rows: BoolArray | None = None) -> GateScores:
    """Return rate and precision of a gate that is ``on``, on ``rows`` or all of them."""
    rows = np.ones(items.n, dtype=np.bool_) if rows is None else rows
    known = rows & on & (items.right != UNKNOWN)
    precision = _share(items.right[known] == RIGHT) if known.any() else None
    why = NO_REFERENCE if (rows & on).any() else "the gate is never on"
    return GateScores(
        _share(on[rows]) if rows.any() else unmeasured(0, "no items"),
        precision or unmeasured(0, why),
    )


def slices(items: Items, on: BoolArray) -> tuple[SliceScores, ...]:
    """Return the four slices; items without an answer, or whose correct answer is not known, are in none."""
    found = []
    for gate_on in (True, False):
        for right in (RIGHT, WRONG):
            rows = (on == gate_on) & (items.right == right) & items.answered
            found.append(
                SliceScores(
                    gate_on,
                    right == RIGHT,
                    int(rows.sum()),
                    accuracy(items, items.without, rows),
                    accuracy(items, items.always, rows),
                )
            )
    return tuple(found)


def calibration(items: Items) -> tuple[AgreementLevel, ...]:
    """Return how often the majority is right at each level of agreement, from all k samples down to one."""
    levels = []
    for agree in range(items.k, 0, -1):
        rows = (items.agree == agree) & (items.right != UNKNOWN)
        hits = items.right[rows] == RIGHT
        found = _share(hits) if rows.any() else unmeasured(0, "no such item")
        levels.append(AgreementLevel(agree, int(rows.sum()), int(hits.sum()), found))
    return tuple(levels)


def categories(items: Items, on: BoolArray, needed: int) -> tuple[CategoryScores, ...]:
    """Return the figures of each category, by name."""
    named, selective = np.array(items.categories, dtype=object), items.selective(needed)
    found = []
    for category in sorted(set(items.categories)):
        rows = named == category
        found.append(
            CategoryScores(
                category,
                int(rows.sum()),
                gate_scores(items, on, rows),
                *(accuracy(items, each, rows) for each in (items.without, items.always, selective)),
            )
        )
    return tuple(found)


def sweep(items: Items) -> tuple[SweepPoint, ...]:
    """Return condition C at every threshold that k samples tell apart, from what was asked already."""
    points = []
    for needed in range(1, items.k + 1):
        on = items.gate(needed)
        selective = condition_scores(items, items.selective(needed), on)
        points.append(SweepPoint(needed, needed / items.k, gate_scores(items, on), selective))
    return tuple(points)


def gain(items: Items, before: Verdicts, after: Verdicts) -> Estimate:
    """Return by how much ``after`` prefers the gold answer more often than ``before``, on the same items."""
    everywhere = np.ones(items.n, dtype=np.bool_)
    missing = never_asked(items, before, everywhere) or never_asked(items, after, everywhere)
    if missing:
        return unmeasured(0, missing)
    both = ~np.isnan(before.score) & ~np.isnan(after.score)
    return replace(mean_change(before.score[both], after.score[both], grouping(None, int(both.sum()))), unit="pair")


def _share(hits: BoolArray) -> Estimate:
    return replace(share(hits), unit="pair")


FOLDS = 5
FEWEST = 10
"""With fewer items a category is tuned and scored on the same ones, and labelled optimistic."""


@dataclass(frozen=True, slots=True)
class TunedCategory:
    """The threshold of a category: ``agree`` of k samples as all its items would have it, k + 1 is never.

    ``by_fold`` are the thresholds that ``accuracy`` (of condition C) was scored with, each chosen on the other folds.
    """

    category: str
    n: int
    agree: int
    by_fold: tuple[int, ...]
    accuracy: Estimate
    optimistic: bool


@dataclass(frozen=True, slots=True)
class Tuned:
    """Condition C with a threshold for each category; ``optimistic`` where any of them could not be cross-validated."""

    accuracy: Estimate
    optimistic: bool
    categories: tuple[TunedCategory, ...] = ()


def tuned_by_category(items: Items) -> Tuned:
    """Return what thresholds by category come to.

    Items are dealt to folds of equal size, the same in every run. Of thresholds that do equally well the highest is
    taken, which shows the judge a reference least often.
    """
    everywhere = np.ones(items.n, dtype=np.bool_)
    for verdicts in (items.without, items.always):
        missing = never_asked(items, verdicts, everywhere)
        if missing:
            return Tuned(
                unmeasured(0, f"{missing}: tuning needs the conditions A and B on every item"), optimistic=False
            )
    measured = ~np.isnan(items.without.score) & ~np.isnan(items.always.score)
    named = np.array(items.categories, dtype=object)
    found, scores, order = [], [], np.argsort(items.pair_ids, kind="stable")
    for category in sorted(set(items.categories)):
        rows = order[(measured & (named == category))[order]]
        if not len(rows):
            continue
        at_each = np.stack([items.selective(needed).score[rows] for needed in range(1, items.k + 2)])
        one, said = _tuned(category, at_each)
        found.append(one)
        scores.append(said)
    if not found:
        return Tuned(unmeasured(0, "no item has usable verdicts in both conditions"), optimistic=False)
    optimistic = any(one.optimistic for one in found)
    return Tuned(_estimate(np.concatenate(scores), optimistic=optimistic), optimistic, tuple(found))


def _tuned(category: str, at_each: FloatArray) -> tuple[TunedCategory, FloatArray]:
    """Tune one category: ``at_each`` is the score of each item (columns) at each threshold (rows, from 1 of k on)."""
    n = at_each.shape[1]
    optimistic = n < FEWEST
    folds = _dealt(n)
    seen = [at_each if optimistic else at_each[:, folds != fold] for fold in range(FOLDS)]
    by_fold = [_best(each) for each in seen]
    said = at_each[np.array(by_fold)[folds] - 1, np.arange(n)]
    estimate = _estimate(said, optimistic=optimistic)
    return TunedCategory(category, n, _best(at_each), tuple(sorted(set(by_fold))), estimate, optimistic), said


def _dealt(n: int) -> IntArray:
    """Return the fold of each of ``n`` items: folds of equal size, shuffled, since files often come in a rhythm."""
    folds: IntArray = np.arange(n) % FOLDS
    return np.random.Generator(np.random.SFC64(SEED)).permutation(folds)


def _best(at_each: FloatArray) -> int:
    means = at_each.mean(axis=1)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[-1]) + 1


def _estimate(scores: FloatArray, *, optimistic: bool) -> Estimate:
    estimate = half_credit(scores)
    how = "optimistic: tuned on the same items" if optimistic else f"thresholds from the other of {FOLDS} folds"
    return replace(estimate, method=f"{estimate.method}; {how}")
