"""Draws calibration: of answers that the judge scores about 0.7, how many do people call grounded?"""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from judgeboard.stats.calibration import Tenth
from judgeboard_dashboard.charts.frame import palette, pick

HEIGHT = 240


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
            # The last number would run out of the picture at the right of its point.
            "side": [-1 if (tenth.mean_score or 0) > 0.9 else 1 for tenth in drawn],
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
            base.transform_filter(f"datum.side == {side}")
            .mark_text(color=colours.muted, fontSize=11, align="left" if side > 0 else "right", dx=12 * side)
            .encode(x=score, y=share, text=alt.Text("n:Q", format=","))
            for side in (1, -1)
        ),
        base.mark_point(filled=True, color=blue, size=420, cursor="pointer")
        .encode(
            x=score,
            y=share,
            opacity=alt.condition(chosen, alt.value(0.18), alt.value(0), empty=False),
            tooltip=[
                alt.Tooltip("score:Q", title="Judge, mean", format=".2f"),
                alt.Tooltip("share:Q", title="People: grounded", format=".0%"),
                alt.Tooltip("n:Q", title="Answers", format=","),
            ],
        )
        .add_params(chosen),
    ]
    return alt.layer(*layers)
