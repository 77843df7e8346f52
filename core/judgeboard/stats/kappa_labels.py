"""The number of further labels that give Cohen's kappa in all answers an interval of a given width."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgeboard.stats.arrays import FloatArray, IntArray, grouping
from judgeboard.stats.confusion import cells_of, kappa_of_cells
from judgeboard.stats.estimates import t_quantile
from judgeboard.stats.intervals import TRANSFORMS
from judgeboard.stats.rates import (
    FEWEST_OF_RARER,
    Labels,
    Population,
    Target,
    linearised,
    missing_of_strata,
    weighted_agreement,
)
from judgeboard.stats.sample_size import ASSUMED_CORRELATION, allocated, correlation_in_groups


@dataclass(frozen=True, slots=True)
class KappaLabels:
    """The number of further labels (``more``) that narrow kappa, and the plus or minus (``shows``) after these labels.

    ``shows`` is above the target if labels of all answers are too few. ``is_rough``: fewer than
    5 labels of the strata that get more labels are bad, or fewer than 5 are good. Then ``more`` may
    be far too small. ``design_effect`` is how many times larger the variance is by evidence group
    than by answer.
    """

    more: int
    shows: float
    is_rough: bool
    design_effect: float


def labels_for_weighted_kappa(
    population: Population,
    labels: Labels,
    verdicts: FloatArray,
    reach: float,
    target: Target = "app",
    *,
    least: int,
) -> KappaLabels | None:
    """Return the further labels that give the kappa of `weighted_agreement` a 95 % interval of plus or minus ``reach``.

    The labels are allocated to the strata as in a planned queue, ``least`` of each. The variance is
    the variance of `weighted_agreement`. A stratum's share of bad answers counts as (k + 1) /
    (n + 2), because few labels show a share too near to 0 or 1. If few labels of the strata that
    get more share an evidence group, contributions have at least the correlation
    ``ASSUMED_CORRELATION``. None if a stratum has no label, or the labels give no kappa.
    """
    answers = population.answers
    cells = cells_of(labels.values, verdicts)
    cell_counts = np.bincount(labels.strata * 4 + cells, minlength=4 * population.count).reshape(
        population.count, 4
    )
    n_labels = cell_counts.sum(axis=1)
    now = weighted_agreement(population, labels, verdicts, target)["kappa"]
    if now.value is None or (n_labels[answers > 0] == 0).any():
        return None
    remaining = [round(each) for each in np.maximum(answers - n_labels, 0).tolist()]
    sample_counts = cell_counts[n_labels < answers].sum(axis=0)
    good = sample_counts[:2].sum()
    is_rough = bool(sample_counts.any() and min(good, sample_counts.sum() - good) < FEWEST_OF_RARER)
    half_width = _projection(population, labels, cells, cell_counts, target)
    if now.low is not None and now.high is not None and (now.high - now.low) / 2 <= reach:
        return KappaLabels(
            0, (now.high - now.low) / 2, is_rough, half_width([0] * len(remaining))[1]
        )

    def shown_by(more: int) -> tuple[float, float]:
        return half_width(allocated(more, remaining, least=least))

    # Zero labels are too few: the interval of the labels so far is wider, or there is none.
    more = bisect_left(
        range(sum(remaining)),
        -reach,
        lo=min(1, sum(remaining)),
        key=lambda number: -shown_by(number)[0],
    )
    shows, effect = shown_by(more)
    return KappaLabels(more, shows, is_rough, effect)


def _projection(
    population: Population,
    labels: Labels,
    cells: IntArray,
    cell_counts: IntArray,
    target: Target,
) -> Callable[[Sequence[int]], tuple[float, float]]:
    """Return a function from further labels by stratum to the plus or minus of kappa and the design effect."""
    answers, n_labels = population.answers, cell_counts.sum(axis=1)
    weights = answers / answers.sum()
    of_labels = cell_counts / np.maximum(n_labels, 1)[:, None]
    # The shares of the cells of each stratum; of each verdict, (k + 1) / (n + 2) of a sample are bad.
    of_verdicts = cell_counts[:, :2] + cell_counts[:, 2:]  # judged good, judged bad
    bad = np.where(
        (n_labels < answers)[:, None],
        (cell_counts[:, 2:] + 1) / (of_verdicts + 2),
        cell_counts[:, 2:] / np.maximum(of_verdicts, 1),
    )
    verdict_shares = of_verdicts / np.maximum(n_labels, 1)[:, None]
    expected: FloatArray = np.concatenate(
        [verdict_shares * (1 - bad), verdict_shares * bad], axis=1
    )
    value, slopes = kappa_of_cells(weights @ expected)
    _, slopes_now = kappa_of_cells(weights @ of_labels)
    levels, spread = expected @ slopes, _variances(expected, slopes)
    mean = linearised(population, labels, slopes_now[cells], of_labels @ slopes_now, target=target)
    between = shared_variance = 0.0
    if target == "app":
        between = float(weights @ np.square(levels - weights @ levels)) / float(answers.sum())
        # More labels narrow what the drawing of labels adds. What answers of a group have in common
        # remains.
        drawing = np.square(weights) @ (_variances(of_labels, slopes_now) / np.maximum(n_labels, 1))
        shared_variance = max(mean.error**2 - float(drawing) - between, 0.0)
        # If the labels of a sample do not measure what answers of a group have in common, a
        # correlation is assumed. The labels of a completely labelled stratum tell little of others.
        contributions = slopes_now[cells] - (of_labels @ slopes_now)[labels.strata]
        rows = (n_labels < answers)[labels.strata]
        if (
            rows.any()
            and correlation_in_groups(
                contributions[rows], grouping(labels.groups[rows], int(rows.sum()))
            )
            is None
        ):
            size, total = population.count, population.total
            answers_per_group = float(population.moments[:size, :size].sum()) / total
            # The least variance for a variance of 1 per answer.
            least = max(answers_per_group - 1, 0.0) * ASSUMED_CORRELATION / total
            deviations = np.square(levels - weights @ levels)
            shared_variance = max(shared_variance, least * float(weights @ (spread + deviations)))
    inside = min(max(value or 0.0, -_MOST), _MOST)
    slope, to, back = TRANSFORMS["Fisher's z"](inside)

    def half_width(further_labels: Sequence[int]) -> tuple[float, float]:
        counts = n_labels + np.asarray(further_labels, dtype=np.int64)
        if missing_of_strata(answers, counts):
            return math.inf, 1.0
        part = 1 - counts / np.maximum(answers, 1) if target == "these" else np.ones(len(counts))
        by_answer = float(np.square(weights) @ (part * spread / np.maximum(counts, 1))) + between
        error = math.sqrt(by_answer + shared_variance)
        reach = float(t_quantile(mean.df + sum(further_labels))) * error / slope
        middle = to(inside)
        effect = (by_answer + shared_variance) / by_answer if by_answer > 0 else 1.0
        return (back(middle + reach) - back(middle - reach)) / 2, effect

    return half_width


_MOST = 0.999  # of a figure on a scale that has no end


def _variances(shares: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return the variance of one label's contribution to a figure, by stratum."""
    variances: FloatArray = np.maximum(shares @ np.square(slopes) - np.square(shares @ slopes), 0.0)
    return variances
