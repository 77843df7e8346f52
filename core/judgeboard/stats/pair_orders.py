"""Verdicts on pairs of answers that a judge saw in both orders: which verdict counts, and how far both agree.

Source: "LLM-as-Judge", AI Engineering Patterns (2026), pairwise comparison. A pair whose verdict
differs between the orders is inconsistent: an option decides how the pair counts. A pair with an unusable
verdict in one order is unmeasured.
"""

from dataclasses import replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, BoolArray, Grouping, IntArray, grouping, same_length
from judgeboard.stats.estimates import complement, unmeasured
from judgeboard.stats.intervals import share_estimate
from judgeboard.stats.proportions import share

A, B, TIE = 0, 1, 2
WRONG = 3
"""A verdict that counts as wrong: the position after the three sides, which no truth has."""
NONE = -1
"""No usable verdict, no gold, no preference."""
INCONSISTENT = -2

UnusableAs = Literal["drop", "tie", "wrong"]
"""How an unusable verdict counts in a comparison with the truth."""

UNUSABLE_AS: tuple[UnusableAs, ...] = get_args(UnusableAs)

InconsistentAs = Literal["net", "drop", "wrong", "tie"]
"""How a pair counts if the judge's preference changes with the order of the answers.

``net`` adds the votes of both orders (A: -1, tie: 0, B: 1). A and B give a tie; a tie and A give A.
"""

INCONSISTENT_AS: tuple[InconsistentAs, ...] = get_args(InconsistentAs)

ONE_ORDER = "not measured (one order)"

_COUNTED_AS = {"tie": TIE, "wrong": WRONG}


class OrderVerdicts:
    """Verdicts on pairs (A, B, TIE or NONE), one row per pair: ``ab`` if A was shown first, ``ba`` if B was.

    With ``one_order`` the judge saw each pair in one order only, and this verdict counts. Pairs
    with equal ``questions`` are about one question: intervals resample questions. By default all
    questions differ.
    """

    def __init__(
        self,
        ab: IntArray,
        ba: IntArray,
        *,
        one_order: bool = False,
        questions: IntArray | None = None,
    ) -> None:
        self.n = same_length(ab, ba)
        self.ab, self.ba, self.one_order = ab, ba, one_order
        self.questions = np.arange(self.n) if questions is None else questions
        same_length(ab, self.questions)
        if one_order and bool(((ab != NONE) & (ba != NONE)).any()):
            raise ValueError("a judge that was asked in one order has no verdicts in both")

    def at(self, rows: AnyArray) -> "OrderVerdicts":
        """Return the verdicts on some of the pairs, by a mask or by positions."""
        return OrderVerdicts(
            self.ab[rows], self.ba[rows], one_order=self.one_order, questions=self.questions[rows]
        )

    @cached_property
    def both(self) -> BoolArray:
        """Which pairs have a usable verdict in both orders."""
        both: BoolArray = (self.ab != NONE) & (self.ba != NONE)
        return both

    @cached_property
    def verdicts(self) -> IntArray:
        """The verdict on each pair: A, B, TIE, INCONSISTENT, or NONE if unmeasured."""
        if self.one_order:
            return np.where(self.ab != NONE, self.ab, self.ba)
        return np.where(self.both, np.where(self.ab == self.ba, self.ab, INCONSISTENT), NONE)

    def counted(
        self, inconsistent: InconsistentAs = "net", unusable: UnusableAs = "drop"
    ) -> IntArray:
        """Return the verdict that counts for each pair: A, B, TIE or WRONG; INCONSISTENT or NONE is left out."""
        verdicts = self.verdicts
        if inconsistent == "net":
            net = np.where(self.ab == TIE, self.ba, np.where(self.ba == TIE, self.ab, TIE))
            verdicts = np.where(verdicts == INCONSISTENT, net, verdicts)
        else:
            verdicts = np.where(
                verdicts == INCONSISTENT, _COUNTED_AS.get(inconsistent, INCONSISTENT), verdicts
            )
        return np.where(verdicts == NONE, _COUNTED_AS.get(unusable, NONE), verdicts)

    def unusable(self, asked: tuple[BoolArray, BoolArray]) -> Estimate:
        """Return the share of unusable verdicts among verdicts that were ``asked`` for, by order. n counts verdicts."""
        rows = np.concatenate([np.flatnonzero(each) for each in asked])
        if not rows.size:
            return unmeasured(0, "no verdict was asked for")
        is_missing = np.concatenate(
            [sides[each] == NONE for sides, each in zip((self.ab, self.ba), asked, strict=True)]
        )
        return self._share(is_missing, rows)

    def counts(self) -> dict[str, int]:
        """Return the number of pairs by result: pairs = wins_a + wins_b + ties + flips + tie_win + unmeasured.

        ``flips`` are A in one order and B in the other; ``tie_win`` are a tie in one order only.
        """
        verdicts, differ = self.verdicts, self.verdicts == INCONSISTENT
        tie_win = int((differ & ((self.ab == TIE) | (self.ba == TIE))).sum())
        sides = {"unmeasured": NONE, "wins_a": A, "wins_b": B, "ties": TIE}
        return {
            "pairs": self.n,
            "both_usable": int(self.both.sum()),
            **{name: int((verdicts == side).sum()) for name, side in sides.items()},
            "flips": int(differ.sum()) - tie_win,
            "tie_win": tie_win,
        }

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

        Only pairs with both orders usable count. n is the number of verdicts.
        """
        if self.one_order:
            return unmeasured(0, ONE_ORDER)
        pairs = np.flatnonzero(self.both)
        first = np.concatenate((self.ab[pairs] == A, self.ba[pairs] == B))
        is_decided = np.concatenate((self.ab[pairs] != TIE, self.ba[pairs] != TIE))
        if not is_decided.any():
            return unmeasured(0, "all usable verdicts in both orders are ties")
        hits, rows = first[is_decided], np.tile(pairs, 2)[is_decided]
        if hits.all() or not hits.any():
            return self._share(hits, rows)
        # A pair with the same preference in both orders has one verdict for each place, so the two
        # verdicts balance.
        of_pairs = self._grouping(rows)
        estimate = share_estimate(float(hits.mean()), hits.astype(np.float64), of_pairs)
        return (
            estimate if estimate.low is not None or of_pairs.count < 2 else self._share(hits, rows)
        )

    def leans(self, place: Literal["first", "second"]) -> Estimate:
        """Return the share of pairs whose verdicts differ and prefer the answer shown at this place.

        A tie in one order and a win in the other prefer a place too. Both places add up to
        `changed_with_order`. n is the number of pairs with both orders usable. Source: L. Zheng et
        al. (2023), table 2.
        """
        if self.one_order or not self.both.any():
            return self.self_consistency()
        towards_first = (self.ab == A) * 1 - (self.ab == B) + (self.ba == B) - (self.ba == A)
        hits = towards_first > 0 if place == "first" else towards_first < 0
        return self._share(hits[self.both], np.flatnonzero(self.both))

    def accuracy_of_orders(
        self, truth: IntArray, unusable: UnusableAs = "drop", *, unknown: str
    ) -> Estimate:
        """Return how often a single verdict is right, as the mean of both orders.

        ``truth`` is A, B or TIE of each pair, NONE if not known; ``unknown`` is the reason if no
        truth is known.
        """
        if self.one_order:
            return self.accuracy(truth, unusable=unusable, unknown=unknown)
        is_known = truth != NONE
        rows = np.flatnonzero(is_known & self.both if unusable == "drop" else is_known)
        if not rows.size:
            return unmeasured(0, "no usable verdict on these pairs" if is_known.any() else unknown)
        verdicts = np.concatenate((self.ab[rows], self.ba[rows]))
        outcomes = np.where(verdicts == NONE, _COUNTED_AS.get(unusable, NONE), verdicts)
        return replace(
            self._share(outcomes == np.tile(truth[rows], 2), np.tile(rows, 2)), n=rows.size
        )

    def accuracy(
        self,
        truth: IntArray,
        inconsistent: InconsistentAs = "net",
        unusable: UnusableAs = "drop",
        *,
        unknown: str,
    ) -> Estimate:
        """Return how often the verdict that counts for a pair (`counted`) is right; see `accuracy_of_orders`."""
        verdicts = self.counted(inconsistent, unusable)
        rows = np.flatnonzero((truth != NONE) & (verdicts >= 0))
        if not rows.size:
            return unmeasured(
                0, "no usable verdict on these pairs" if (truth != NONE).any() else unknown
            )
        return self._share(verdicts[rows] == truth[rows], rows)

    def _share(self, hits: BoolArray, pairs: IntArray) -> Estimate:
        """Return the share of ``hits``, one row per verdict on one of the ``pairs``."""
        return share(hits, self._grouping(pairs))

    def _grouping(self, pairs: IntArray) -> Grouping:
        """Return the question of each row, which has a verdict on one of the ``pairs``."""
        group = "question" if len(np.unique(self.questions)) < self.n else "pair"
        return grouping(self.questions[pairs], pairs.size, row="pair", group=group)
