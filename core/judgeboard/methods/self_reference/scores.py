"""Statistics of self-reference: conditions, gate, slices, calibration, categories, sweep, tuned thresholds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from judgeboard.domain import Estimate, Preference
from judgeboard.methods.self_reference.own_answers import Majority
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, Grouping, IntArray, grouping
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.intervals import SEED, share_estimate
from judgeboard.stats.means import mean_change
from judgeboard.stats.proportions import half_credit, share

RIGHT, WRONG, UNKNOWN = 1, 0, -1


class TwoOrders(NamedTuple):
    """The judge's preference between the stored answers, by the order shown; None is unusable or not asked."""

    ab: Preference | None = None
    ba: Preference | None = None
    asked: bool = False


NOT_ASKED = TwoOrders()


@dataclass(frozen=True, slots=True)
class Item:
    """A question with two answers: the majority of the samples, and the judge's verdicts.

    ``right`` is whether the majority is the correct answer; None if unknown. For the ``reference`` verdicts, the judge
    saw the majority's answer as the correct one; for the ``plain`` verdicts, it did not. Items about one question have
    an equal ``question`` (default: each has its own). ``samples_right`` is whether each sample is right.
    """

    pair_id: int
    category: str
    gold: Preference | None
    majority: Majority
    right: bool | None = None
    plain: TwoOrders = NOT_ASKED
    reference: TwoOrders = NOT_ASKED
    question: int | None = None
    samples_right: tuple[bool | None, ...] = ()


class Verdicts(NamedTuple):
    """A judge's verdicts in one condition, one entry per item.

    ``score`` is 1 if both orders agree with the gold preference, 0 if both agree on another one, and 0.5 if the orders
    differ (a ``split``). It is NaN if the item is not ``asked``, not usable in an order, or has no gold preference.
    """

    score: FloatArray
    split: BoolArray
    asked: BoolArray
    usable: BoolArray

    def where(self, rows: BoolArray, others: "Verdicts") -> "Verdicts":
        """Return these verdicts on ``rows`` and ``others`` on all other items."""
        return Verdicts(*(np.where(rows, own, other) for own, other in zip(self, others, strict=True)))


@dataclass(frozen=True, slots=True)
class Items:
    """All items as arrays, one entry per item.

    ``agree`` samples gave the majority's answer (0: no sample has an answer); ``tie`` tells whether another answer is
    equally common. ``right`` is ``RIGHT``, ``WRONG`` or ``UNKNOWN``. ``gold`` tells whether the better answer is known.
    Items with equal ``questions`` are resampled together. ``samples_right`` is the share of right samples, or NaN.
    ``without`` is condition A. ``always`` is condition B; if no sample has an answer, it is the verdict of A.
    """

    k: int
    pair_ids: IntArray
    questions: IntArray
    categories: tuple[str, ...]
    agree: IntArray
    tie: BoolArray
    samples_right: FloatArray
    right: IntArray
    gold: BoolArray
    without: Verdicts
    always: Verdicts

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.pair_ids)

    def grouped(self, rows: AnyArray) -> Grouping:
        """Return the questions of some of the items, by a mask or by positions: intervals resample them."""
        questions = self.questions[rows]
        return grouping(questions, len(questions), row="pair", group="question")

    @property
    def answered(self) -> BoolArray:
        """Which items have at least one sample with an answer."""
        return self.agree > 0

    def gate(self, needed: int) -> BoolArray:
        """Return for which items the gate is on: at least ``needed`` samples agree on an answer."""
        return self.answered & (self.agree >= needed)

    def selective(self, needed: int) -> Verdicts:
        """Return condition C: the verdicts of B if the gate is on, otherwise the verdicts of A."""
        return self.always.where(self.gate(needed), self.without)


def items_of(items: Sequence[Item], k: int) -> Items:
    """Return items with ``k`` samples each as arrays."""
    rights = {None: UNKNOWN, True: RIGHT, False: WRONG}
    plain = _verdicts([item.plain for item in items], items)
    agree = np.array([item.majority.agree for item in items], dtype=np.int64)
    return Items(
        k=k,
        pair_ids=np.array([item.pair_id for item in items], dtype=np.int64),
        questions=np.array([item.question or item.pair_id for item in items], dtype=np.int64),
        categories=tuple(item.category for item in items),
        agree=agree,
        tie=np.array([item.majority.tie for item in items], dtype=np.bool_),
        right=np.array([rights[item.right] for item in items], dtype=np.int64),
        samples_right=np.array([_share_right(item.samples_right) for item in items], dtype=np.float64),
        gold=np.array([item.gold is not None for item in items], dtype=np.bool_),
        without=plain,
        always=_verdicts([item.reference for item in items], items).where(agree > 0, plain),
    )


def _share_right(samples: Sequence[bool | None]) -> float:
    known = [right for right in samples if right is not None]
    return sum(known) / len(known) if known and len(known) == len(samples) else np.nan


def _verdicts(orders: Sequence[TwoOrders], items: Sequence[Item]) -> Verdicts:
    usable = np.array([each.ab is not None and each.ba is not None for each in orders], dtype=np.bool_)
    split = usable & np.array([each.ab != each.ba for each in orders], dtype=np.bool_)
    hits = np.array([each.ab == item.gold for each, item in zip(orders, items, strict=True)], dtype=np.float64)
    gold = np.array([item.gold is not None for item in items], dtype=np.bool_)
    score = np.where(usable & gold, np.where(split, 0.5, hits), np.nan)
    return Verdicts(score, split, np.array([each.asked for each in orders], dtype=np.bool_), usable)


NO_REFERENCE = "no correct answer is known"


@dataclass(frozen=True, slots=True)
class ConditionScores:
    """How often a condition prefers the gold answer: on all items, with the gate on, and with the gate off.

    ``splits`` counts items whose two orders differ (scored 0.5), ``unmeasured`` items without a usable verdict in one
    of the orders, ``not_asked`` items without a call.
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
class SampleScores:
    """How often a sample is right (``mean``), at least one of the k samples (``best``), and their ``majority``.

    The majority is wrong where no sample has an answer. ``pass_at`` is pass@j for j = 1 to k: the chance that at least
    one of j of these samples is right, without bias by M. Chen et al., "Evaluating Large Language Models Trained on
    Code" (2021). ``best`` is pass@k.
    """

    mean: Estimate
    best: Estimate
    majority: Estimate
    pass_at: tuple[Estimate, ...] = ()


@dataclass(frozen=True, slots=True)
class SliceScores:
    """The items with the gate on or off and a right or wrong majority, scored in conditions A and B.

    ``share`` is their share of the items of all four slices.
    """

    gate_on: bool
    majority_right: bool
    n: int
    share: Estimate
    without: Estimate
    always: Estimate


@dataclass(frozen=True, slots=True)
class AgreementLevel:
    """The ``n`` items on which ``agree`` samples agree; on ``right`` of them the majority is correct."""

    agree: int
    n: int
    right: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class CategoryScores:
    """Gate and conditions within one category, at the common threshold."""

    category: str
    n: int
    gate: GateScores
    without: Estimate
    always: Estimate
    selective: Estimate


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Condition C at another threshold: ``agree`` of k samples, which is the share ``tau``."""

    agree: int
    tau: float
    gate: GateScores
    scores: ConditionScores


def condition_scores(items: Items, verdicts: Verdicts, on: BoolArray) -> ConditionScores:
    """Return the scores of a condition; ``on`` tells for each item whether the gate is on."""
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

    Unmeasured if the judge was never asked at some level of agreement: the other items are another population.
    """
    if not rows.any():
        return unmeasured(0, "no such item")
    missing = never_asked(items, verdicts, rows)
    if missing:
        return unmeasured(0, missing)
    scored = rows & ~np.isnan(verdicts.score)
    why = "no item has two usable verdicts" if (rows & items.gold).any() else "the better answer is not known"
    return half_credit(verdicts.score[scored], items.grouped(scored), undefined=why)


def never_asked(items: Items, verdicts: Verdicts, rows: BoolArray) -> str | None:
    """Return at which level of agreement the judge was never asked, in words; None if it was asked at all levels."""
    if not verdicts.asked[rows].any():
        return "the judge was not asked"
    agree, asked = items.agree[rows], verdicts.asked[rows]
    levels = [level for level in np.unique(agree).tolist() if not asked[agree == level].any()]
    return f"the judge was not asked where {levels[0]} of {items.k} samples agree" if levels else None


def gate_scores(items: Items, on: BoolArray, rows: BoolArray | None = None) -> GateScores:
    """Return how often the gate is ``on`` and how often its answer is right, on ``rows`` (default: all items)."""
    rows = np.ones(items.n, dtype=np.bool_) if rows is None else rows
    known = rows & on & (items.right != UNKNOWN)
    precision = share(items.right[known] == RIGHT, items.grouped(known)) if known.any() else None
    why = NO_REFERENCE if (rows & on).any() else "the gate is never on"
    return GateScores(
        share(on[rows], items.grouped(rows)) if rows.any() else unmeasured(0, "no items"),
        precision or unmeasured(0, why),
    )


def sample_scores(items: Items) -> SampleScores:
    """Return how often samples are right, on the items where this is known for every sample."""
    known = ~np.isnan(items.samples_right)
    shares, groups = items.samples_right[known], items.grouped(known)
    if not len(shares):
        nothing = unmeasured(0, NO_REFERENCE)
        return SampleScores(nothing, nothing, nothing)
    best = share(shares > 0, groups)
    wrong = items.k - np.rint(shares * items.k).astype(np.int64)
    # Whole numbers of any size are divided one by one: an array of them has no float type.
    chances = [
        np.array([1 - math.comb(n, j) / math.comb(items.k, j) for n in wrong.tolist()]) for j in range(1, items.k)
    ]
    return SampleScores(
        mean=_mean_chance(shares, groups),
        best=best,
        majority=share(items.right[known] == RIGHT, groups),
        pass_at=(*(_mean_chance(chance, groups) for chance in chances), best),
    )


def _mean_chance(chances: FloatArray, groups: Grouping) -> Estimate:
    if np.isin(chances, (0, 1)).all():  # then they are hits, whose share has an interval also if all are equal
        return share(chances == 1, groups)
    return share_estimate(float(chances.mean()), chances, groups)


def slices(items: Items, on: BoolArray) -> tuple[SliceScores, ...]:
    """Return the four slices; items without a known correct answer are in none."""
    in_slices = (items.right != UNKNOWN) & items.answered
    groups = items.grouped(in_slices)
    return tuple(
        SliceScores(
            gate_on=gate_on,
            majority_right=right == RIGHT,
            n=int(rows.sum()),
            share=share(rows[in_slices], groups),
            without=accuracy(items, items.without, rows),
            always=accuracy(items, items.always, rows),
        )
        for gate_on in (True, False)
        for right in (RIGHT, WRONG)
        for rows in [(on == gate_on) & (items.right == right) & items.answered]
    )


def calibration(items: Items) -> tuple[AgreementLevel, ...]:
    """Return how often the majority is right, per number of agreeing samples from k down to 1."""
    levels = []
    for agree in range(items.k, 0, -1):
        rows = (items.agree == agree) & (items.right != UNKNOWN)
        hits = items.right[rows] == RIGHT
        share_right = share(hits, items.grouped(rows)) if rows.any() else unmeasured(0, "no such item")
        levels.append(AgreementLevel(agree, int(rows.sum()), int(hits.sum()), share_right))
    return tuple(levels)


def categories(items: Items, on: BoolArray, needed: int) -> tuple[CategoryScores, ...]:
    """Return the figures of each category, by name."""
    named, selective = np.array(items.categories, dtype=object), items.selective(needed)
    scores = []
    for category in sorted(set(items.categories)):
        rows = named == category
        scores.append(
            CategoryScores(
                category,
                int(rows.sum()),
                gate_scores(items, on, rows),
                *(accuracy(items, each, rows) for each in (items.without, items.always, selective)),
            )
        )
    return tuple(scores)


def sweep(items: Items) -> tuple[SweepPoint, ...]:
    """Return condition C at every threshold from 1 to k samples; needs no new calls."""
    points = []
    for needed in range(1, items.k + 1):
        on = items.gate(needed)
        selective = condition_scores(items, items.selective(needed), on)
        points.append(SweepPoint(needed, needed / items.k, gate_scores(items, on), selective))
    return tuple(points)


def gain(items: Items, before: Verdicts, after: Verdicts) -> Estimate:
    """Return how much more often ``after`` prefers the gold answer than ``before`` does, on the same items."""
    everywhere = np.ones(items.n, dtype=np.bool_)
    missing = never_asked(items, before, everywhere) or never_asked(items, after, everywhere)
    if missing:
        return unmeasured(0, missing)
    both = ~np.isnan(before.score) & ~np.isnan(after.score)
    return mean_change(before.score[both], after.score[both], items.grouped(both))


FOLDS = 5
FEWEST = 10
"""A category with fewer questions is tuned and scored on the same items, and is marked as optimistic."""


@dataclass(frozen=True, slots=True)
class TunedCategory:
    """A category's threshold from all its items (k + 1: gate never on); ``accuracy`` uses those ``by_fold``."""

    category: str
    n: int
    agree: int
    by_fold: tuple[int, ...]
    accuracy: Estimate
    optimistic: bool


@dataclass(frozen=True, slots=True)
class Tuned:
    """Condition C with a threshold per category; ``optimistic`` if one of them is not cross-validated."""

    accuracy: Estimate
    optimistic: bool
    categories: tuple[TunedCategory, ...] = ()


def tuned_by_category(items: Items) -> Tuned:
    """Return condition C with the best threshold of each category; of equal thresholds, the highest is used."""
    everywhere = np.ones(items.n, dtype=np.bool_)
    for verdicts in (items.without, items.always):
        missing = never_asked(items, verdicts, everywhere)
        if missing:
            return Tuned(unmeasured(0, missing), optimistic=False)
    measured = ~np.isnan(items.without.score) & ~np.isnan(items.always.score)
    named = np.array(items.categories, dtype=object)
    tuned, scores, scored, order = [], [], [], np.argsort(items.pair_ids, kind="stable")
    for category in sorted(set(items.categories)):
        rows = order[(measured & (named == category))[order]]
        if not len(rows):
            continue
        at_each = np.stack([items.selective(needed).score[rows] for needed in range(1, items.k + 2)])
        category_tuned, category_scores = _tuned(category, at_each, items.grouped(rows))
        tuned.append(category_tuned)
        scores.append(category_scores)
        scored.append(rows)
    if not tuned:
        return Tuned(unmeasured(0, "no item has usable verdicts in both conditions"), optimistic=False)
    optimistic = any(category.optimistic for category in tuned)
    groups = items.grouped(np.concatenate(scored))
    return Tuned(_estimate(np.concatenate(scores), groups, optimistic=optimistic), optimistic, tuple(tuned))


def _tuned(category: str, at_each: FloatArray, questions: Grouping) -> tuple[TunedCategory, FloatArray]:
    """Tune one category: ``at_each`` has a row per threshold (from 1 of k) and a column per item."""
    n = at_each.shape[1]
    optimistic = questions.count < FEWEST
    # Folds of equal size, shuffled because files often repeat a pattern. A question is in one fold.
    of_questions = np.random.Generator(np.random.SFC64(SEED)).permutation(np.arange(questions.count) % FOLDS)
    folds: IntArray = of_questions[questions.codes]
    seen = [at_each if optimistic else at_each[:, folds != fold] for fold in range(FOLDS)]
    by_fold = [_best(each) for each in seen]
    scores = at_each[np.array(by_fold)[folds] - 1, np.arange(n)]
    estimate = _estimate(scores, questions, optimistic=optimistic)
    return TunedCategory(category, n, _best(at_each), tuple(sorted(set(by_fold))), estimate, optimistic), scores


def _best(at_each: FloatArray) -> int:
    means = at_each.mean(axis=1)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[-1]) + 1


def _estimate(scores: FloatArray, groups: Grouping, *, optimistic: bool) -> Estimate:
    estimate = half_credit(scores, groups)
    how = "optimistic: tuned on the same items" if optimistic else f"thresholds from the other folds of {FOLDS}"
    return replace(estimate, method=f"{estimate.method}; {how}")
