"""Agreement on values that are no single category or number: sets, spans of a text, rankings."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import AnyArray, FloatArray, grouping, ratio
from judgeboard.stats.chance_corrected import EVERY_VALUE_THE_SAME
from judgeboard.stats.estimates import MIN_PAIRS, too_few, unmeasured
from judgeboard.stats.intervals import jackknifed, mean_estimate

_NEVER_DIFFER = "the raters never differ"


def masi_distance(a: frozenset[Any], b: frozenset[Any]) -> float:
    """Return the distance of two sets, 0 (equal) to 1 (nothing in common).

    Source: R. Passonneau, "Measuring Agreement on Set-valued Items (MASI)" (LREC, 2006): one minus the Jaccard index
    weighted by 1 for equal sets, 2/3 where one contains the other, 1/3 for any other overlap.
    """
    if a == b:
        return 0.0
    weight = 2 / 3 if a <= b or b <= a else 1 / 3
    return 1 - weight * len(a & b) / len(a | b)


def set_alpha(items: Sequence[Sequence[frozenset[Any]]], groups: AnyArray) -> Estimate:
    """Return Krippendorff's alpha of sets with the MASI distance.

    ``items`` has the sets that raters gave each item, ``groups`` the evidence group of each. Items with one set are
    left out. The estimate is not available under ten items.
    """
    rows = [row for row, sets in enumerate(items) if len(sets) >= 2]
    if len(rows) < MIN_PAIRS:
        return unmeasured(len(rows), too_few(len(rows)))
    names = {each: place for place, each in enumerate(dict.fromkeys(frozenset(s) for row in rows for s in items[row]))}
    if len(names) == 1:
        return unmeasured(len(rows), EVERY_VALUE_THE_SAME)
    votes = np.zeros((len(rows), len(names)))
    for place, row in enumerate(rows):
        for each in items[row]:
            votes[place, names[frozenset(each)]] += 1
    apart = np.array([[masi_distance(a, b) for b in names] for a in names])
    m = votes.sum(axis=1)
    within = ((votes @ apart) * votes).sum(axis=1) / (m - 1)
    sums: FloatArray = np.column_stack((m, within, votes))
    return jackknifed(
        sums, partial(_alpha_of_sums, apart=apart), grouping(groups[rows], len(rows)), len(rows), alike=_NEVER_DIFFER
    )


def _alpha_of_sums(sums: FloatArray, apart: FloatArray) -> FloatArray:
    votes = sums[..., 2:]
    between = ((votes @ apart) * votes).sum(axis=-1)
    return 1 - ratio((sums[..., 0] - 1) * sums[..., 1], between, above=1e-9)


def span_f1(items: Sequence[Sequence[frozenset[Any]]], groups: AnyArray) -> Estimate:
    """Return the F1 of two raters' spans, over all characters that any two raters of an item marked.

    ``items`` has the set of marked characters (with their types) of each rater of each item. Items on which nobody
    marked anything are left out.
    """
    counts = [[(2 * len(a & b), len(a) + len(b)) for a, b in combinations(raters, 2)] for raters in items]
    sums: FloatArray = np.array([np.sum(pairs, axis=0) if pairs else (0, 0) for pairs in counts], dtype=np.float64)
    sums = sums.reshape(-1, 2)
    usable = sums[:, 1] > 0
    n = int(usable.sum())
    if n < MIN_PAIRS:
        return unmeasured(n, too_few(n))
    of_sums: Callable[[FloatArray], FloatArray] = lambda total: ratio(total[..., 0], total[..., 1])  # noqa: E731
    return jackknifed(sums[usable], of_sums, grouping(groups[usable], n), n, alike=_NEVER_DIFFER)


def ranking_agreement(items: Sequence[Sequence[Sequence[int]]], lengths: Sequence[int], groups: AnyArray) -> Estimate:
    """Return the mean Kendall's tau-b of two raters' rankings of an item's things.

    A ranking names things 1 to ``length``, the best first; those that it leaves out share the last place. Pairs of
    rankings of which one has all things in one place are left out.
    """
    taus: list[float] = []
    rows: list[int] = []
    for row, (rankings, length) in enumerate(zip(items, lengths, strict=True)):
        orders = [_order(ranking, length) for ranking in rankings]
        of_item = [tau for a, b in combinations(orders, 2) if (tau := _tau(a, b)) is not None]
        if of_item:
            taus.append(float(np.mean(of_item)))
            rows.append(row)
    if len(rows) < MIN_PAIRS:
        return unmeasured(len(rows), too_few(len(rows)))
    return mean_estimate(np.array(taus), grouping(groups[rows], len(rows)))


def _order(ranking: Sequence[int], length: int) -> FloatArray:
    """Return for each two things which one is ranked higher: 1, -1, or 0."""
    place = np.full(length, len(ranking))
    for at, thing in enumerate(ranking):
        place[thing - 1] = at
    upper = np.triu_indices(length, k=1)
    order: FloatArray = np.sign(place[:, None] - place[None, :])[upper].astype(np.float64)
    return order


def _tau(a: FloatArray, b: FloatArray) -> float | None:
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread else None
