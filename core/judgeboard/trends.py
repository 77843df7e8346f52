"""Trends of one judge by query type: what the charts of a week or a day show, with n and interval of each point."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from judgeboard.domain import Estimate
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.stats.moved import Move
from judgeboard.store.figures.trend_sums import DaySums, judged_counts
from judgeboard.store.judgments.judge_versions import get_version, list_versions
from judgeboard.store.settings_table import rules_in_force
from judgeboard.trend_left_out import LeftOut, left_out
from judgeboard.trend_measures import MEASURES, Asked, Measure, MeasureName
from judgeboard.trend_periods import PERIOD_DAYS, Period, by_period, leading_versions, start_of


@dataclass(frozen=True, slots=True)
class Point:
    """One period: ``start`` and ``end`` are UTC days since 1970-01-01, both included.

    ``estimate`` carries n and interval; ``where`` opens exactly these n answers. Points of one ``segment`` follow
    each other without an empty period between them.
    """

    start: int
    end: int
    estimate: Estimate
    segment: int
    where: RowFilter


@dataclass(frozen=True, slots=True)
class Panel:
    """One query type: its points, the starts of the ``empty`` periods between them, and whether it moved.

    From the period that begins with ``moved_at`` on, ``move.after`` holds. ``without_time`` answers are not drawn.
    """

    query_type: str
    points: tuple[Point, ...]
    empty: tuple[int, ...]
    without_time: int
    move: Move | None = None
    moved_at: int | None = None

    @property
    def n(self) -> int:
        """How many answers are drawn."""
        return sum(point.estimate.n for point in self.points)


@dataclass(frozen=True, slots=True)
class VersionMark:
    """From the period that begins with ``start`` on, most verdicts are of this version and not of the one before."""

    start: int
    version_id: int
    title: str


@dataclass(frozen=True, slots=True)
class Trend:
    """Every panel of one measure: those that moved first, the worst change first, then those with the most answers.

    ``judge`` says what counts: a judge's current verdicts ("rag") or one version ("rag v3"), None where nobody has
    judged. ``threshold`` is that of the low groundedness rule, for the two measures that it concerns. ``left_out`` of
    the whole log no panel draws, however long it reaches back.
    """

    measure: MeasureName
    period: Period
    judge: str | None
    threshold: float | None
    panels: tuple[Panel, ...]
    marks: tuple[VersionMark, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def without_time(self) -> int:
        """How many answers are counted beside the charts, because nobody knows when they were asked."""
        return sum(panel.without_time for panel in self.panels)


def trend(
    connection: Connection,
    *,
    measure: MeasureName = "groundedness",
    period: Period = "week",
    judge: str | int | None = None,
    last: int | None = None,
) -> Trend:
    """Return the trend of a measure per query type; days are UTC, weeks begin on Monday.

    Args:
        connection: An open transaction.
        measure: A key of ``MEASURES``. The share flagged counts flags of any rule but the random one among all logged
            answers; the others count the judge's verdicts.
        period: ``week`` or ``day``.
        judge: A judge's name (its current verdicts), the id of one judge version, or None for the primary judge.
        last: How many periods to keep, counted back from the newest in the data; None keeps all.

    Raises:
        BadInput: No such measure or period, or ``last`` is below 1.
        NotFound: No such judge version.
    """
    if measure not in MEASURES or period not in PERIOD_DAYS:
        raise BadInput(f"a trend shows one of {', '.join(MEASURES)} by week or day, not {measure} by {period}")
    if last is not None and last < 1:
        raise BadInput(f"a trend shows at least one {period}, not {last}")
    rules = rules_in_force(connection)
    asked = Asked(connection, rules.primary_judge if judge is None else judge, rules.thresholds.low_groundedness)
    shown = MEASURES[measure]
    sums = shown.sums(asked)
    starts = [start_of(row.day, period) for row in sums if row.day is not None and row.n]
    kept_from = min(starts, default=0)
    if last is not None and starts:
        kept_from = max(kept_from, max(starts) - (last - 1) * PERIOD_DAYS[period])
    rows_of = defaultdict[str, list[DaySums]](list)
    for row in sums:
        if row.n:
            rows_of[row.query_type].append(row)
    panels = (_panel(shown, asked.judge, name, rows, period, kept_from) for name, rows in rows_of.items())
    return Trend(
        measure,
        period,
        _title(asked),
        asked.threshold if shown.has_threshold else None,
        tuple(sorted(panels, key=lambda panel: _worst_first(panel, shown))),
        _marks(asked, sums if shown.of_judge else None, period, kept_from),
        left_out(connection, shown, asked.judge, sums),
    )


def _title(asked: Asked) -> str | None:
    return get_version(asked.connection, asked.judge).title if isinstance(asked.judge, int) else asked.judge


def _panel(
    measure: Measure, judge: str | int | None, query_type: str, rows: Sequence[DaySums], period: Period, kept_from: int
) -> Panel:
    sums = by_period(rows, period, kept_from)
    filled = sums.filled(period)
    move = measure.move(filled)
    last_day = PERIOD_DAYS[period] - 1
    points = (
        Point(
            start,
            start + last_day,
            estimate,
            segment,
            measure.rows(judge, query_types=(query_type,), day_from=start, day_to=start + last_day),
        )
        for start, estimate, segment in zip(sums.starts, measure.estimates(sums), sums.segments(period), strict=True)
    )
    return Panel(
        query_type,
        tuple(points),
        tuple(start for start, n in zip(filled.starts, filled.n, strict=True) if not n),
        sum(row.n for row in rows if row.day is None),
        move,
        None if move is None else filled.starts[move.period],
    )


def _worst_first(panel: Panel, measure: Measure) -> tuple[float, int, str]:
    worsened = 0.0
    if panel.move is not None and panel.move.before.value is not None and panel.move.after.value is not None:
        change = panel.move.after.value - panel.move.before.value
        worsened = change if measure.worse_when_higher else -change
    # What improved stands between what fell and what did not move: it moved, and it is no worry.
    order = -worsened if worsened > 0 else 0.5 if worsened < 0 else 1.0
    return order, -panel.n, panel.query_type


def _marks(asked: Asked, sums: Sequence[DaySums] | None, period: Period, kept_from: int) -> tuple[VersionMark, ...]:
    if not isinstance(asked.judge, str):
        return ()
    rows = judged_counts(asked.connection, asked.judge) if sums is None else sums
    titles = {version.id: version.title for version in list_versions(asked.connection)}
    changes = leading_versions(rows, period, kept_from)
    return tuple(VersionMark(start, version_id, titles[version_id]) for start, version_id in changes)
