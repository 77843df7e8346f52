"""Responses: all answers under any filter; where every chart and table leads."""

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.flags.rules import RULES
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
    row_clicked,
)
from judgeboard_dashboard.widgets.tables import PAGE_SIZE, all_lines, frame, height, one_line, place_in, turning_foot
from judgeboard_dashboard.widgets.texts import ago, count, empty

EXPORT_MOST = 50_000  # lines of one file; `judgeboard export` writes more without keeping them in memory
MORE = ("judge", "score", "graded", "source", "model", "days")
COLUMNS = {
    "Groundedness": "Float64",
    "Quality": "str",
    "Label": "str",
    "User": "str",
    "Question": "str",
    "Answer": "str",
    "Type": "str",
    "Asked": "str",
    "Judged by": "str",
    "Judges": "Int64",
    "Reviews": "Int64",
    "Flag": "str",
    "Id": "str",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the page is asked for: the filter with the cell of agreement in it, its order, its words, its address."""

    where: RowFilter
    sort: str
    words: str
    query: Query


def responses() -> None:
    """Show the answers that match, fifty at a time."""
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
        asked = _asked(filter_row("responses", choices, more=MORE, all_chips=True, titles=titles), cell, titles)
        place = place_in("responses", asked.query)
        found = response_page(
            connection, asked.where, asked.sort, after=place.after, before=place.before, limit=PAGE_SIZE
        )
    if cell is not None:
        _cell_chip(cell, asked)
    write_address("responses", asked.query)
    if not found.total:
        _nothing(asked)
        return
    words = f" · {asked.words}" if asked.words else ""
    order = order_of(asked.where, asked.sort).words
    show(tag("div", tag("b", count(found.total, "answer")), f"{words} · {order}", cls="jb-say jb-line"))
    _table(found)
    _foot(asked, found)


def _cell() -> Drilled | None:
    address = {name: st.query_params.get_all(name) for name in st.query_params}
    try:
        return drilled(address)
    except JudgeboardError as error:
        problem(f"{error}: left out")
        return None


def _asked(chosen: Chosen, cell: Drilled | None, titles: dict[int, str]) -> Asked:
    where = chosen.where
    words = [*([] if where == RowFilter() else [describe(where, titles)]), *([cell.words] if cell else [])]
    where = where if cell is None else replace(where, response_ids=cell.response_ids)
    return Asked(where, chosen.sort, ", ".join(words), {**chosen.query, **(cell.query if cell else {})})


def _cell_chip(cell: Drilled, asked: Asked) -> None:
    rest = {name: values for name, values in asked.query.items() if name not in cell.query}
    with st.container(key="chips_cell", horizontal=True, gap="xsmall"):
        st.button(
            f"{as_label(cell.words)}: {count(len(cell.response_ids), 'answer')} ✕",
            key="responses_cell",
            help="Take this away",
            on_click=st.query_params.from_dict,
            args=(rest,),
        )


def _nothing(asked: Asked) -> None:
    if asked.where != RowFilter():
        empty("No answer matches.")
        return
    empty("No answers yet. Import a log: `judgeboard import FILE`", "Or try the sample: `judgeboard demo`")


def _table(found: LinePage[ResponseLine]) -> None:
    rows = _frame(found.lines)
    key = f"responses_table_{found.lines[0].response_id}_{found.first}"
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        selection_mode="single-cell",
        on_select=row_clicked(key, [item(line.response_id) for line in found.lines]),
        column_config={
            "Groundedness": st.column_config.ProgressColumn(
                width=115,
                min_value=0,
                max_value=1,
                format="%.2f",
                color="primary",
                help="Of the judge that is filtered by, else of the primary judge, 0 to 1",
            ),
            "Quality": st.column_config.TextColumn(width=70, help="Of the same judge, 1 to 4", alignment="right"),
            "Label": st.column_config.TextColumn(width=85, help="Of the same judge, where it gives one"),
            "User": st.column_config.TextColumn(width=92, help="What the user of the assistant said"),
            "Question": st.column_config.TextColumn(width=215),
            "Answer": st.column_config.TextColumn(width=240),
            "Type": st.column_config.TextColumn(width=85),
            "Asked": st.column_config.TextColumn(width=85),
            "Judged by": st.column_config.TextColumn(width=100),
            "Judges": st.column_config.NumberColumn(width=60, help="How many judges gave a usable verdict"),
            "Reviews": st.column_config.NumberColumn(width=65, help="How many reviews of people stand"),
            "Flag": st.column_config.TextColumn(width=60, help="Whether a flag waits for a person"),
            "Id": st.column_config.TextColumn(width=125),
        },
    )


def _frame(lines: tuple[ResponseLine, ...]) -> pd.DataFrame:
    now = datetime.now(UTC)
    return frame(COLUMNS, (_row(line, now) for line in lines))


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
        "waits" if line.flag_id else None,
        line.external_id,
    )


def _foot(asked: Asked, found: LinePage[ResponseLine]) -> None:
    most = f" · CSV holds the first {EXPORT_MOST:,}, judgeboard export all" if found.total > EXPORT_MOST else ""
    turning_foot(
        "responses",
        found,
        "answer",
        lambda: _export(asked),
        query=asked.query,
        more=most,
        # A cell of agreement names its answers one by one: no filter of a job says the same.
        beside=None
        if asked.where.response_ids is not None
        else lambda: rejudge_button("responses", "match", asked.query),
    )


def _export(asked: Asked) -> pd.DataFrame:
    """The lines of the filter with ids and plain numbers; texts are their first 300 characters."""
    names = [column.name for column in fields(ResponseLine) if column.name not in {"judged", "flag_id", "response_id"}]
    verdict = ("version_title", "groundedness", "quality", "label")
    kinds = {"groundedness": "Float64", "quality": "Int64", "judges": "Int64", "reviews": "Int64", "asked_at": "object"}
    with reading() as connection:
        lines = all_lines(
            lambda key, size: response_page(connection, asked.where, asked.sort, after=key, limit=size), EXPORT_MOST
        )
    return frame(
        {name: kinds.get(name, "str") for name in (*names, *verdict)},
        (
            (*(getattr(line, name) for name in names), *(getattr(line.judged, name, None) for name in verdict))
            for line in lines
        ),
    )


with page("Responses"):
    responses()
