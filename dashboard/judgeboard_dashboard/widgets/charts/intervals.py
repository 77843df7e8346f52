"""Estimates as points with their intervals: by slice, by level."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from judgeboard.domain import Estimate
from judgeboard.stats.estimates import number_words, percent, percent_words, two_decimals
from judgeboard.text import counted, shortened
from judgeboard_dashboard.theme import palette
from judgeboard_dashboard.widgets.charts import PERCENT, click_points, end_of_shares, estimate_rows, layered

HEIGHT = 240
_LONGEST = 18


@dataclass(frozen=True, slots=True)
class Slice:
    """A line of the chart: its name, its n, and the statistic."""

    name: str
    n: int
    estimate: Estimate


def whisker_chart(slices: Sequence[Slice], title: str, *, share: bool = False) -> Any:
    """Return the chart; a line without a value shows its reason at the left edge. A ``share`` is in percent."""
    colours = palette()
    labels = _labels(slices)
    low_end, high_end = (0.0, end_of_shares(each.estimate for each in slices)) if share else value_range(slices)
    written = percent if share else two_decimals
    rows = estimate_rows(
        [each.estimate for each in slices],
        label=labels,
        text=["" if each.estimate.value is None else written(each.estimate.value) for each in slices],
        reason=["" if each.estimate.value is not None else (each.estimate.reason or "") for each in slices],
        left=low_end,
        tip=[_tip(each, share=share) for each in slices],
    )
    y = alt.Y("label:N", title=None, sort=labels, scale=alt.Scale(domain=labels), axis=alt.Axis(grid=True))
    scale = alt.Scale(domain=[low_end, high_end], nice=False, zero=False)
    axis = alt.Axis(tickCount=6, **(PERCENT if share else {"format": ".1f"}))
    x = alt.X("value:Q", title=title, scale=scale, axis=axis)
    base = alt.Chart(rows).encode(y=y)
    known = base.transform_filter("isValid(datum.value)")
    blue = colours.series[0]
    return layered(
        known.mark_rule(strokeWidth=2.5, opacity=0.55, color=blue).encode(
            x=alt.X("low:Q", title=title), x2=alt.X2("high:Q")
        ),
        known.mark_point(filled=True, size=90, opacity=1, color=blue, aria=False).encode(x=x),
        known.mark_text(dy=-13, fontSize=12, color=colours.ink).encode(x=x, text=alt.Text("text:N")),
        base.mark_text(align="left", dx=4, fontStyle="italic", color=colours.muted)
        .encode(x=alt.X("left:Q", scale=scale), text=alt.Text("reason:N"))
        .transform_filter("datum.reason != ''"),
        click_points(known, blue, x=x),
    )


def value_range(slices: Sequence[Slice]) -> tuple[float, float]:
    """Return the ends of the axis: −0.2 and 1, further left if an interval reaches there."""
    lows = [each.estimate.low for each in slices if each.estimate.low is not None]
    lows += [each.estimate.value for each in slices if each.estimate.value is not None]
    lowest = min(lows, default=0.0)
    return min(-0.2, math.floor(lowest * 5 + 1e-9) / 5), 1.0


def _labels(slices: Sequence[Slice]) -> list[str]:
    """Return a unique label per line. Slices with equal labels would share a line."""
    labels: list[str] = []
    for each in slices:
        label = f"{shortened(each.name, _LONGEST)} · {each.n:,}"
        while label in labels:
            label += "\u2009"
        labels.append(label)
    return labels


def _tip(each: Slice, *, share: bool) -> str:
    estimate = each.estimate
    if estimate.value is None:
        return f"{each.name}: {counted(each.n, 'answer')}, {estimate.reason or 'unknown'}"
    words = percent_words(estimate) if share else number_words(estimate)
    return f"{each.name}: {words} on {counted(each.n, 'answer')}"


@dataclass(frozen=True, slots=True)
class Level:
    """One level: its name under the axis, its share, a small text beside its point, and a tip.

    ``grounded`` shades its background; ``chosen`` fills its point.
    """

    name: str
    share: Estimate
    text: str
    tip: str
    grounded: bool = False
    chosen: bool = True


def share_levels_chart(levels: Sequence[Level], across: str, upwards: str, *, whole: bool = True) -> Any:
    """Return the chart with levels from left to right. A level without a share leaves a gap.

    ``across`` and ``upwards`` are the titles of the axes. If ``whole``, the axis of shares goes from 0 to 100 %,
    otherwise only from the lowest to the highest interval.
    """
    colours = palette()
    names = [level.name for level in levels]
    # A little beyond 0 and 100 %, so that a point there does not lie on the axis.
    low_end, high_end = (-0.06, 1.06) if whole else ends([level.share for level in levels])
    rows = estimate_rows(
        [level.share for level in levels],
        name=names,
        text=[level.text for level in levels],
        tip=[level.tip for level in levels],
        grounded=[level.grounded for level in levels],
        fill=[colours.series[0] if level.chosen else colours.pane for level in levels],
        bottom=low_end,
        top=high_end,
    )
    x = alt.X(
        "name:O", title=across, sort=names, scale=alt.Scale(domain=names), axis=alt.Axis(labelAngle=0, grid=False)
    )
    scale = alt.Scale(domain=[low_end, high_end], nice=False, zero=False)
    ticks = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]} if whole else {"tickCount": 5}
    y = alt.Y("value:Q", title=upwards, scale=scale, axis=alt.Axis(**PERCENT, **ticks))
    base = alt.Chart(rows).encode(x=x)
    known = base.transform_filter("isValid(datum.value)")
    blue = colours.series[0]
    return layered(
        base.transform_filter("datum.grounded")
        .mark_bar(color=colours.quiet[1], aria=False)
        .encode(
            x=alt.X("name:O", title=across, sort=names, scale=alt.Scale(domain=names)),
            y=alt.Y("bottom:Q", scale=scale, title=upwards),
            y2=alt.Y2("top:Q"),
        ),
        known.mark_rule(strokeWidth=2.5, opacity=0.55, color=blue).encode(
            y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")
        ),
        known.mark_point(filled=True, size=90, opacity=1, stroke=blue, strokeWidth=2, aria=False).encode(
            y=y, fill=alt.Fill("fill:N", scale=None)
        ),
        known.mark_text(align="left", dx=8, fontSize=12, color=colours.ink).encode(y=y, text=alt.Text("text:N")),
        click_points(known, blue, y=y),
    )


def ends(shares: Sequence[Estimate]) -> tuple[float, float]:
    """Return the ends of an axis of shares: the lowest and highest interval, rounded outwards to 10 %."""
    numbers = [end for share in shares for end in (share.low, share.high, share.value) if end is not None]
    if not numbers:
        return 0.0, 1.0
    low, high = int(min(numbers) * 10 + 1e-9) / 10, -int(-max(numbers) * 10 + 1e-9) / 10
    return low, min(1.0, max(high + 0.1, low + 0.2))
