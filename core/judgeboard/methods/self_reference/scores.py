"""Figures of self-reference: conditions, gate, slices, levels of agreement, categories, other and tuned gates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from judgeboard.domain import Estimate, Preference, Status
from judgeboard.measure.notes import Note, note
from judgeboard.measure.result import ALL, About, Result, Row
from judgeboard.measure.words import FIGURES
from judgeboard.methods.self_reference.own_answers import Majority
from judgeboard.stats.arrays import AnyArray, BoolArray, FloatArray, Grouping, IntArray, grouping
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.intervals import SEED, share_estimate
from judgeboard.stats.means import mean_change
from judgeboard.stats.proportions import half_credit, share
from judgeboard.store.comparisons import BothOrders

RIGHT, WRONG, UNKNOWN = 1, 0, -1
GATE_ON, GATE_OFF = "Gate on", "Gate off"
CONDITIONS = {name: FIGURES[name].title for name in ("without", "always", "selective")}
"""The names of conditions by figure. The judge's own answer is the reference never, always, or if the gate is on."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question with two answers: the majority of the samples, and the judge's verdicts.

    ``right`` is whether the majority is the correct answer; None if unknown. For the ``reference``
    verdicts, the judge saw the majority's answer as the correct one; for the ``plain`` verdicts,
    the judge saw no reference. Both are None if the judge was not asked. Items about one question
    have an equal ``question`` (default: all differ). ``samples_right`` is whether each sample is
    right.
    """

    pair_id: int
    category: str
    gold: Preference | None
    majority: Majority
    right: bool | None = None
    plain: BothOrders | None = None
    reference: BothOrders | None = None
    question: int | None = None
    samples_right: tuple[bool | None, ...] = ()


class Verdicts(NamedTuple):
    """A judge's verdicts in one condition, one entry per item.

    ``score`` is 1 if both orders agree with the gold preference, 0 if both agree on another one,
    and 0.5 if the orders differ (a ``split``). The score is NaN if the item is not ``asked``, not
    usable in an order, or has no gold preference.
    """

    score: FloatArray
    split: BoolArray
    asked: BoolArray
    usable: BoolArray

    def where(self, rows: BoolArray, others: "Verdicts") -> "Verdicts":
        """Return own verdicts on ``rows`` and ``others`` on all other items."""
        return Verdicts(
            *(np.where(rows, column, other) for column, other in zip(self, others, strict=True))
        )


@dataclass(frozen=True, slots=True)
class Items:
    """All items as arrays, one entry per item.

    ``answers`` are the answers of the majority, ``agree`` counts the samples with this answer (0:
    no sample has an answer), and ``tie`` tells whether another answer is equally common. ``right``
    is ``RIGHT``, ``WRONG`` or ``UNKNOWN``. ``gold`` tells whether the better answer is known. Items
    with equal ``questions`` are resampled together. ``samples_right`` is the share of right
    samples, or NaN. ``without`` is condition A. ``always`` is condition B, or the verdict of A if
    no sample has an answer. ``left_out`` counts the questions that are no items by the code of a
    caveat, ``steps`` the stored samples and comparisons by status.
    """

    k: int
    pair_ids: IntArray
    questions: IntArray
    categories: tuple[str, ...]
    answers: tuple[str | None, ...]
    agree: IntArray
    tie: BoolArray
    samples_right: FloatArray
    right: IntArray
    gold: BoolArray
    without: Verdicts
    always: Verdicts
    left_out: Mapping[str, int] = field(default_factory=dict)
    steps: Mapping[Status, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The number of items."""
        return len(self.pair_ids)

    def grouped(self, rows: AnyArray) -> Grouping:
        """Return the questions of some items, by a mask or by positions: intervals resample questions."""
        questions = self.questions[rows]
        return grouping(questions, len(questions), row="pair", group="question")

    @property
    def answered(self) -> BoolArray:
        """Which items have at least one sample with an answer."""
        return self.agree > 0

    def gate(self, needed: int) -> BoolArray:
        """Return whether the gate is on for each item: at least ``needed`` samples agree on an answer."""
        return self.answered & (self.agree >= needed)

    def selective(self, needed: int) -> Verdicts:
        """Return condition C: the verdicts of B if the gate is on, otherwise the verdicts of A."""
        return self.always.where(self.gate(needed), self.without)

    def conditions(self, needed: int) -> dict[str, Verdicts]:
        """Return the conditions in which the judge was asked, by the name of the figure."""
        verdicts = {
            "without": self.without,
            "always": self.always,
            "selective": self.selective(needed),
        }
        return {name: each for name, each in verdicts.items() if each.asked.any()}

    def parts(self, needed: int) -> dict[str, BoolArray]:
        """Return the items with the gate on or off, and the four slices, which need a known correct answer."""
        on, right, wrong = self.gate(needed), self.right == RIGHT, self.right == WRONG
        return {
            GATE_ON: on,
            GATE_OFF: ~on,
            "Gate on, own answer right": on & right,
            "Gate on, own answer wrong": on & wrong,
            "Gate off, own answer right": ~on & right,
            "Gate off, own answer wrong": ~on & wrong,
        }


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
        answers=tuple(item.majority.answer for item in items),
        agree=agree,
        tie=np.array([item.majority.tie for item in items], dtype=np.bool_),
        right=np.array([rights[item.right] for item in items], dtype=np.int64),
        samples_right=np.array(
            [_share_right(item.samples_right) for item in items], dtype=np.float64
        ),
        gold=np.array([item.gold is not None for item in items], dtype=np.bool_),
        without=plain,
        always=_verdicts([item.reference for item in items], items).where(agree > 0, plain),
    )


def _share_right(samples: Sequence[bool | None]) -> float:
    values = [right for right in samples if right is not None]
    return sum(values) / len(values) if values and len(values) == len(samples) else np.nan


def _verdicts(orders: Sequence[BothOrders | None], items: Sequence[Item]) -> Verdicts:
    asked, usable, split, hits = (np.zeros(len(items), dtype=np.bool_) for _ in range(4))
    for row, (each, item) in enumerate(zip(orders, items, strict=True)):
        if each is not None:
            asked[row] = each.asked_ab or each.asked_ba
            usable[row] = None not in (each.ab, each.ba)
            split[row] = usable[row] and each.ab != each.ba
            hits[row] = each.ab == item.gold
    gold = np.array([item.gold is not None for item in items], dtype=np.bool_)
    score = np.where(usable & gold, np.where(split, 0.5, hits), np.nan)
    return Verdicts(score, split, asked, usable)


NO_REFERENCE = "no correct answer is known"


def gate_words(needed: int, k: int) -> str:
    """Return the words for a gate: "4 of 5"."""
    return f"{needed} of {k}"


def accuracy(items: Items, verdicts: Verdicts, rows: BoolArray) -> Estimate:
    """Return how often a condition prefers the gold answer on ``rows``.

    Unmeasured if the judge was never asked at some level of agreement: the other items are another
    population.
    """
    if not rows.any():
        return unmeasured(0, "no such item")
    why_not_asked = never_asked(items, verdicts, rows)
    if why_not_asked:
        return unmeasured(0, why_not_asked)
    rows_with_score = rows & ~np.isnan(verdicts.score)
    why = (
        "no item has two usable verdicts"
        if (rows & items.gold).any()
        else "the better answer is not known"
    )
    return half_credit(
        verdicts.score[rows_with_score], items.grouped(rows_with_score), undefined=why
    )


def never_asked(items: Items, verdicts: Verdicts, rows: BoolArray) -> str | None:
    """Return at which level of agreement the judge was never asked, in words; None if asked at all levels."""
    if not verdicts.asked[rows].any():
        return "the judge was not asked"
    agree, asked = items.agree[rows], verdicts.asked[rows]
    levels = [level for level in np.unique(agree).tolist() if not asked[agree == level].any()]
    return f"not asked at {gate_words(levels[0], items.k)}" if levels else None


def share_of(items: Items, hits: BoolArray, rows: BoolArray) -> Estimate:
    """Return the share of the items ``rows`` that are ``hits``."""
    return share(hits[rows], items.grouped(rows)) if rows.any() else unmeasured(0, "no such item")


def right_share(items: Items, rows: BoolArray) -> Estimate:
    """Return how often the majority is right, on the items ``rows`` whose correct answer is known."""
    known_rows = rows & (items.right != UNKNOWN)
    if rows.any() and not known_rows.any():
        return unmeasured(0, NO_REFERENCE)
    return share_of(items, items.right == RIGHT, known_rows)


def main_rows(items: Items, needed: int) -> Iterator[Row]:
    """Yield the accuracy in each condition, of all items, by gate, and by gate and own answer.

    Then how often the gate is on and is then right, how much more often C is right than A and B,
    and how often the samples are right.
    """
    everywhere, conditions = np.ones(items.n, dtype=np.bool_), items.conditions(needed)
    for name, rows in (*items.parts(needed).items(), (ALL, everywhere)):
        yield count_row(name, int(rows.sum()))
        if name is not ALL:
            yield Row.of(
                "share",
                name,
                share_of(items, rows, (items.right != UNKNOWN) if "," in name else everywhere),
            )
        yield from (
            Row.of(condition, name, accuracy(items, each, rows))
            for condition, each in conditions.items()
        )
    yield from gate_rows(items, needed, ALL, everywhere)
    for condition, before in conditions.items():
        if condition != "selective":
            yield Row.of(f"gain_{condition}", ALL, gain(items, before, items.selective(needed)))
    rows_of_samples = ~np.isnan(items.samples_right)
    if rows_of_samples.any():
        shares, groups = items.samples_right[rows_of_samples], items.grouped(rows_of_samples)
        # Shares of only 0 and 1 are hits. A share of hits has an interval also if all are equal.
        mean = (
            share(shares == 1, groups)
            if np.isin(shares, (0, 1)).all()
            else share_estimate(float(shares.mean()), shares, groups)
        )
        yield Row.of("sample_right", ALL, mean)
        yield Row.of("sample_majority", ALL, share_of(items, items.right == RIGHT, rows_of_samples))
        yield Row.of("sample_best", ALL, share_of(items, items.samples_right > 0, rows_of_samples))


def count_row(slice_: str | None, n: int) -> Row:
    """Return a number of items as a row."""
    return Row("n", slice_, n, n=n)


def gate_rows(items: Items, needed: int, slice_: str | None, rows: BoolArray) -> Iterator[Row]:
    """Yield how often the gate is on, and how often the majority is then right."""
    on = items.gate(needed)
    yield Row.of("gate_on", slice_, share_of(items, on, rows))
    yield Row.of("right_if_on", slice_, right_share(items, rows & on))


def conditions_part(items: Items, needed: int) -> Result:
    """Return how many items have contradictory verdicts, no usable verdict, or were not asked, by condition."""
    rows = []
    for name, verdicts in items.conditions(needed).items():
        for figure, hits in (
            ("inconsistent", verdicts.split),
            ("unmeasured", verdicts.asked & ~verdicts.usable),
            ("not_asked", ~verdicts.asked),
        ):
            rows.append(Row(figure, CONDITIONS[name], int(hits.sum()), n=items.n))
    return _part("verdicts_by_condition", "condition", rows)


def _part(code: str, by: str, rows: Sequence[Row], *caveats: Note) -> Result:
    return Result(
        about=About(by=by, unit="pairs"), headline=note(code), rows=tuple(rows), caveats=caveats
    )


def levels_part(items: Items) -> Result:
    """Return how often the majority is right, by the number of samples that agree, from 1 to k."""
    rows = []
    for agree in range(1, items.k + 1):
        level = (items.agree == agree) & (items.right != UNKNOWN)
        if level.any():
            name = gate_words(agree, items.k)
            rows += [
                count_row(name, int(level.sum())),
                Row.of("own_right", name, right_share(items, level)),
            ]
    return _part("right_by_level", "agree", rows)


def gates_part(items: Items) -> Result:
    """Return condition C at every threshold from 1 to k samples; needs no new calls."""
    rows, everywhere = [], np.ones(items.n, dtype=np.bool_)
    for needed in range(1, items.k + 1):
        gate = gate_words(needed, items.k)
        if "selective" in items.conditions(needed):
            rows.append(
                Row.of("selective", gate, accuracy(items, items.selective(needed), everywhere))
            )
        rows += gate_rows(items, needed, gate, everywhere)
    return _part("other_gates", "gate_threshold", rows)


def by_category(items: Items) -> dict[str, BoolArray]:
    """Return the items of each category, by name."""
    names = np.array(items.categories, dtype=object)
    return {category: names == category for category in sorted(set(items.categories))}


def categories_part(items: Items, needed: int) -> Result:
    """Return the figures of each category, at the common threshold."""
    figures, conditions = [], items.conditions(needed)
    for category, rows in by_category(items).items():
        figures += [count_row(category, int(rows.sum())), *gate_rows(items, needed, category, rows)]
        figures += (
            Row.of(name, category, accuracy(items, each, rows)) for name, each in conditions.items()
        )
    return _part("by_category", "category", figures)


def gain(items: Items, before: Verdicts, after: Verdicts) -> Estimate:
    """Return how much more often ``after`` prefers the gold answer than ``before`` does, on the same items."""
    everywhere = np.ones(items.n, dtype=np.bool_)
    why_not_asked = never_asked(items, before, everywhere) or never_asked(items, after, everywhere)
    if why_not_asked:
        return unmeasured(0, why_not_asked)
    rows = ~np.isnan(before.score) & ~np.isnan(after.score)
    return mean_change(before.score[rows], after.score[rows], items.grouped(rows))


FOLDS = 5
FEWEST = 10
"""A category with fewer questions is tuned and scored on the same items, and is marked as optimistic."""


def tuned_part(items: Items) -> Result:
    """Return condition C with the best threshold of each category; of equal thresholds, the highest is used.

    The threshold ``needed`` is from all items of a category (k + 1: the gate is never on). Each
    item is scored with the best threshold of the other folds, but in a category with few questions
    with the best threshold of all items of the category.
    """
    everywhere, why_not_asked = np.ones(items.n, dtype=np.bool_), None
    for verdicts in (items.without, items.always):
        why_not_asked = why_not_asked or never_asked(items, verdicts, everywhere)
    has_scores = ~np.isnan(items.without.score) & ~np.isnan(items.always.score)
    if why_not_asked is not None or not has_scores.any():
        return _part("tuned_unknown", "category", ())
    rows, scores, places_of_scores, optimistic = list[Row](), [], [], []
    order = np.argsort(items.pair_ids, kind="stable")
    for category, of_category in by_category(items).items():
        places = order[(has_scores & of_category)[order]]
        if not len(places):
            continue
        # Scores with each threshold: a row per threshold and a column per item.
        at_each = np.stack(
            [items.selective(needed).score[places] for needed in range(1, items.k + 2)]
        )
        questions = items.grouped(places)
        if questions.count < FEWEST:
            optimistic.append(category)
            scores.append(at_each[_best(at_each) - 1])
        else:
            # Folds of equal size, shuffled because files often repeat a pattern. A question is in
            # one fold.
            of_questions = np.random.Generator(np.random.SFC64(SEED)).permutation(
                np.arange(questions.count) % FOLDS
            )
            folds: IntArray = of_questions[questions.codes]
            by_fold = np.array([_best(at_each[:, folds != fold]) for fold in range(FOLDS)])
            scores.append(at_each[by_fold[folds] - 1, np.arange(at_each.shape[1])])
        places_of_scores.append(places)
        rows += [
            Row("needed", category, _best(at_each), n=len(places)),
            Row.of("selective", category, half_credit(scores[-1], questions)),
        ]
    rows.append(
        Row.of(
            "selective",
            ALL,
            half_credit(np.concatenate(scores), items.grouped(np.concatenate(places_of_scores))),
        )
    )
    return _part(
        "tuned",
        "category",
        rows,
        *([note("optimistic_gates", categories=optimistic)] if optimistic else []),
    )


def _best(at_each: FloatArray) -> int:
    means = at_each.mean(axis=1)
    return int(np.flatnonzero(means >= means.max() - 1e-12)[-1]) + 1
