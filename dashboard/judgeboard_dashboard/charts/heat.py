"""Draws judge against people by tenths: how many answers stand in each cell, outlined where any are far apart."""

from typing import Any

from judgeboard.disagreement_picture import Picture
from judgeboard_dashboard.charts.frame import palette
from judgeboard_dashboard.charts.grid import SMALL, Axes, Cell, grid

HEIGHT = 440


def heat_places(picture: Picture) -> list[tuple[int, int]]:
    """Return (people's tenth, judge's tenth) of every cell that is drawn: those that count any."""
    return [(people, judge) for people, row in enumerate(picture.counts) for judge, count in enumerate(row) if count]


def outlined_words(picture: Picture, gap: float) -> str:
    """Return what the outlined cells count, and what "2 of 5" in one means, where any says so."""
    every = [(picture.counts[people][judge], picture.apart[people][judge]) for people, judge in heat_places(picture)]
    mixed = [(count, far) for count, far in every if 0 < far < count]
    said = f"Outlined: {gap:g} or more apart"
    if not mixed:
        return f"{said}."
    count, far = min(mixed)
    return f'{said}, "{far:,} of {_short(count)}" where not all of a cell are.'


def heat_chart(picture: Picture, gap: float, *, chosen: tuple[int, int] | None = None) -> Any:
    """Return the map of counts by (people's tenth, judge's tenth); its marks stand as in `heat_places`.

    A cell of which only some answers are far apart says "2" over "of 5": the large numbers of the outlined cells add
    up to what the page's sentence counts.

    Args:
        picture: The pairs by tenths.
        gap: From which distance on an answer is far apart, as the picture counts it.
        chosen: The (people, judge) place beside which all others fade.
    """
    colours, axis = palette(), picture.axis
    most = max((count for row in picture.counts for count in row), default=0)
    cells = []
    for people, judge in heat_places(picture):
        count, far = picture.counts[people][judge], picture.apart[people][judge]
        step = _step(count, most)
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
                faded=chosen not in {None, (people, judge)},
            )
        )
    axes = Axes("Judge: groundedness", tuple(reversed(axis)), "People: groundedness", axis, on_top=False)
    return grid(cells, axes, sizes=SMALL, padding=0.05)


def _answers(count: int, far: int, gap: float) -> str:
    said = "1 answer" if count == 1 else f"{count:,} answers"
    if not far:
        return said
    return f"{said}, {gap:g} or more apart" if far == count else f"{said}, {far:,} of them {gap:g} or more apart"


def _short(count: int) -> str:
    """A cell is some forty pixels wide."""
    return f"{count:,}" if count < 10_000 else f"{count // 1000:,}k"


def _step(count: int, most: int) -> int:
    """By powers, not by shares: one cell with half of all answers would leave the others one colour."""
    bounds = [max(most, 1) ** (power / 5) for power in (1, 2, 3, 4)]
    return sum(count > bound for bound in bounds)
