"""Draws judge against people by tenths: how many answers stand in each cell, outlined where any are far apart."""

from collections.abc import Sequence
from typing import Any

from judgeboard_dashboard.charts.frame import palette
from judgeboard_dashboard.charts.grid import SMALL, Axes, Cell, grid

HEIGHT = 440


def heat_places(counts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return (people's tenth, judge's tenth) of every cell that is drawn: those that count any."""
    return [(people, judge) for people, row in enumerate(counts) for judge, count in enumerate(row) if count]


def outlined_words(counts: Sequence[Sequence[int]], apart: Sequence[Sequence[int]], gap: float) -> str:
    """Return what the outlined cells count, and what "2 of 5" in one means, where any says so."""
    every = ((count, far) for rows in zip(counts, apart, strict=True) for count, far in zip(*rows, strict=True))
    mixed = [(count, far) for count, far in every if 0 < far < count]
    said = f"Outlined: {gap:g} or more apart"
    if not mixed:
        return f"{said}."
    count, far = min(mixed)
    return f'{said}, "{far:,} of {_short(count)}" where not all of a cell are.'


def heat_chart(
    axis: Sequence[str],
    counts: Sequence[Sequence[int]],
    apart: Sequence[Sequence[int]],
    gap: float,
    *,
    chosen: tuple[int, int] | None = None,
) -> Any:
    """Return the map of counts by (people's tenth, judge's tenth); its marks stand as in `heat_places`.

    A cell of which only some answers are far apart says "2" over "of 5": the large numbers of the outlined cells add
    up to what the page's sentence counts.

    Args:
        axis: The lower ends of the tenths, as text.
        counts: ``counts[people][judge]``.
        apart: How many of ``counts`` are ``gap`` or more apart.
        gap: From which distance on an answer is far apart.
        chosen: The (people, judge) place beside which all others fade.
    """
    colours = palette()
    most = max((count for row in counts for count in row), default=0)
    cells = []
    for people, judge in heat_places(counts):
        count = counts[people][judge]
        step = _step(count, most)
        far = apart[people][judge]
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
    axes = Axes("Judge: groundedness", tuple(reversed(axis)), "People: groundedness", tuple(axis), on_top=False)
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
