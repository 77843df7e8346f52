"""Tables as all pages show and export them, and figures that are a chart or its table."""

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


FILE_COLUMNS = {"Value": "Float64", "Low": "Float64", "High": "Float64", "Answers": "Int64", "Why not": "str"}


def value_words(estimate: Estimate, *, share: bool) -> str | None:
    """Return "79 %" or "0.56", None where it is unmeasured."""
    if estimate.value is None:
        return None
    return percent(estimate.value) if share else two_decimals(estimate.value)


def interval_words(estimate: Estimate, *, share: bool) -> str | None:
    """Return "[77, 82]" or "[0.52, 0.61]"; where there is no value the reason, None without an interval."""
    if estimate.value is None:
        return estimate.reason
    return percent_interval(estimate) if share else interval(estimate)


def both_words(estimate: Estimate, *, share: bool) -> str:
    """Return "27 % [23, 31]", the reason where it is unmeasured."""
    words = (value_words(estimate, share=share), interval_words(estimate, share=share))
    return " ".join(word for word in words if word)


def in_percent(estimate: Estimate) -> float | None:
    """Return a share as it stands on a progress bar of 0 to 100."""
    return None if estimate.value is None else estimate.value * 100


def file_of(names: Mapping[str, str], rows: Iterable[tuple[tuple[Any, ...], Estimate]]) -> pd.DataFrame:
    """Return estimates as plain numbers for a file.

    Args:
        names: Title -> type of the columns that name a row.
        rows: What names the row, and its estimate.
    """
    return frame(
        {**names, **FILE_COLUMNS},
        ((*named, each.value, each.low, each.high, each.n, each.reason) for named, each in rows),
    )


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


PAGE_SIZE = 50
EXPORT_PAGE = 1_000  # lines that are read at once for a file
Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Place:
    """Which page of a list: behind or before a key, for the address it was taken from."""

    query: Query
    after: str | None = None
    before: str | None = None


def place_in(page: str, query: Query) -> Place:
    """Return the page that was turned to, the first one where the address changed since."""
    place = st.session_state.get(_key(page))
    return place if isinstance(place, Place) and place.query == query else Place(query)


def turning_foot(
    page: str,
    found: LinePage[Any],
    noun: str,
    export: Callable[[], pd.DataFrame],
    *,
    query: Query,
    more: str = "",
    beside: Callable[[], None] | None = None,
) -> None:
    """Show the place in the list, the CSV button and the two that turn pages (keys K and J).

    ``more`` follows the place; ``beside`` shows further buttons before them.
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


def all_lines(read: Callable[[str | None, int], LinePage[Line]], most: int | None = None) -> list[Line]:
    """Return the lines of all pages, or at least ``most`` of them; ``read`` is given a key (None first) and a size."""
    lines: list[Line] = []
    key: str | None = None
    while most is None or len(lines) < most:
        found = read(key, EXPORT_PAGE)
        lines.extend(found.lines)
        key = found.next_key
        if key is None:
            break
    return lines


def _turn(page: str, place: Place) -> None:
    st.session_state[_key(page)] = place


def _key(page: str) -> str:
    return f"{page}_place"
