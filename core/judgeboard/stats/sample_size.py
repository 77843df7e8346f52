"""How many labels a question needs, and which answers get labels.

Methods: sample sizes of shares (Cochran, Sampling Techniques, 1977) with the variance that a judge
explains taken off; proportional allocation to strata.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np

from judgeboard.stats.arrays import BoolArray, FloatArray, Grouping
from judgeboard.stats.confusion import cells_of, kappa_of_cells
from judgeboard.stats.estimates import Z_80, Z
from judgeboard.stats.rates import Target

UNKNOWN_SHARE = 0.5
"""The share with the largest variance, for a plan without labels."""

LEAST_PILOT = 30
"""With fewer labels a plan assumes the worst case."""

LEAST_EXPLAINED = 0.05
"""A judge that explains less of the variance of people's labels saves no labels."""

ASSUMED_CORRELATION = 0.15
"""The assumed correlation of labels in an evidence group. In RAGTruth (six answers each), the correlation is 0.156."""

_ONE_SIDED = NormalDist().inv_cdf(0.95)

POWER = Z + Z_80
"""A change of this many standard errors is found with probability 0.8."""

_ROUNDS = 60  # steps towards a design effect


def labels_by_lot(
    half_width: float,
    share: float = UNKNOWN_SHARE,
    *,
    answers: int | None = None,
    design_effect: float = 1.0,
) -> int:
    """Return the labels by lot, without a judge, that give a share a 95 % interval of plus or minus ``half_width``.

    With ``answers``, the share is the share in these answers, and otherwise the share of the app.
    """
    n = share * (1 - share) * design_effect / (half_width / Z) ** 2
    return _whole(_in_all(n, answers))


def _in_all(n: float, answers: int | None) -> float:
    """Return the labels for a figure of these ``answers``: if all are labelled, no sampling error is left."""
    return n if answers is None else n / (1 + n / answers)


def stratified_half_width(
    answers: Sequence[float],
    labelled: Sequence[float],
    shares: Sequence[float],
    *,
    design_effect: float = 1.0,
    target: Target = "app",
) -> float:
    """Return the plus or minus of a share's 95 % interval with ``labelled`` of the ``answers`` of each stratum.

    ``shares`` are the expected shares of bad answers by stratum. The result is infinite if a
    stratum has no label.
    """
    sizes, counts, levels = (
        np.asarray(each, dtype=np.float64) for each in (answers, labelled, shares)
    )
    filled = sizes > 0
    sizes, counts, levels = sizes[filled], counts[filled], levels[filled]
    if (counts <= 0).any():
        return math.inf
    weights, inside = sizes / sizes.sum(), levels * (1 - levels)
    if target == "these":
        return Z * math.sqrt(
            max(float(np.square(weights) @ (inside * (1 / counts - 1 / sizes))), 0.0)
        )
    between = float(weights @ np.square(levels - weights @ levels)) / float(sizes.sum())
    return Z * math.sqrt(design_effect * (float(np.square(weights) @ (inside / counts)) + between))


def labels_for_kappa(
    half_width: float, deviation: float = 1.0, *, answers: int | None = None
) -> int:
    """Return the labels that give kappa a 95 % interval of plus or minus ``half_width``.

    ``deviation`` is the standard deviation of `kappa_influence`; 1 if not known. With ``answers``,
    the kappa is the kappa in these answers, and otherwise the kappa of the app.
    """
    return _whole(_in_all((Z * deviation / half_width) ** 2, answers))


def labels_for_outcome(bound: float, share: float) -> int | None:
    """Return the labels with which a ``share`` above or below a ``bound`` is found with probability 0.8.

    The test is one-sided at 5 %, and is made once. None if the share is the bound.
    """
    if share == bound:
        return None
    spread = _ONE_SIDED * math.sqrt(bound * (1 - bound)) + Z_80 * math.sqrt(share * (1 - share))
    return _whole((spread / (share - bound)) ** 2)


def labels_for_change(change: float, variance: float) -> int:
    """Return the labels with which a ``change`` of a mean is found with probability 0.8.

    ``variance`` is the variance of one label's contribution to the change.
    """
    return _whole(variance * (POWER / change) ** 2)


def smallest_change(labels: int, variance: float, design_effect: float = 1.0) -> float:
    """Return the change that ``labels`` find with probability 0.8."""
    return POWER * math.sqrt(variance * design_effect / labels)


def _whole(labels: float) -> int:
    return max(round(labels), 1)


def explained_by_strata(answers: Sequence[float], shares: Sequence[float]) -> float:
    """Return the part of the variance of labels that is between strata, 0 to 1; for two strata this is MCC squared."""
    weights, levels = np.asarray(answers, dtype=np.float64), np.asarray(shares, dtype=np.float64)
    share = float(weights @ levels / weights.sum())
    variance = share * (1 - share)
    between = float(weights @ np.square(levels - share) / weights.sum())
    return min(between / variance, 1.0) if variance > 0 else 0.0


def design_effect_of_mean(values: FloatArray | BoolArray, groups: Grouping) -> float:
    """Return how many times larger the variance of a mean or share is by evidence group than by row, at least 1."""
    if groups.count < 2:
        return 1.0
    apart = values - values.mean()
    squares = float(np.square(apart).sum())
    if squares == 0:
        return 1.0
    by_group = groups.count / (groups.count - 1) * float(np.square(groups.sums(apart)).sum())
    return max(by_group / squares, 1.0)


def correlation_in_groups(values: FloatArray, groups: Grouping) -> float | None:
    """Return the correlation (0 to 1) of two rows of one evidence group, None if fewer than 30 pairs share a group."""
    sizes = groups.sums(np.ones(len(values)))
    if float((sizes * (sizes - 1)).sum()) / 2 < LEAST_PILOT:
        return None
    of_average_row = float(np.square(sizes).sum()) / len(values)  # the size of the row's group
    return min((design_effect_of_mean(values, groups) - 1) / (of_average_row - 1), 1.0)


def labels_in_groups(
    labels_needed: Callable[[float], int | None],
    answers: int,
    answers_per_group: float,
    correlation: float,
) -> tuple[int | None, float]:
    """Return the number of labels, and the design effect that this number itself causes.

    ``labels_needed`` takes a design effect. The more of the ``answers`` are labelled, the more
    labels share a group.
    """
    effect, labels = 1.0, labels_needed(1.0)
    for _ in range(_ROUNDS):
        part = 1.0 if labels is None else min(labels / answers, 1.0)
        effect = 1 + part * (answers_per_group - 1) * correlation
        next_labels = labels_needed(effect)
        if next_labels == labels:
            break
        labels = next_labels
    return labels, effect


def allocated(n: int, answers: Sequence[int], *, least: int) -> tuple[int, ...]:
    """Return the number of labels of each stratum. The sum is ``n``, or the number of answers if that is smaller.

    The allocation is proportional. A stratum gets at least ``least`` labels, as far as the answers
    of the stratum and ``n`` allow.
    """
    sizes = np.asarray(answers, dtype=np.float64)
    total = min(n, int(sizes.sum()))
    floors = np.minimum(sizes, least)
    if floors.sum() > total:
        floors = sizes * total / max(sizes.sum(), 1)
    if not len(sizes):
        return ()
    # A stratum gets level * size, between floor and size. The sum of all is piecewise linear in the
    # level.
    levels_at_ends = np.concatenate((floors, sizes)) / np.maximum(np.tile(sizes, 2), 1e-12)
    order = np.argsort(levels_at_ends)
    slopes = np.cumsum(np.concatenate((sizes, -sizes))[order])
    points = np.concatenate(([0.0], levels_at_ends[order]))
    sums = floors.sum() + np.cumsum(np.concatenate(([0.0, 0.0], slopes[:-1] * np.diff(points[1:]))))
    level = np.interp(total, np.maximum.accumulate(sums), points)
    exact = np.clip(level * sizes, floors, sizes)
    counts = np.minimum(np.floor(exact + 1e-9), sizes)
    for stratum in np.argsort(counts - exact, kind="stable")[: max(total - int(counts.sum()), 0)]:
        counts[stratum] += 1
    return tuple(counts.astype(int).tolist())


def kappa_influence(judge_bad: BoolArray, people_bad: BoolArray) -> tuple[float, FloatArray]:
    """Return Cohen's kappa, and the influence of each labelled answer.

    Not defined if judge and people called all answers the same.
    """
    cells = cells_of(people_bad, judge_bad)
    shares = np.bincount(cells, minlength=4) / len(cells)
    value, slopes = kappa_of_cells(shares)
    return value or 0.0, slopes[cells] - shares @ slopes
