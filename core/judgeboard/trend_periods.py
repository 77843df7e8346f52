"""Weeks and days of a trend: sums by day folded into periods, with the gaps between them kept."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from judgeboard.store.figures.trend_sums import DaySums

Period = Literal["week", "day"]

PERIOD_DAYS: Mapping[Period, int] = {"week": 7, "day": 1}

DayOrDays = TypeVar("DayOrDays", int, npt.NDArray[np.int64])

_MONDAY = 3  # 1970-01-01 was a Thursday: the week of day 0 began three days before


def start_of(day: DayOrDays, period: Period) -> DayOrDays:
    """Return the first day of the period that holds a UTC day (or each of an array): itself, or its week's Monday."""
    return day - (day + _MONDAY) % 7 if period == "week" else day


@dataclass(frozen=True, slots=True)
class PeriodSums:
    """Sums by period, oldest first: equally long tuples; ``starts`` are days since 1970-01-01."""

    starts: tuple[int, ...] = ()
    n: tuple[int, ...] = ()
    total: tuple[float, ...] = ()
    squares: tuple[float, ...] = ()

    def filled(self, period: Period) -> "PeriodSums":
        """Return the same with a row of zeros for each empty period between the first and the last."""
        if not self.starts:
            return self
        step = PERIOD_DAYS[period]
        known = {row[0]: row for row in zip(self.starts, self.n, self.total, self.squares, strict=True)}
        every = range(self.starts[0], self.starts[-1] + step, step)
        return _columns([known.get(start, (start, 0, 0.0, 0.0)) for start in every])

    def segments(self, period: Period) -> tuple[int, ...]:
        """Return for each period how many gaps lie before it: a line is drawn within one segment only."""
        step = PERIOD_DAYS[period]
        numbers = [0]
        for before, after in pairwise(self.starts):
            numbers.append(numbers[-1] + (after - before > step))
        return tuple(numbers[: len(self.starts)])


def by_period(rows: Iterable[DaySums], period: Period, kept_from: int) -> PeriodSums:
    """Return the sums of each period that has values, from the period beginning with day ``kept_from`` on."""
    folded: dict[int, list[float]] = {}
    for row in rows:
        if row.day is None or row.n == 0 or (start := start_of(row.day, period)) < kept_from:
            continue
        sums = folded.setdefault(start, [0, 0.0, 0.0])
        sums[0] += row.n
        sums[1] += row.total
        sums[2] += row.squares
    return _columns([(start, int(n), total, squares) for start, (n, total, squares) in sorted(folded.items())])


def leading_versions(rows: Iterable[DaySums], period: Period, kept_from: int) -> list[tuple[int, int]]:
    """Return (start, judge version id) of each period from which on another version leads than before.

    A version leads a period with the most verdicts in it, the newer one of equals. The first period is no change.
    """
    counts: dict[int, dict[int, int]] = {}
    for row in rows:
        if row.day is not None and row.version_id is not None and row.n:
            versions = counts.setdefault(start_of(row.day, period), {})
            versions[row.version_id] = versions.get(row.version_id, 0) + row.n
    leads = [(start, max(counts[start].items(), key=lambda item: (item[1], item[0]))[0]) for start in sorted(counts)]
    changes = [after for before, after in pairwise(leads) if after[1] != before[1]]
    return [change for change in changes if change[0] >= kept_from]


def _columns(rows: list[tuple[int, int, float, float]]) -> PeriodSums:
    return PeriodSums(*zip(*rows, strict=True)) if rows else PeriodSums()
