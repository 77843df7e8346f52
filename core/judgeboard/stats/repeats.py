"""How far a judge agrees with itself on answers that it judged repeatedly."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping, IntArray, grouping, ratio, row_sums
from judgeboard.stats.chance_corrected import EVERY_VALUE_THE_SAME, interval_alpha
from judgeboard.stats.estimates import leaving_out, unmeasured, within_range
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
        spread=within_range(mean_estimate(apart, by_group), 0, math.inf),
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
