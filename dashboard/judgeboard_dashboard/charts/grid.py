"""Draws a grid of counts: rectangles with a number and a word in each, as quadrant, confusion and heat map need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from judgeboard_dashboard.charts.frame import Palette, palette, pick

STEPS = (0.2, 0.4, 0.6, 0.8)
_FADED = 0.45


@dataclass(frozen=True, slots=True)
class Cell:
    """One rectangle: where it stands, what is written in it, its colours; ``tip`` says it in a sentence.

    ``faded`` are those beside a chosen one.
    """

    row: str
    column: str
    count: str
    word: str
    ground: str
    ink: str
    tip: str
    outline: str | None = None
    faded: bool = False


@dataclass(frozen=True, slots=True)
class Axes:
    """Titles and order of rows (from the top) and columns (from the left); ``on_top`` places the columns' names."""

    row_title: str
    rows: tuple[str, ...]
    column_title: str
    columns: tuple[str, ...]
    on_top: bool = True


@dataclass(frozen=True, slots=True)
class Sizes:
    """Letters of the count and of the word under it, and how far they stand from the middle of a cell with both.

    ``centred``: where a cell has no word, its count stands in the middle and not on the line of the others.
    """

    count: int
    word: int
    up: int
    down: int
    centred: bool = False


LARGE = Sizes(20, 12, -8, 13)
MEDIUM = Sizes(14, 12, -8, 13)
SMALL = Sizes(12, 10, -5, 7, centred=True)


def grid(cells: Sequence[Cell], axes: Axes, *, sizes: Sizes = LARGE, padding: float = 0.02) -> Any:
    """Return the grid; a mark's place in ``cells`` is what a click names."""
    colours = palette()
    chosen = pick()
    names = ("row", "column", "count", "word", "ground", "tip")
    rows = pd.DataFrame({name: [getattr(cell, name) for cell in cells] for name in names})
    rows["at"] = range(len(cells))
    rows["outline"] = [cell.outline or cell.ground for cell in cells]
    # On a faded ground the theme's own ink is the one that can be read.
    rows["ink"] = [colours.ink if cell.faded else cell.ink for cell in cells]
    rows["opacity"] = [_FADED if cell.faded else 1.0 for cell in cells]
    rows["width"] = [2.0 if cell.outline else 0.0 for cell in cells]
    base = alt.Chart(rows).encode(
        x=alt.X(
            "column:N",
            title=axes.column_title or None,
            sort=list(axes.columns),
            scale=alt.Scale(domain=list(axes.columns), paddingInner=padding, paddingOuter=padding / 2),
            axis=alt.Axis(orient="top" if axes.on_top else "bottom", labelAngle=0, grid=False, labelLimit=110),
        ),
        y=alt.Y(
            "row:N",
            title=axes.row_title or None,
            sort=list(axes.rows),
            scale=alt.Scale(domain=list(axes.rows), paddingInner=padding * 1.8, paddingOuter=padding / 2),
            axis=alt.Axis(grid=False, labelLimit=110),
        ),
    )
    squares = base.mark_rect(cornerRadius=5 if sizes.count > 14 else 2, cursor="pointer").encode(
        color=alt.Color("ground:N", scale=None),
        stroke=alt.Stroke("outline:N", scale=None),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None),
        opacity=alt.condition(chosen, alt.Opacity("opacity:Q", scale=None), alt.value(_FADED)),
        tooltip=alt.Tooltip("tip:N", title=" "),
        description="tip:N",
    )
    layers = [squares.add_params(chosen), *_texts(base, sizes, words=any(cell.word for cell in cells))]
    return alt.layer(*layers).properties(view=alt.ViewConfig(fill=colours.page, stroke=None))


def heat_step(share: float, colours: Palette) -> tuple[str, str]:
    """Return ground and ink of a share, by five steps: a continuous ramp has middles on which no text can be read."""
    step = sum(share >= bound - 1e-9 for bound in STEPS)
    return colours.heat[step], colours.heat_ink[step]


def _texts(base: alt.Chart, sizes: Sizes, *, words: bool) -> list[alt.Chart]:
    ink = alt.Color("ink:N", scale=None)
    alone = base.mark_text(fontSize=sizes.count, aria=False).encode(text="count:N", color=ink)
    if not words:
        return [alone]
    if sizes.centred:
        with_word = alone.transform_filter("datum.word !== ''")
        return [
            alone.transform_filter("datum.word === ''"),
            with_word.mark_text(fontSize=sizes.count, dy=sizes.up, aria=False),
            with_word.mark_text(fontSize=sizes.word, dy=sizes.down, aria=False).encode(text="word:N"),
        ]
    return [
        base.mark_text(fontSize=sizes.count, fontWeight=600, dy=sizes.up, aria=False).encode(text="count:N", color=ink),
        base.mark_text(fontSize=sizes.word, dy=sizes.down, aria=False).encode(text="word:N", color=ink),
    ]
