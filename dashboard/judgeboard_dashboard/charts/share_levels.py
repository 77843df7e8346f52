"""Draws a share at each of a few ordered levels, with intervals, some of the levels on a ground of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from judgeboard.domain import Estimate
from judgeboard_dashboard.charts.frame import click_points, estimate_columns, palette, pick

HEIGHT = 240


@dataclass(frozen=True, slots=True)
class Level:
    """One level: its name under the axis, its share, a small text over it, what a tip says.

    ``grounded`` puts it on the ground of what is chosen; ``chosen`` fills its point.
    """

    name: str
    share: Estimate
    text: str
    tip: str
    grounded: bool = False
    chosen: bool = True


def share_levels_chart(levels: Sequence[Level], across: str, upwards: str, *, whole: bool = True) -> Any:
    """Return the chart, levels from left to right; those without a share keep their place.

    Args:
        levels: What is drawn.
        across: Title of the axis of levels.
        upwards: Title of the axis of shares.
        whole: Whether that axis goes from 0 to 100 %; else it is cut to the intervals.
    """
    colours = palette()
    chosen = pick()
    names = [level.name for level in levels]
    # A little beyond 0 and 100 %, so that a point there does not lie on the axis.
    low_end, high_end = (-0.06, 1.06) if whole else ends([level.share for level in levels])
    rows = pd.DataFrame(
        {
            **estimate_columns([level.share for level in levels]),
            "name": names,
            "text": [level.text for level in levels],
            "tip": [level.tip for level in levels],
            "grounded": [level.grounded for level in levels],
            "fill": [colours.series[0] if level.chosen else colours.pane for level in levels],
            "bottom": low_end,
            "top": high_end,
        }
    )
    x = alt.X(
        "name:O", title=across, sort=names, scale=alt.Scale(domain=names), axis=alt.Axis(labelAngle=0, grid=False)
    )
    scale = alt.Scale(domain=[low_end, high_end], nice=False, zero=False)
    ticks = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]} if whole else {"tickCount": 5}
    y = alt.Y("value:Q", title=upwards, scale=scale, axis=alt.Axis(format=".0%", **ticks))
    base = alt.Chart(rows).encode(x=x)
    known = base.transform_filter("isValid(datum.value)")
    blue = colours.series[0]
    return alt.layer(
        base.transform_filter("datum.grounded")
        .mark_bar(color=colours.quiet[1], aria=False)
        .encode(
            x=alt.X("name:O", title=across, sort=names, scale=alt.Scale(domain=names)),
            y=alt.Y("bottom:Q", scale=scale, title=upwards),
            y2="top:Q",
        ),
        known.mark_rule(strokeWidth=2.5, opacity=0.55, color=blue).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
        known.mark_point(filled=True, size=90, opacity=1, stroke=blue, strokeWidth=2, aria=False).encode(
            y=y, fill=alt.Fill("fill:N", scale=None)
        ),
        known.mark_text(align="left", dx=8, fontSize=12, color=colours.ink).encode(y=y, text="text:N"),
        click_points(known, chosen, blue, y=y),
    )


def ends(shares: Sequence[Estimate]) -> tuple[float, float]:
    """Return where an axis of shares begins and ends: at the next 10 % outside of all intervals."""
    numbers = [end for share in shares for end in (share.low, share.high, share.value) if end is not None]
    if not numbers:
        return 0.0, 1.0
    low, high = int(min(numbers) * 10 + 1e-9) / 10, -int(-max(numbers) * 10 + 1e-9) / 10
    return low, min(1.0, max(high + 0.1, low + 0.2))
