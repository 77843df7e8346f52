"""Changes of a rate or mean at an unknown time, watched period by period.

The detector is the CUSUM e-detector of Shin, Ramdas and Rinaldo (2024) on recursive residuals
(Brown, Durbin, Evans, 1975).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from judgeboard.domain import Estimate
from judgeboard.stats.arrays import FloatArray, Grouping, IntArray, renumbered
from judgeboard.stats.estimates import Z_80
from judgeboard.stats.rates import Stratum, rate

Direction = Literal["rose", "fell"]
DIRECTIONS: tuple[Direction, ...] = ("rose", "fell")

STEP = 0.7
"""The size of a change, in standard errors of a period, that a detector finds fastest."""

_LARGEST = 700.0  # the logarithm of the largest evidence; exp() of more is not a float


def rate_error(strata: Sequence[Stratum], judged_bad: Sequence[float] | float = 0.0) -> float:
    """Return the standard error of a rate for tests, which is above 0 even if all labels of a stratum are equal.

    With ``judged_bad``, the share of each stratum that the judge calls bad, the error is the error
    of that share minus the rate.
    """
    answers, labels, bad = (
        np.array([getattr(each, name) for each in strata if each.answers], dtype=np.float64)
        for name in ("answers", "labelled", "bad")
    )
    weights = answers / answers.sum()
    shares = (bad + 1) / (labels + 2)
    levels = np.asarray(judged_bad) - shares
    apart = levels - weights @ levels
    variance = weights**2 @ (shares * (1 - shares) / labels) + weights @ apart**2 / answers.sum()
    return math.sqrt(float(variance))


def mean_errors(
    n: npt.ArrayLike,
    total: npt.ArrayLike,
    total_of_squares: npt.ArrayLike,
    bounds: tuple[float, float],
    design_effect: float = 1.0,
) -> FloatArray:
    """Return the standard error of each period's mean for tests, shape (periods,); every period has values.

    The variance is the variance within periods, with one more value at each of the ``bounds``, so
    that the error is above 0 even if all values of a period are equal. Each period has a separate
    mean, which takes one degree of freedom.
    """
    counts, totals, squares = (
        np.asarray(each, dtype=np.float64) for each in (n, total, total_of_squares)
    )
    within = float((squares - totals**2 / counts).sum())
    mean = float(totals.sum() / counts.sum())
    squares_at_bounds = sum((bound - mean) ** 2 for bound in bounds)
    variance = (max(within, 0.0) + squares_at_bounds) / (counts.sum() - len(counts) + 2)
    errors: FloatArray = np.sqrt(design_effect * variance / counts)
    return errors


def difference_effect(
    influences: FloatArray, periods: IntArray, groups: Grouping, weights: FloatArray
) -> float:
    """Return how many times larger the variance of a period's change is by evidence group than by answer, at least 1.

    The change is the difference between the figure of a period and the mean of the figures of all
    periods before. What a group adds to both sides cancels out, so questions that recur in each
    period do not hide a change. There is one factor for all periods, because one period has too few
    groups for a separate variance.

    Args:
        influences: What each answer adds to the error of the figure of the period.
        periods: The position of each answer's period, from 0.
        groups: The evidence group of each answer.
        weights: The weight of each period in the mean of the periods before, shape (periods,).
    """
    # An answer alone in a group shares nothing with another period: the square of the answer is enough.
    several = np.flatnonzero(np.bincount(groups.codes, minlength=groups.count)[groups.codes] > 1)
    several = several[np.argsort(periods[several], kind="stable")]
    rows, squares = (
        np.bincount(periods, each, len(weights)) for each in (None, np.square(influences))
    )
    influences, codes, periods = (
        influences[several],
        renumbered(groups.codes[several]),
        periods[several],
    )
    rows_of_several, of_several = (
        np.bincount(periods, each, len(weights)) for each in (None, np.square(influences))
    )
    alone, of_alone = rows - rows_of_several, np.maximum(squares - of_several, 0.0)
    ends = np.cumsum(rows_of_several).tolist()
    count = int(codes.max(initial=-1)) + 1
    of_groups = np.zeros(count)  # the weighted sums of the periods before
    last = np.zeros(count, dtype=np.int64)  # each group's last row in the period
    whole = before = square_of_before = by_group = by_answer = 0.0
    for period, (start, end, weight) in enumerate(
        zip([0, *ends], ends, weights.tolist(), strict=False)
    ):
        touched, places = codes[start:end], np.arange(end - start)
        last[touched] = places
        at = last[touched]
        is_last = at == places
        sums = np.bincount(at, weights=influences[start:end], minlength=end - start)[is_last]
        touched, n = touched[is_last], int(rows[period])
        earlier, n_groups = of_groups[touched], len(sums) + alone[period]
        if whole and n_groups > 1:
            common = float(sums @ earlier) / whole
            few = n_groups / (n_groups - 1) * (n - 1) / n  # 1 if nothing is shared
            change = few * (float(sums @ sums) + of_alone[period]) - 2 * common + before / whole**2
            variance = squares[period] + square_of_before / whole**2
            scale = 1 / weight + 1 / whole
            by_group, by_answer = by_group + change / scale, by_answer + variance / scale
        if n:
            of_groups[touched] = later = earlier + weight * sums
            before += float(later @ later - earlier @ earlier) + weight**2 * of_alone[period]
            square_of_before += weight**2 * squares[period]
            whole += weight
    return max(1.0, float(by_group / by_answer)) if by_answer > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Window:
    """The strata of a period, and the design effect of the labels."""

    strata: tuple[Stratum, ...]
    design_effect: float = 1.0

    @property
    def rate(self) -> Estimate:
        """The share of bad answers of the app."""
        return rate(self.strata, "app", self.design_effect)


@dataclass(frozen=True, slots=True)
class Detected:
    """The state of a detector after a period.

    ``z`` is the distance from all periods before, in standard errors; None in the first period.
    ``evidence`` is above
    0. ``since`` is the position of the last period after which the evidence was at most 1: a change
    is dated to the next period.
    """

    z: float | None
    evidence: float
    since: int


def detect(rates: Iterable[tuple[float, float]], direction: Direction) -> tuple[Detected, ...]:
    """Return the state of a detector after each period. ``rates`` are pairs of a rate and the standard error.

    While nothing changes, the evidence reaches a limit A after A periods or more on average.
    """
    states: list[Detected] = []
    sign = 1 if direction == "rose" else -1
    weight = total = log_evidence = 0.0
    since = 0
    for period, (value, error) in enumerate(rates):
        z = None
        if weight:
            z = (value - total / weight) / math.sqrt(error**2 + 1 / weight)
            log_evidence = max(0.0, log_evidence) + STEP * sign * z - STEP**2 / 2
        if log_evidence <= 0:
            since = period
        states.append(Detected(z, math.exp(min(log_evidence, _LARGEST)), since))
        weight += error**-2
        total += value * error**-2
    return tuple(states)


@dataclass(frozen=True, slots=True)
class Found:
    """A change that a detector found. The evidence began to grow in the period at position ``start``.

    ``evidence`` reached the limit in the period at position ``seen``.
    """

    direction: Direction
    start: int
    seen: int
    evidence: float


def found_changes(
    states: Mapping[Direction, Sequence[Detected]], limit: float
) -> tuple[Found, ...]:
    """Return the first change of each detector whose evidence reached ``limit``."""
    changes = []
    for direction, of_detector in states.items():
        alarm_place = next(
            (place for place, state in enumerate(of_detector) if state.evidence >= limit), None
        )
        if alarm_place is not None:
            state = of_detector[alarm_place]
            changes.append(Found(direction, state.since + 1, alarm_place, state.evidence))
    return tuple(changes)


def likeliest_start(rates: Sequence[tuple[float, float]], change: Found) -> int:
    """Return the position of the period in which a change most likely began; ``rates`` are as in `detect`.

    Evidence can begin to grow by chance before the change. Among the periods from then until the
    limit was reached, the likeliest start is the period from which on the rates differ most from
    earlier rates, in standard errors.
    """
    values, errors = np.asarray(rates, dtype=np.float64).T
    weights = errors**-2

    def distance(place: int) -> float:
        (before, of_before), (after, of_after) = (
            (values[side] @ weights[side] / weights[side].sum(), weights[side].sum())
            for side in (slice(place), slice(place, None))
        )
        return float(abs(after - before) / math.hypot(of_before**-0.5, of_after**-0.5))

    return max(range(change.start, change.seen + 1), key=distance)


def alarm_limit(series: int, periods_a_year: int) -> float:
    """Return the evidence for an alarm: detectors of ``series`` figures raise at most one false alarm a year together.

    That is the average while nothing changes, with two detectors for each figure.
    """
    return float(len(DIRECTIONS) * max(series, 1) * periods_a_year)


def smallest_change(
    errors: Sequence[float], limit: float, largest: float = math.inf
) -> float | None:
    """Return the smallest change in the middle period that a detector finds by the last period in 80 % of cases.

    ``errors`` are the standard errors of the periods, ``limit`` is the evidence at which the
    detector raises an alarm. The figure cannot change by more than ``largest``. The result is None
    if no possible change is found so often, and for fewer than two periods.
    """
    middle = (len(errors) + 1) // 2
    weight = weight_after = reach = 0.0
    smallest: float | None = None
    for period, error in enumerate(errors):
        if period >= middle:
            # The periods since the change are part of the reference, too.
            reach += (1 - weight_after / weight) / math.sqrt(error**2 + 1 / weight)
            n = period - middle + 1
            distance = (math.log(limit) + n * STEP**2 / 2) / STEP + Z_80 * math.sqrt(n)
            smallest = min(distance / reach, math.inf if smallest is None else smallest)
            weight_after += error**-2
        weight += error**-2
    return None if smallest is None or smallest > largest else smallest
