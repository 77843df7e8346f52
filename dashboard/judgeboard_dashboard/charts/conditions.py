"""Draws the conditions of self-reference: each in all, where the gate is on, and where it is off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from judgeboard.domain import Estimate
from judgeboard.stats.words import percent
from judgeboard_dashboard.charts.frame import click_points, estimate_columns, palette, pick
from judgeboard_dashboard.charts.share_levels import ends

HEIGHT = 240


@dataclass(frozen=True, slots=True)
class Part:
    """One mark: the condition it stands in, which part of the pairs, its share, what a tip says."""

    condition: str
    part: str
    share: Estimate
    tip: str


def conditions_chart(marks: Sequence[Part]) -> Any:
    """Return the chart: conditions from top to bottom, their parts (three at most) under each other."""
    colours = palette()
    chosen = pick()
    conditions = list(dict.fromkeys(mark.condition for mark in marks))
    parts = list(dict.fromkeys(mark.part for mark in marks))
    low_end, high_end = ends([mark.share for mark in marks])
    rows = pd.DataFrame(
        {
            **estimate_columns([mark.share for mark in marks]),
            "condition": [mark.condition for mark in marks],
            "part": [mark.part for mark in marks],
            "text": ["" if mark.share.value is None else percent(mark.share.value) for mark in marks],
            "tip": [mark.tip for mark in marks],
        }
    )
    scale = alt.Scale(domain=[low_end, high_end], nice=False, zero=False)
    x = alt.X("value:Q", title="Prefers the better answer", scale=scale, axis=alt.Axis(format=".0%", tickCount=5))
    colour = alt.Color(
        "part:N",
        sort=parts,
        scale=alt.Scale(domain=parts, range=list(colours.series[: len(parts)])),
        legend=alt.Legend(title=None, orient="top", labelFontSize=12, labelColor=colours.muted, symbolOpacity=1),
    )
    base = (
        alt.Chart(rows)
        .encode(
            y=alt.Y("condition:N", title=None, sort=conditions, axis=alt.Axis(labelLimit=120, grid=False)),
            yOffset=alt.YOffset("part:N", sort=parts),
            color=colour,
        )
        .transform_filter("isValid(datum.value)")
    )
    return alt.layer(
        base.mark_rule(strokeWidth=2.5, opacity=0.55).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(filled=True, size=80, opacity=1, aria=False).encode(x=x),
        base.mark_text(align="left", dx=5, fontSize=11).encode(
            x=alt.X("high:Q", scale=scale), text="text:N", color=alt.value(colours.ink)
        ),
        click_points(base, chosen, x=x),
    )
