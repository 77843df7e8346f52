"""Tables with CSV export, figures as a chart or as a table, and long lists divided into pages."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

import streamlit as st
from streamlit.elements.arrow import DataframeStateInput, SelectionMode

from judgeboard.domain import LISTED, LOG_FIELDS
from judgeboard.formats.output import Column, Columns, Table, cell_text, to_csv
from judgeboard.store.listing import LinePage
from judgeboard.text import storable_or_none
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.session import as_now, button, in_row
from judgeboard_dashboard.widgets.filters import Query, as_tables
from judgeboard_dashboard.widgets.navigation import Rows, clickable_chart, row_clicked
from judgeboard_dashboard.widgets.texts import capital, caption, count
from judgeboard_dashboard.window import window_width

if TYPE_CHECKING:
    import pandas as pd

_MARGINS = 38  # px beside a table in the window
_BOXES = 34  # px of the boxes that select rows
_LEAST = 160  # px that a column of texts keeps in a narrow window
_TYPES = {"count": "Int64", "integer": "Float64", "number": "Float64", "share": "Float64"}
_NUMBER_FORMATS = {"count": "localized", "integer": "%.0f", "number": "%.2f", "share": "%.0f %%"}


class TableLooks(TypedDict, total=False):
    """How a table looks.

    At most ``most`` rows are visible without scrolling (default: 15). ``columns`` are Streamlit's
    settings of columns, which replace the settings of `column_settings`. A missing value is shown as
    the ``placeholder`` (default: nothing).
    """

    most: int
    columns: Mapping[str, Any]
    placeholder: str


def figure(
    draw: Callable[[], Any],
    tall: int,
    rows: Table,
    targets: Sequence[Rows | None],
    *,
    key: str,
    says: str,
    chart: bool = True,
    under: Sequence[str | None] = (),
    chart_only: Sequence[str | None] = (),
) -> None:
    """Show a chart and a caption. If `table_switch` is on, show the same numbers as a table with a CSV button instead.

    ``draw`` makes the chart, ``tall`` px high, with marks in the order of ``rows``. A mark or a row
    opens the target at the same index. Without ``chart``, the figure is always the table. The
    caption has the sentences for the chart alone (``chart_only``), then the sentences for both
    (``under``); None is skipped. ``says`` describes the chart for screen readers.
    """
    if as_tables() or not chart:
        opens = "Click a row to open its answers." if any(targets) else None
        table(rows, targets, key=f"{key}_table", under=(opens, *under))
        return
    clickable_chart(draw(), tall, targets, key=key, says=says)
    caption(*chart_only, *under)


def table(
    rows: Table,
    targets: Sequence[Rows | None] = (),
    *,
    key: str,
    name: str | None = None,
    under: Sequence[str | None] = (),
    csv: Table | Callable[[], Table] | None = None,
    **looks: Unpack[TableLooks],
) -> None:
    """Show a table whose rows open ``targets``, with a caption (``under``, None is skipped) and a CSV button.

    ``csv`` is the table for the file, if another one; ``name`` is the name of the file, by default
    the key.
    """
    show_rows(rows, key=key, targets=targets, **looks)
    foot(rows if csv is None else csv, name or key, *under)


def foot(csv: Table | Callable[[], Table], name: str, *under: str | None) -> None:
    """Show the caption and the CSV button below a table."""
    with in_row(f"foot_{name}", wrap=False):
        caption(*under)
        csv_button(csv, name.replace("_", "-"), key=f"{name}_csv")


def show_rows(
    rows: Table,
    *,
    key: str,
    targets: Sequence[Rows | None] = (),
    sort: Callable[[str], None] | None = None,
    **looks: Unpack[TableLooks],
) -> None:
    """Show a table without caption; a click on a row opens the row's target, if any.

    ``sort`` gets the title of a clicked header. A page of a longer list needs ``sort``, because the
    browser would sort only the rows of the page. Without ``sort``, the browser sorts the table.
    """
    if not targets and sort is None:
        data_frame(rows, key=key, **looks)
        return
    modes: list[SelectionMode] = ["single-cell"] if targets else []
    if sort is not None:
        modes.append("single-column")  # turns the browser's own sorting off
    data_frame(rows, key=key, modes=modes, on_select=row_clicked(key, targets, sort), **looks)


def sorts_by_header(page: str, orders: Mapping[str, Sequence[str]]) -> Callable[[str], None]:
    """Return a callback for clicks on headers: the page's field Sort gets the next of the column's ``orders``."""

    def sort(title: str) -> None:
        names, field = list(orders.get(title, ())), f"{page}_sort"
        if names:
            order = st.session_state.get(field)
            at = names.index(order) + 1 if order in names else 0
            st.session_state[field] = names[at % len(names)]

    return sort


def choose_row(rows: Table, *, key: str, first: int = 0, **looks: Unpack[TableLooks]) -> int:
    """Show a table and return the index of the selected row; at first the row ``first`` is selected."""
    event = data_frame(
        rows,
        key=key,
        modes=["single-row-required"],
        on_select="rerun",
        selected=first or None,
        **looks,
    )
    indices = event.selection.rows
    return indices[0] if indices and indices[0] < len(rows.rows) else 0


def data_frame(
    rows: Table,
    *,
    key: str,
    modes: Sequence[SelectionMode] = (),
    on_select: Callable[[], None] | Literal["ignore", "rerun"] = "ignore",
    selected: int | None = None,
    **looks: Unpack[TableLooks],
) -> Any:
    """Show a table; the row ``selected`` is selected at first. Return the selection, if ``on_select`` needs one.

    In a window that is too narrow for a table, texts get less room, and then the last columns are
    hidden: the menu of the table shows hidden columns.
    """
    room = window_width() - _MARGINS - (_BOXES if "row" in str(modes) else 0)
    rows, titles = fitted(rows, room)
    default: DataframeStateInput | None = (
        None if selected is None else {"selection": {"rows": [selected]}}
    )
    # For tables in such a container, keys.js prevents that the focus alone opens the first row.
    with st.container(key=f"opens_{key}") if callable(on_select) else nullcontext():
        return st.dataframe(
            table_frame(rows),
            key=key,
            hide_index=True,
            row_height=36,
            height=36 * max(1, min(len(rows.rows), looks.get("most", 15))) + 37,
            column_config={**column_settings(rows), **looks.get("columns", {})},
            column_order=titles,
            placeholder=looks.get("placeholder", ""),
            selection_mode=modes,
            on_select=on_select,
            selection_default=default,
        )


def fitted(table: Table, room: int) -> tuple[Table, list[str] | None]:
    """Fit a table to ``room`` px; return the table with column widths, and the titles to show (None: all).

    A table with a column without a declared width stays unchanged.
    """
    widths = [column.width for column in table.columns]
    declared = [width for width in widths if width is not None]
    if len(declared) < len(widths) or sum(declared) <= room:
        return table, None
    least = [
        min(width, _LEAST) if column.format == "text" else width
        for column, width in zip(table.columns, declared, strict=True)
    ]
    number = max(1, sum(total <= room for total in accumulate(least)))
    spare = max(0, room - sum(least[:number]))
    lacking = sum(declared[:number]) - sum(least[:number])
    share = min(1, spare / lacking) if lacking else 0
    columns = tuple(
        replace(column, width=low + int((high - low) * share))
        for column, low, high in zip(table.columns, least, declared, strict=True)
    )
    return Table(columns, table.rows), [column.title for column in columns[:number]]


def table_frame(table: Table) -> "pd.DataFrame":
    """Return a table for Streamlit: numbers as numbers, estimates with intervals as text.

    The columns have declared types, so that an empty table looks the same to Streamlit.
    """
    import pandas as pd

    columns = {}
    for place, column in enumerate(table.columns):
        values = [row[place] for row in table.rows]
        if column.format == "share":  # shown in percent
            values = [None if value is None else value * 100 for value in values]
        elif column.format not in _TYPES:
            # A rejected row may contain half of a surrogate pair, which cannot be sent to a browser.
            values = [
                None if value is None else storable_or_none(cell_text(value, column))
                for value in values
            ]
        columns[column.title] = pd.Series(values, dtype=_TYPES.get(column.format, "str"))
    return pd.DataFrame(columns)


def column_settings(table: Table) -> dict[str, Any]:
    """Return how Streamlit shows the columns of a table: number format, width and help."""
    settings: dict[str, Any] = {}
    for column in table.columns:
        number_format = _NUMBER_FORMATS.get(column.format)
        looks: dict[str, Any] = {"width": column.width, "help": column.help}
        if column.bar:
            most = 100 if column.format == "share" else 1
            settings[column.title] = st.column_config.ProgressColumn(
                format=number_format, min_value=0, max_value=most, color="primary", **looks
            )
        elif number_format is not None:
            settings[column.title] = st.column_config.NumberColumn(format=number_format, **looks)
        else:
            settings[column.title] = st.column_config.TextColumn(
                alignment="right" if column.right else None, **looks
            )
    return settings


def one_line(text: str | None) -> str | None:
    """Return a text without line breaks, for a cell."""
    return None if text is None else " ".join(text.split())


def text_of(name: str) -> Callable[[object], str | None]:
    """Return what gives the text of this name of a row's record, for a cell."""
    return lambda line: one_line(getattr(line, name))


LOG_COLUMNS: Columns[Any] = {
    Column(capital(LOG_FIELDS[name].label), width=100): text_of(name) for name in LISTED
}
"""The columns of the texts of the log that are listed."""


def csv_button(rows: Table | Callable[[], Table], name: str, *, key: str) -> None:
    """Show a button that downloads a table as CSV; a function makes the table when the button is pressed."""
    st.download_button(
        "CSV",
        data=as_now(lambda: to_csv(rows() if callable(rows) else rows).encode("utf-8-sig")),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=key,
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


PAGE_SIZE = 50
EXPORT_PAGE = 1_000  # lines per query of an export
Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class PageOfList:
    """A page of a list, after or before a key, for as long as the address has this ``query``."""

    query: Query
    after: str | None = None
    before: str | None = None


def current_page(page: str, query: Query) -> PageOfList:
    """Return the current page of a list; if the address has changed, the first page."""
    page_of_list = st.session_state.get(f"{page}_page")
    return (
        page_of_list
        if isinstance(page_of_list, PageOfList) and page_of_list.query == query
        else PageOfList(query)
    )


def turning_foot(
    page: str,
    lines: LinePage[Any],
    noun: str,
    export: Callable[[], Table],
    *,
    query: Query,
    more: str = "",
    beside: Callable[[], None] | None = None,
) -> None:
    """Show the range of a list, the CSV button, and the buttons that turn pages (keys K and J).

    ``more`` follows the range; ``beside`` shows further buttons before the CSV button.
    """
    last = lines.first + len(lines.lines) - 1
    words = f"{lines.first:,}–{last:,} of {count(lines.total, noun)}{more}"
    with in_row(f"{page}_foot"):
        show_div("jb-cap jb-line", words)
        if beside is not None:
            beside()
        csv_button(export, page, key=f"{page}_csv")
        for label, shortcut, other_page in (
            ("Previous", "K", PageOfList(query, before=lines.previous_key)),
            ("Next", "J", PageOfList(query, after=lines.next_key)),
        ):
            button(
                f"{label} {PAGE_SIZE}",
                key=f"{page}_{label.lower()}",
                type="tertiary",
                shortcut=shortcut,
                disabled=(other_page.after or other_page.before) is None,
                on_click=st.session_state.update,
                args=({f"{page}_page": other_page},),
            )


def all_lines(
    read: Callable[[str | None, int], LinePage[Line]], most: int | None = None
) -> list[Line]:
    """Return the lines of all pages, or of as many pages as are needed for ``most`` lines.

    ``read`` gets the key of a page (None for the first) and the size of the page.
    """
    lines: list[Line] = []
    key: str | None = None
    while most is None or len(lines) < most:
        page = read(key, EXPORT_PAGE)
        lines.extend(page.lines)
        key = page.next_key
        if key is None:
            break
    return lines
