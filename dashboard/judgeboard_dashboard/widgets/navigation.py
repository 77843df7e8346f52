"""Links to rows of other pages: clicks on charts and tables, and cells of agreement in addresses."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from judgeboard.agreement.answer_pairs import GradeName
from judgeboard.agreement.cells import PairCell, RaterCell, Raters, answers_in, answers_rated, cell_words, rater_words
from judgeboard.agreement.choice import By
from judgeboard.errors import BadInput
from judgeboard.people.permissions import Action
from judgeboard.stats.ratings import Human
from judgeboard.store.filters import RowFilter
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import open_rows, reading
from judgeboard_dashboard.widgets.charts.frame import SELECTION, fin
from judgeboard_dashboard.widgets.filters import query_of

_PICKED = "picked_rows"
_LEFT = "left_pages"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a page: its file name and the parameters of its address."""

    page: str
    query: Mapping[str, str | list[str]]


def responses(where: RowFilter, **more: str) -> Rows:
    """Return the answers of a filter on the Responses page."""
    return Rows("responses", {**query_of(where), **more})


def queue(**query: str | list[str]) -> Rows:
    """Return open flags on the Queue page."""
    return Rows("queue", query)


def item(response_id: int) -> Rows:
    """Return one answer on the Item page."""
    return Rows("item", {"response": str(response_id)})


def rejudge_button(page: str, rows: str, query: Mapping[str, str | list[str]]) -> None:
    """Show the button that opens the Rejudge page with the same filter, to people who may use it.

    Args:
        page: the page of the button.
        rows: the choice on the Rejudge page: "match" for all, "open" for answers with an open flag.
        query: the filter as in the address.
    """
    if not permitted(Action.REJUDGE_MANY):
        return
    narrowed = {name: values for name, values in query.items() if name != "sort"}
    st.button(
        "Rejudge these",
        key=f"{page}_rejudge",
        type="tertiary",
        icon=":material/restart_alt:",
        on_click=pick_rows,
        args=(Rows("rejudge", {**narrowed, "rows": rows}),),
        wrap=False,
    )


def follow(page: str = "", *, own: Sequence[str] = ()) -> None:
    """Open the target of the last click; call it first in the body of a page, since a callback cannot.

    After the browser's Back, the address of this page has the parameters of the page that it opened: its own are
    restored.

    Args:
        page: the page's file name; without it nothing is restored.
        own: the parameters that the page reads.
    """
    left: dict[str, dict[str, list[str]]] = st.session_state.setdefault(_LEFT, {})
    picked = st.session_state.pop(_PICKED, None)
    if isinstance(picked, Rows):
        if page:
            left[page] = {name: st.query_params.get_all(name) for name in st.query_params}
        open_rows(picked.page, **dict(picked.query))
    if page in left and not set(st.query_params) <= set(own):
        open_rows(page, **left.pop(page))


def clickable_chart(chart: Any, height: int, targets: Sequence[Rows | None], *, key: str, says: str) -> None:
    """Show a chart whose marks open rows.

    Args:
        chart: made with `charts.frame.pick`: ``at`` of a mark is its index in ``targets``.
        height: in px, axes included.
        targets: the page that each mark opens; None opens nothing.
        key: unique on the page.
        says: description of the chart for screen readers.
    """
    st.altair_chart(
        fin(chart, height),
        theme=None,
        width="stretch",
        key=key,
        on_select=lambda: _pick(targets, mark_in(key)),
        selection_mode=SELECTION,
        alt=says,
    )


def mark_in(key: str) -> int | None:
    """Return the index of the clicked mark of a chart; for use in its callback."""
    marks: Sequence[Mapping[str, Any]] = st.session_state[key].selection.get(SELECTION) or ()
    return int(marks[0]["at"]) if marks else None


def row_clicked(key: str, targets: Sequence[Rows | None]) -> Callable[[], None]:
    """Return the callback of a dataframe with ``selection_mode="single-cell"`` whose rows open ``targets``."""

    def clicked() -> None:
        cells = st.session_state[key].selection.cells
        _pick(targets, cells[0][0] if cells else None)

    return clicked


def cell_clicked(key: str, columns: Sequence[str], targets: Sequence[Mapping[str, Rows]]) -> Callable[[], None]:
    """Return the callback for a table with a target per cell: one mapping of column to rows per line."""

    def clicked() -> None:
        cells = st.session_state[key].selection.cells
        if cells:
            line, column = cells[0]
            _pick([targets[line].get(str(column)) or targets[line].get(columns[0])], 0)

    return clicked


def _pick(targets: Sequence[Rows | None], place: int | None) -> None:
    if place is not None and place < len(targets) and targets[place] is not None:
        st.session_state[_PICKED] = targets[place]


def pick_rows(rows: Rows) -> None:
    """Open these rows in the next run of the page; the callback of a button."""
    st.session_state[_PICKED] = rows


# No page may use these names for a filter: after Back, the earlier page has them for a moment.
CELL_FIELDS = ("pairs", "of", "people_said", "judge_said", "scored", "reviewer", "human", "sliced", "slice", "raters")


_OF_RATERS = ("pairs", "raters", "sliced", "slice")
_RATERS = re.compile(r"([a-z]+)-(\d{1,18})-(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Drilled:
    """The answers of a cell of agreement, the cell in words, and its part of the address."""

    response_ids: tuple[int, ...]
    words: str
    query: dict[str, list[str]]


def cell_rows(cell: PairCell, **more: str) -> Rows:
    """Return a cell's answers on the Responses page; ``more`` are further filters (query_type, from, to)."""
    parameters = (
        cell.grade,
        str(cell.version_id),
        cell.people,
        cell.judge,
        cell.score,
        None if cell.reviewer_id is None else str(cell.reviewer_id),
        None if cell.human == "gold" else cell.human,
        cell.by,
        cell.slice,
        None,
    )
    named = {name: value for name, value in zip(CELL_FIELDS, parameters, strict=True) if value is not None}
    return Rows("responses", {**named, **more})


def rater_rows(cell: RaterCell) -> Rows:
    """Return the answers of two raters on the Responses page."""
    named = {"pairs": cell.grade, "raters": f"{cell.raters}-{cell.first}-{cell.second}"}
    sliced = {} if cell.by is None else {"sliced": cell.by, "slice": cell.slice or ""}
    return Rows("responses", {**named, **sliced})


def drilled(address: Mapping[str, list[str]]) -> Drilled | None:
    """Return the cell in an address, None without one.

    Raises:
        JudgeboardError: There is no such cell.
    """
    parameters = {name: address[name][-1] for name in CELL_FIELDS if address.get(name)}
    if "pairs" not in parameters:
        return None
    if "raters" in parameters:
        return _of_raters(parameters)
    cell = PairCell(
        _number(parameters, "of"),
        cast("GradeName", parameters["pairs"]),
        parameters.get("people_said"),
        parameters.get("judge_said"),
        parameters.get("scored"),
        _number(parameters, "reviewer") if "reviewer" in parameters else None,
        cast("Human", parameters.get("human", "gold")),
        cast("By | None", parameters.get("sliced")),
        parameters.get("slice"),
    )
    with reading() as connection:
        words, response_ids = cell_words(connection, cell), answers_in(connection, cell)
    return Drilled(response_ids, words, {name: [value] for name, value in parameters.items()})


def _of_raters(parameters: Mapping[str, str]) -> Drilled:
    match = _RATERS.fullmatch(parameters["raters"])
    if match is None:
        raise BadInput(f"this address has no valid raters: {parameters['raters']}")
    raters, first, second = match.groups()
    cell = RaterCell(
        cast("Raters", raters),
        cast("GradeName", parameters["pairs"]),
        int(first),
        int(second),
        cast("By | None", parameters.get("sliced")),
        parameters.get("slice"),
    )
    with reading() as connection:
        words, response_ids = rater_words(connection, cell), answers_rated(connection, cell)
    return Drilled(response_ids, words, {name: [value] for name, value in parameters.items() if name in _OF_RATERS})


def _number(parameters: Mapping[str, str], name: str) -> int:
    value = parameters.get(name, "")
    if not value.isdecimal() or len(value) > 18:
        raise BadInput(f"this address has no valid cell: {name}={value}")
    return int(value)
