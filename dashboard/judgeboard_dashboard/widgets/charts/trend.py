"""A trend as a table, or as charts that show values with intervals, gaps, n per point, and new judge versions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

import altair as alt
import pandas as pd
import streamlit as st

from judgeboard.formats.output import Table
from judgeboard.measure.agreement_page import TimePoint
from judgeboard.measure.corrected_trend import CorrectedPanel, CorrectedTrend
from judgeboard.measure.notes import note
from judgeboard.measure.periods import PERIOD_DAYS, period_words
from judgeboard.measure.trend import Panel, Point, Trend
from judgeboard.measure.trend_figures import ALL_ANSWERS
from judgeboard.reports.trends import corrected_table, trend_table
from judgeboard.stats.estimates import number_words, percent_words
from judgeboard.text import EPOCH, counted, shortened
from judgeboard_dashboard.theme import Palette, palette
from judgeboard_dashboard.widgets.charts import PERCENT, click_points, end_of_shares, layered
from judgeboard_dashboard.widgets.filters import as_date, as_tables
from judgeboard_dashboard.widgets.navigation import clickable_chart, responses
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import capital, caption, heading

AnyPanel = TypeVar("AnyPanel", Panel, CorrectedPanel)
HEIGHT = 340
_STRIP = 0.2  # share of the scale that is added below for the bars of n, so that no line crosses the bars
_BAR, _BAR_WITH_NUMBER = (
    0.55,
    0.2,
)  # of the strip; the number above a bar must end below a point at the least value
MOST_NUMBERS = 16
_BAR_ROOM = 150  # px for all bars of a panel; the narrowest panel is a third of 800 px
_LONGEST_TITLE = 22


@dataclass(frozen=True, slots=True)
class TrendAxis:
    """The axes that all panels share: values from ``low`` to ``high``, and periods of ``days`` from first to last.

    A point is about ``unit``s; ``dated`` names the time of the point.
    """

    title: str
    days: int
    first: int = 0
    last: int = 0
    most: int = 0
    low: float = 0.0
    high: float = 1.0
    share: bool = True
    threshold: float | None = None
    unit: str = "answer"
    dated: str = "Asked"

    def over(self, points: Sequence[Point | TimePoint], *, also: Iterable[int] = ()) -> "TrendAxis":
        """Return these axes with room for all points, and for the periods that start at ``also``."""
        starts = [*also, *(point.start for point in points)]
        most = max(point.estimate.n for point in points)
        return replace(self, first=min(starts), last=max(starts), most=most)

    @property
    def floor(self) -> float:
        """The base of the bars of n."""
        return self.low - _STRIP * (self.high - self.low)

    @property
    def x(self) -> alt.X:
        """The horizontal axis."""
        starts = range(self.first, self.last + 1, self.days)
        label_days = starts[:: max(1, -(-len(starts) // 6))]  # at most six labels
        return alt.X(
            "start:T",
            title=None,
            # Dates are texts on a UTC scale. Naive times and automatic ticks would put labels on
            # other dates.
            scale=alt.Scale(
                type="utc", padding=14, domain=[str(as_date(self.first)), str(as_date(self.last))]
            ),
            axis=alt.Axis(
                format="%-d %b",
                values=[str(as_date(day)) for day in label_days],
                labelOverlap=True,
                labelSeparation=10,
                grid=False,
            ),
        )

    @property
    def y(self) -> alt.Y:
        """The vertical axis."""
        steps = (
            4 if self.share or self.high - self.low <= 1 or self.low == -self.high else 3
        )  # 0 has a tick
        ticks = [self.low + (self.high - self.low) * step / steps for step in range(steps + 1)]
        return alt.Y(
            "value:Q",
            title=self.title,
            scale=alt.Scale(domain=[self.floor, self.high], nice=False, zero=False),
            axis=alt.Axis(values=ticks, **(PERCENT if self.share else {"format": ".2f"})),
        )


def trend_chart(
    points: Sequence[Point | TimePoint],
    marks: Sequence[tuple[int, str]],
    axis: TrendAxis,
    thin: Sequence[tuple[int, float]] = (),
) -> Any:
    """Return the panel of one query type. Lines connect the points of a segment; ``points`` are oldest first.

    ``marks`` are (start of the period, title of the judge version from then on). ``thin`` are the
    (start of the period, value) of a second, thin line.
    """
    colours = palette()
    rows = frame_of(points, axis)
    base = alt.Chart(rows).encode(x=axis.x)
    numbers = len(points) <= MOST_NUMBERS
    periods = (axis.last - axis.first) // axis.days + 1
    width = max(1.5, min(13.0, _BAR_ROOM / periods))
    bars = base.mark_bar(color=colours.line, size=width).encode(
        y=alt.Y("bar:Q", title=axis.title), y2=alt.Y2Datum(axis.floor)
    )
    texts = base.mark_text(color=colours.muted, fontSize=11, dy=-8)
    y = axis.y
    layers = [
        *(
            [bars, texts.encode(y=alt.Y("bar:Q"), text=alt.Text("n:Q", format=","))]
            if numbers
            else [bars]
        ),
        *_rules(axis, marks, colours),
    ]
    if thin:
        line = alt.Chart(
            pd.DataFrame([{"start": str(as_date(start)), "value": value} for start, value in thin])
        )
        layers.append(
            line.mark_line(color=colours.muted, strokeWidth=1.2, clip=True).encode(x=axis.x, y=y)
        )
    blue = colours.series[0]
    banded = base.transform_filter("datum.alone == 0")
    layers.append(
        banded.mark_area(color=blue, opacity=0.17, clip=True).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), detail=alt.Detail("band:N")
        )
    )
    whiskers = base.transform_filter("datum.alone == 1")
    layers.append(
        whiskers.mark_rule(color=blue, strokeWidth=2.5, opacity=0.45).encode(
            y=alt.Y("low:Q"), y2=alt.Y2("high:Q")
        )
    )
    layers.append(
        base.mark_line(color=blue, strokeWidth=2).encode(y=y, detail=alt.Detail("segment:N"))
    )
    tips = [
        alt.Tooltip("words:N", title=axis.dated),
        alt.Tooltip("estimate:N", title=axis.title),
        alt.Tooltip("n:Q", title=f"{capital(axis.unit)}s", format=","),
    ]
    layers.append(
        base.mark_point(filled=True, opacity=1, color=blue, size=62, aria=False).encode(y=y)
    )
    return layered(*layers, click_points(base, blue, y=y, tooltip=tips))


def frame_of(points: Sequence[Point | TimePoint], axis: TrendAxis) -> pd.DataFrame:
    """Return the data of the chart: one row per point, bounds only if there is an interval."""
    return pd.DataFrame(list(_rows(points, axis)))


def _rows(points: Sequence[Point | TimePoint], axis: TrendAxis) -> Iterator[dict[str, Any]]:
    band = 0
    tallest = (
        (_BAR_WITH_NUMBER if len(points) <= MOST_NUMBERS else _BAR)
        * _STRIP
        * (axis.high - axis.low)
    )
    whole = [point.estimate.low is not None and point.estimate.high is not None for point in points]
    for place, point in enumerate(points):
        joined = (
            place > 0
            and points[place - 1].segment == point.segment
            and whole[place - 1]
            and whole[place]
        )
        follows = (
            place + 1 < len(points)
            and points[place + 1].segment == point.segment
            and whole[place + 1]
        )
        band += not joined
        estimate = point.estimate
        words = percent_words(estimate) if axis.share else number_words(estimate)
        period = period_words(point.start, "day" if axis.days == 1 else "week")
        yield {
            "at": place,
            "start": str(as_date(point.start)),
            "words": period,
            "value": estimate.value,
            "low": estimate.low if whole[place] else None,
            "high": estimate.high if whole[place] else None,
            "n": estimate.n,
            "bar": axis.floor + estimate.n / max(axis.most, 1) * tallest,
            "segment": point.segment,
            "band": band,
            # 0: the interval is part of a band. 1: the interval is a whisker. 2: the point has no
            # interval.
            "alone": 2 if not whole[place] else int(not joined and not follows),
            "estimate": words,
            "tip": f"{period}: {words} on {counted(estimate.n, axis.unit)}",
        }


def _rules(axis: TrendAxis, marks: Sequence[tuple[int, str]], colours: Palette) -> list[alt.Chart]:
    rules: list[alt.Chart] = []
    if axis.threshold is not None:
        line = alt.Chart(pd.DataFrame({"value": [axis.threshold]}))
        rules.append(
            line.mark_rule(color=colours.series[1], strokeDash=[2, 2]).encode(y=alt.Y("value:Q"))
        )
    middle = axis.first + (axis.last - axis.first) * 0.6
    for left, side_marks in (
        (True, [m for m in marks if m[0] <= middle]),
        (False, [m for m in marks if m[0] > middle]),
    ):
        if not side_marks:
            continue
        rows = pd.DataFrame(
            {
                # Between two periods, because the version is new from ``start`` on.
                "start": [
                    f"{EPOCH + timedelta(days=start - axis.days / 2):%Y-%m-%dT%H:%M:%SZ}"
                    for start, _ in side_marks
                ],
                "title": [shortened(title, _LONGEST_TITLE) for _, title in side_marks],
                "top": [axis.high] * len(side_marks),
            }
        )
        base = alt.Chart(rows).encode(x=alt.X("start:T", scale=alt.Scale(type="utc")))
        rules.append(base.mark_rule(color=colours.muted, strokeDash=[6, 4]))
        rules.append(
            base.mark_text(
                color=colours.muted,
                fontSize=11,
                align="left" if left else "right",
                dx=5 if left else -5,
                dy=7,
            ).encode(y=alt.Y("top:Q"), text=alt.Text("title:N"))
        )
    return rules


def show_trend(
    figures: Trend, panels: Sequence[Panel], all_panels: Sequence[Panel], tall: int = HEIGHT
) -> None:
    """Show ``panels`` as charts, ``tall`` px high, or as a table. The axis covers ``all_panels``."""
    key = f"trend_{figures.name}_{figures.period}_by_{figures.by}"
    if as_tables():
        _show_points(trend_table(figures, panels), panels, key=key)
        return
    axis = axis_of(figures, all_panels)
    marks = [(mark.start, mark.title) for mark in figures.marks]
    for panel in _in_columns([panel.group for panel in panels], panels):
        chart = trend_chart(panel.points, marks, axis)
        _show_panel(chart, tall, panel, panel.group, f"{axis.title} per {figures.period}", key=key)
        caption(note("panel", n=panel.n, counts=figures.of_measure.counts).text)


def show_corrected(
    figures: CorrectedTrend, panels: Sequence[CorrectedPanel], tall: int = HEIGHT
) -> None:
    """Show the corrected share of each query type as charts, ``tall`` px high, or as a table.

    In a chart, the judge's own share is a thin line.
    """
    key = f"corrected_{figures.period}"
    if as_tables():
        _show_points(corrected_table(figures, panels), panels, key=key)
        return
    points = {}
    for panel in panels:
        # A line connects points that follow each other without a gap.
        parts = segments([(each.start, each.end) for each in panel.points])
        points[panel.query_type] = [
            Point(each.start, each.end, each.share, segment, each.where)
            for each, segment in zip(panel.points, parts, strict=True)
        ]
    every = [point for of_panel in points.values() for point in of_panel]
    judge_starts = [start for panel in panels for start, _ in panel.judge_shares]
    title, days = "Bad answers, corrected", PERIOD_DAYS[figures.period]
    axis = TrendAxis(title, days, high=end_of_shares(each.estimate for each in every)).over(
        every, also=judge_starts
    )
    for panel in _in_columns([panel.query_type for panel in panels], panels):
        chart = trend_chart(points[panel.query_type], [], axis, panel.judge_shares)
        _show_panel(chart, tall, panel, panel.query_type, f"{title} per {figures.period}", key=key)


def _show_panel(
    chart: Any, tall: int, panel: Panel | CorrectedPanel, name: str, title: str, *, key: str
) -> None:
    heading(name)
    clickable_chart(
        chart,
        tall,
        [responses(point.where) for point in panel.points],
        key=f"{key}_{name}",
        says=f"{title}, {len(panel.points)} points with 95 % intervals",
    )


def _in_columns(names: Sequence[str], panels: Sequence[AnyPanel]) -> Iterator[AnyPanel]:
    """Yield each panel in a separate column: all answers over the whole width, then three side by side."""
    if names[:1] == [ALL_ANSWERS]:
        yield panels[0]
        panels = panels[1:]
    for start in range(0, len(panels), 3):
        columns = st.columns(3 if len(panels) > 2 else max(len(panels), 1), gap="medium")
        for column, panel in zip(columns, panels[start : start + 3], strict=False):
            with column:
                yield panel


def segments(periods: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the segment of each period (first and last day): a new one after a gap."""
    segment = 0
    for place, (start, _) in enumerate(periods):
        segment += place > 0 and start != periods[place - 1][1] + 1
        yield segment


def axis_of(figures: Trend, panels: Sequence[Panel]) -> TrendAxis:
    """Return the axis that all panels share."""
    measure = figures.of_measure
    points = [point for panel in panels for point in panel.points]
    low, high = measure.bounds or (0.0, end_of_shares(point.estimate for point in points))
    axis = TrendAxis(
        measure.title
        if figures.threshold is None or not measure.is_share
        else f"Share below {figures.threshold:g}",
        days=PERIOD_DAYS[figures.period],
        low=low,
        high=high,
        share=measure.is_share,
        threshold=None if measure.is_share else figures.threshold,
    )
    return axis.over(points)


def _show_points(rows: Table, panels: Sequence[AnyPanel], *, key: str) -> None:
    """Show the points of the ``panels`` as ``rows``. A row opens the same answers as the point."""
    targets = [responses(point.where) for panel in panels for point in panel.points]
    table(rows, targets, key=key, under=("Click a row to open its answers.",))
