"""Draws the two signals: how often judge and user say the same, and how often one of them stands alone."""

from collections.abc import Mapping
from typing import Any

from judgeboard_dashboard.charts.frame import Palette, palette
from judgeboard_dashboard.charts.grid import Axes, Cell, grid

HEIGHT = 260
USER = {"down": "thumbs down", "middle": "in between", "up": "thumbs up", "none": "no feedback"}
JUDGE = {"low": "low", "high": "high", "none": "no verdict"}
_MEANING = {
    ("low", "down"): "corroborated",
    ("low", "up"): "gap",
    ("high", "down"): "gap",
    ("high", "up"): "both content",
}


def quadrant_sides(counts: Mapping[tuple[str, str], int]) -> list[tuple[str, str]]:
    """Return (judge side, user side) of every cell in order; the row without a verdict only where it counts any."""
    judges = [side for side in JUDGE if side != "none" or any(counts.get((side, user)) for user in USER)]
    return [(judge, user) for judge in judges for user in USER]


def quadrant_chart(counts: Mapping[tuple[str, str], int]) -> Any:
    """Return the quadrant of counts by (judge side, user side); its marks stand as in `quadrant_sides`.

    The ground follows the meaning: by count the least interesting cell would be the darkest.
    """
    colours = palette()
    sides = quadrant_sides(counts)
    cells = [_cell(judge, user, counts.get((judge, user), 0), colours) for judge, user in sides]
    rows = tuple(dict.fromkeys(JUDGE[judge] for judge, _ in sides))
    return grid(cells, Axes("Judge", rows, "User", tuple(USER.values())))


def _cell(judge: str, user: str, count: int, colours: Palette) -> Cell:
    meaning = _MEANING.get((judge, user), "")
    ground = {"corroborated": colours.bad[1], "gap": colours.doubt[1], "both content": colours.good[1]}
    said = f"judge {JUDGE[judge]}" if judge != "none" else "no usable verdict"
    return Cell(
        row=JUDGE[judge],
        column=USER[user],
        count=f"{count:,}",
        word=meaning,
        # Nothing in it: nothing to look at.
        ground=ground.get(meaning, colours.quiet[1]) if count else colours.quiet[1],
        ink=colours.ink if count else colours.muted,
        tip=f"{count:,} answers: {said}, {'user ' if user != 'none' else ''}{USER[user]}",
    )
