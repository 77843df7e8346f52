"""The page Responses: all answers under any filter. Charts and tables of other pages lead here."""

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.flags.rules import RULES
from judgeboard.reports.output import Column, Format, Table
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.listing import LinePage
from judgeboard.store.response_pages import ORDERS, ResponseLine, order_of, response_facets, response_page
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.session import page, problem, reading
from judgeboard_dashboard.widgets.filters import FIELDS, Choices, Chosen, Query, filter_row, write_address
from judgeboard_dashboard.widgets.navigation import (
    CELL_FIELDS,
    Drilled,
    drilled,
    follow,
    item,
    rejudge_button,
)
from judgeboard_dashboard.widgets.tables import PAGE_SIZE, all_lines, current_page, one_line, show_rows, turning_foot
from judgeboard_dashboard.widgets.texts import ago, count, empty, no_answers

MAX_EXPORTED = 50_000  # rows in one file; `judgeboard export` has no limit
MORE = ("judge", "score", "graded", "source", "model", "days")
COLUMNS = (
    Column(
        "Groundedness",
        "number",
        width=115,
        help="Score of the filtered judge, else of the primary judge (0 to 1)",
        bar=True,
    ),
    Column("Quality", width=70, help="Score of this judge (1 to 4)", right=True),
    Column("Label", width=85, help="Label of the same judge, if it gives one"),
    Column("User", width=92, help="Feedback of the user"),
    Column("Question", width=215),
    Column("Answer", width=240),
    Column("Type", width=85),
    Column("Asked", width=85),
    Column("Judged by", width=100),
    Column("Judges", "count", width=60, help="Number of judges with a usable verdict"),
    Column("Reviews", "count", width=65, help="Number of current reviews by people"),
    Column("Flag", width=60, help="Whether the answer has an open flag"),
    Column("Id", width=125),
)


@dataclass(frozen=True, slots=True)
class Filters:
    """The selected answers: filter (with a cell of agreement), order, words and address."""

    where: RowFilter
    sort: str
    words: str
    query: Query


def responses() -> None:
    """Show the matching answers, 50 at a time."""
    follow("responses", own=(*FIELDS, *CELL_FIELDS, "sort"))
    cell = _cell()
    with reading() as connection:
        facets = response_facets(connection)
        titles = {version.id: version.title for version in list_versions(connection)}
        choices = Choices(
            tuple(rule.name for rule in RULES),
            facets.query_types,
            facets.sources,
            facets.judges,
            facets.models,
            {name: order.words for name, order in ORDERS.items()},
        )
        filters = _filters(filter_row("responses", choices, more=MORE, all_chips=True, titles=titles), cell, titles)
        turned = current_page("responses", filters.query)
        answers = response_page(
            connection, filters.where, filters.sort, after=turned.after, before=turned.before, limit=PAGE_SIZE
        )
    if cell is not None:
        _cell_chip(cell, filters)
    write_address("responses", filters.query)
    if not answers.total:
        if filters.where == RowFilter():
            no_answers()
        else:
            empty("No answer matches.")
        return
    words = f" · {filters.words}" if filters.words else ""
    order = order_of(filters.where, filters.sort).words
    show(tag("div", tag("b", count(answers.total, "answer")), f"{words} · {order}", cls="jb-say jb-line"))
    _table(answers)
    _foot(filters, answers)


def _cell() -> Drilled | None:
    address = {name: st.query_params.get_all(name) for name in st.query_params}
    try:
        return drilled(address)
    except JudgeboardError as error:
        problem(f"{error}: this part of the address is ignored")
        return None


def _filters(chosen: Chosen, cell: Drilled | None, titles: dict[int, str]) -> Filters:
    where = chosen.where
    words = [*([] if where == RowFilter() else [describe(where, titles)]), *([cell.words] if cell else [])]
    where = where if cell is None else replace(where, response_ids=cell.response_ids)
    return Filters(where, chosen.sort, ", ".join(words), {**chosen.query, **(cell.query if cell else {})})


def _cell_chip(cell: Drilled, filters: Filters) -> None:
    rest = {name: values for name, values in filters.query.items() if name not in cell.query}
    with st.container(key="chips_cell", horizontal=True, gap="xsmall"):
        st.button(
            f"{as_label(cell.words)}: {count(len(cell.response_ids), 'answer')} ✕",
            key="responses_cell",
            help="Remove this filter",
            on_click=st.query_params.from_dict,
            args=(rest,),
        )


def _table(answers: LinePage[ResponseLine]) -> None:
    now = datetime.now(UTC)
    show_rows(
        Table(COLUMNS, tuple(_row(line, now) for line in answers.lines)),
        key=f"responses_table_{answers.lines[0].response_id}_{answers.first}",
        targets=[item(line.response_id) for line in answers.lines],
    )


def _row(line: ResponseLine, now: datetime) -> tuple[Any, ...]:
    judged = line.judged
    return (
        judged.groundedness if judged else None,
        f"{judged.quality} / 4" if judged and judged.quality else None,
        judged.label if judged else None,
        line.user_feedback,
        one_line(line.question),
        one_line(line.answer),
        line.query_type,
        ago(line.asked_at, now) if line.asked_at else None,
        judged.version_title if judged else None,
        line.judges,
        line.reviews,
        "open" if line.flag_id else None,
        line.external_id,
    )


def _foot(filters: Filters, answers: LinePage[ResponseLine]) -> None:
    limit = f" · the CSV file has the first {MAX_EXPORTED:,}; judgeboard export writes all"
    turning_foot(
        "responses",
        answers,
        "answer",
        lambda: _export(filters),
        query=filters.query,
        more=limit if answers.total > MAX_EXPORTED else "",
        # A cell of agreement lists its answers one by one, which the filter of a job cannot.
        beside=None
        if filters.where.response_ids is not None
        else lambda: rejudge_button("responses", "match", filters.query),
    )


def _export(filters: Filters) -> Table:
    """Return the answers of the filter with ids and plain numbers; texts are cut after 300 characters."""
    names = [column.name for column in fields(ResponseLine) if column.name not in {"judged", "flag_id", "response_id"}]
    verdict = ("version_title", "groundedness", "quality", "label")
    formats: dict[str, Format] = {"groundedness": "number", "asked_at": "time"}
    formats |= dict.fromkeys(("quality", "judges", "reviews"), "count")
    with reading() as connection:
        read = partial(response_page, connection, filters.where, filters.sort)
        lines = all_lines(lambda key, size: read(after=key, limit=size), MAX_EXPORTED)
    rows = (
        (*(getattr(line, name) for name in names), *(getattr(line.judged, name, None) for name in verdict))
        for line in lines
    )
    return Table(tuple(Column(name, formats.get(name, "text")) for name in (*names, *verdict)), tuple(rows))


with page("Responses"):
    responses()
