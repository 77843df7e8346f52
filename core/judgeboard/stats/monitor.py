"""Changes of a rate: between two windows, and at an unknown time, watched period by period.

The detector is the CUSUM e-detector of Shin, Ramdas and Rinaldo (2024) on recursive residuals (Brown, Durbin, Evans,
1975).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import measured, unmeasured
from judgeboard.stats.rates import Stratum, rate

Direction = Literal["rose", "fell"]

STEP = 0.7
"""The size of a change, in standard errors of a period, that a detector finds fastest."""

POWER = NormalDist().inv_cdf(0.8)
"""A change that "would have been seen" is found in 80 % of cases."""

_LARGEST = 700.0  # the logarithm of the largest evidence; exp() of more is not a float


def rate_error(strata: Sequence[Stratum], design_effect: float = 1.0) -> float:
    """Return the standard error of a rate for tests. It is above 0, even if all labels of a stratum are equal."""
    answers, labelled, bad = (
        np.array([getattr(each, name) for each in strata if each.answers], dtype=np.float64)
        for name in ("answers", "labelled", "bad")
    )
    weights = answers / answers.sum()
    shares = (bad + 1) / (labelled + 2)
    mean = weights @ shares
    variance = weights**2 @ (shares * (1 - shares) / labelled) + weights @ (shares - mean) ** 2 / answers.sum()
    return math.sqrt(design_effect * float(variance))


@dataclass(frozen=True, slots=True)
class Window:
    """The strata of a period, and the design effect of its labels."""

    strata: tuple[Stratum, ...]
    design_effect: float = 1.0

    @property
    def rate(self) -> Estimate:
        """The share of bad answers of the app."""
        return rate(self.strata, "app", self.design_effect)

    @property
    def error(self) -> float:
        """The standard error for tests. Every stratum must have a label."""
        return rate_error(self.strata, self.design_effect)


@dataclass(frozen=True, slots=True)
class WindowChange:
    """The rate of the second window minus the rate of the first.

    ``p`` is the p-value of "nothing changed". A change of the size ``seen`` is found in 80 % of cases. Both are None if
    a rate is not available.
    """

    change: Estimate
    p: float | None = None
    seen: float | None = None


def window_change(before: Window, after: Window) -> WindowChange:
    """Return the change between two windows, with an interval by the MOVER and a z test."""
    first, second = before.rate, after.rate
    n = first.n + second.n
    if first.value is None or first.low is None or first.high is None:
        return WindowChange(unmeasured(n, first.reason or "no interval before"))
    if second.value is None or second.low is None or second.high is None:
        return WindowChange(unmeasured(n, second.reason or "no interval after"))
    value = second.value - first.value
    low = value - math.hypot(second.value - second.low, first.high - first.value)
    high = value + math.hypot(second.high - second.value, first.value - first.low)
    error = math.hypot(before.error, after.error)
    normal = NormalDist()
    return WindowChange(
        measured(value, n, (low, high), method="post-stratified, MOVER"),
        2 * normal.cdf(-abs(value / error)),
        (normal.inv_cdf(0.975) + POWER) * error,
    )


@dataclass(frozen=True, slots=True)
class Detected:
    """The state of a detector after a period.

    ``z`` is the distance from all periods before, in standard errors; None in the first period. ``evidence`` is above
    0. ``since`` is the position of the last period after which the evidence was at most 1: a change is dated to the
    next period.
    """

    z: float | None
    evidence: float
    since: int


def detect(rates: Iterable[tuple[float, float]], direction: Direction) -> tuple[Detected, ...]:
    """Return the state of a detector after each period. ``rates`` are pairs of a rate and its standard error.

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


def smallest_change(errors: Sequence[float], limit: float) -> float | None:
    """Return the smallest change in the middle period that a detector finds by the last period in 80 % of cases.

    ``errors`` are the standard errors of the periods, ``limit`` is the evidence at which the detector raises an alarm.
    The change is None for fewer than two periods.
    """
    middle = (len(errors) + 1) // 2
    weight = changed = reach = 0.0
    smallest: float | None = None
    for period, error in enumerate(errors):
        if period >= middle:
            # The periods since the change are part of the reference, too.
            reach += (1 - changed / weight) / math.sqrt(error**2 + 1 / weight)
            n = period - middle + 1
            needed = (math.log(limit) + n * STEP**2 / 2) / STEP + POWER * math.sqrt(n)
            smallest = min(needed / reach, math.inf if smallest is None else smallest)
            changed += error**-2
        weight += error**-2
    return smallest
