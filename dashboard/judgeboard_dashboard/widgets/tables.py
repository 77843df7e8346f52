"""Tables as all pages show and export them, figures that are a chart or its table, and long lists in pages."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from judgeboard.domain import Estimate
from judgeboard.formats.csv import defused
from judgeboard.reports.tables import Table, cell_text, to_csv
from judgeboard.stats.estimates import interval, percent, percent_interval, two_decimals
from judgeboard.store.listing import LinePage
from judgeboard.text import storable_or_none
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.session import as_now
from judgeboard_dashboard.widgets.filters import Query
from judgeboard_dashboard.widgets.navigation import Rows, clickable_chart, row_clicked
from judgeboard_dashboard.widgets.texts import caption, count

ROW_HEIGHT = 36
HEADER_HEIGHT = 37  # px, borders included
_TYPES = {"count": "Int64", "integer": "Int64", "number": "Float64", "share": "Float64"}
_NUMBER_FORMATS = {"count": "localized", "integer": "%d", "number": "%.2f", "share": "percent"}


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
    """Show a chart, or the same numbers as a table with a CSV button, and a caption.

    Args:
        draw: makes the chart; its marks are in the order of ``rows``.
        tall: height of the chart in px.
        rows: the numbers of the chart.
        targets: the page that each mark, and each row, opens.
        key: unique on the page.
        says: description of the chart for screen readers.
        as_table: shows the table.
        under: sentences of the caption; None is skipped.
        drawn: sentences before them that apply to the chart only.
        listed: sentences before them that apply to the table only.
        columns: Streamlit column settings that replace the default ones.
    """
    if as_table:
        table(rows, targets, key=f"{key}_table", under=(*listed, *under), columns=columns)
        return
    clickable_chart(draw(), tall, targets, key=key, says=says)
    caption(*drawn, *under)


def table(
    rows: pd.DataFrame | Table,
    targets: Sequence[Rows | None] = (),
    *,
    key: str,
    under: Sequence[str | None] = (),
    columns: dict[str, Any] | None = None,
    csv: pd.DataFrame | Table | Callable[[], pd.DataFrame | Table] | None = None,
    most: int = 15,
) -> None:
    """Show a table whose rows open pages, with a caption and a CSV button.

    Args:
        rows: the table.
        targets: the page that each row opens; None opens nothing.
        key: unique on the page; also the name of the CSV file.
        under: sentences of the caption; None is skipped.
        columns: Streamlit column settings that replace the default ones.
        csv: the table for the file, if it differs.
        most: rows that are visible without scrolling.
    """
    show_rows(rows, key=key, targets=targets, most=most, columns=columns)
    with st.container(key=f"foot_{key}", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        caption(*under)
        csv_button(rows if csv is None else csv, key.replace("_", "-"), key=f"{key}_csv")


def show_rows(
    rows: pd.DataFrame | Table,
    *,
    key: str,
    targets: Sequence[Rows | None] = (),
    most: int = 15,
    columns: dict[str, Any] | None = None,
    placeholder: str = "",
) -> None:
    """Show a table without caption; a click on a row opens its target, if there are targets."""
    clicks: dict[str, Any] = (
        {"selection_mode": "single-cell", "on_select": row_clicked(key, targets)} if targets else {}
    )
    _data_frame(rows, key=key, most=most, columns=columns, placeholder=placeholder, **clicks)


def choose_row(rows: pd.DataFrame | Table, *, key: str, most: int = 15, columns: dict[str, Any] | None = None) -> int:
    """Show a table and return the index of the selected row; at first the first row is selected."""
    event = _data_frame(
        rows, key=key, most=most, columns=columns, selection_mode="single-row-required", on_select="rerun"
    )
    selected = event.selection.rows
    return selected[0] if selected and selected[0] < len(_frame_of(rows)) else 0


def _data_frame(
    rows: pd.DataFrame | Table,
    *,
    key: str,
    most: int,
    columns: dict[str, Any] | None,
    placeholder: str = "",
    **more: Any,
) -> Any:
    shown = _frame_of(rows)
    settings = column_settings(rows) if isinstance(rows, Table) else {"Answers": COUNT}
    return st.dataframe(
        shown,
        key=key,
        hide_index=True,
        placeholder=placeholder,
        row_height=ROW_HEIGHT,
        height=height(len(shown), most=most),
        column_config={**settings, **(columns or {})},
        **more,
    )


def _frame_of(rows: pd.DataFrame | Table) -> pd.DataFrame:
    return table_frame(rows) if isinstance(rows, Table) else rows


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
    """Return how Streamlit shows the columns of a table: number format, width and help."""
    settings: dict[str, Any] = {}
    for column in table.columns:
        number_format = _NUMBER_FORMATS.get(column.format)
        if number_format is not None:
            settings[column.title] = st.column_config.NumberColumn(
                format=number_format, width=column.width, help=column.help
            )
        elif column.width is not None or column.help is not None:
            settings[column.title] = st.column_config.TextColumn(width=column.width, help=column.help)
    return settings


def height(rows: int, *, most: int = 15) -> int:
    """Return the height of a table in px, with at most ``most`` rows visible without scrolling."""
    return ROW_HEIGHT * max(1, min(rows, most)) + HEADER_HEIGHT


def one_line(text: str | None) -> str | None:
    """Return a text without line breaks, for a cell."""
    return None if text is None else " ".join(text.split())


def csv_button(
    rows: pd.DataFrame | Table | Callable[[], pd.DataFrame | Table], name: str, *, key: str, label: str = "CSV"
) -> None:
    """Show a button that downloads a table as CSV.

    Args:
        rows: the table, or a function that makes it when the button is pressed.
        name: the file's name without ending.
        key: unique on the page.
        label: the button's label.
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
    """Return a table as CSV; no cell is a formula in a spreadsheet."""
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


def frame(columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Return a data frame with declared types, so that an empty one looks the same to Streamlit.

    Args:
        columns: title -> pandas type ("str", "Float64", "Int64", "boolean", "datetime64[us, UTC]", "object").
        rows: one sequence of values per row, in the order of the columns; None is unknown.
    """
    listed = list(rows)
    return pd.DataFrame(
        {
            title: pd.Series([_showable(row[place]) for row in listed], dtype=kind)
            for place, (title, kind) in enumerate(columns.items())
        }
    )


def _showable(value: Any) -> Any:
    """A rejected row may contain half a character, which has no bytes to send to a browser."""
    return storable_or_none(value) if isinstance(value, str) else value


FILE_COLUMNS = {"Value": "Float64", "Low": "Float64", "High": "Float64", "Answers": "Int64", "Why not": "str"}
COUNT = st.column_config.NumberColumn(format="localized")


def value_words(estimate: Estimate, *, share: bool) -> str | None:
    """Return "79 %" or "0.56", None where it is not available."""
    if estimate.value is None:
        return None
    return percent(estimate.value) if share else two_decimals(estimate.value)


def interval_words(estimate: Estimate, *, share: bool) -> str | None:
    """Return "[77, 82]" or "[0.52, 0.61]"; the reason where there is no value, None without an interval."""
    if estimate.value is None:
        return estimate.reason
    return percent_interval(estimate) if share else interval(estimate)


def both_words(estimate: Estimate, *, share: bool) -> str:
    """Return "27 % [23, 31]", or the reason where it is not available."""
    words = (value_words(estimate, share=share), interval_words(estimate, share=share))
    return " ".join(word for word in words if word)


def in_percent(estimate: Estimate) -> float | None:
    """Return a share on a progress bar of 0 to 100."""
    return None if estimate.value is None else estimate.value * 100


def file_of(names: Mapping[str, str], rows: Iterable[tuple[tuple[Any, ...], Estimate]]) -> pd.DataFrame:
    """Return estimates as plain numbers for a file.

    Args:
        names: title -> type of the columns that name a row.
        rows: the name of each row, and its estimate.
    """
    return frame(
        {**names, **FILE_COLUMNS},
        ((*named, each.value, each.low, each.high, each.n, each.reason) for named, each in rows),
    )


PAGE_SIZE = 50
EXPORT_PAGE = 1_000  # lines per query of an export
Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Place:
    """A page of a list: after or before a key, for one address."""

    query: Query
    after: str | None = None
    before: str | None = None


def place_in(page: str, query: Query) -> Place:
    """Return the current page of a list; the first one after the address has changed."""
    place = st.session_state.get(f"{page}_place")
    return place if isinstance(place, Place) and place.query == query else Place(query)


def turning_foot(
    page: str,
    found: LinePage[Any],
    noun: str,
    export: Callable[[], pd.DataFrame | Table],
    *,
    query: Query,
    more: str = "",
    beside: Callable[[], None] | None = None,
) -> None:
    """Show the range of a list, the CSV button, and the buttons that turn pages (keys K and J).

    ``more`` follows the range; ``beside`` shows further buttons before the CSV button.
    """
    last = found.first + len(found.lines) - 1
    words = f"{found.first:,}–{last:,} of {count(found.total, noun)}{more}"
    with st.container(key=f"{page}_foot", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", words, cls="jb-cap jb-line"))
        if beside is not None:
            beside()
        csv_button(export, page, key=f"{page}_csv")
        for label, shortcut, place in (
            ("Previous", "K", Place(query, before=found.previous_key)),
            ("Next", "J", Place(query, after=found.next_key)),
        ):
            st.button(
                f"{label} {PAGE_SIZE}",
                key=f"{page}_{label.lower()}",
                type="tertiary",
                shortcut=shortcut,
                disabled=(place.after or place.before) is None,
                on_click=_turn,
                args=(page, place),
                wrap=False,
            )


def _turn(page: str, place: Place) -> None:
    st.session_state[f"{page}_place"] = place


def all_lines(read: Callable[[str | None, int], LinePage[Line]], most: int | None = None) -> list[Line]:
    """Return the lines of all pages, or at least ``most`` lines; ``read`` gets a key (None first) and a size."""
    lines: list[Line] = []
    key: str | None = None
    while most is None or len(lines) < most:
        found = read(key, EXPORT_PAGE)
        lines.extend(found.lines)
        key = found.next_key
        if key is None:
            break
    return lines
