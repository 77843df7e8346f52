"""Scores: calibration, the use of each level."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import pandas as pd

from judgeboard.health.record import LevelCounts
from judgeboard.measure.threshold_figures import AtThreshold
from judgeboard.stats.detection import Tenth
from judgeboard.stats.estimates import percent_words
from judgeboard.text import counted
from judgeboard_dashboard.theme import palette
from judgeboard_dashboard.widgets.charts import (
    DESCRIBED,
    PERCENT,
    click_points,
    estimate_rows,
    layered,
    opacity_of,
    pick,
)

CALIBRATION_HEIGHT = 240
POINT_NUMBERS = "Small numbers: answers. Lines: 95 % intervals."


# The position of a point's number: (alignment, right, down). The number is on the side away from the
# dashed line: at the upper left of a point over the line, at the lower right of a point under the
# line. At the chart's edges the number is inside the chart.
_BESIDE: dict[str, tuple[Literal["left", "right"], int, int]] = {
    "over": ("right", -9, -8),
    "under": ("left", 9, 9),
    "under, at the bottom": ("left", 8, -9),
    "over, at the left": ("left", 5, -17),
    "under, at the right": ("right", 8, 18),
}


def _side(tenth: Tenth) -> str:
    score, share = tenth.mean_score or 0.0, tenth.share_grounded.value or 0.0
    if share >= score:
        return "over, at the left" if score < 0.1 else "over"
    if share < 0.08:
        return "under, at the bottom"
    return "under, at the right" if score > 0.9 else "under"


def drawn_tenths(tenths: Sequence[Tenth]) -> list[int]:
    """Return the positions of the tenths that have answers. Only these are drawn."""
    return [place for place, tenth in enumerate(tenths) if tenth.mean_score is not None]


def calibration_chart(tenths: Sequence[Tenth]) -> Any:
    """Return the chart, with marks in the order of `drawn_tenths`."""
    colours = palette()
    tenths_with_answers = [tenths[place] for place in drawn_tenths(tenths)]
    shares = [tenth.share_grounded for tenth in tenths_with_answers]
    rows = estimate_rows(
        shares,
        score=[tenth.mean_score for tenth in tenths_with_answers],
        n=[share.n for share in shares],
        side=[_side(tenth) for tenth in tenths_with_answers],
    )
    whole = alt.Scale(domain=[0, 1])
    score = alt.X(
        "score:Q",
        title="Judge: groundedness (mean of tenth)",
        scale=whole,
        axis=alt.Axis(format=".1f", tickCount=5),
    )
    shares_axis = alt.Axis(tickCount=5, **PERCENT)
    share = alt.Y("value:Q", title="People: share grounded", scale=whole, axis=shares_axis)
    blue = colours.series[0]
    base = alt.Chart(rows)
    diagonal = alt.Chart(pd.DataFrame({"score": [0.0, 1.0], "value": [0.0, 1.0]}))
    layers = [
        diagonal.mark_line(color=colours.muted, strokeDash=[4, 4], strokeWidth=1).encode(
            x=score, y=share
        ),
        base.mark_rule(color=blue, strokeWidth=2.5, opacity=0.55).encode(
            x=score, y=alt.Y("low:Q", title="People: share grounded"), y2=alt.Y2("high:Q")
        ),
        base.mark_point(filled=True, color=blue, opacity=1, aria=False).encode(
            x=score,
            y=share,
            size=alt.Size("n:Q", scale=alt.Scale(range=[30, 260], zero=True), legend=None),
        ),
        *(
            base.transform_filter(f"datum.side == '{name}'")
            .mark_text(fontSize=11, align=align, dx=dx, dy=dy, **ink)
            .encode(x=score, y=share, text=alt.Text("n:Q", format=","))
            for name, (align, dx, dy) in _BESIDE.items()
            # Each number has an outline in the page's colour, so that no whisker crosses the number.
            for ink in (
                {"color": colours.page, "stroke": colours.page, "strokeWidth": 3},
                {"color": colours.muted},
            )
        ),
        click_points(
            base,
            blue,
            x=score,
            y=share,
            tooltip=[
                alt.Tooltip("score:Q", title="Judge, mean", format=".2f"),
                alt.Tooltip("value:Q", title="People: grounded", format=".0%"),
                alt.Tooltip("n:Q", title="Answers", format=","),
            ],
            description=alt.Undefined,
        ),
    ]
    return layered(*layers)


TRADE_OFF_HEIGHT = 260


def trade_off_chart(
    curve: Sequence[AtThreshold], judgments: int, lines: Mapping[str, float]
) -> Any:
    """Return recall and precision by the share of flagged answers; vertical ``lines`` are such shares with names."""
    colours = palette()
    points = sorted(curve, key=lambda at: at.flags)
    ink = dict(zip(("recall", "precision"), colours.series, strict=False))
    rows = pd.concat(
        estimate_rows(
            [getattr(at, name) for at in points],
            flagged=[at.flags / judgments for at in points],
            figure=name,
            text=[*[""] * (len(points) - 1), name],
            colour=colour,
            tip=[
                f"Groundedness below {at.low_groundedness:g}: {name} {percent_words(getattr(at, name))}, "
                f"{counted(at.flags, 'flag')}"
                for at in points
            ],
        )
        for name, colour in ink.items()
    )
    whole = alt.Scale(domain=[0, 1])
    share_axis = alt.Axis(tickCount=10, **PERCENT)
    across = alt.X("flagged:Q", title="Share of answers flagged", scale=whole, axis=share_axis)
    upwards = alt.Y("value:Q", title="Share", scale=whole, axis=alt.Axis(tickCount=5, **PERCENT))
    base = alt.Chart(rows).encode(color=alt.Color("colour:N", scale=None))
    points_with_value = base.transform_filter("isValid(datum.value)")
    vertical_lines = alt.Chart(
        pd.DataFrame({"name": list(lines), "flagged": list(lines.values())})
    ).encode(x=across)
    # Each name has another height, because two lines may be close together.
    names = [
        vertical_lines.transform_filter(f"datum.name == '{name}'")
        .mark_text(align="left", dx=4, fontSize=11, color=colours.muted)
        .encode(text=alt.Text("name:N"), y=alt.value(130 + 15 * place))
        for place, name in enumerate(lines)
    ]
    ends = [
        points_with_value.transform_filter(f"datum.figure == '{name}'")
        .mark_text(align="right", dy=away, fontSize=12)
        .encode(x=across, y=upwards, text=alt.Text("text:N"))
        for name, away in (("recall", -10), ("precision", 16))
    ]
    return layered(
        points_with_value.mark_area(opacity=0.15).encode(
            x=across,
            y=alt.Y("low:Q", title="Share"),
            y2=alt.Y2("high:Q"),
            detail=alt.Detail("figure:N"),
        ),
        vertical_lines.mark_rule(color=colours.muted, strokeDash=[4, 4]),
        *names,
        points_with_value.mark_line(strokeWidth=2).encode(
            x=across, y=upwards, detail=alt.Detail("figure:N")
        ),
        points_with_value.mark_point(filled=True, size=40, opacity=1, aria=False).encode(
            x=across, y=upwards
        ),
        *ends,
        click_points(points_with_value, x=across, y=upwards),
    )


LEVELS_HEIGHT = 220


def levels_chart(levels: LevelCounts, across: str) -> Any:
    """Return one bar per level, in the order of the levels. An unused level leaves a gap."""
    colours = palette()
    names = [name.removeprefix("about ") for name in levels.names]
    counts = levels.counts.tolist()
    rows = pd.DataFrame(
        {
            "at": range(len(names)),
            "level": names,
            "n": counts,
            "text": [f"{n:,}" if n else "" for n in counts],
            "tip": [
                f"{counted(n, 'answer')}: {name}"
                for n, name in zip(counts, levels.names, strict=True)
            ],
        }
    )
    x = alt.X(
        "level:O",
        title=across,
        sort=names,
        scale=alt.Scale(domain=names),
        axis=alt.Axis(labelAngle=0, grid=False),
    )
    y = alt.Y("n:Q", title="Answers", axis=alt.Axis(format=",d", tickCount=4))
    base = alt.Chart(rows).encode(x=x, y=y)
    return layered(
        base.mark_bar(color=colours.series[0], cursor="pointer")
        .encode(
            opacity=opacity_of(1, 0.85, empty=False),
            **DESCRIBED,
        )
        .add_params(pick()),
        base.mark_text(dy=-7, fontSize=11, color=colours.muted, aria=False).encode(
            text=alt.Text("text:N")
        ),
    )
