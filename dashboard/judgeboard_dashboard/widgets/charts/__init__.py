"""Altair charts: the common frame and clickable marks. Each file has one family of charts."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.schemapi import UndefinedType, disable_debug_mode

from judgeboard.domain import Estimate
from judgeboard_dashboard.theme import palette

# Else each part of a chart would be checked against the schema, a fifth of the time of a page. For
# the same reason, channels have types (`alt.Y2("high:Q")`): Altair searches the type of a bare text
# or value.
disable_debug_mode()

SELECTION = "cell"
PERCENT: dict[str, Any] = {"format": ".0%", "labelExpr": "replace(datum.label, '%', ' %')"}
"""The labels of an axis of shares: \"20 %\"."""


class FramedChart:
    """A chart in a frame, for ``st.altair_chart(…, theme=None)``, which only asks for the specification.

    The specification is not checked against the schema: a check takes twice as long as writing the
    specification. Tests check each kind of chart. Streamlit's theme would make labels pale and
    change heights.
    """

    def __init__(self, chart: Any) -> None:
        self._chart = chart

    def to_dict(self, *, validate: bool = False) -> dict[str, Any]:
        """Return the specification, with the data as frames."""
        frames = ["datasets"]
        specification: dict[str, Any] = self._chart.to_dict(
            validate, ignore=frames, context={"top_level": False}
        )
        return specification | {"datasets": self._chart.datasets}


def framed(chart: Any, height: int) -> Any:
    """Return a `FramedChart`, which Streamlit's types do not allow: the chart, so many px high (axes included)."""
    colours = palette()
    # Not by methods (`properties`, `configure_axis`): each copies all layers several times.
    chart.height, chart.background = height, "transparent"
    chart.padding = {"left": 4, "right": 4, "top": 4, "bottom": 4}
    chart.config = alt.Config(
        font='"Source Sans", sans-serif',
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
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
        ),
    )
    return FramedChart(chart)


def layered(*layers: Any) -> Any:
    """Return a chart of one or more layers; layers of the same data frame share the frame.

    `alt.layer` copies each layer several times, and Streamlit would send the frame of each layer.
    """
    frames, params = (
        {id(layer.data): layer.data for layer in layers},
        list[alt.TopLevelSelectionParameter](),
    )
    names = {frame: f"rows_{place}" for place, frame in enumerate(frames)}
    for place, layer in enumerate(layers):
        layer.data, layer.name = alt.NamedData(names[id(layer.data)]), f"layer_{place}"
        if layer.params is not alt.Undefined:
            params += [
                alt.TopLevelSelectionParameter(**each.to_dict(), views=[layer.name])
                for each in layer.params
            ]
            layer.params = alt.Undefined
    datasets = dict(zip(names.values(), frames.values(), strict=True))
    return alt.TopLevelLayerSpec(layer=list(layers), params=params, datasets=datasets)


def pick() -> alt.Parameter:
    """Return the selection of a clicked mark; the column ``at`` of the mark's row is the position of the mark."""
    return alt.selection_point(name=SELECTION, fields=["at"], toggle=False)


def opacity_of(opacity: float | str, others: float, *, empty: bool = True) -> alt.OpacityValue:
    """Return the opacity of marks: of the selected mark (a number, or the name of a column), and of all others.

    If ``empty``, all marks look selected until a mark is selected.
    """
    is_column = isinstance(opacity, str)
    look = (
        {"field": opacity, "type": "quantitative", "scale": None}
        if is_column
        else {"value": opacity}
    )
    return alt.OpacityValue(others, condition={"param": SELECTION, "empty": empty, **look})


def end_of_shares(shares: Iterable[Estimate]) -> float:
    """Return the end of an axis of shares: 20, 40, 60, 80 or 100 %, so that small shares are readable."""
    most = max((share.high or share.value or 0 for share in shares), default=1.0)
    return next(top for top in (0.2, 0.4, 0.6, 0.8, 1.0) if most <= top or top == 1)


DESCRIBED: dict[str, Any] = {
    "tooltip": alt.Tooltip("tip:N", title=" "),
    "description": alt.Description("tip:N"),
}
"""The channels that describe each mark in a sentence: the column ``tip`` of the rows."""

Channel = alt.SchemaBase | str | Sequence[alt.Tooltip] | UndefinedType
"""A value of a channel in an encoding of Altair."""


def estimate_rows(
    estimates: Sequence[Estimate], **columns: Sequence[object] | float
) -> pd.DataFrame:
    """Return the rows of marks with intervals: position (``at``), value, bounds, and further columns."""
    bounds = {
        name: [getattr(each, name) for each in estimates] for name in ("value", "low", "high")
    }
    return pd.DataFrame({"at": range(len(estimates)), **bounds, **columns})


def click_points(
    base: Any,
    colour: Any = alt.Undefined,
    **channels: Channel,
) -> Any:
    """Return a layer of large invisible points that take the clicks. Drawn points are smaller than a finger.

    Rows of ``base`` need ``at`` and, unless ``tooltip`` is given, a ``tip``. ``colour`` is the
    colour of a selected point if the base has none. ``channels`` give the position of the points.
    """
    opacity = opacity_of(0.18, 0, empty=False)
    points = base.mark_point(filled=True, size=420, color=colour, cursor="pointer")
    return points.encode(opacity=opacity, **DESCRIBED | channels).add_params(pick())
