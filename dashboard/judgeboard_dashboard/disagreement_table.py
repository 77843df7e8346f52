"""The table of answers on which judge and people differ; its first line is chosen until another is."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from judgeboard.answer_pairs import GradeName
from judgeboard.disagreement import Disagreement, DisagreementPage
from judgeboard.reports.tables import Column, Format, Table
from judgeboard_dashboard.saying import caption
from judgeboard_dashboard.tables import ROW_HEIGHT, csv_button, height, one_line, table_frame
from judgeboard_dashboard.words import count

SIZE = 100
SEEN = 8


def disagreement_table(found: DisagreementPage, export: Callable[[], Table]) -> Disagreement | None:
    """Show the worst lines and return the chosen one, None where there is none.

    Args:
        found: The page.
        export: Makes the table of all lines for the file.
    """
    if not found.rows:
        caption("No such answer.")
        return None
    rows = _table(found.rows, found.grade)
    key = f"disagreement_{found.grade}_{found.rows[0].said.response_id}_{len(found.rows)}"
    wide = {"Question": 190, "Answer": 215, "Type": 80}
    state = st.dataframe(
        table_frame(rows),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(found.rows), most=SEEN),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config={
            **{title: st.column_config.TextColumn(width=width) for title, width in wide.items()},
            "Judge": _value(found.grade),
            "People": _value(found.grade),
            "Difference": st.column_config.NumberColumn(
                format="%+.2f" if found.grade == "groundedness" else "%+d", width=85, help="Judge minus people"
            ),
        },
    )
    with st.container(key="foot_disagreement", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        shown = f"{len(found.rows):,} of " if len(found.rows) < found.total else ""
        caption(f"Worst first, {shown}{count(found.total, 'answer')}.")
        csv_button(export, "disagreement", key="disagreement_csv")
    chosen: Sequence[int] = state.selection.rows
    return found.rows[chosen[0]] if chosen and chosen[0] < len(found.rows) else found.rows[0]


def export_table(lines: Sequence[Disagreement]) -> Table:
    """Return the lines with ids and what both sides said."""
    names = ("source", "external_id", "query_type", "question", "answer", "judge", "people")
    columns = (*map(Column, names), Column("difference", "number"), Column("reasoning"), Column("notes"))
    return Table(columns, tuple(map(_export_line, lines)))


def _table(lines: Sequence[Disagreement], grade: GradeName) -> Table:
    value: Format = "text" if grade == "label" else "number"
    columns = (*map(Column, ("Question", "Answer", "Type")), Column("Judge", value), Column("People", value))
    rows = (
        (
            *(one_line(text or "") for text in (line.said.question, line.said.answer)),
            *(line.said.query_type, line.judge, line.people, line.difference),
        )
        for line in lines
    )
    return Table((*columns, Column("Difference", "number")), tuple(rows))


def _export_line(line: Disagreement) -> tuple[Any, ...]:
    said = line.said
    notes = " | ".join(f"{each.reviewer}: {each.note}" for each in line.people_said if each.note)
    return (
        said.source,
        said.external_id,
        said.query_type,
        said.question,
        said.answer,
        str(line.judge),
        str(line.people),
        line.difference,
        said.reasoning,
        notes or None,
    )


def _value(grade: GradeName) -> Any:
    if grade == "label":
        return st.column_config.TextColumn(width=95)
    return st.column_config.NumberColumn(format="%.2f" if grade == "groundedness" else "%d", width=65)
