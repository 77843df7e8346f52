"""The Queue page: open flags, queues, conflicts and one's own reviews."""

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
from judgeboard_dashboard.review import queues
from judgeboard_dashboard.review.conflicts import conflicts
from judgeboard_dashboard.review.new_queue import new_queue
from judgeboard_dashboard.review.own_reviews import own_reviews
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, open_rows, page, reading
from judgeboard_dashboard.widgets.filters import FIELDS, Choices, Chosen, filter_row, filter_sentence, write_address
from judgeboard_dashboard.widgets.navigation import Rows, follow, pick_rows, rejudge_button
from judgeboard_dashboard.widgets.tables import PAGE_SIZE, all_lines, frame, height, one_line, place_in, turning_foot
from judgeboard_dashboard.widgets.texts import SORTS, ago, capital, nothing_waits, rule_words

# kind and how Streamlit shows it
COLUMNS: dict[str, tuple[str, Any]] = {
    "Why": ("str", st.column_config.TextColumn(width=125, help="The rule that flagged the answer")),
    "Groundedness": (
        "Float64",
        st.column_config.ProgressColumn(
            width=115, min_value=0, max_value=1, format="%.2f", color="primary", help="Of the primary judge, 0 to 1"
        ),
    ),
    "Quality": (
        "str",
        st.column_config.TextColumn(width=70, help="Of the primary judge, 1 to 4", alignment="right"),
    ),
    "User": ("str", st.column_config.TextColumn(width=92, help="Feedback of the assistant's user")),
    "Question": ("str", st.column_config.TextColumn(width=300)),
    "Answer": ("str", st.column_config.TextColumn(width=330)),
    "Type": ("str", st.column_config.TextColumn(width=85)),
    "Asked": ("str", st.column_config.TextColumn(width=85)),
    "Id": ("str", st.column_config.TextColumn(width=125)),
}
_OPEN = "queue_open"


def queue() -> None:
    """Show the segment that the address names."""
    follow("queue", own=(*FIELDS, "sort", *queues.FIELDS))
    place = queues.place()
    if place.segment == queues.OPEN_FLAGS:
        _open_flags()
    elif place.segment == queues.CONFLICTS:
        conflicts(place)
    elif place.segment == queues.MY_REVIEWS:
        own_reviews(place)
    elif place.new:
        new_queue()
    else:
        queues.queue_list()


def _open_flags() -> None:
    """Show the open flags that match, fifty at a time."""
    reviewer = current_reviewer()
    with reading() as connection:
        facets = queue_facets(connection)
        choices = Choices(facets.rules, facets.query_types, facets.sources, facets.judges, sorts=SORTS)
        chosen = filter_row("queue", choices)
        turned = place_in("queue", chosen.query)
        flags = queue_page(
            connection,
            chosen.where,
            chosen.sort,
            after=turned.after,
            before=turned.before,
            limit=PAGE_SIZE,
            reviewer_id=reviewer.id if reviewer else None,
        )
    write_address("queue", chosen.query)
    if flag_id := st.session_state.pop(_OPEN, None):
        open_rows("item", flag=flag_id, **chosen.query)
    if not flags.total:
        if chosen.where == RowFilter():
            nothing_waits()
        else:
            show(tag("div", "No open flag matches.", cls="jb-empty"))
        return
    which = "" if chosen.where == RowFilter() else f" in {filter_sentence(chosen.where)}"
    with st.container(key="queue_start", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", tag("b", f"{flags.total:,} open"), f"{which} · {SORTS[chosen.sort]}", cls="jb-say jb-line"))
        st.button(
            "Start reviewing",
            key="queue_start_button",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Enter",
            on_click=_open,
            args=(flags.lines[0].flag_id,),
            wrap=False,
        )
    ask_reviewer()
    _table(flags)
    turning_foot("queue", flags, "flag", lambda: _export(chosen), query=chosen.query, beside=lambda: _buttons(chosen))


def _table(flags: LinePage[QueueLine]) -> None:
    now = datetime.now(UTC)
    rows = frame({name: kind for name, (kind, _) in COLUMNS.items()}, (_row(line, now) for line in flags.lines))
    key = f"queue_table_{flags.lines[0].flag_id}_{flags.first}"
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        selection_mode="single-cell",
        on_select=lambda: _cell_chosen(key, [line.flag_id for line in flags.lines]),
        column_config={name: settings for name, (_, settings) in COLUMNS.items()},
    )


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


def _buttons(chosen: Chosen) -> None:
    who_button("queue")
    rejudge_button("queue", "open", chosen.query)
    reviewer = current_reviewer()
    if reviewer is None or not may(reviewer, Action.MAKE_QUEUES):
        return
    query = {name: values for name, values in chosen.query.items() if name != "sort"}
    st.button(
        "Create queue from these",
        key="queue_of_these",
        type="tertiary",
        icon=":material/playlist_add:",
        on_click=pick_rows,
        args=(Rows("queue", {**query, "show": queues.QUEUES, "new": "1"}),),
        wrap=False,
    )


def _export(chosen: Chosen) -> pd.DataFrame:
    """Return all open flags of the filter for a file, with whole reasons and ids; texts have at most 300 characters."""
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
    """Turn the selection into an id at once: it is an index into the list, and the list changes."""
    cells = st.session_state[key].selection.cells
    if cells:
        _open(flag_ids[cells[0][0]])


with page("Queue"):
    queue()
