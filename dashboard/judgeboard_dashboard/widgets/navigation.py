"""Links between pages: what a click on a chart, a table or a button opens."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack, cast

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import BadInput, NotFound
from judgeboard.measure.cells import Cell, Raters, answers_in, cell_words
from judgeboard.measure.choice import CountedGrades, GradeName
from judgeboard.stats.ratings import Human
from judgeboard.store.filters import METADATA, METADATA_FIELD, RowFilter
from judgeboard.text import counted
from judgeboard_dashboard.gate import permitted, refusal
from judgeboard_dashboard.session import (
    ButtonLooks,
    as_id,
    button,
    current_query,
    open_rows,
    reading,
)
from judgeboard_dashboard.widgets.filters import filter_in, query_of

_PICKED = "picked_rows"
_LEFT = "left_pages"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that a page shows: the page's file name and the parameters of the address."""

    page: str
    query: Mapping[str, str | list[str]]


def responses(where: RowFilter, **more: str) -> Rows:
    """Return the answers that match a filter, on the Responses page."""
    return Rows("responses", {**query_of(where), **more})


def queue(**query: str | list[str]) -> Rows:
    """Return the view Open flags."""
    return Rows("open_flags", query)


def item(response_id: int) -> Rows:
    """Return one answer on the Item page."""
    return Rows("item", {"response": str(response_id)})


def flagged(flag_id: int | None) -> Rows:
    """Return the answer of a flag on the Item page; None means the first open flag."""
    return Rows("item", {} if flag_id is None else {"flag": str(flag_id)})


def number_in_address(name: str, noun: str) -> int | None:
    """Return the id of a ``noun`` from the parameter ``name`` of the address, None without one.

    Raises NotFound if the value cannot be an id.
    """
    value = st.query_params.get(name)
    if not value:
        return None
    number = as_id(value)
    if number is None:
        raise NotFound(f"This address names no {noun}: {name}={value}")
    return number


def go(**parameters: str | None) -> None:
    """Change parameters of the address; None removes one."""
    for name, value in parameters.items():
        if value is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = value


FLAGGED_ITEMS, EVERY_ITEM, PAIR_ITEMS, PLANNED_ITEMS = "1", "every", "pairs", "plan"
"""What ``new`` in the address of the form of a queue means: flagged answers, flagged or not, pairs, or a plan."""


def plan_button(*, key: str) -> None:
    """Show the button that plans the labels for a figure, to people who may create queues."""
    if permitted(Action.MAKE_QUEUES):
        target = Rows("queues", {"new": PLANNED_ITEMS})
        open_button("Plan the labels", target, key=key, icon=":material/playlist_add:")


def filter_buttons(
    page: str, rows: str, query: Mapping[str, str | list[str]], answers: int
) -> None:
    """Show the buttons that open the page Judge answers, a new issue and a new queue with this filter, if allowed.

    ``rows`` is "match" for all ``answers`` of the filter, "open" for answers with an open flag. The
    order is left out.
    """
    narrowed = {name: values for name, values in query.items() if name != "sort"}
    flagged = {"state": ["confirmed", "open"]} if rows == "open" else {}
    items = FLAGGED_ITEMS if rows == "open" else EVERY_ITEM
    for label, target, action, icon in (
        (
            f"Rejudge {counted(answers, 'answer')}",
            Rows("rejudge", {**narrowed, "rows": rows}),
            Action.REJUDGE_MANY,
            ":material/restart_alt:",
        ),
        (
            "Open an issue",
            Rows("problems", {**narrowed, **flagged, "new": "1"}),
            Action.KEEP_ISSUES,
            ":material/report:",
        ),
        (
            "Create queue from these",
            Rows("queues", {**query_of(filter_in(narrowed)[0]), "new": items}),
            Action.MAKE_QUEUES,
            ":material/playlist_add:",
        ),
    ):
        if permitted(action):
            open_button(label, target, key=f"{page}_{target.page}", type="tertiary", icon=icon)


def open_button(label: str, rows: Rows | None, *, key: str, **looks: Unpack[ButtonLooks]) -> None:
    """Show a button that opens rows."""
    looks |= {"on_click": pick_rows, "args": (rows,)}
    button(label, key=key, **looks)


def start_button(label: str, rows: Rows | None, *, key: str, **looks: Unpack[ButtonLooks]) -> None:
    """Show the main button of a list, which opens the first rows for a review (key Enter)."""
    usual: ButtonLooks = {"type": "primary", "icon": ":material/play_arrow:", "shortcut": "Enter"}
    if (reason := refusal(Action.REVIEW)) is not None:
        looks |= {"disabled": True, "help": reason}
    open_button(label, rows, key=key, **(usual | looks))


def follow(page: str = "", *, own: Sequence[str] = ()) -> None:
    """Open the rows of the last click. Must come first in the body of a page, since a callback cannot open a page.

    After the browser's Back the address has the parameters of the other page. The page's ``own``
    parameters are then restored from the session. Without a ``page`` no parameters are kept.
    """
    queries: dict[str, dict[str, list[str]]] = st.session_state.setdefault(_LEFT, {})
    picked_rows = st.session_state.pop(_PICKED, None)
    if isinstance(picked_rows, Rows):
        if page:
            queries[page] = current_query()
        open_rows(picked_rows.page, **dict(picked_rows.query))
    names = {METADATA_FIELD if name.startswith(METADATA) else name for name in st.query_params}
    if page in queries and not names <= set(own):
        open_rows(page, **queries.pop(page))


def clickable_chart(
    chart: Any, height: int, targets: Sequence[Rows | None], *, key: str, says: str
) -> None:
    """Show a chart, ``height`` px high with the axes, whose marks open rows.

    The chart must use `charts.pick`. ``at`` of a mark is the index of the target in ``targets``; the
    target None opens nothing. ``says`` describes the chart for screen readers.
    """
    # Altair and pandas take a second to import, and pages without a chart do not need Altair.
    from judgeboard_dashboard.widgets.charts import SELECTION, framed

    st.altair_chart(
        framed(chart, height),
        theme=None,
        width="stretch",
        height=height,
        key=key,
        on_select=lambda: _pick(targets, mark_in(key)),
        selection_mode=SELECTION,
        alt=says,
    )


def mark_in(key: str) -> int | None:
    """Return the position of the clicked mark, None if a mark was deselected. For callbacks of charts."""
    from judgeboard_dashboard.widgets.charts import SELECTION

    marks: Sequence[Mapping[str, Any]] = st.session_state[key].selection.get(SELECTION) or ()
    return int(marks[0]["at"]) if marks else None


def row_clicked(
    key: str, targets: Sequence[Rows | None], sort: Callable[[str], None] | None
) -> Callable[[], None]:
    """Return the callback of a table with ``selection_mode="single-cell"`` whose rows open ``targets``.

    The selection is a position in the table on the screen, so the callback looks up the rows at
    once. ``sort`` gets the title of a selected column.
    """

    def clicked() -> None:
        selection = st.session_state[key].selection
        if selection.cells:  # a column that was clicked before stays selected
            _pick(targets, selection.cells[0][0])
        elif sort is not None and selection.columns:
            sort(selection.columns[0])

    return clicked


def cell_clicked(key: str, targets: Sequence[Mapping[str, Rows]]) -> Callable[[], None]:
    """Return the callback of a table whose cells open different rows. ``targets`` maps columns to rows, per line."""

    def clicked() -> None:
        cells = st.session_state[key].selection.cells
        if cells:
            line, column = cells[0]
            _pick([targets[line].get(str(column))], 0)

    return clicked


def _pick(targets: Sequence[Rows | None], place: int | None) -> None:
    if place is not None and place < len(targets) and targets[place] is not None:
        st.session_state[_PICKED] = targets[place]


def pick_rows(rows: Rows) -> None:
    """Go to these rows in the next run of the page; the callback of a button."""
    st.session_state[_PICKED] = rows


# No page may bind a filter to these names, because after Back the address of the previous page has
# these names for a moment.
_TEXTS = {
    "people_said": "people",
    "judge_said": "judge",
    "scored": "score",
    "sliced": "by",
    "slice": "slice",
}
CELL_FIELDS = ("pairs", "raters", *_TEXTS, "reviewer", "human", "labels")
_RATERS = re.compile(r"([a-z]+)-(\d{1,18})-(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Drilled:
    """The answers of a cell, in words, and the part of the address that names the cell."""

    response_ids: tuple[int, ...]
    words: str
    query: dict[str, list[str]]


def cell_rows(cell: Cell, **more: str | list[str]) -> Rows:
    """Return the answers of a cell on the Responses page; ``more`` are further filters."""
    parameters = {
        "pairs": cell.grade,
        "raters": f"{cell.raters}-{cell.first}-{cell.second}",
        **{name: getattr(cell, field) for name, field in _TEXTS.items()},
        "reviewer": None if cell.counted.reviewer_id is None else str(cell.counted.reviewer_id),
        "human": None if cell.counted.human == "gold" else cell.counted.human,
        "labels": None if cell.counted.implied_labels else "given",
    }
    narrowed = {**query_of(cell.counted.where), **more}
    return Rows(
        "responses",
        {**{name: value for name, value in parameters.items() if value is not None}, **narrowed},
    )


def drilled(address: Mapping[str, list[str]]) -> Drilled | None:
    """Return the answers of the cell in an address, None without a cell; raises JudgeboardError for an invalid cell."""
    fields = {name: address[name][-1] for name in CELL_FIELDS if address.get(name)}
    if "pairs" not in fields:
        return None
    raters = _RATERS.fullmatch(fields.get("raters", ""))
    reviewer_id = as_id(fields.get("reviewer", ""))
    if raters is None or ("reviewer" in fields and reviewer_id is None):
        raise BadInput("this address names no answers")
    kind, first, second = raters.groups()
    texts: dict[str, Any] = {field: fields.get(name) for name, field in _TEXTS.items()}
    cell = Cell(
        cast("GradeName", fields["pairs"]),
        int(first),
        int(second),
        cast("Raters", kind),
        counted=CountedGrades(
            reviewer_id, cast("Human", fields.get("human", "gold")), fields.get("labels") != "given"
        ),
        **texts,
    )
    with reading() as connection:
        words, response_ids = cell_words(connection, cell), answers_in(connection, cell)
    return Drilled(response_ids, words, {name: [value] for name, value in fields.items()})
