"""The chart of costs per week."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import altair as alt
import pandas as pd

from judgeboard.text import money
from judgeboard_dashboard.theme import palette
from judgeboard_dashboard.widgets.charts import fin


def week_chart(weeks: Sequence[datetime], cost_micro: Sequence[int], height: int) -> Any:
    """Return one bar per week, in dollars; ``cost_micro`` are millionths."""
    names = [f"{week.day} {week:%b}" for week in weeks]
    rows = pd.DataFrame(
        {
            "week": names,
            "dollars": [micro / 1_000_000 for micro in cost_micro],
            "tip": [
                f"Week of {week.day} {week:%b %Y}: {money(micro)}"
                for week, micro in zip(weeks, cost_micro, strict=True)
            ],
        }
    )
    bars = (
        alt.Chart(rows)
        .mark_bar(color=palette().series[0], size=18)
        .encode(
            x=alt.X("week:N", sort=names, title="Week of", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("dollars:Q", title="Cost in $", axis=alt.Axis(tickCount=4)),
            tooltip=alt.Tooltip("tip:N", title="Cost"),
        )
    )
    return fin(bars, height)
