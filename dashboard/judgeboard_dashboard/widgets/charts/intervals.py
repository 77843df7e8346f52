"""Estimates as points with intervals: by slice, by level."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from judgeboard.measure.result import Row
from judgeboard.stats.estimates import number_words, percent, percent_words, two_decimals
from judgeboard.text import counted, shortened
from judgeboard_dashboard.theme import palette
from judgeboard_dashboard.widgets.charts import (
    PERCENT,
    click_points,
    end_of_shares,
    estimate_rows,
    layered,
)

HEIGHT = 240
_LONGEST = 18


def whisker_chart(slices: Sequence[Row], title: str, *, share: bool = False) -> Any:
    """Return the chart; a line without a value shows the reason at the left edge. A ``share`` is in percent."""
    colours = palette()
    # Each line has a unique label: slices with equal labels would share a line.
    labels: list[str] = []
    for each in slices:
        label = f"{shortened(slice_name(each), _LONGEST)} · {each.n:,}"
        while label in labels:
            label += "\u2009"
        labels.append(label)
    low_end, high_end = (
        (0.0, end_of_shares(each.estimate for each in slices)) if share else value_range(slices)
    )
    number_text = percent if share else two_decimals
    estimate_words = percent_words if share else number_words
    rows = estimate_rows(
        [each.estimate for each in slices],
        label=labels,
        text=["" if each.value is None else number_text(each.value) for each in slices],
        reason=["" if each.value is not None else (each.reason or "") for each in slices],
        left=low_end,
        tip=[
            f"{slice_name(each)}: {counted(each.n, 'answer')}, {each.reason or 'unknown'}"
            if each.value is None
            else f"{slice_name(each)}: {estimate_words(each.estimate)} on {counted(each.n, 'answer')}"
            for each in slices
        ],
    )
    y = alt.Y(
        "label:N", title=None, sort=labels, scale=alt.Scale(domain=labels), axis=alt.Axis(grid=True)
    )
    scale = alt.Scale(domain=[low_end, high_end], nice=False, zero=False)
    axis = alt.Axis(tickCount=6, **(PERCENT if share else {"format": ".1f"}))
    x = alt.X("value:Q", title=title, scale=scale, axis=axis)
    base = alt.Chart(rows).encode(y=y)
    lines_with_value = base.transform_filter("isValid(datum.value)")
    blue = colours.series[0]
    return layered(
        lines_with_value.mark_rule(strokeWidth=2.5, opacity=0.55, color=blue).encode(
            x=alt.X("low:Q", title=title), x2=alt.X2("high:Q")
        ),
        lines_with_value.mark_point(filled=True, size=90, opacity=1, color=blue, aria=False).encode(
            x=x
        ),
        lines_with_value.mark_text(dy=-13, fontSize=12, color=colours.ink).encode(
            x=x, text=alt.Text("text:N")
        ),
        base.mark_text(align="left", dx=4, fontStyle="italic", color=colours.muted)
        .encode(x=alt.X("left:Q", scale=scale), text=alt.Text("reason:N"))
        .transform_filter("datum.reason != ''"),
        click_points(lines_with_value, blue, x=x),
    )


def slice_name(row: Row) -> str:
    """Return the name of a line of the chart."""
    return row.slice or "All"


def value_range(slices: Sequence[Row]) -> tuple[float, float]:
    """Return the ends of the axis: −0.2 and 1, further left if an interval reaches there."""
    lows = [each.low for each in slices if each.low is not None]
    lows += [each.value for each in slices if each.value is not None]
    lowest = min(lows, default=0.0)
    return min(-0.2, math.floor(lowest * 5 + 1e-9) / 5), 1.0
