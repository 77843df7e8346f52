"""How far a judge agrees with itself when it is asked again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, grouping
from judgeboard.stats.chance_corrected import interval_alpha
from judgeboard.stats.estimates import unmeasured
from judgeboard.stats.intervals import mean_estimate
from judgeboard.stats.proportions import share

RepeatedItem = Mapping[int, Mapping[str, float]]
"""What each repeat (by its number) of one item gave, by measure; an unusable repeat gave nothing."""

_FIRST = ("quality", "groundedness", "label")
_DIGITS = 9  # values are the same that differ by float noise alone


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedMeasure:
    """One measure of the items that have a value in every repeat.

    ``rows`` are the positions of these items; ``same`` marks those whose values are equal. ``incomplete`` counts items
    with values in some repeats only. ``spread`` is the mean difference between an item's highest and lowest value.
    """

    measure: str
    rows: IntArray
    same: BoolArray
    incomplete: int
    self_consistency: Estimate
    krippendorff_alpha: Estimate
    spread: Estimate


def repeated_measures(items: Sequence[RepeatedItem], groups: IntArray) -> tuple[RepeatedMeasure, ...]:
    """Return each measure of the repeats, the one with the most complete items first.

    ``items`` were asked at least twice; ``groups`` holds their evidence groups.
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
    incomplete = sum(some) - len(rows)
    if not len(rows):
        nothing = unmeasured(0, "no item has a value in every repeat")
        return RepeatedMeasure(name, rows, np.empty(0, dtype=np.bool_), incomplete, nothing, nothing, nothing)
    widest = max(len(items[row]) for row in rows.tolist())
    table: FloatArray = np.full((len(rows), widest), np.nan)
    for place, row in enumerate(rows.tolist()):
        values = [round(repeat[name], _DIGITS) for repeat in items[row].values()]
        table[place, : len(values)] = values
    apart: FloatArray = np.nanmax(table, axis=1) - np.nanmin(table, axis=1)
    same: BoolArray = apart == 0
    by_group = grouping(groups[rows], len(rows))
    return RepeatedMeasure(
        measure=name,
        rows=rows,
        same=same,
        incomplete=incomplete,
        self_consistency=share(same, groups[rows]),
        krippendorff_alpha=interval_alpha(table, by_group),
        spread=mean_estimate(apart, by_group),
    )
