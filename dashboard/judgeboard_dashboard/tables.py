"""Tables as all pages show and export them: declared types, one height, formulas defused in the CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.formats.csv import defused
from judgeboard.reports.tables import Table, cell_text, to_csv
from judgeboard.storable_text import storable_or_none
from judgeboard_dashboard.session import as_now

ROW_HEIGHT = 36
HEADER_HEIGHT = 37  # borders included
_TYPES = {"count": "Int64", "number": "Float64", "share": "Float64"}


def frame(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Return a frame with declared types, so that an empty one and one full of gaps look the same to Streamlit.

    Args:
        columns: Title -> pandas type ("str", "Float64", "Int64", "boolean", "datetime64[us, UTC]", "object").
        rows: One sequence of values a row, in the order of the columns; None is unknown.
    """
    listed = list(rows)
    return pd.DataFrame(
        {
            title: pd.Series([_showable(row[place]) for row in listed], dtype=kind)
            for place, (title, kind) in enumerate(columns.items())
        }
    )


def table_frame(table: Table) -> pd.DataFrame:
    """Return a table as Streamlit shows it: numbers as numbers, estimates with their intervals as text."""
    as_text = [column.format not in _TYPES for column in table.columns]
    columns = {column.title: _TYPES.get(column.format, "str") for column in table.columns}
    rows = (
        [
            cell_text(value, column) if text and value is not None else value
            for value, column, text in zip(row, table.columns, as_text, strict=True)
        ]
        for row in table.rows
    )
    return frame(columns, rows)


def column_settings(table: Table) -> dict[str, Any]:
    """Return how Streamlit formats the columns of a table."""
    formats = {"count": "localized", "number": "%.2f", "share": "percent"}
    return {
        column.title: st.column_config.NumberColumn(format=formats[column.format])
        for column in table.columns
        if column.format in formats
    }


def _showable(value: Any) -> Any:
    """A rejected row may hold half a character, which has no bytes to send to a browser."""
    return storable_or_none(value) if isinstance(value, str) else value


def height(rows: int, *, most: int = 15) -> int:
    """Return the height in px of a table with so many rows, at most ``most`` of them without scrolling."""
    return ROW_HEIGHT * max(1, min(rows, most)) + HEADER_HEIGHT


def one_line(text: str | None) -> str | None:
    """Return a text as a cell shows it: without line breaks."""
    return None if text is None else " ".join(text.split())


def csv_button(
    rows: pd.DataFrame | Table | Callable[[], pd.DataFrame | Table], name: str, *, key: str, label: str = "CSV"
) -> None:
    """Show a button that downloads the table as CSV.

    Args:
        rows: The table as shown or with more columns, or what makes it when the button is pressed.
        name: The file's name without ending.
        key: Unique on the page.
        label: What the button says.
    """
    st.download_button(
        label,
        data=as_now(lambda: csv_text(rows() if callable(rows) else rows).encode("utf-8-sig")),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=key,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def csv_text(rows: pd.DataFrame | Table) -> str:
    """Return the table as CSV whose cells no spreadsheet takes for a formula."""
    if isinstance(rows, Table):
        return to_csv(rows)
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow([defused(title) for title in rows.columns])
    for values in rows.itertuples(index=False, name=None):
        writer.writerow([_cell(value) for value in values])
    return out.getvalue()


def _cell(value: Any) -> str | int | float:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN alone differs from itself
        return ""
    if isinstance(value, datetime):
        return "" if value is pd.NaT else value.isoformat()
    if isinstance(value, bool | int | float):
        return value
    return defused(str(value))
