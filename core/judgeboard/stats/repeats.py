"""How far a judge agrees with itself: on answers that it judged repeatedly, and on pairs that it saw in both orders.

Source for pairs: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise comparison. A pair whose verdict differs
between the orders is inconsistent: an option decides how it counts. A pair with an unusable verdict in one order is
unmeasured.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import (
    AnyArray,
    BoolArray,
    FloatArray,
    Grouping,
    IntArray,
    grouping,
    ratio,
    row_sums,
    same_length,
)
from judgeboard.stats.chance_corrected import EVERY_VALUE_THE_SAME, interval_alpha
from judgeboard.stats.estimates import complement, leaving_out, unmeasured
from judgeboard.stats.intervals import jackknifed, mean_estimate
from judgeboard.stats.proportions import share

RepeatedItem = Mapping[int, Mapping[str, float]]
"""The values of one item by the number of the repeat, then by measure. An unusable repeat has no values."""

_FIRST = ("quality", "groundedness", "label")
_DIGITS = 9  # values that differ only by float noise are equal


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedMeasure:
    """One measure of the items that have a value in every repeat.

    ``rows`` are the positions of these items. ``values`` has a row for each item and a column for each repeat. ``same``
    marks the items with equal values. ``incomplete`` is the number of items with values in some repeats only,
    ``no_value`` that of items without any. ``spread`` is the mean difference between an item's highest and lowest
    value.
    """

    measure: str
    rows: IntArray
    values: FloatArray
    same: BoolArray
    incomplete: int
    no_value: int
    self_consistency: Estimate
    krippendorff_alpha: Estimate
    icc: Estimate
    cronbach_alpha: Estimate
    spread: Estimate


def repeated_measures(items: Sequence[RepeatedItem], groups: IntArray) -> tuple[RepeatedMeasure, ...]:
    """Return each measure of the repeats, the one with the most complete items first.

    The judge was asked about ``items`` at least twice. ``groups`` has their evidence groups.
    """
    names = {name: None for item in items for repeat in item.values() for name in repeat}
    measures = [_measure(name, items, groups) for name in names]
    first: dict[str, int] = {name: place for place, name in enumerate(_FIRST)}
    measures.sort(key=lambda each: (-len(each.rows), first.get(each.measure, len(first)), each.measure))
    return tuple(measures)


def _measure(name: str, items: Sequence[RepeatedItem], groups: IntArray) -> RepeatedMeasure:
    complete = [all(name in repeat for repeat in item.values()) for item in items]
    some = [any(name in repeat for repeat in item.values()) for item in items]
    rows: IntArray = np.flatnonzero(complete)
    incomplete, no_value = sum(some) - len(rows), len(items) - sum(some)
    if not len(rows):
        nothing = unmeasured(0, "no item has a value in every repeat")
        no_values, none_same = np.empty((0, 0)), np.empty(0, dtype=np.bool_)
        return RepeatedMeasure(name, rows, no_values, none_same, incomplete, no_value, *[nothing] * 5)
    repeats = [[round(repeat[name], _DIGITS) for _, repeat in sorted(items[row].items())] for row in rows.tolist()]
    table: FloatArray = np.array(list(zip_longest(*repeats, fillvalue=np.nan))).T
    apart: FloatArray = np.nanmax(table, axis=1) - np.nanmin(table, axis=1)
    same: BoolArray = apart == 0
    by_group = grouping(groups[rows], len(rows))
    return RepeatedMeasure(
        measure=name,
        rows=rows,
        values=table,
        same=same,
        incomplete=incomplete,
        no_value=no_value,
        self_consistency=share(same, groups[rows]),
        krippendorff_alpha=interval_alpha(table, by_group),
        icc=intraclass_correlation(table, by_group),
        cronbach_alpha=cronbach_alpha(table, by_group),
        spread=mean_estimate(apart, by_group),
    )


def intraclass_correlation(values: FloatArray, groups: Grouping) -> Estimate:
    """Return the one-way ICC(1) of ``values`` (items, repeats): the share of their variance that is between items.

    Repeats are exchangeable: the second repeat of one item has nothing to do with the second repeat of another. Source:
    P. E. Shrout, J. L. Fleiss, "Intraclass correlations: uses in assessing rater reliability" (Psychological Bulletin,
    1979), ICC(1,1).
    """

    def of_sums(sums: FloatArray) -> FloatArray:
        n, k = sums[..., 0], values.shape[1]
        total, total_squared, squares = np.moveaxis(sums[..., 1:], -1, 0)
        between: FloatArray = ratio(total_squared / k - ratio(total * total, n * k), n - 1)
        within = ratio(squares - total_squared / k, n * (k - 1))
        return ratio(between - within, between + (k - 1) * within, above=1e-9)

    return _of_repeats(values, groups, lambda x: (x.sum(axis=1), x.sum(axis=1) ** 2, np.square(x).sum(axis=1)), of_sums)


def cronbach_alpha(values: FloatArray, groups: Grouping) -> Estimate:
    """Return Cronbach's alpha of ``values`` (items, repeats): the reliability of the mean of all repeats.

    Source: L. J. Cronbach, "Coefficient alpha and the internal structure of tests" (Psychometrika, 1951).
    """

    def of_sums(sums: FloatArray) -> FloatArray:
        n, k = sums[..., :1], values.shape[1]
        sums, squares = sums[..., 1 : k + 2], sums[..., k + 2 :]  # of each repeat, then of their total
        spread = squares - ratio(sums * sums, n)
        unshared = ratio(row_sums(spread[..., :k]), spread[..., k], above=1e-9)
        value: FloatArray = (1 - unshared) * k / (k - 1)
        return value

    def columns(x: FloatArray) -> tuple[FloatArray, ...]:
        every = np.column_stack((x, x.sum(axis=1)))
        return every, np.square(every)

    return _of_repeats(values, groups, columns, of_sums)


def _of_repeats(
    values: FloatArray,
    groups: Grouping,
    columns: Callable[[FloatArray], tuple[FloatArray, ...]],
    of_sums: Callable[[FloatArray], FloatArray],
) -> Estimate:
    """Return a statistic of the summed ``columns``, after the number of items, on the items with every repeat."""
    complete: BoolArray = np.asarray(~np.isnan(values).any(axis=1))
    x, n = values[complete], int(complete.sum())
    if n < 2 or x.shape[1] < 2:
        return unmeasured(n, "fewer than two items with every repeat")
    x = x - x.mean()  # Only differences count. Values are centred and scaled so that their sums lose no digits.
    spread = float(np.sqrt(np.square(x).mean()))
    if np.isclose(spread, 0):
        return unmeasured(n, EVERY_VALUE_THE_SAME)
    sums = np.column_stack((np.ones(n), *columns(x / spread)))
    if np.isnan(of_sums(sums.sum(axis=0))):
        return unmeasured(n, "the items do not differ")
    estimate = jackknifed(sums, of_sums, groups.at(complete), n, alike="no two repeats of an item differ")
    return leaving_out(estimate, ("items with fewer repeats", len(values) - n))


A, B, TIE = 0, 1, 2
WRONG = 3
"""A verdict that counts as wrong: the position after the three sides, which no truth has."""
NONE = -1
"""No usable verdict, no gold, no preference."""
INCONSISTENT = -2

UnusableAs = Literal["drop", "tie", "wrong"]
"""How an unusable verdict counts in a comparison with the truth."""

UNUSABLE_AS: tuple[UnusableAs, ...] = ("drop", "tie", "wrong")

InconsistentAs = Literal["net", "drop", "wrong", "tie"]
"""How a pair counts if the judge's preference changes with the order of the answers.

``net`` adds the votes of both orders (A: -1, tie: 0, B: 1). A and B give a tie; a tie and A give A.
"""

INCONSISTENT_AS: tuple[InconsistentAs, ...] = ("net", "drop", "wrong", "tie")

ONE_ORDER = "not measured (one order)"

_COUNTED_AS = {"tie": TIE, "wrong": WRONG}


@dataclass(frozen=True)
class BothOrderCounts:
    """Pairs by result: pairs = wins_a + wins_b + ties + flips + tie_win + unmeasured.

    ``flips`` are A in one order and B in the other; ``tie_win`` are a tie in one order only.
    """

    pairs: int
    both_usable: int
    unmeasured: int
    wins_a: int
    wins_b: int
    ties: int
    flips: int
    tie_win: int


class OrderVerdicts:
    """Verdicts on pairs (A, B, TIE or NONE), one row per pair: ``ab`` if A was shown first, ``ba`` if B was.

    With ``one_order`` the judge saw each pair in one order only, and this verdict counts. Pairs with equal
    ``questions`` are about one question: intervals resample questions. By default each pair has its own question.
    """

    def __init__(
        self, ab: IntArray, ba: IntArray, *, one_order: bool = False, questions: IntArray | None = None
    ) -> None:
        self.n = same_length(ab, ba)
        self.ab, self.ba, self.one_order = ab, ba, one_order
        self.questions = np.arange(self.n) if questions is None else questions
        same_length(ab, self.questions)
        if one_order and bool(((ab != NONE) & (ba != NONE)).any()):
            raise ValueError("a judge that was asked in one order has no verdicts in both")

    def at(self, rows: AnyArray) -> "OrderVerdicts":
        """Return the verdicts on some of the pairs, by a mask or by positions."""
        return OrderVerdicts(self.ab[rows], self.ba[rows], one_order=self.one_order, questions=self.questions[rows])

    @cached_property
    def both(self) -> BoolArray:
        """Which pairs have a usable verdict in both orders."""
        both: BoolArray = (self.ab != NONE) & (self.ba != NONE)
        return both

    @cached_property
    def verdicts(self) -> IntArray:
        """The verdict on each pair: A, B, TIE, INCONSISTENT, or NONE where it is unmeasured."""
        if self.one_order:
            return np.where(self.ab != NONE, self.ab, self.ba)
        return np.where(self.both, np.where(self.ab == self.ba, self.ab, INCONSISTENT), NONE)

    def counted(self, inconsistent: InconsistentAs = "net", unusable: UnusableAs = "drop") -> IntArray:
        """Return the verdict that counts for each pair: A, B, TIE or WRONG; INCONSISTENT or NONE is left out."""
        verdicts = self.verdicts
        if inconsistent == "net":
            net = np.where(self.ab == TIE, self.ba, np.where(self.ba == TIE, self.ab, TIE))
            verdicts = np.where(verdicts == INCONSISTENT, net, verdicts)
        else:
            verdicts = np.where(verdicts == INCONSISTENT, _COUNTED_AS.get(inconsistent, INCONSISTENT), verdicts)
        return np.where(verdicts == NONE, _COUNTED_AS.get(unusable, NONE), verdicts)

    def counts(self) -> BothOrderCounts:
        """Return the number of pairs by result."""
        verdicts, differ = self.verdicts, self.verdicts == INCONSISTENT
        tie_win = int((differ & ((self.ab == TIE) | (self.ba == TIE))).sum())
        return BothOrderCounts(
            pairs=self.n,
            both_usable=int(self.both.sum()),
            unmeasured=int((verdicts == NONE).sum()),
            wins_a=int((verdicts == A).sum()),
            wins_b=int((verdicts == B).sum()),
            ties=int((verdicts == TIE).sum()),
            flips=int(differ.sum()) - tie_win,
            tie_win=tie_win,
        )

    def self_consistency(self) -> Estimate:
        """Return the share of equal verdicts among the pairs with both orders usable."""
        if self.one_order:
            return unmeasured(0, ONE_ORDER)
        if not self.both.any():
            return unmeasured(0, "no pair has usable verdicts in both orders")
        return self._share((self.ab == self.ba)[self.both], np.flatnonzero(self.both))

    def changed_with_order(self) -> Estimate:
        """Return the share of different verdicts among the pairs with both orders usable."""
        return complement(self.self_consistency())

    def first_position(self) -> Estimate:
        """Return the share of single verdicts, ties excluded, for the answer shown first; 0.5 means no position bias.

        It counts pairs with both orders usable. n is the number of verdicts.
        """
        if self.one_order:
            return unmeasured(0, ONE_ORDER)
        pairs = np.flatnonzero(self.both)
        first = np.concatenate((self.ab[pairs] == A, self.ba[pairs] == B))
        decided = np.concatenate((self.ab[pairs] != TIE, self.ba[pairs] != TIE))
        if not decided.any():
            return unmeasured(0, "all usable verdicts in both orders are ties")
        return self._share(first[decided], np.tile(pairs, 2)[decided])

    def accuracy_of_orders(self, truth: IntArray, unusable: UnusableAs = "drop", *, unknown: str) -> Estimate:
        """Return how often a single verdict is right, as the mean of both orders.

        ``truth`` is A, B or TIE of each pair, NONE if it is not known; ``unknown`` is the reason if none is known.
        """
        if self.one_order:
            return self.accuracy(truth, unusable=unusable, unknown=unknown)
        known = truth != NONE
        rows = np.flatnonzero(known & self.both if unusable == "drop" else known)
        if not rows.size:
            return unmeasured(0, "no usable verdict on these pairs" if known.any() else unknown)
        verdicts = np.concatenate((self.ab[rows], self.ba[rows]))
        counted = np.where(verdicts == NONE, _COUNTED_AS.get(unusable, NONE), verdicts)
        return replace(self._share(counted == np.tile(truth[rows], 2), np.tile(rows, 2)), n=rows.size)

    def accuracy(
        self,
        truth: IntArray,
        inconsistent: InconsistentAs = "net",
        unusable: UnusableAs = "drop",
        *,
        unknown: str,
    ) -> Estimate:
        """Return how often the verdict that counts for a pair (`counted`) is right; see `accuracy_of_orders`."""
        counted = self.counted(inconsistent, unusable)
        rows = np.flatnonzero((truth != NONE) & (counted >= 0))
        if not rows.size:
            return unmeasured(0, "no usable verdict on these pairs" if (truth != NONE).any() else unknown)
        return self._share(counted[rows] == truth[rows], rows)

    def _share(self, hits: BoolArray, pairs: IntArray) -> Estimate:
        """Return the share of ``hits``, one row per verdict on one of the ``pairs``."""
        group = "question" if len(np.unique(self.questions)) < self.n else "pair"
        return share(hits, grouping(self.questions[pairs], hits.size, row="pair", group=group))
