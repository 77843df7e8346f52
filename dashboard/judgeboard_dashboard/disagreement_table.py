"""The table of answers on which judge and people differ; its first line is chosen until another is."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.answer_pairs import GradeName
from judgeboard.disagreement import Disagreement, DisagreementPage
from judgeboard_dashboard.saying import caption
from judgeboard_dashboard.tables import ROW_HEIGHT, csv_button, frame, height
from judgeboard_dashboard.words import count

SIZE = 100
SEEN = 8


def disagreement_table(found: DisagreementPage, export: Callable[[], pd.DataFrame]) -> Disagreement | None:
    """Show the worst lines and return the chosen one, None where there is none.

    Args:
        found: The page.
        export: Makes the table of all lines for the file.
    """
    if not found.rows:
        caption("No such answer.")
        return None
    rows = rows_of(found.rows, found.grade)
    key = f"disagreement_{found.grade}_{found.rows[0].said.response_id}_{len(rows)}"
    state = st.dataframe(
        rows,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(rows), most=SEEN),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config={
            "Question": st.column_config.TextColumn(width=190),
            "Answer": st.column_config.TextColumn(width=215),
            "Type": st.column_config.TextColumn(width=80),
            "Judge": _value(found.grade),
            "People": _value(found.grade),
            "Difference": st.column_config.NumberColumn(
                format="%+.2f" if found.grade == "groundedness" else "%+d", width=85, help="Judge minus people"
            ),
        },
    )
    with st.container(key="foot_disagreement", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        caption(
            f"Worst first, {len(rows):,} of {count(found.total, 'answer')}."
            if len(rows) < found.total
            else f"Worst first, {count(found.total, 'answer')}."
        )
        csv_button(export, "disagreement", key="disagreement_csv")
    chosen: Sequence[int] = state.selection.rows
    return found.rows[chosen[0]] if chosen and chosen[0] < len(found.rows) else found.rows[0]


def rows_of(lines: Sequence[Disagreement], grade: GradeName) -> pd.DataFrame:
    """Return the lines as shown."""
    kind = "str" if grade == "label" else "Float64"
    return frame(
        {"Question": "str", "Answer": "str", "Type": "str", "Judge": kind, "People": kind, "Difference": "Float64"},
        (
            (
                " ".join((line.said.question or "").split()),
                " ".join((line.said.answer or "").split()),
                line.said.query_type,
                line.judge,
                line.people,
                line.difference,
            )
            for line in lines
        ),
    )


def export_table(lines: Sequence[Disagreement]) -> pd.DataFrame:
    """Return the lines with ids and what both sides said."""
    columns = {
        "source": "str",
        "external_id": "str",
        "query_type": "str",
        "question": "str",
        "answer": "str",
        "judge": "str",
        "people": "str",
        "difference": "Float64",
        "reasoning": "str",
        "notes": "str",
    }
    return frame(columns, map(_export_line, lines))


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
