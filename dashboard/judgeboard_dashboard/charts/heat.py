"""Draws judge against people by tenths: how many answers stand in each cell, those far apart outlined."""

from collections.abc import Sequence
from typing import Any

from judgeboard_dashboard.charts.frame import palette
from judgeboard_dashboard.charts.grid import Axes, Cell, grid

HEIGHT = 440


def heat_places(counts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return (people's tenth, judge's tenth) of every cell that is drawn: those that count any."""
    return [(people, judge) for people, row in enumerate(counts) for judge, count in enumerate(row) if count]


def heat_chart(
    axis: Sequence[str], counts: Sequence[Sequence[int]], gap: float, *, chosen: tuple[int, int] | None = None
) -> Any:
    """Return the map of counts by (people's tenth, judge's tenth); its marks stand as in `heat_places`.

    Args:
        axis: The lower ends of the tenths, as text.
        counts: ``counts[people][judge]``.
        gap: From which distance of the lower ends on a cell is outlined.
        chosen: The (people, judge) place beside which all others fade.
    """
    colours = palette()
    most = max((count for row in counts for count in row), default=0)
    cells = []
    for people, judge in heat_places(counts):
        count = counts[people][judge]
        step = _step(count, most)
        apart = abs(float(axis[people]) - float(axis[judge])) >= gap - 1e-9
        cells.append(
            Cell(
                row=axis[judge],
                column=axis[people],
                count=f"{count:,}",
                word="",
                ground=colours.heat[step],
                ink=colours.heat_ink[step],
                tip=f"{count:,} answers: judge from {axis[judge]}, people from {axis[people]}",
                outline=colours.series[1] if apart else None,
                faded=chosen not in {None, (people, judge)},
            )
        )
    axes = Axes("Judge: groundedness", tuple(reversed(axis)), "People: groundedness", tuple(axis), on_top=False)
    return grid(cells, axes, count_size=12, padding=0.05)


def _step(count: int, most: int) -> int:
    """By powers, not by shares: one cell with half of all answers would leave the others one colour."""
    bounds = [max(most, 1) ** (power / 5) for power in (1, 2, 3, 4)]
    return sum(count > bound for bound in bounds)
