"""Draws how often each level of a scale was given."""

from typing import Any

import altair as alt
import pandas as pd

from judgeboard.judge_health.record import LevelCounts
from judgeboard_dashboard.charts.frame import palette, pick

HEIGHT = 220


def levels_chart(levels: LevelCounts, across: str) -> Any:
    """Return the bars, one a level in its order; those never given keep their place."""
    colours = palette()
    chosen = pick()
    names = [name.removeprefix("about ") for name in levels.names]
    counts = levels.counts.tolist()
    rows = pd.DataFrame(
        {
            "at": range(len(names)),
            "level": names,
            "n": counts,
            "text": [f"{n:,}" if n else "" for n in counts],
            "tip": [f"{n:,} answers: {name}" for n, name in zip(counts, levels.names, strict=True)],
        }
    )
    x = alt.X(
        "level:O", title=across, sort=names, scale=alt.Scale(domain=names), axis=alt.Axis(labelAngle=0, grid=False)
    )
    y = alt.Y("n:Q", title="Answers", axis=alt.Axis(format=",d", tickCount=4))
    base = alt.Chart(rows).encode(x=x, y=y)
    return alt.layer(
        base.mark_bar(color=colours.series[0], cursor="pointer")
        .encode(
            opacity=alt.condition(chosen, alt.value(1), alt.value(0.85), empty=False),
            tooltip=alt.Tooltip("tip:N", title=" "),
            description="tip:N",
        )
        .add_params(chosen),
        base.mark_text(dy=-7, fontSize=11, color=colours.muted, aria=False).encode(text="text:N"),
    )
