"""What all charts share: the colours of the theme in use, the plain frame, the points that take clicks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import streamlit as st

from judgeboard.domain import Estimate

SELECTION = "cell"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one theme.

    ``series`` are the three that stay apart for colour-blind readers: use panels for more. ``heat`` are five discrete
    steps with ``heat_ink`` as the text on each. ``good``, ``doubt`` and ``bad`` are (mark, ground) pairs.
    """

    page: str
    pane: str
    ink: str
    muted: str
    line: str
    accent: str
    series: tuple[str, str, str]
    heat: tuple[str, str, str, str, str]
    heat_ink: tuple[str, str, str, str, str]
    good: tuple[str, str]
    doubt: tuple[str, str]
    bad: tuple[str, str]
    quiet: tuple[str, str]


LIGHT = Palette(
    page="#f8f6f2",
    pane="#ffffff",
    ink="#23262b",
    muted="#5f6269",
    line="#d9d5cc",
    accent="#1d5c8f",
    series=("#1d5c8f", "#c2570c", "#4f8a8b"),
    heat=("#eef3f8", "#b6cfe3", "#6c9ec5", "#2c6c9c", "#134167"),
    heat_ink=("#23262b", "#23262b", "#23262b", "#ffffff", "#ffffff"),
    good=("#1b5e9b", "#dcebf9"),
    doubt=("#7a5600", "#fff0b0"),
    bad=("#9c1127", "#f6beb8"),
    quiet=("#5b5f66", "#eceae6"),
)
DARK = Palette(
    page="#15171b",
    pane="#1a1d22",
    ink="#e4e2dd",
    muted="#a3a6ad",
    line="#383c43",
    accent="#86c0ec",
    series=("#6fb3e6", "#f0985a", "#7cc4c0"),
    heat=("#1f2a36", "#20425f", "#2d6391", "#558dbd", "#9bc1e3"),
    heat_ink=("#e4e2dd", "#e4e2dd", "#e4e2dd", "#0e1116", "#0e1116"),
    good=("#86c0ec", "#143352"),
    doubt=("#f5cb5c", "#4d3d05"),
    bad=("#ffa196", "#6a1d1d"),
    quiet=("#a9adb5", "#2a2d33"),
)


def palette() -> Palette:
    """Return the colours of the theme in use; light until the browser has said which."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def fin(chart: Any, height: int) -> Any:
    """Give a chart its height in px (axes included) and the frame of all charts.

    Pass it to ``st.altair_chart(…, theme=None)``: Streamlit's own theme makes labels pale and heights uncertain.
    """
    colours = palette()
    return (
        chart.properties(
            height=height, background="transparent", padding={"left": 4, "right": 4, "top": 4, "bottom": 4}
        )
        .configure(font='"Source Sans", sans-serif')
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=colours.muted,
            titleColor=colours.muted,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            gridColor=colours.line,
            gridOpacity=0.6,
            domain=False,
            ticks=False,
            labelPadding=6,
        )
    )


def pick() -> alt.Parameter:
    """Return the selection by which a mark is clicked: its row says in ``at`` which one it is."""
    return alt.selection_point(name=SELECTION, fields=["at"], toggle=False)


def estimate_columns(estimates: Sequence[Estimate]) -> dict[str, Any]:
    """Return the columns of marks with intervals: the place of each (``at``), its value and its bounds."""
    return {
        "at": range(len(estimates)),
        "value": [each.value for each in estimates],
        "low": [each.low for each in estimates],
        "high": [each.high for each in estimates],
    }


def click_points(base: Any, chosen: alt.Parameter, colour: Any = alt.Undefined, **channels: Any) -> Any:
    """Return a layer of invisible points that take the clicks: a drawn point is smaller than a finger.

    Args:
        base: The chart; its rows have ``at`` and, unless ``tooltip`` is given, a ``tip``.
        chosen: What `pick` returned.
        colour: The colour of a chosen point, where the base has none.
        channels: Where the points are.
    """
    described = {"tooltip": alt.Tooltip("tip:N", title=" "), "description": "tip:N"} | channels
    opacity = alt.condition(chosen, alt.value(0.18), alt.value(0), empty=False)
    points = base.mark_point(filled=True, size=420, color=colour, cursor="pointer")
    return points.encode(opacity=opacity, **described).add_params(chosen)
