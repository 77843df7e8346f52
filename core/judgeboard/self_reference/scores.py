"""The figures of self-reference: conditions, gate, slices, calibration, categories, sweep (methods.md §5)."""

from dataclasses import dataclass, replace

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.self_reference.items import RIGHT, UNKNOWN, WRONG, Items, Verdicts
from judgeboard.stats.arrays import BoolArray
from judgeboard.stats.differences import mean_change
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.grouping import grouping
from judgeboard.stats.half_credit import half_credit
from judgeboard.stats.proportions import share

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
