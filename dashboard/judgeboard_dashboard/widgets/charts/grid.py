"""Grids of counts: the two signals, confusion tables, the heat map of disagreement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from judgeboard.formats.output import Column, Table
from judgeboard.measure.disagreement import DisagreementPage, Picture
from judgeboard.stats.confusion import Confusion
from judgeboard.stats.estimates import percent
from judgeboard.text import counted
from judgeboard_dashboard.theme import Palette, palette
from judgeboard_dashboard.widgets.charts import DESCRIBED, layered, opacity_of, pick

STEPS = (0.2, 0.4, 0.6, 0.8)
_FADED = 0.45


@dataclass(frozen=True, slots=True)
class Cell:
    """One rectangle: row and column, texts, colours; ``tip`` describes the cell in a sentence."""

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
class Sizes:
    """Font sizes of count and word, and offsets from the middle; ``centred`` centres counts without a word."""

    count: int
    word: int
    up: int
    down: int
    centred: bool = False


LARGE = Sizes(20, 12, -8, 13)
MEDIUM = Sizes(14, 12, -8, 13)
SMALL = Sizes(12, 10, -5, 7, centred=True)


def grid(
    cells: Sequence[Cell],
    *,
    row_title: str,
    rows: Sequence[str],
    column_title: str,
    columns: Sequence[str],
    columns_on_top: bool = True,
    sizes: Sizes = LARGE,
    padding: float = 0.02,
) -> Any:
    """Return the grid, ``rows`` from the top. A click on a mark gives the mark's position in ``cells``."""
    colours = palette()
    names = ("row", "column", "count", "word", "ground", "tip")
    frame = pd.DataFrame({name: [getattr(cell, name) for cell in cells] for name in names})
    frame["at"] = range(len(cells))
    frame["outline"] = [cell.outline or cell.ground for cell in cells]
    # On a faded background only the theme's own text colour is readable.
    frame["ink"] = [colours.ink if cell.faded else cell.ink for cell in cells]
    frame["opacity"] = [_FADED if cell.faded else 1.0 for cell in cells]
    frame["width"] = [2.0 if cell.outline else 0.0 for cell in cells]
    base = alt.Chart(frame).encode(
        x=alt.X(
            "column:N",
            title=column_title,
            sort=list(columns),
            scale=alt.Scale(domain=list(columns), paddingInner=padding, paddingOuter=padding / 2),
            axis=alt.Axis(
                orient="top" if columns_on_top else "bottom",
                labelAngle=0,
                grid=False,
                labelLimit=110,
            ),
        ),
        y=alt.Y(
            "row:N",
            title=row_title,
            sort=list(rows),
            scale=alt.Scale(
                domain=list(rows), paddingInner=padding * 1.8, paddingOuter=padding / 2
            ),
            axis=alt.Axis(grid=False, labelLimit=110),
        ),
    )
    squares = base.mark_rect(cornerRadius=5 if sizes.count > 14 else 2, cursor="pointer").encode(
        color=alt.Color("ground:N", scale=None),
        stroke=alt.Stroke("outline:N", scale=None),
        strokeWidth=alt.StrokeWidth("width:Q", scale=None),
        opacity=opacity_of("opacity", _FADED),
        **DESCRIBED,
    )
    layers = [
        squares.add_params(pick()),
        *_texts(base, sizes, words=any(cell.word for cell in cells)),
    ]
    chart = layered(*layers)
    chart.view = alt.ViewConfig(fill=colours.page, stroke=None)
    return chart


def heat_step(share: float, colours: Palette) -> tuple[str, str]:
    """Return background and text colour of a share. Five steps, since a continuous scale makes some text unreadable."""
    step = sum(share >= bound - 1e-9 for bound in STEPS)
    return colours.heat[step], colours.heat_ink[step]


def _texts(base: alt.Chart, sizes: Sizes, *, words: bool) -> list[alt.Chart]:
    ink = alt.Color("ink:N", scale=None)
    alone = base.mark_text(fontSize=sizes.count, aria=False).encode(
        text=alt.Text("count:N"), color=ink
    )
    if not words:
        return [alone]
    if sizes.centred:
        with_word = alone.transform_filter("datum.word !== ''")
        return [
            alone.transform_filter("datum.word === ''"),
            with_word.mark_text(fontSize=sizes.count, dy=sizes.up, aria=False),
            with_word.mark_text(fontSize=sizes.word, dy=sizes.down, aria=False).encode(
                text=alt.Text("word:N")
            ),
        ]
    return [
        base.mark_text(fontSize=sizes.count, fontWeight=600, dy=sizes.up, aria=False).encode(
            text=alt.Text("count:N"), color=ink
        ),
        base.mark_text(fontSize=sizes.word, dy=sizes.down, aria=False).encode(
            text=alt.Text("word:N"), color=ink
        ),
    ]


HEAT_HEIGHT = 340


def heat_places(picture: Picture) -> list[tuple[int, int]]:
    """Return (people's tenth, judge's tenth) of every cell with answers."""
    return [
        (people, judge)
        for people, row in enumerate(picture.counts)
        for judge, count in enumerate(row)
        if count
    ]


def picture_table(page: DisagreementPage, places: Sequence[tuple[int, int]]) -> Table:
    """Return the cells at ``places`` as rows."""
    picture = page.picture
    rows = (
        (
            picture.axis[people],
            picture.axis[judge],
            picture.counts[people][judge],
            picture.apart[people][judge],
        )
        for people, judge in places
    )
    tenths = (Column(name, help="0.4 means 0.4 to 0.5.") for name in ("People", "Judge"))
    apart = Column(f"{page.gap:g} or more apart", "count")
    return Table((*tenths, Column("Answers", "count"), apart), tuple(rows))


def heat_chart(picture: Picture, gap: float, *, place: tuple[int, int] | None = None) -> Any:
    """Return the heat map of counts by tenths, with marks in the order of `heat_places`.

    If only some answers in a cell are far apart, the cell shows "2" over "of 5". The large numbers
    of the outlined cells then add up to the count in the page's sentence. With a (people, judge)
    ``place``, all other cells fade.
    """
    colours, axis = palette(), picture.axis
    most = max((count for row in picture.counts for count in row), default=0)
    cells = []
    for people, judge in heat_places(picture):
        count, far = picture.counts[people][judge], picture.apart[people][judge]
        # The colour step on a logarithmic scale. Otherwise one very large cell would make all
        # other cells look alike.
        bounds = [max(most, 1) ** (power / 5) for power in (1, 2, 3, 4)]
        step = sum(count > bound for bound in bounds)
        some = 0 < far < count
        cells.append(
            Cell(
                row=axis[judge],
                column=axis[people],
                count=f"{far if some else count:,}",
                word=f"of {_short(count)}" if some else "",
                ground=colours.heat[step],
                ink=colours.heat_ink[step],
                tip=f"{_answers(count, far, gap)}: judge from {axis[judge]}, people from {axis[people]}",
                outline=colours.series[1] if far else None,
                faded=place not in {None, (people, judge)},
            )
        )
    return grid(
        cells,
        row_title="Judge: groundedness",
        rows=axis[::-1],
        column_title="People: groundedness",
        columns=axis,
        columns_on_top=False,
        sizes=SMALL,
        padding=0.05,
    )


def _answers(count: int, far: int, gap: float) -> str:
    answers = counted(count, "answer")
    if not far:
        return answers
    return f"{answers}, {'' if far == count else f'{far:,} of them '}{gap:g} or more apart"


def _short(count: int) -> str:
    """Return a count that fits into a cell of about 40 px."""
    return f"{count:,}" if count < 10_000 else f"{count // 1000:,}k"


QUADRANT_HEIGHT = 260
USER = {"down": "thumbs down", "middle": "in between", "up": "thumbs up", "none": "no feedback"}
JUDGE = {"low": "low", "high": "high", "none": "no verdict"}
_MEANING = {
    ("low", "down"): "corroborated",
    ("low", "up"): "gap",
    ("high", "down"): "gap",
    ("high", "up"): "both positive",
}


def quadrant_sides(counts: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Return (judge side, user side) of each cell in order. An empty row without a verdict is left out."""
    judges = [
        side for side in JUDGE if side != "none" or any(counts.get((side, user)) for user in USER)
    ]
    return [(judge, user) for judge in judges for user in USER]


def quadrant_chart(counts: Mapping[tuple[str, str], int]) -> Any:
    """Return the quadrant of counts by (judge side, user side), in the order of `quadrant_sides`.

    Colours show the meaning of a cell. With colours for counts, the least interesting cell would be
    the darkest.
    """
    colours = palette()
    sides = quadrant_sides(counts)
    grounds = {
        "corroborated": colours.bad[1],
        "gap": colours.doubt[1],
        "both positive": colours.good[1],
    }
    cells = []
    for judge, user in sides:
        count, meaning = counts.get((judge, user), 0), _MEANING.get((judge, user), "")
        verdict = f"judge {JUDGE[judge]}" if judge != "none" else "no usable verdict"
        reaction = f"{'user ' if user != 'none' else ''}{USER[user]}"
        cells.append(
            Cell(
                row=JUDGE[judge],
                column=USER[user],
                count=f"{count:,}",
                word=meaning,
                ground=grounds.get(meaning, colours.quiet[1]) if count else colours.quiet[1],
                ink=colours.ink if count else colours.muted,
                tip=f"{counted(count, 'answer')}: {verdict}, {reaction}",
            )
        )
    rows = tuple(dict.fromkeys(JUDGE[judge] for judge, _ in sides))
    return grid(
        cells, row_title="Judge", rows=rows, column_title="User", columns=tuple(USER.values())
    )


CONFUSION_HEIGHT = 240


def confusion_chart(table: Confusion, *, place: tuple[int, int] | None = None) -> Any:
    """Return the confusion table with people in the rows, coloured by share of the row; marks are in row order.

    A row without answers shows zeros. With a (row, column) ``place``, all other cells fade.
    """
    colours = palette()
    categories = table.categories
    many = len(categories) > 2
    cells = []
    for row, (counts, shares) in enumerate(zip(table.counts, table.row_shares, strict=True)):
        for column, (count, share) in enumerate(zip(counts, shares, strict=True)):
            ground, ink = (
                heat_step(share, colours)
                if share is not None
                else (colours.quiet[1], colours.muted)
            )
            of_row = "no such answer" if share is None else percent(share)
            cells.append(
                Cell(
                    row=categories[row],
                    column=categories[column],
                    count=f"{count:,}",
                    word=of_row if many or share is None else f"{of_row} of row",
                    ground=ground,
                    ink=ink,
                    tip=f"{counted(count, 'answer')}: people {categories[row]}, judge {categories[column]}",
                    outline=colours.ink if many and row == column else None,
                    faded=place not in {None, (row, column)},
                )
            )
    return grid(
        cells,
        row_title="People",
        rows=categories,
        column_title="Judge",
        columns=categories,
        sizes=MEDIUM if many else LARGE,
    )
