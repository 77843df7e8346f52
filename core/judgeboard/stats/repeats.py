"""How far a judge agrees with itself on answers that were judged repeatedly."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, IntArray, grouping
from judgeboard.stats.chance_corrected import interval_alpha
from judgeboard.stats.estimates import unmeasured, within_range
from judgeboard.stats.intervals import mean_estimate
from judgeboard.stats.intraclass import cronbach_alpha, intraclass_correlation
from judgeboard.stats.proportions import share

RepeatedItem = Mapping[int, Mapping[str, float]]
"""The values of one item by the number of the repeat, then by measure. An unusable repeat has no values."""

_FIRST = ("quality", "groundedness", "label")
_DIGITS = 9  # values that differ only by float noise are equal


@dataclass(frozen=True, slots=True, eq=False)
class RepeatedMeasure:
    """One measure of the items that have a value in every repeat.

    ``rows`` are the positions of these items. ``values`` has a row for each item and a column for
    each repeat. ``same`` marks the items with equal values. ``incomplete`` counts items with values
    in some repeats only, ``no_value`` items without any value. ``spread`` is the mean difference
    between an item's highest and lowest value.
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


def repeated_measures(
    items: Sequence[RepeatedItem], groups: IntArray
) -> tuple[RepeatedMeasure, ...]:
    """Return each measure of the repeats, the measure with the most complete items first.

    The judge was asked about ``items`` at least twice. ``groups`` has the evidence group of each item.
    """
    names = {name: None for item in items for repeat in item.values() for name in repeat}
    measures = [_measure(name, items, groups) for name in names]
    first: dict[str, int] = {name: place for place, name in enumerate(_FIRST)}
    measures.sort(
        key=lambda each: (-len(each.rows), first.get(each.measure, len(first)), each.measure)
    )
    return tuple(measures)


def _measure(name: str, items: Sequence[RepeatedItem], groups: IntArray) -> RepeatedMeasure:
    complete = [all(name in repeat for repeat in item.values()) for item in items]
    some = [any(name in repeat for repeat in item.values()) for item in items]
    rows: IntArray = np.flatnonzero(complete)
    incomplete, no_value = sum(some) - len(rows), len(items) - sum(some)
    if not len(rows):
        nothing = unmeasured(0, "no item has a value in every repeat")
        no_values, none_same = np.empty((0, 0)), np.empty(0, dtype=np.bool_)
        return RepeatedMeasure(
            name, rows, no_values, none_same, incomplete, no_value, *[nothing] * 5
        )
    repeats = [
        [round(repeat[name], _DIGITS) for _, repeat in sorted(items[row].items())]
        for row in rows.tolist()
    ]
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
        spread=within_range(mean_estimate(apart, by_group), 0, math.inf),
    )
