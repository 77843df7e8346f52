"""The queue: choose what to review, hand the list to the item page; named queues, splits and one's own reviews."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.people.permissions import Action, may
from judgeboard.store.filters import RowFilter
from judgeboard.store.listing import LinePage
from judgeboard.store.open_flags import QueueLine, queue_facets, queue_page
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import who_button
from judgeboard_dashboard.review.conflicts import splits
from judgeboard_dashboard.review.own_reviews import my_reviews
from judgeboard_dashboard.review.queues import FIELDS as PLACE_FIELDS
from judgeboard_dashboard.review.queues import MINE, QUEUES, SPLITS, WAITING, new_queue, place, queue_list
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, open_rows, page, reading
from judgeboard_dashboard.widgets.filters import FIELDS, Choices, Chosen, filter_row, filter_sentence, write_address
from judgeboard_dashboard.widgets.navigation import Rows, follow, pick_rows, rejudge_button
from judgeboard_dashboard.widgets.tables import PAGE_SIZE, all_lines, frame, height, one_line, place_in, turning_foot
from judgeboard_dashboard.widgets.texts import SORTS, ago, capital, nothing_waits, rule_words

COLUMNS = {
    "Why": "str",
    "Groundedness": "Float64",
    "Quality": "str",
    "User": "str",
    "Question": "str",
    "Answer": "str",
    "Type": "str",
    "Asked": "str",
    "Id": "str",
}
_OPEN = "queue_open"


def queue() -> None:
    """Show the segment that the address names."""
    follow("queue", own=(*FIELDS, "sort", *PLACE_FIELDS))
    chosen = place()
    if chosen.segment == WAITING:
        _waiting()
    elif chosen.segment == SPLITS:
        splits(chosen)
    elif chosen.segment == MINE:
        my_reviews(chosen)
    elif chosen.new:
        new_queue()
    else:
        queue_list()


def _waiting() -> None:
    """Show the open flags that match, fifty at a time."""
    reviewer = current_reviewer()
    with reading() as connection:
        facets = queue_facets(connection)
        choices = Choices(facets.rules, facets.query_types, facets.sources, facets.judges, sorts=SORTS)
        chosen = filter_row("queue", choices)
        place = place_in("queue", chosen.query)
        found = queue_page(
            connection,
            chosen.where,
            chosen.sort,
            after=place.after,
            before=place.before,
            limit=PAGE_SIZE,
            reviewer_id=reviewer.id if reviewer else None,
        )
    write_address("queue", chosen.query)
    if flag_id := st.session_state.pop(_OPEN, None):
        open_rows("item", flag=flag_id, **chosen.query)
    if not found.total:
        _nothing(chosen.where)
        return
    _sentence(chosen, found)
    ask_reviewer()
    _table(found)
    _foot(chosen, found)


def _nothing(where: RowFilter) -> None:
    if where != RowFilter():
        show(tag("div", "No open flag matches.", cls="jb-empty"))
        return
    nothing_waits()


def _sentence(chosen: Chosen, found: LinePage[QueueLine]) -> None:
    """How many wait, which and in what order; beside it the button that starts."""
    which = "" if chosen.where == RowFilter() else f" in {filter_sentence(chosen.where)}"
    with st.container(key="queue_start", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", tag("b", f"{found.total:,} open"), f"{which} · {SORTS[chosen.sort]}", cls="jb-say jb-line"))
        st.button(
            "Start reviewing",
            key="queue_start_button",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Enter",
            on_click=_open,
            args=(found.lines[0].flag_id,),
            wrap=False,
        )


def _table(found: LinePage[QueueLine]) -> None:
    rows = _frame(found.lines)
    key = f"queue_table_{found.lines[0].flag_id}_{found.first}"
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        selection_mode="single-cell",
        on_select=lambda: _cell_chosen(key, [line.flag_id for line in found.lines]),
        column_config={
            "Why": st.column_config.TextColumn(width=125, help="The rule that flagged the answer"),
            "Groundedness": st.column_config.ProgressColumn(
                width=115, min_value=0, max_value=1, format="%.2f", color="primary", help="The primary judge's, 0 to 1"
            ),
            "Quality": st.column_config.TextColumn(width=70, help="The primary judge's, 1 to 4", alignment="right"),
            "User": st.column_config.TextColumn(width=92, help="What the user of the assistant said"),
            "Question": st.column_config.TextColumn(width=300),
            "Answer": st.column_config.TextColumn(width=330),
            "Type": st.column_config.TextColumn(width=85),
            "Asked": st.column_config.TextColumn(width=85),
            "Id": st.column_config.TextColumn(width=125),
        },
    )


def _frame(lines: tuple[QueueLine, ...]) -> pd.DataFrame:
    now = datetime.now(UTC)
    return frame(COLUMNS, (_row(line, now) for line in lines))


def _row(line: QueueLine, now: datetime) -> tuple[Any, ...]:
    return (
        capital(rule_words(line.rule)),
        line.groundedness,
        f"{line.quality} / 4" if line.quality else None,
        line.user_feedback,
        one_line(line.question),
        one_line(line.answer),
        line.query_type,
        ago(line.asked_at, now) if line.asked_at else None,
        line.external_id,
    )


def _foot(chosen: Chosen, found: LinePage[QueueLine]) -> None:
    turning_foot("queue", found, "flag", lambda: _export(chosen), query=chosen.query, beside=lambda: _beside(chosen))


def _beside(chosen: Chosen) -> None:
    who_button("queue")
    rejudge_button("queue", "open", chosen.query)
    _queue_of_these(chosen)


def _queue_of_these(chosen: Chosen) -> None:
    reviewer = current_reviewer()
    if reviewer is None or not may(reviewer, Action.MAKE_QUEUES):
        return
    narrowed = {name: values for name, values in chosen.query.items() if name != "sort"}
    st.button(
        "Make a queue of these",
        key="queue_of_these",
        type="tertiary",
        icon=":material/playlist_add:",
        on_click=pick_rows,
        args=(Rows("queue", {**narrowed, "show": QUEUES, "new": "1"}),),
        wrap=False,
    )


def _export(chosen: Chosen) -> pd.DataFrame:
    """All lines of the filter with whole sentences and ids, for a file; texts are their first 300 characters."""
    names = [column.name for column in fields(QueueLine) if column.name not in {"flag_id", "response_id"}]
    kinds = {"severity": "Float64", "groundedness": "Float64", "quality": "Int64", "asked_at": "object"}
    with reading() as connection:
        lines = all_lines(lambda key, size: queue_page(connection, chosen.where, chosen.sort, after=key, limit=size))
    return frame(
        {name: kinds.get(name, "str") for name in names}, ([getattr(line, name) for name in names] for line in lines)
    )


def _open(flag_id: int) -> None:
    st.session_state[_OPEN] = flag_id


def _cell_chosen(key: str, flag_ids: list[int]) -> None:
    """Turn the chosen cell into an id at once: a selection is a place in the list, and the list changes."""
    cells = st.session_state[key].selection.cells
    if cells:
        _open(flag_ids[cells[0][0]])


with page("Queue"):
    queue()
