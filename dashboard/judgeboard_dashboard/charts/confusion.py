"""Draws the confusion table: what the judge said of the answers that people put in each category."""

from typing import Any

from judgeboard.stats.confusion import Confusion
from judgeboard_dashboard.charts.frame import palette
from judgeboard_dashboard.charts.grid import LARGE, MEDIUM, Axes, Cell, grid, heat_step

HEIGHT = 240


def confusion_chart(table: Confusion, *, chosen: tuple[int, int] | None = None) -> Any:
    """Return the table, people in the rows; the ground is the share of the row.

    Marks stand row by row. Where people put nothing in a category its row stays, with zeros that say so. Beside the
    ``chosen`` (row, column) all others fade.
    """
    colours = palette()
    categories = table.categories
    many = len(categories) > 2
    cells = []
    for row, (counts, shares) in enumerate(zip(table.counts, table.row_shares, strict=True)):
        for column, (count, share) in enumerate(zip(counts, shares, strict=True)):
            ground, ink = heat_step(share, colours) if share is not None else (colours.quiet[1], colours.muted)
            of_row = "no such answer" if share is None else f"{share:.0%}".replace("%", " %")
            cells.append(
                Cell(
                    row=categories[row],
                    column=categories[column],
                    count=f"{count:,}",
                    word=of_row if many or share is None else f"{of_row} of row",
                    ground=ground,
                    ink=ink,
                    tip=f"{count:,} answers: people {categories[row]}, judge {categories[column]}",
                    outline=colours.ink if many and row == column else None,
                    faded=chosen not in {None, (row, column)},
                )
            )
    return grid(cells, Axes("People say", categories, "Judge says", categories), sizes=MEDIUM if many else LARGE)
