"""The picture of the disagreement page: all pairs by tenths, by category, or as points where they are few."""

from collections.abc import Callable, Sequence

import streamlit as st

from judgeboard.agreement.words import WHAT_PEOPLE_GAVE
from judgeboard.answer_pairs import GradeName
from judgeboard.disagreement import DisagreementPage
from judgeboard.pair_cells import PairCell
from judgeboard.reports.tables import Column, Table
from judgeboard.stats.confusion import Confusion
from judgeboard_dashboard.charts import confusion, heat, scatter
from judgeboard_dashboard.charts.frame import SELECTION, fin
from judgeboard_dashboard.drill import cell_rows
from judgeboard_dashboard.figure import table
from judgeboard_dashboard.picking import clickable_chart, item, mark_in
from judgeboard_dashboard.saying import caption

TENTHS = "0.4 means 0.4 to 0.5."
Choose = Callable[[GradeName, tuple[int, int] | None], None]


def picture(
    found: DisagreementPage,
    reviewer_id: int | None,
    *,
    cell: tuple[int, int] | None,
    as_table: bool,
    choose: Choose,
) -> None:
    """Show the pairs; a click on a cell calls ``choose`` with it, a point opens its answer.

    Args:
        found: The page.
        reviewer_id: Whose grades count, None for everybody's together.
        cell: The cell that is chosen already.
        as_table: Whether to show the numbers instead.
        choose: Called with the grade and the cell.
    """
    names = found.picture.axis
    if found.grade == "groundedness":
        places = heat.heat_places(found.picture)
    else:
        places = [(people, judge) for people in range(len(names)) for judge in range(len(names))]
    if as_table:
        rows = picture_table(found, places)
        version = found.version.id if found.version else 0
        targets = [
            cell_rows(PairCell(version, found.grade, names[people], names[judge], reviewer_id=reviewer_id))
            for people, judge in places
        ]
        tenths = TENTHS if found.grade == "groundedness" else None
        under = (tenths, "Click a line to open its answers.", _people(found, reviewer_id))
        table(rows, targets, key="disagreement_picture", under=under, most=12)
        return
    if found.points and found.grade == "groundedness":
        clickable_chart(
            scatter.scatter_chart([(float(each.people), float(each.judge)) for each in found.points], found.gap),
            scatter.HEIGHT,
            [item(each.response_id) for each in found.points],
            key="scatter",
            says=f"{len(found.points)} answers as points, people across, the judge upwards",
        )
    else:
        _cells(found, places, cell, choose)
    caption(*_under(found, reviewer_id))


def picture_table(found: DisagreementPage, places: Sequence[tuple[int, int]]) -> Table:
    """Return the cells at ``places`` as rows; of labels those that differ need no column of their own."""
    shown = found.picture
    columns: tuple[Column, ...] = (Column("People"), Column("Judge"), Column("Answers", "count"))
    if found.grade != "label":
        columns = (*columns, Column(f"{found.gap:g} or more apart", "count"))
    rows = (
        (shown.axis[people], shown.axis[judge], shown.counts[people][judge], shown.apart[people][judge])
        for people, judge in places
    )
    return Table(columns, tuple(row[: len(columns)] for row in rows))


def _cells(
    found: DisagreementPage, places: list[tuple[int, int]], cell: tuple[int, int] | None, choose: Choose
) -> None:
    if found.grade == "groundedness":
        chart, tall = heat.heat_chart(found.picture, found.gap, chosen=cell), heat.HEIGHT
    else:
        chart = confusion.confusion_chart(Confusion(found.picture.axis, found.picture.counts), chosen=cell)
        tall = 300 if found.grade == "label" else 380
    # A key of its own for each choice: the chart then forgets its selection when the chip takes it away.
    key = f"pairs_{found.grade}_{cell}"

    def clicked() -> None:
        mark = mark_in(key)
        if mark is not None:
            choose(found.grade, places[mark])

    st.altair_chart(
        fin(chart, tall),
        theme=None,
        width="stretch",
        key=key,
        on_select=clicked,
        selection_mode=SELECTION,
        alt=f"{found.pairs} answers by what people and the judge gave",
    )


def _under(found: DisagreementPage, reviewer_id: int | None) -> list[str | None]:
    people = _people(found, reviewer_id)
    if found.grade != "groundedness":
        return ["Answers. Click a cell to filter the table.", people]
    if found.points:
        return [f"One point an answer; orange: {found.gap:g} or more apart. Click a point to open its answer.", people]
    return [
        f"Answers per tenth. {heat.outlined_words(found.picture, found.gap)}",
        "Below the diagonal the judge was harsher than people.",
        "Click a cell to filter the table.",
        people,
    ]


def _people(found: DisagreementPage, reviewer_id: int | None) -> str | None:
    return None if reviewer_id is not None else f"{WHAT_PEOPLE_GAVE[found.grade]}."
