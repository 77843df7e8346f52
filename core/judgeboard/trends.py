"""Groundedness, quality and flags over time: of all answers, then per query type or metadata value, with sentences."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from judgeboard.clock import utc_now
from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.flags.rules import FAILED_CHECK
from judgeboard.stats.arrays import TIE, FloatArray, IntArray, grouping, no_floats, no_ints
from judgeboard.stats.intervals import share_intervals
from judgeboard.stats.means import mean_interval
from judgeboard.stats.monitor import (
    DIRECTIONS,
    Direction,
    alarm_limit,
    detect,
    difference_effect,
    found_changes,
    likeliest_start,
    mean_errors,
    smallest_change,
)
from judgeboard.stats.sample_size import design_effect_of_mean
from judgeboard.store.filters import (
    METADATA,
    METADATA_FIELD,
    MISSING,
    RowFilter,
    Scalar,
    ScoreName,
    metadata_condition,
    metadata_field,
    metadata_path,
)
from judgeboard.store.judge_versions import get_version, list_versions
from judgeboard.store.metadata import NO_VALUE, metadata_fields, metadata_groups
from judgeboard.store.overview import (
    DaySums,
    Groups,
    count_responses,
    flagged_sums,
    judged_counts,
    low_sums,
    newest_values,
    score_sums,
)
from judgeboard.store.settings import rules_in_force
from judgeboard.text import utc_day

Period = Literal["week", "day"]

QUERY_TYPE = "query_type"
ALL_ANSWERS = "All answers"
"""The name of the panel of all answers, which comes before those of their groups."""
CLEAR = 0.15
"""A group in which a change of this share of the scale would not have been found is too small for "no change"."""
PERIOD_DAYS: Mapping[Period, int] = {"week": 7, "day": 1}
PERIODS_A_YEAR: Mapping[Period, int] = {"week": 52, "day": 365}

DayOrDays = TypeVar("DayOrDays", int, npt.NDArray[np.int64])

_MONDAY = 3  # 1970-01-01 was a Thursday: the week of day 0 began three days before


def start_of(day: DayOrDays, period: Period) -> DayOrDays:
    """Return the first day of the period that contains a UTC day: the day itself, or the Monday of its week."""
    return day - (day + _MONDAY) % 7 if period == "week" else day


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
        n, total, squares = (sum(column[first:end]) for column in (self.n, self.total, self.squares))
        return PeriodSums((self.starts[first],), (round(n),), (total,), (squares,))

    def empty(self, period: Period) -> list[int]:
        """Return the starts of the periods without values between the first and the last."""
        every = range(min(self.starts, default=0), max(self.starts, default=0), PERIOD_DAYS[period])
        return sorted({*every} - {*self.starts})


def by_period(rows: Iterable[DaySums], period: Period, kept_from: int) -> PeriodSums:
    """Return the sums of each period with values, from the period of day ``kept_from`` on."""
    by_start = defaultdict[int, tuple[int, float, float]](lambda: (0, 0.0, 0.0))
    for row in rows:
        if row.day is not None and row.n and (start := start_of(row.day, period)) >= kept_from:
            n, total, squares = by_start[start]
            by_start[start] = n + row.n, total + row.total, squares + row.squares
    return PeriodSums(*zip(*((start, *sums) for start, sums in sorted(by_start.items())), strict=True))


def alarm_limits(panels: Iterable[str], period: Period) -> dict[str, float]:
    """Return the evidence at which the detectors of each panel find a change.

    All answers have one false alarm a year on average, and all groups together have one. How finely answers are cut
    into groups does not hide a change of the whole.
    """
    names = list(panels)
    groups = sum(name != ALL_ANSWERS for name in names)
    return {name: alarm_limit(1 if name == ALL_ANSWERS else groups, PERIODS_A_YEAR[period]) for name in names}


class GroupedValues:
    """Values of answers with their days and evidence groups, for the effects of the groups.

    An effect is how many times larger a variance is by evidence group than by answer, at least 1. Days are UTC days.
    """

    def __init__(self, days: IntArray, values: FloatArray, evidence_groups: IntArray) -> None:
        """Every answer has a day; the arrays have one entry per answer."""
        self._days, self._values = days, values
        self._groups = grouping(evidence_groups, len(values))

    def period_effect(self, period: Period) -> float:
        """Return the effect on the figure of a period, pooled over the periods."""
        periods, _, apart = self._by_period(period)
        # Here the same group in two periods counts as two.
        within = grouping(periods * self._groups.count + self._groups.codes, len(apart)).sums(apart)
        squares = float(apart @ apart)
        return max(1.0, float(within @ within) / squares) if squares > TIE else 1.0

    def change_effect(self, period: Period) -> float:
        """Return the effect on the difference of a period's figure from the periods before (`difference_effect`)."""
        periods, counts, apart = self._by_period(period)
        return difference_effect(apart / counts[periods], periods, self._groups, counts)

    def window_effect(self, first: float = -math.inf, end: float = math.inf) -> float:
        """Return the effect on the figure of all days from ``first`` to before ``end``.

        Only the newest answers are read. A window before them has the effect of all answers that are read.
        """
        inside = (first <= self._days) & (self._days < end)
        if not inside.any():
            inside[:] = True
        return design_effect_of_mean(self._values[inside], self._groups.at(inside))

    def _by_period(self, period: Period) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the position of each answer's period, the answers of each period, and deviations from its mean."""
        _, periods, counts = np.unique(start_of(self._days, period), return_inverse=True, return_counts=True)
        means = np.bincount(periods, weights=self._values) / counts
        return periods, counts.astype(np.float64), self._values - means[periods]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that a detector found, dated to the period that starts on ``from_day``.

    The detector's evidence reached its limit in the period that starts on ``seen_day``. ``before`` and ``after`` are
    the figure before the change and since it.
    """

    direction: Direction
    from_day: int
    seen_day: int
    evidence: float
    before: Estimate
    after: Estimate


MeasureName = Literal["groundedness", "quality", "low_share", "flagged_share", "failed_check_share"]


class Asked(NamedTuple):
    """The request for a trend; ``judge`` is a name (current verdicts), a version's id, or None if nothing is judged."""

    connection: Connection
    judge: str | int | None
    threshold: float
    groups: Groups = None


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure: a mean within ``bounds``, or a share if they are None.

    ``counts`` are the words for what n counts. With ``of_judge``, n counts verdicts with a ``score``; otherwise it
    counts all logged answers. A share of flagged answers may count one ``rule`` only.
    """

    title: str
    counts: str
    sums: Callable[[Asked], list[DaySums]]
    bounds: tuple[float, float] | None = None
    worse_when_higher: bool = False
    of_judge: bool = True
    score: ScoreName = "groundedness"
    rule: str | None = None

    def estimates(self, sums: PeriodSums, design_effect: float) -> tuple[Estimate, ...]:
        """Return one estimate per period: Student's t for a mean, Wilson for a share."""
        if self.bounds is None:
            return share_intervals([round(hits) for hits in sums.total], sums.n, design_effect)
        bounds, squares = self.bounds, sums.squares
        return mean_interval(sums.n, sums.total, squares, bounds=bounds, design_effect=design_effect)

    @property
    def span(self) -> float:
        """The length of the scale."""
        low, high = self.bounds or (0.0, 1.0)
        return high - low

    def largest_change(self, sums: PeriodSums) -> float:
        """Return the largest change that the scale allows from the figure of all periods."""
        low, high = self.bounds or (0.0, 1.0)
        mean = sum(sums.total) / max(sum(sums.n), 1)
        return max(mean - low, high - mean)

    def errors(self, sums: PeriodSums, change_effect: float) -> FloatArray:
        """Return the standard error of each period for tests."""
        if not sums.n:
            return no_floats()
        return mean_errors(sums.n, sums.total, sums.squares, self.bounds or (0.0, 1.0), change_effect)

    def change(self, sums: PeriodSums, values: GroupedValues, errors: FloatArray, limit: float) -> Change | None:
        """Return the change that a detector found; of a rise and a fall the one with more evidence.

        ``values`` are those of the answers, and give the intervals of the figure before the change and since it.
        """
        if not sums.n:
            return None
        means = [total / n for n, total in zip(sums.n, sums.total, strict=True)]
        rates = list(zip(means, errors.tolist(), strict=True))
        changes = found_changes({direction: detect(rates, direction) for direction in DIRECTIONS}, limit)
        if not changes:
            return None
        clearest = max(changes, key=lambda each: each.evidence)
        start = likeliest_start(rates, clearest)
        from_day = sums.starts[start]
        (before,) = self.estimates(sums.whole(0, start), values.window_effect(end=from_day))
        (after,) = self.estimates(sums.whole(start, len(sums.n)), values.window_effect(first=from_day))
        return Change(clearest.direction, from_day, sums.starts[clearest.seen], clearest.evidence, before, after)

    def values(self, asked: Asked, kept_from: int, last_day: int) -> Callable[[str], GroupedValues]:
        """Return a function that gives the newest values of a panel, of the UTC days ``kept_from`` to ``last_day``."""
        if asked.judge is None:
            return lambda _panel: GroupedValues(no_ints(), no_floats(), no_ints())
        threshold = asked.threshold if self.of_judge and self.bounds is None else None
        score = self.score if self.of_judge else None
        newest = newest_values(asked.connection, asked.judge, score, threshold, self.rule, asked.groups)
        kept = newest.at((newest.days >= max(kept_from, 0)) & (newest.days <= last_day))  # -1: without a time

        def of_panel(panel: str) -> GroupedValues:
            values = kept if panel == ALL_ANSWERS else kept.at(kept.names.equal(panel))
            return GroupedValues(values.days, values.values, values.evidence_groups)

        return of_panel

    def rows(self, judge: str | int | None, **narrowed: Any) -> RowFilter:
        """Return the filter of the answers that the measure counts."""
        return RowFilter(**(_SCORED[self.score] | _of_judge(judge) if self.of_judge else {}), **narrowed)


_SCORED: Mapping[ScoreName, dict[str, Any]] = {
    "groundedness": {"min_score": 0.0, "max_score": 1.0},
    "quality": {"min_quality": 1, "max_quality": 4},
}
"""The filter of the answers that have a score."""


def _of_judge(judge: str | int | None) -> dict[str, Any]:
    return {"judge_version": judge} if isinstance(judge, int) else {"judge": judge}


def _scores(score: ScoreName) -> Callable[[Asked], list[DaySums]]:
    return lambda asked: [] if asked.judge is None else score_sums(asked.connection, asked.judge, score, asked.groups)


def _low(asked: Asked) -> list[DaySums]:
    return [] if asked.judge is None else low_sums(asked.connection, asked.judge, asked.threshold, asked.groups)


MEASURES: dict[MeasureName, Measure] = {
    "groundedness": Measure("Groundedness", "answers judged", _scores("groundedness"), bounds=(0.0, 1.0)),
    "quality": Measure("Quality", "answers judged", _scores("quality"), bounds=(1.0, 4.0), score="quality"),
    "low_share": Measure("Share of low groundedness", "answers judged", _low, worse_when_higher=True),
    "flagged_share": Measure(
        "Share flagged",
        "answers, judged or not",
        lambda asked: flagged_sums(asked.connection, asked.groups),
        worse_when_higher=True,
        of_judge=False,
    ),
    "failed_check_share": Measure(
        "Share failing a check",
        "answers, judged or not",
        lambda asked: flagged_sums(asked.connection, asked.groups, FAILED_CHECK),
        worse_when_higher=True,
        of_judge=False,
        rule=FAILED_CHECK,
    ),
}


Reason = Literal["no_verdict", "no_score", "no_time", "future", "other_value"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """``n`` logged answers that no point counts, for one reason; ``where`` is None if no filter can select them."""

    reason: Reason
    n: int
    words: str
    where: RowFilter | None


def left_out(
    connection: Connection, measure: Measure, judge: str | int | None, sums: Iterable[DaySums], last_day: int
) -> tuple[LeftOut, ...]:
    """Return the answers of the whole log that a measure leaves out, by reason; only reasons with answers.

    Answers after the UTC day ``last_day`` are in the future.
    """
    every = list(sums)
    timeless = sum(row.n for row in every if row.day is None)
    future = sum(row.n for row in every if row.day is not None and row.day > last_day)
    parts = [
        LeftOut("no_time", timeless, f"{timeless:,} without a time", measure.rows(judge, no_time=True)),
        LeftOut("future", future, f"{future:,} dated in the future", measure.rows(judge, day_from=last_day + 1)),
    ]
    if measure.of_judge and judge is not None:
        unscored = sum(row.unscored for row in every)
        unjudged = count_responses(connection) - sum(row.n + row.unscored for row in every)
        whose = _of_judge(judge)
        no_score, no_verdict = RowFilter(**whose, unscored=measure.score), RowFilter(**whose, judge_side="none")
        parts += [
            LeftOut("no_score", unscored, f"{unscored:,} without a {measure.score}", no_score),
            LeftOut("no_verdict", unjudged, f"{unjudged:,} without a usable verdict", no_verdict),
        ]
    return tuple(each for each in parts if each.n > 0)


@dataclass(frozen=True, slots=True)
class Point:
    """One period from ``start`` to ``end``: UTC days since 1970-01-01, both included.

    ``where`` selects exactly its n answers. Points of one ``segment`` have no empty period between them.
    """

    start: int
    end: int
    estimate: Estimate
    segment: int
    where: RowFilter


@dataclass(frozen=True, slots=True)
class Panel:
    """The trend of all answers, or of one query type or metadata value.

    ``empty`` are the starts of empty periods between the points; ``without_time`` answers have no point. A change of
    the size ``seen`` in the middle would have been found in 80 % of cases; None if no possible change would have been.
    """

    group: str
    points: tuple[Point, ...]
    empty: tuple[int, ...]
    without_time: int
    change: Change | None = None
    seen: float | None = None

    @property
    def n(self) -> int:
        """The number of answers drawn."""
        return sum(point.estimate.n for point in self.points)


@dataclass(frozen=True, slots=True)
class VersionMark:
    """From the period ``start`` on, most verdicts come from this version."""

    start: int
    version_id: int
    title: str


@dataclass(frozen=True, slots=True)
class Trend:
    """All panels of one measure: all answers first, then changed groups, from the worst change to the best.

    Unchanged groups follow by number of answers. One group alone is all answers, and has no panel of its own.

    ``judge`` is a judge name (current verdicts) or a version title. ``threshold`` is the one of the low groundedness
    rule, None if it does not apply. ``left_out`` covers the whole log. ``by`` is query_type, or a metadata field such
    as ``metadata.tenant``.
    """

    measure: MeasureName
    period: Period
    by: str
    judge: str | None
    threshold: float | None
    panels: tuple[Panel, ...]
    marks: tuple[VersionMark, ...]
    left_out: tuple[LeftOut, ...]


def trend(
    connection: Connection,
    *,
    measure: MeasureName = "groundedness",
    period: Period = "week",
    judge: str | int | None = None,
    last: int | None = None,
    by: str = QUERY_TYPE,
    now: datetime | None = None,
) -> Trend:
    """Return the trend of a measure for all answers and per query type; days are UTC, weeks begin on Monday.

    ``by`` can also be a metadata field, such as ``metadata.tenant``. There is then a panel for the missing value, and
    one for each value that is frequent among the newest and the oldest answers.

    The share flagged is the share of all logged answers with a flag from any rule except random sampling. The other
    measures count verdicts of ``judge``: a name (current verdicts), a version's id, or None for the primary judge. Only
    the ``last`` periods are kept. Answers dated more than a day after ``now`` (default: the current time) are left out:
    one wrong date would otherwise stretch the trend over centuries.

    Raises:
        BadInput: No such measure, period or field, or ``last`` is below 1.
        NotFound: No such judge version.
    """
    if measure not in MEASURES or period not in PERIOD_DAYS:
        raise BadInput(f"a trend must be one of {', '.join(MEASURES)} by week or day, not {measure} by {period}")
    if last is not None and last < 1:
        raise BadInput(f"a trend has at least one {period}, not {last}")
    rules = rules_in_force(connection)
    asked = Asked(connection, rules.primary_judge if judge is None else judge, rules.thresholds.low_groundedness)
    shown = MEASURES[measure]
    last_day = utc_day(now or utc_now()) + 1  # clocks and time zones differ
    every = shown.sums(asked)
    sums = _until(every, last_day)
    asked_groups = asked if by == QUERY_TYPE else asked._replace(groups=_groups_by_value(asked, by))
    of_groups = sums if by == QUERY_TYPE else _until(shown.sums(asked_groups), last_day)
    starts = [start_of(row.day, period) for row in sums if row.day is not None and row.n]
    kept_from = min(starts, default=0)
    if last is not None and starts:
        kept_from = max(kept_from, max(starts) - (last - 1) * PERIOD_DAYS[period])
    by_group = defaultdict[str, list[DaySums]](list)
    for row in of_groups:
        if row.n:
            by_group[row.group].append(row)
    whole = [row for row in sums if row.n]
    rows_of = ({ALL_ANSWERS: whole} if whole else {}) | (by_group if len(by_group) > 1 else {})
    periods = {group: by_period(rows, period, kept_from) for group, rows in rows_of.items()}
    limits = alarm_limits((group for group, each in periods.items() if each.n), period)
    values_of, panels = shown.values(asked_groups, kept_from, last_day), []
    for group, of_group in periods.items():
        values = values_of(group)
        errors = shown.errors(of_group, values.change_effect(period))
        limit = limits.get(group, math.inf)
        panels.append(
            Panel(
                NO_VALUE if by != QUERY_TYPE and group == MISSING else group,
                _points(shown, asked.judge, by, group, of_group, period, values.period_effect(period)),
                tuple(of_group.empty(period)),
                sum(row.n for row in rows_of[group] if row.day is None),
                shown.change(of_group, values, errors, limit),
                smallest_change(errors.tolist(), limit, shown.largest_change(of_group)),
            )
        )
    others = sum(row.n for row in sums if row.day is not None) - sum(row.n for row in of_groups if row.day is not None)
    other_values = LeftOut("other_value", others, f"{others:,} with other values", None)
    return Trend(
        measure,
        period,
        by,
        get_version(connection, asked.judge).title if isinstance(asked.judge, int) else asked.judge,
        asked.threshold if shown.of_judge and shown.score == "groundedness" else None,
        tuple(sorted(panels, key=lambda panel: _worst_first(panel, shown))),
        _marks(asked, sums if shown.of_judge else None, period, kept_from),
        (*left_out(connection, shown, asked.judge, every, last_day), *([other_values] if others > 0 else [])),
    )


def _until(sums: Iterable[DaySums], last_day: int) -> list[DaySums]:
    return [row for row in sums if row.day is None or row.day <= last_day]


def _groups_by_value(asked: Asked, by: str) -> Groups:
    if not by.startswith(METADATA):
        raise BadInput(f"a trend is by {QUERY_TYPE} or {METADATA_FIELD}, not {by!r}")
    field = metadata_field(metadata_path(by.removeprefix(METADATA)))
    known = next((each.values for each in metadata_fields(asked.connection) if each.field == field), ())
    values, matched = [MISSING], set[tuple[bool, Scalar]]()
    for value in sorted(known, key=lambda value: value.startswith('"')):  # 3 matches number and text, "3" text only
        of_value = {(isinstance(each, bool), each) for each in metadata_condition(f"{field}={value}").values}
        if not of_value & matched:
            values.append(value)
            matched |= of_value
    return metadata_groups(asked.connection, field, values)


def _points(
    measure: Measure,
    judge: str | int | None,
    by: str,
    group: str,
    sums: PeriodSums,
    period: Period,
    design_effect: float,
) -> tuple[Point, ...]:
    of_group: dict[str, Any] = {} if group == ALL_ANSWERS else {"query_types": (group,)}
    if by != QUERY_TYPE and group != ALL_ANSWERS:
        of_group = {"metadata": (f"{by.removeprefix(METADATA)}={group}",)}
    last_day = PERIOD_DAYS[period] - 1
    return tuple(
        Point(
            start,
            start + last_day,
            estimate,
            segment,
            measure.rows(judge, **of_group, day_from=start, day_to=start + last_day),
        )
        for start, estimate, segment in zip(
            sums.starts, measure.estimates(sums, design_effect), sums.segments(period), strict=True
        )
    )


def _worst_first(panel: Panel, measure: Measure) -> tuple[float, int, str]:
    if panel.group == ALL_ANSWERS:
        return -math.inf, 0, ""
    worsened = 0.0
    if panel.change is not None:
        change = (panel.change.after.value or 0.0) - (panel.change.before.value or 0.0)
        worsened = change if measure.worse_when_higher else -change
    # The order is: panels that got worse, panels that improved, unchanged panels.
    order = -worsened if worsened > 0 else 0.5 if worsened < 0 else 1.0
    return order, -panel.n, panel.group


def _marks(asked: Asked, sums: Sequence[DaySums] | None, period: Period, kept_from: int) -> tuple[VersionMark, ...]:
    """Return each period in which the version with most verdicts changes. Of two equal versions the newer counts."""
    if not isinstance(asked.judge, str):
        return ()
    counts = defaultdict[int, Counter[int]](Counter)
    for row in judged_counts(asked.connection, asked.judge) if sums is None else sums:
        if row.day is not None and row.version_id is not None and row.n:
            counts[start_of(row.day, period)][row.version_id] += row.n
    leads = [(start, max(counts[start].items(), key=lambda item: (item[1], item[0]))[0]) for start in sorted(counts)]
    titles = {version.id: version.title for version in list_versions(asked.connection)}
    return tuple(
        VersionMark(start, version_id, titles[version_id])
        for (_, before), (start, version_id) in pairwise(leads)
        if version_id != before and start >= kept_from
    )
