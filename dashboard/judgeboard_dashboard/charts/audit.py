"""Draws the four counts of an audit: verdicts wrong or right by people's grades, marked or left alone."""

from typing import Any

from judgeboard.auditing import AuditReport
from judgeboard_dashboard.charts.frame import palette
from judgeboard_dashboard.charts.grid import Axes, Cell, grid, heat_step

HEIGHT = 230
WRONG, RIGHT = "wrong", "right"
MARKED, ALONE = "marked wrong", "left alone"


def audit_chart(report: AuditReport) -> Any:
    """Return the counts, people in the rows; marks stand as caught, missed, accused, right and left alone."""
    colours = palette()
    cells = []
    for row, column, count, word in (
        (WRONG, MARKED, report.tp, "caught"),
        (WRONG, ALONE, report.fn, "missed"),
        (RIGHT, MARKED, report.fp, "accused"),
        (RIGHT, ALONE, report.tn, "rightly left alone"),
    ):
        of_row = report.tp + report.fn if row == WRONG else report.fp + report.tn
        ground, ink = heat_step(count / of_row, colours) if of_row else (colours.quiet[1], colours.muted)
        tip = f"{count:,} verdicts that are {row} by people's grades, {column}"
        cells.append(Cell(row, column, f"{count:,}", word, ground, ink, tip))
    return grid(cells, Axes("The verdict is", (WRONG, RIGHT), "Supreme judge", (MARKED, ALONE)))
