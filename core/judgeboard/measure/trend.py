"""Groundedness, quality and flags over time: of all answers, then per query type or metadata value, with sentences."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.measure.changes import Figure, Finding, changes_of
from judgeboard.measure.notes import Note, note
from judgeboard.measure.periods import (
    FIRST_YEAR,
    PERIOD_DAYS,
    Period,
    PeriodSums,
    PlausibleDays,
    by_period,
    start_of,
)
from judgeboard.measure.result import ALL, About, Result, Row, frame_of
from judgeboard.measure.sample import count_logged
from judgeboard.measure.trend_figures import (
    ALL_ANSWERS,
    MEASURES,
    Asked,
    Change,
    Measure,
    alarm_limits,
    find_criterion,
    find_own_label,
    measure_of,
    of_judge,
)
from judgeboard.stats.monitor import smallest_change
from judgeboard.store.criteria import Criterion
from judgeboard.store.day_sums import DaySums, Groups, judged_counts
from judgeboard.store.filters import (
    METADATA,
    METADATA_FIELD,
    MISSING,
    PARTS,
    MeasureName,
    RowFilter,
    Scalar,
    from_dict,
    metadata_condition,
    metadata_field,
    metadata_path,
)
from judgeboard.store.judge_versions import get_version, version_titles
from judgeboard.store.metadata import NO_VALUE, metadata_fields, metadata_groups, part_groups
from judgeboard.store.own_labels import OwnLabel
from judgeboard.store.settings import rules_in_force
from judgeboard.text import EPOCH, counted

if TYPE_CHECKING:
    from pandas import DataFrame

QUERY_TYPE = "query_type"
SPLITS = {each.name: column for column, each in PARTS.items()}
"""The texts of the log that divide a trend, by their name in filters, with the column of each."""

Reason = Literal["no_verdict", "no_score", "no_time", "old", "future", "other_value"]
WRONG_DATES: Mapping[Reason, str] = {
    "old": f"dated before {FIRST_YEAR}",
    "future": "dated in the future",
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """``n`` logged answers that no point counts, for one reason; ``where`` is None if no filter can select them."""

    reason: Reason
    n: int
    words: str
    where: RowFilter | None


def without_date(
    counts: Mapping[int | None, int], days: PlausibleDays, where: RowFilter | None = None
) -> Iterator[LeftOut]:
    """Yield the answers without a plausible date: without a time, too old, or in the future; empty groups are left out.

    ``counts`` are numbers of answers by UTC day (None: no time). ``where`` selects the answers of
    all days.
    """
    old = sum(n for day, n in counts.items() if day is not None and day < days.first)
    future = sum(n for day, n in counts.items() if day is not None and day > days.last)
    where = where or RowFilter()
    parts: tuple[tuple[Reason, int, str, RowFilter], ...] = (
        ("no_time", counts.get(None, 0), "without a time", replace(where, no_time=True)),
        ("old", old, WRONG_DATES["old"], replace(where, day_to=days.first - 1)),
        ("future", future, WRONG_DATES["future"], replace(where, day_from=days.last + 1)),
    )
    for reason, n, words, selected in parts:
        if n:
            yield LeftOut(reason, n, words, selected)


def left_out(
    connection: Connection,
    measure: Measure,
    judge: str | int | None,
    sums: Iterable[DaySums],
    days: PlausibleDays,
) -> Iterator[LeftOut]:
    """Yield the answers of the whole log that a measure leaves out, by reason; only reasons with answers."""
    every = list(sums)
    counts = Counter[int | None]()
    for row in every:
        counts[row.day] += row.n
    yield from without_date(counts, days, measure.rows(judge))
    if measure.of_judge and judge is not None:
        unscored = sum(row.unscored for row in every)
        unjudged = count_logged(connection) - sum(row.n + row.unscored for row in every)
        whose, score = of_judge(judge), measure.score
        if unscored > 0:
            if isinstance(score, Criterion):
                yield LeftOut("no_score", unscored, f"without {score.name}", None)
            else:
                yield LeftOut(
                    "no_score", unscored, f"without {score}", RowFilter(**whose, unscored=score)
                )
        if unjudged > 0:
            where = RowFilter(**whose, judge_side="none")
            yield LeftOut("no_verdict", unjudged, "without a usable verdict", where)


@dataclass(frozen=True, slots=True)
class Point:
    """One period from ``start`` to ``end``: UTC days since 1970-01-01, both included.

    ``where`` selects exactly the n answers of the period. Between points of one ``segment`` there
    is no empty period.
    """

    start: int
    end: int
    estimate: Estimate
    segment: int
    where: RowFilter


@dataclass(frozen=True, slots=True)
class Panel:
    """The trend of all answers, or of one query type or metadata value.

    ``empty`` are the starts of empty periods among all periods of the trend, also before the first
    point and after the last one; ``without_time`` answers have no point. A change of the size
    ``seen`` in the middle would have been found in 80 % of cases; None if no possible change would
    have been.
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

    Unchanged groups follow by number of answers. One group alone is all answers, and has no panel
    of its own.

    With a ``criterion`` of a rubric judge, the measure is its mean score, and ``measure`` is None.
    With an ``own_label``, the measure is the mean or the share of this label.

    ``judge`` is a judge name (current verdicts) or a version title. ``threshold`` belongs to the
    low groundedness rule, and is None for measures without this rule. ``left_out`` covers the whole
    log. ``by`` is one of `SPLITS`, or a metadata field such as ``metadata.tenant``.
    """

    measure: MeasureName | None
    criterion: Criterion | None
    period: Period
    by: str
    judge: str | None
    threshold: float | None
    panels: tuple[Panel, ...]
    marks: tuple[VersionMark, ...]
    left_out: tuple[LeftOut, ...]
    own_label: OwnLabel | None = None

    @property
    def name(self) -> str:
        """The name of the measure, of the criterion or of the own label."""
        if self.own_label is not None:
            return f"own label {self.own_label.name}"
        return (
            f"criterion {self.criterion.name}" if self.criterion is not None else str(self.measure)
        )

    @property
    def of_measure(self) -> Measure:
        """The measure that is shown."""
        return measure_of(self.measure, self.criterion, self.own_label)

    @property
    def changes(self) -> Result:
        """The changes that the detectors of all answers and of the groups found; without points, why there are none."""
        about = About(judges=(self.judge,) if self.judge else (), grade=self.name, by=self.by)
        panels = [panel for panel in self.panels if panel.points]
        if not panels:
            return Result(about=about, headline=self._missing, rows=())
        measure = self.of_measure
        figure = Figure(measure.name, "share" if measure.is_share else "mean", measure.span)
        starts = [point.start for panel in panels for point in panel.points]
        span = counted((max(starts) - min(starts)) // PERIOD_DAYS[self.period] + 1, self.period)
        findings = [
            Finding(each.group, () if each.change is None else (each.change,), each.seen)
            for each in panels
        ]
        result = changes_of(findings, figure, span, about)
        change_days = [each.from_day for finding in findings for each in finding.changes]
        caveats = list[Note]()
        if change_days and self.marks:
            nearest = min(self.marks, key=lambda mark: abs(mark.start - change_days[0]))
            caveats.append(note("version_changed", day=nearest.start, judge=nearest.title))
        if self.judge is not None and measure.of_judge:
            caveats.append(note("judge_alone", judge=self.judge))
        return replace(result, caveats=(*caveats, *result.caveats))

    @property
    def frame(self) -> "DataFrame":
        """The points as a DataFrame: the ``start`` of each period, and the columns of `Row`."""
        points = (
            {"start": EPOCH + timedelta(days=point.start)}
            | asdict(
                Row.of(
                    self.name, ALL if panel.group == ALL_ANSWERS else panel.group, point.estimate
                )
            )
            for panel in self.panels
            for point in panel.points
        )
        return frame_of(points, "start")

    def _repr_html_(self) -> str:
        return self.changes._repr_html_()

    @property
    def _missing(self) -> Note:
        if any(panel.without_time for panel in self.panels):
            return note("no_times")
        if any(each.reason in WRONG_DATES for each in self.left_out):
            return note("no_plausible_date")
        if self.own_label is not None:
            return note("no_own_label", field=self.own_label.field)
        if self.judge is None:
            return note("not_judged")
        score = self.of_measure.score
        return note(
            "no_score", score=score if isinstance(score, str) else score.name, judge=self.judge
        )


def trend(
    connection: Connection,
    *,
    measure: MeasureName = "groundedness",
    criterion: str | None = None,
    own_label: str | None = None,
    period: Period = "week",
    judge: str | int | None = None,
    last: int | None = None,
    by: str = QUERY_TYPE,
    now: datetime | None = None,
) -> Trend:
    """Return the trend of a measure for all answers and per query type; days are UTC, weeks begin on Monday.

    ``by`` can also be ``source``, ``model`` (of the generator), or a metadata field, such as
    ``metadata.tenant``. For a metadata field, there is a panel for the missing value, and one for
    each value that is frequent among the newest and the oldest answers.

    The share flagged is the share of all logged answers with a flag from any rule except random
    sampling. The other measures count verdicts of ``judge``: a name (current verdicts), a version's
    id, or None for the primary judge. With ``criterion``, the measure is the mean score on this
    criterion of a rubric judge (`find_criterion`). With ``own_label``, the measure is the mean of a
    field of a label schema (``tone``), or the share of one of its values (``verdict=fix``), over
    the answers that people labelled; the latest review of an answer counts (`find_own_label`). Only
    the ``last`` periods are kept. Answers without a plausible date (`PlausibleDays`, with ``now``)
    are left out.

    Raises:
        BadInput: No such measure, period or field, or ``last`` is below 1.
        NotFound: No such judge version, or no such criterion.
    """
    if measure not in MEASURES or period not in PERIOD_DAYS:
        raise BadInput(
            f"a trend must be one of {', '.join(MEASURES)} by week or day, not {measure} by {period}"
        )
    if last is not None and last < 1:
        raise BadInput(f"a trend has at least one {period}, not {last}")
    rules = rules_in_force(connection)
    of_rubric = None
    if criterion is not None:
        judge, of_rubric = find_criterion(connection, criterion, judge)
    of_people = None if own_label is None else find_own_label(connection, own_label)
    request = Asked(
        connection,
        rules.primary_judge if judge is None else judge,
        rules.thresholds.low_groundedness,
    )
    figure = measure_of(measure, of_rubric, of_people)
    days = PlausibleDays.at(now)
    every = figure.sums(request)
    sums = [row for row in every if days.include(row.day)]
    by_part = (
        request if by == QUERY_TYPE else request._replace(groups=_groups_by_value(request, by))
    )
    of_groups = (
        sums if by == QUERY_TYPE else [row for row in figure.sums(by_part) if days.include(row.day)]
    )
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
    dates = [start for each in periods.values() for start in each.starts]
    every_start = range(min(dates), max(dates) + 1, PERIOD_DAYS[period]) if dates else range(0)
    limits = alarm_limits((group for group, each in periods.items() if each.n), period)
    values_of, panels = (
        figure.values(by_part, days._replace(first=max(kept_from, days.first))),
        [],
    )
    for group, of_group in periods.items():
        values = values_of(group)
        errors = figure.errors(of_group, values.change_effect(period))
        limit = limits.get(group, math.inf)
        panels.append(
            Panel(
                NO_VALUE if by.startswith(METADATA) and group == MISSING else group,
                _points(
                    figure, request.judge, by, group, of_group, period, values.period_effect(period)
                ),
                tuple(start for start in every_start if start not in of_group.starts),
                sum(row.n for row in rows_of[group] if row.day is None),
                figure.change(of_group, values, errors, limit),
                smallest_change(errors.tolist(), limit, figure.largest_change(of_group)),
            )
        )
    others = sum(row.n for row in sums if row.day is not None) - sum(
        row.n for row in of_groups if row.day is not None
    )
    other_values = LeftOut("other_value", others, "with other values", None)
    return Trend(
        measure if of_rubric is None and of_people is None else None,
        of_rubric,
        period,
        by,
        get_version(connection, request.judge).title
        if isinstance(request.judge, int)
        else request.judge,
        request.threshold if figure.of_judge and figure.score == "groundedness" else None,
        tuple(sorted(panels, key=lambda panel: _worst_first(panel, figure))),
        _marks(request, sums if figure.of_judge else None, period, kept_from),
        (
            *left_out(connection, figure, request.judge, every, days),
            *([other_values] if others > 0 else []),
        ),
        of_people,
    )


def _groups_by_value(request: Asked, by: str) -> Groups:
    if by in SPLITS:
        return part_groups(SPLITS[by])
    if not by.startswith(METADATA):
        raise BadInput(f"a trend is by {', '.join(SPLITS)} or {METADATA_FIELD}, not {by!r}")
    field = metadata_field(metadata_path(by.removeprefix(METADATA)))
    fields = (each for each in metadata_fields(request.connection) if each.field == field)
    field_values = next((each.values for each in fields), ())  # noqa: PD011 - no DataFrame
    values, matches = [MISSING], set[tuple[bool, Scalar]]()
    # 3 matches number and text, "3" text only
    for value in sorted(field_values, key=lambda value: value.startswith('"')):
        condition = metadata_condition(f"{field}={value}")
        of_value = {(isinstance(each, bool), each) for each in condition.values}  # noqa: PD011 - no DataFrame
        if not of_value & matches:
            values.append(value)
            matches |= of_value
    return metadata_groups(request.connection, field, values)


def _points(
    measure: Measure,
    judge: str | int | None,
    by: str,
    group: str,
    sums: PeriodSums,
    period: Period,
    design_effect: float,
) -> tuple[Point, ...]:
    rows = measure.rows(judge)
    if group != ALL_ANSWERS and by in SPLITS:
        rows = from_dict(rows.as_dict() | {PARTS[SPLITS[by]].plural: [group]})
    elif group != ALL_ANSWERS:
        rows = replace(rows, metadata=(f"{by.removeprefix(METADATA)}={group}",))
    last_day = PERIOD_DAYS[period] - 1
    return tuple(
        Point(
            start,
            start + last_day,
            estimate,
            segment,
            replace(rows, day_from=start, day_to=start + last_day),
        )
        for start, estimate, segment in zip(
            sums.starts, measure.estimates(sums, design_effect), sums.segments(period), strict=True
        )
    )


def _worst_first(panel: Panel, measure: Measure) -> tuple[float, int, str]:
    if panel.group == ALL_ANSWERS:
        return -math.inf, 0, ""
    worsening = 0.0
    if panel.change is not None:
        change = (panel.change.after.value or 0.0) - (panel.change.before.value or 0.0)
        worsening = change if measure.worse_when_higher else -change
    # The order is: panels that got worse, panels that improved, unchanged panels.
    order = -worsening if worsening > 0 else 0.5 if worsening < 0 else 1.0
    return order, -panel.n, panel.group


def _marks(
    request: Asked, sums: Sequence[DaySums] | None, period: Period, kept_from: int
) -> tuple[VersionMark, ...]:
    """Return each period in which the version with most verdicts changes. Between equal versions, the newer counts."""
    if not isinstance(request.judge, str):
        return ()
    counts = defaultdict[int, Counter[int]](Counter)
    for row in judged_counts(request.connection, request.judge) if sums is None else sums:
        if row.day is not None and row.version_id is not None and row.n:
            counts[start_of(row.day, period)][row.version_id] += row.n
    leads = [
        (start, max(counts[start].items(), key=lambda item: (item[1], item[0]))[0])
        for start in sorted(counts)
    ]
    titles = version_titles(request.connection)
    return tuple(
        VersionMark(start, version_id, titles[version_id])
        for (_, before), (start, version_id) in pairwise(leads)
        if version_id != before and start >= kept_from
    )
