"""Weeks and days: the periods of trends, sums per period, and which dates of answers are plausible."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from judgeboard.stats.arrays import BoolArray, IntArray
from judgeboard.store.clock import utc_now
from judgeboard.store.day_sums import DaySums
from judgeboard.store.statements import NO_DAY
from judgeboard.text import day_words, utc_day

Period = Literal["week", "day"]

PERIOD_DAYS: Mapping[Period, int] = {"week": 7, "day": 1}
PERIODS_A_YEAR: Mapping[Period, int] = {"week": 52, "day": 365}

FIRST_YEAR = 2002
"""The first year of a plausible date.

Clocks and formats that have no date show 1900, 1970, 1980, 2000 or 2001.
"""


class PlausibleDays(NamedTuple):
    """The first and the last UTC day (days since 1970-01-01) of plausible dates of answers, both included.

    One wrong date would otherwise stretch a trend over decades.
    """

    first: int
    last: int

    @classmethod
    def at(cls, now: datetime | None = None) -> "PlausibleDays":
        """Return the days from `FIRST_YEAR` to the day after ``now`` (default: the current time)."""
        # Clocks and time zones differ, so the next day is plausible.
        return cls(utc_day(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC)), utc_day(now or utc_now()) + 1)

    def misdated(self, days: IntArray) -> BoolArray:
        """Return which answers have a date that is not plausible; a missing time (`NO_DAY`) is no such date."""
        return np.asarray((days != NO_DAY) & ((days < self.first) | (days > self.last)))

    def include(self, day: int | None) -> bool:
        """Return whether a day is plausible; answers without a time (None) are not misdated."""
        return day is None or self.first <= day <= self.last


def counts_by_day(days: IntArray) -> dict[int | None, int]:
    """Return the number of answers of each UTC day (None: without a time, `NO_DAY` in the array)."""
    values, counts = np.unique(days, return_counts=True)
    return {
        None if day == NO_DAY else day: n
        for day, n in zip(values.tolist(), counts.tolist(), strict=True)
    }


DayOrDays = TypeVar("DayOrDays", int, npt.NDArray[np.int64])

_MONDAY = 3  # 1970-01-01 was a Thursday: the week of day 0 began three days before


def start_of(day: DayOrDays, period: Period) -> DayOrDays:
    """Return the first day of the period that contains a UTC day: the day itself, or the Monday of its week."""
    return day - (day + _MONDAY) % 7 if period == "week" else day


def period_words(start: int, period: Period) -> str:
    """Return "the week of 2 Mar 2026" or "2 Mar 2026"."""
    return f"{'the week of ' if period == 'week' else ''}{day_words(start)}"


class PeriodSums(NamedTuple):
    """Sums per period with values, oldest first, in tuples of equal length; ``starts`` are days since 1970-01-01."""

    starts: tuple[int, ...] = ()
    n: tuple[int, ...] = ()
    total: tuple[float, ...] = ()
    squares: tuple[float, ...] = ()

    def segments(self, period: Period) -> list[int]:
        """Return the number of gaps before each period. A line connects only points with the same number."""
        gaps = (after - before > PERIOD_DAYS[period] for before, after in pairwise(self.starts))
        return list(accumulate(gaps, initial=0))[: len(self.starts)]

    def whole(self, first: int, end: int) -> "PeriodSums":
        """Return the sums of the periods at the positions from ``first`` to before ``end``, as one period."""
        n, total, squares = (
            sum(column[first:end]) for column in (self.n, self.total, self.squares)
        )
        return PeriodSums((self.starts[first],), (round(n),), (total,), (squares,))


def by_period(rows: Iterable[DaySums], period: Period, kept_from: int) -> PeriodSums:
    """Return the sums of each period with values, from the period of day ``kept_from`` on."""
    by_start = defaultdict[int, tuple[int, float, float]](lambda: (0, 0.0, 0.0))
    for row in rows:
        if row.day is not None and row.n and (start := start_of(row.day, period)) >= kept_from:
            n, total, squares = by_start[start]
            by_start[start] = n + row.n, total + row.total, squares + row.squares
    return PeriodSums(
        *zip(*((start, *sums) for start, sums in sorted(by_start.items())), strict=True)
    )
