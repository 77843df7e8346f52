"""Shows a chart or, where the reader prefers, the table behind it; both open the same rows."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.reports.tables import Table
from judgeboard_dashboard.picking import Rows, clickable_chart, row_clicked
from judgeboard_dashboard.saying import caption
from judgeboard_dashboard.tables import ROW_HEIGHT, column_settings, csv_button, height, table_frame

COUNT = st.column_config.NumberColumn(format="localized")


def figure(
    draw: Callable[[], Any],
    tall: int,
    rows: pd.DataFrame | Table,
    targets: Sequence[Rows | None],
    *,
    key: str,
    says: str,
    as_table: bool,
    under: Sequence[str | None] = (),
    drawn: Sequence[str | None] = (),
    listed: Sequence[str | None] = (),
    columns: dict[str, Any] | None = None,
) -> None:
    """Show a chart, or its table with a CSV button; under either a line of small letters.

    Args:
        draw: Makes the chart; its marks stand in the order of ``rows``.
        tall: Height of the chart in px.
        rows: The same numbers as a table.
        targets: Where each mark, and each line, leads.
        key: Unique on the page.
        says: What is drawn, for those who do not see it.
        as_table: Which of the two.
        under: Sentences of the line under it; None is left out.
        drawn: Those before them that hold of the chart alone: its lines and colours, what a click on it does.
        listed: Those before them that hold of the table alone.
        columns: How the columns of the table look.
    """
    if as_table:
        table(rows, targets, key=f"{key}_table", under=(*listed, *under), columns=columns)
        return
    clickable_chart(draw(), tall, targets, key=key, says=says)
    caption(*drawn, *under)


def table(
    rows: pd.DataFrame | Table,
    targets: Sequence[Rows | None],
    *,
    key: str,
    under: Sequence[str | None] = (),
    columns: dict[str, Any] | None = None,
    csv: pd.DataFrame | Table | Callable[[], pd.DataFrame | Table] | None = None,
    most: int = 15,
) -> None:
    """Show a table whose lines lead somewhere, with its CSV button.

    Args:
        rows: What is shown.
        targets: Where each line leads; None leads nowhere.
        key: Unique on the page; the CSV file bears it as its name.
        under: Sentences of the line under it, beside the CSV button; None is left out.
        columns: How the columns look.
        csv: The same with more columns or plain numbers, for the file.
        most: How many lines are seen without scrolling.
    """
    shown = table_frame(rows) if isinstance(rows, Table) else rows
    settings = column_settings(rows) if isinstance(rows, Table) else {}
    st.dataframe(
        shown,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(shown), most=most),
        selection_mode="single-cell",
        on_select=row_clicked(key, targets),
        column_config={"Answers": COUNT, **settings, **(columns or {})},
    )
    with st.container(key=f"foot_{key}", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        caption(*under)
        csv_button(rows if csv is None else csv, key.replace("_", "-"), key=f"{key}_csv")
