"""Draws one statistic of several slices as dots with their intervals, the slices with too few answers as words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from judgeboard.domain import Estimate
from judgeboard.stats.rounding import two_decimals
from judgeboard.stats.words import number_words
from judgeboard_dashboard.charts.frame import click_points, estimate_columns, palette, pick

HEIGHT = 240
_LONGEST = 18


@dataclass(frozen=True, slots=True)
class Slice:
    """A line of the chart: its name (any text), how many answers, and the statistic."""

    name: str
    n: int
    estimate: Estimate


def whisker_height(slices: int) -> int:
    """Return the height of a chart of so many lines, axes included."""
    return max(HEIGHT, slices * 44 + 64)


def whisker_chart(slices: Sequence[Slice], title: str) -> Any:
    """Return the chart; a line without a value stays, with its reason at the left edge."""
    colours = palette()
    chosen = pick()
    labels = _labels(slices)
    low_end, high_end = value_range(slices)
    rows = pd.DataFrame(
        {
            **estimate_columns([each.estimate for each in slices]),
            "label": labels,
            "text": ["" if each.estimate.value is None else two_decimals(each.estimate.value) for each in slices],
            "reason": ["" if each.estimate.value is not None else (each.estimate.reason or "") for each in slices],
            "left": low_end,
            "tip": [_tip(each) for each in slices],
        }
    )
    y = alt.Y("label:N", title=None, sort=labels, scale=alt.Scale(domain=labels), axis=alt.Axis(grid=True))
    scale = alt.Scale(domain=[low_end, high_end], nice=False, zero=False)
    x = alt.X("value:Q", title=title, scale=scale, axis=alt.Axis(format=".1f", tickCount=6))
    base = alt.Chart(rows).encode(y=y)
    known = base.transform_filter("isValid(datum.value)")
    blue = colours.series[0]
    return alt.layer(
        known.mark_rule(strokeWidth=2.5, opacity=0.55, color=blue).encode(x=alt.X("low:Q", title=title), x2="high:Q"),
        known.mark_point(filled=True, size=90, opacity=1, color=blue, aria=False).encode(x=x),
        known.mark_text(dy=-13, fontSize=12, color=colours.ink).encode(x=x, text="text:N"),
        base.mark_text(align="left", dx=4, fontStyle="italic", color=colours.muted)
        .encode(x=alt.X("left:Q", scale=scale), text="reason:N")
        .transform_filter("datum.reason != ''"),
        click_points(known, chosen, blue, x=x),
    )


def value_range(slices: Sequence[Slice]) -> tuple[float, float]:
    """Return where the axis begins and ends: at −0.2 and 1, further left where an interval reaches there."""
    lows = [each.estimate.low for each in slices if each.estimate.low is not None]
    lows += [each.estimate.value for each in slices if each.estimate.value is not None]
    lowest = min(lows, default=0.0)
    return min(-0.2, math.floor(lowest * 5 + 1e-9) / 5), 1.0


def _labels(slices: Sequence[Slice]) -> list[str]:
    """One label a line, each its own: two that are cut to the same text would share a line."""
    labels: list[str] = []
    for each in slices:
        name = each.name if len(each.name) <= _LONGEST else f"{each.name[: _LONGEST - 1]}…"
        label = f"{name} · {each.n:,}"
        while label in labels:
            label += "\u2009"
        labels.append(label)
    return labels


def _tip(each: Slice) -> str:
    estimate = each.estimate
    if estimate.value is None:
        return f"{each.name}: {each.n:,} answers, {estimate.reason or 'unknown'}"
    return f"{each.name}: {number_words(estimate)} on {each.n:,} answers"
