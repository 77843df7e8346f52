"""Draws the average of each run of a suite with its interval, and the threshold that the run had to reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from judgeboard.domain import Estimate
from judgeboard.stats.rounding import two_decimals
from judgeboard_dashboard.charts.frame import click_points, estimate_columns, palette, pick

HEIGHT = 240
SCALE = (1, 5)


@dataclass(frozen=True, slots=True)
class RunPoint:
    """One run: its number, the day it began, what a tip says of it, its average and its threshold from 1 to 5."""

    run_id: int
    day: str
    words: str
    average: Estimate
    threshold: float


def suite_runs_chart(points: Sequence[RunPoint], chosen_run: int) -> Any:
    """Return the chart, runs from left to right; the run on the page is the filled one."""
    colours = palette()
    chosen = pick()
    labels = [f"{point.run_id}|{point.day}" for point in points]
    rows = pd.DataFrame(
        {
            **estimate_columns([point.average for point in points]),
            "run": labels,
            "threshold": [point.threshold for point in points],
            "text": ["" if point.average.value is None else two_decimals(point.average.value) for point in points],
            "ground": [colours.series[0] if point.run_id == chosen_run else colours.pane for point in points],
            "tip": [point.words for point in points],
        }
    )
    # Two lines: the number of the run, under it its day.
    axis = alt.Axis(labelAngle=0, labelOverlap=True, labelExpr="split(datum.value, '|')")
    x = alt.X("run:O", title="Run", sort=labels, axis=axis)
    scale = alt.Scale(domain=list(SCALE), nice=False, zero=False)
    y = alt.Y("value:Q", title="Average score", scale=scale, axis=alt.Axis(values=[1, 2, 3, 4, 5], format="d"))
    every = alt.Chart(rows).encode(x=x)
    base = every.transform_filter("isValid(datum.value)")
    blue = colours.series[0]
    layers = [
        every.mark_tick(orient="horizontal", width=64, height=2.5, color=colours.doubt[0], aria=False).encode(
            y=alt.Y("threshold:Q", scale=scale)
        ),
        base.mark_rule(strokeWidth=2.5, opacity=0.55, color=blue).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        base.mark_line(color=blue, strokeWidth=1.2, opacity=0.5).encode(y=y),
        base.mark_point(filled=True, size=90, opacity=1, stroke=blue, strokeWidth=2).encode(
            y=y, fill=alt.Fill("ground:N", scale=None)
        ),
        base.mark_text(dx=7, dy=-10, align="left", fontSize=12, color=colours.ink)
        .encode(y=y, text="text:N")
        .transform_filter("datum.text != ''"),
        click_points(base, chosen, blue, y=y),
    ]
    return alt.layer(*layers)
