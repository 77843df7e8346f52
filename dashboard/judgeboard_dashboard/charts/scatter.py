"""Draws judge against people as single points, where there are too few for counts by tenths."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from judgeboard_dashboard.charts.frame import palette, pick

HEIGHT = 440
JITTER = 0.01


def scatter_chart(pairs: Sequence[tuple[float, float]], gap: float) -> Any:
    """Return (people, judge) groundedness as points, moved apart by up to 0.01; those ``gap`` apart in orange."""
    colours = palette()
    chosen = pick()
    moved = np.random.default_rng(7).uniform(-JITTER, JITTER, (len(pairs), 2))
    values = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    far = np.abs(values[:, 0] - values[:, 1]) >= gap - 1e-9
    rows = pd.DataFrame(
        {
            "at": range(len(pairs)),
            "people": values[:, 0],
            "judge": values[:, 1],
            "x": values[:, 0] + moved[:, 0],
            "y": values[:, 1] + moved[:, 1],
            "colour": [colours.series[1] if each else colours.series[0] for each in far],
        }
    )
    scale = alt.Scale(domain=[-0.03, 1.03], nice=False, zero=False)
    axis = alt.Axis(format=".1f", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    points = (
        alt.Chart(rows)
        .mark_point(filled=True, size=110, cursor="pointer")
        .encode(
            x=alt.X("x:Q", title="People: groundedness", scale=scale, axis=axis),
            y=alt.Y("y:Q", title="Judge: groundedness", scale=scale, axis=axis),
            color=alt.Color("colour:N", scale=None),
            opacity=alt.condition(chosen, alt.value(0.85), alt.value(0.35)),
            tooltip=[
                alt.Tooltip("people:Q", title="People", format=".2f"),
                alt.Tooltip("judge:Q", title="Judge", format=".2f"),
            ],
        )
        .add_params(chosen)
    )
    ends = alt.Chart(pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]}))
    line = ends.mark_line(color=colours.muted, strokeDash=[4, 4], strokeWidth=1)
    return alt.layer(line.encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale)), points)
