"""Draws calibration: of answers that the judge scores about 0.7, how many do people call grounded?"""

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import pandas as pd

from judgeboard.stats.calibration import Tenth
from judgeboard_dashboard.charts.frame import click_points, palette, pick

HEIGHT = 240


# Where the number of a point stands: (alignment, right, down). A point over the dashed line has its number at the upper
# left and one under it at the lower right, away from the line; at the edges of the picture straight above and below.
_BESIDE: dict[str, tuple[Literal["left", "right"], int, int]] = {
    "over": ("right", -9, -8),
    "under": ("left", 9, 9),
    "over, at the left": ("left", 5, -17),
    "under, at the right": ("right", 8, 18),
}


def _side(tenth: Tenth) -> str:
    score, share = tenth.mean_score or 0.0, tenth.share_grounded.value or 0.0
    if share >= score:
        return "over, at the left" if score < 0.1 else "over"
    return "under, at the right" if score > 0.9 else "under"


def drawn_tenths(tenths: Sequence[Tenth]) -> list[int]:
    """Return the places of the tenths that hold any answer: those that are drawn, in order."""
    return [place for place, tenth in enumerate(tenths) if tenth.mean_score is not None]


def calibration_chart(tenths: Sequence[Tenth]) -> Any:
    """Return the chart; its marks stand as in `drawn_tenths`."""
    colours = palette()
    chosen = pick()
    drawn = [tenths[place] for place in drawn_tenths(tenths)]
    shares = [tenth.share_grounded for tenth in drawn]
    rows = pd.DataFrame(
        {
            "at": range(len(drawn)),
            "score": [tenth.mean_score for tenth in drawn],
            "share": [share.value for share in shares],
            "low": [share.low for share in shares],
            "high": [share.high for share in shares],
            "n": [share.n for share in shares],
            "side": [_side(tenth) for tenth in drawn],
        }
    )
    score = alt.X(
        "score:Q",
        title="Judge: groundedness (mean of tenth)",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".1f", tickCount=5),
    )
    share = alt.Y(
        "share:Q",
        title="People: share grounded",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    blue = colours.series[0]
    base = alt.Chart(rows)
    diagonal = alt.Chart(pd.DataFrame({"score": [0.0, 1.0], "share": [0.0, 1.0]}))
    layers = [
        diagonal.mark_line(color=colours.muted, strokeDash=[4, 4], strokeWidth=1).encode(x=score, y=share),
        base.mark_rule(color=blue, strokeWidth=2.5, opacity=0.55).encode(
            x=score, y=alt.Y("low:Q", title="People: share grounded"), y2="high:Q"
        ),
        base.mark_point(filled=True, color=blue, opacity=1, aria=False).encode(
            x=score, y=share, size=alt.Size("n:Q", scale=alt.Scale(range=[30, 260], zero=True), legend=None)
        ),
        *(
            base.transform_filter(f"datum.side == '{name}'")
            .mark_text(fontSize=11, align=align, dx=dx, dy=dy, **ink)
            .encode(x=score, y=share, text=alt.Text("n:Q", format=","))
            for name, (align, dx, dy) in _BESIDE.items()
            # The page's colour behind a number: a whisker that reaches it does not cross it.
            for ink in ({"color": colours.page, "stroke": colours.page, "strokeWidth": 3}, {"color": colours.muted})
        ),
        click_points(
            base,
            chosen,
            blue,
            x=score,
            y=share,
            tooltip=[
                alt.Tooltip("score:Q", title="Judge, mean", format=".2f"),
                alt.Tooltip("share:Q", title="People: grounded", format=".0%"),
                alt.Tooltip("n:Q", title="Answers", format=","),
            ],
            description=alt.Undefined,
        ),
    ]
    return alt.layer(*layers)
