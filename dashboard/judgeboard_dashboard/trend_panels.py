"""The panels of a trend, one per query type, and the table of the same points."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.reports.tables import Column, Format, Table
from judgeboard.trend_measures import MEASURES
from judgeboard.trend_periods import PERIOD_DAYS
from judgeboard.trend_words import panel_caption, period_words
from judgeboard.trends import Panel, Trend
from judgeboard_dashboard.charts.trend import HEIGHT, TrendAxis, TrendPoint, trend_chart
from judgeboard_dashboard.figure import table
from judgeboard_dashboard.picking import Rows, clickable_chart, responses
from judgeboard_dashboard.saying import caption, heading


def trend_panels(found: Trend, shown: Sequence[Panel], drawn: Sequence[Panel]) -> None:
    """Show a panel for each of ``shown``, three beside each other, on the axis of all that are ``drawn``."""
    axis = axis_of(found, drawn)
    marks = [(mark.start, mark.title) for mark in found.marks]
    year = (axis.last - axis.first) > 300
    for start in range(0, len(shown), 3):
        row = shown[start : start + 3]
        columns = st.columns(3 if len(shown) > 2 else max(len(shown), 1), gap="medium")
        for column, panel in zip(columns, row, strict=False):
            with column:
                heading(panel.query_type)
                points = [
                    TrendPoint(
                        point.start,
                        period_words(point.start, found.period, year=year),
                        point.estimate,
                        point.segment,
                    )
                    for point in panel.points
                ]
                clickable_chart(
                    trend_chart(points, marks, axis),
                    HEIGHT,
                    _targets(panel),
                    key=f"trend_{found.measure}_{found.period}_{panel.query_type}",
                    says=f"{axis.title} per {found.period}, {len(points)} points with 95 % intervals",
                )
                caption(panel_caption(panel, found))


def axis_of(found: Trend, drawn: Sequence[Panel]) -> TrendAxis:
    """Return the axis that all panels share, so that they can be compared."""
    measure = MEASURES[found.measure]
    starts = [point.start for panel in drawn for point in panel.points]
    tops = [point.estimate.high or point.estimate.value or 0 for panel in drawn for point in panel.points]
    low, high = measure.bounds or (0.0, share_top(max(tops)))
    return TrendAxis(
        title=measure.title if found.threshold is None or measure.bounds else f"Share below {found.threshold:g}",
        low=low,
        high=high,
        share=measure.bounds is None,
        days=PERIOD_DAYS[found.period],
        first=min(starts),
        last=max(starts),
        most=max(point.estimate.n for panel in drawn for point in panel.points),
        threshold=found.threshold if measure.bounds else None,
    )


def share_top(highest: float) -> float:
    """Return where the axis of a share ends: at 20, 40, 60, 80 or 100 %, so that small shares can be read."""
    return next(top for top in (0.2, 0.4, 0.6, 0.8, 1.0) if highest <= top or top == 1.0)


def _targets(panel: Panel) -> list[Rows]:
    return [responses(point.where) for point in panel.points]


def show_trend_table(found: Trend, shown: Sequence[Panel]) -> None:
    """Show the points as lines that open the same answers, with their CSV."""
    table(
        trend_table(found, shown),
        [target for panel in shown for target in _targets(panel)],
        key=f"trend_{found.measure}_by_{found.period}",
        under=("Click a line to open its answers.",),
    )


def trend_table(trend: Trend, panels: Sequence[Panel]) -> Table:
    """Return the points of these panels, one a row."""
    measure = MEASURES[trend.measure]
    number: Format = "share" if measure.bounds is None else "number"
    columns = (
        *(Column("Query type"), Column("Asked in"), Column("Answers", "count")),
        *(Column(title, number) for title in (measure.title, "95 % from", "to")),
    )
    rows = (
        (panel.query_type, period_words(point.start, trend.period, year=True), each.n, each.value, each.low, each.high)
        for panel in panels
        for point in panel.points
        for each in (point.estimate,)
    )
    return Table(columns, tuple(rows))
