"""Items on which reviewers differ: for a lead to decide, afterwards for those who spoke to see."""

from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import ItemState
from judgeboard.people import Action, may
from judgeboard.queues import SplitPage, own_splits, split_items
from judgeboard.review import Reviewer
from judgeboard_dashboard.picking import Rows, pick_rows, row_clicked
from judgeboard_dashboard.queues.place import Place
from judgeboard_dashboard.queues.split_page import one_split
from judgeboard_dashboard.saying import caption, empty, sentence
from judgeboard_dashboard.session import ask_reviewer, reading
from judgeboard_dashboard.tables import frame, height
from judgeboard_dashboard.words import capital, count, when

MOST = 200
COLUMNS: dict[str, Any] = {
    "Differ on": st.column_config.TextColumn(width=215),
    "Reviews": st.column_config.NumberColumn(width=70, format="localized"),
    "Question": st.column_config.TextColumn(width=380),
    "Type": st.column_config.TextColumn(width=100),
    "Queue": st.column_config.TextColumn(width=180),
    "State": st.column_config.TextColumn(width=110),
    "Joined": st.column_config.TextColumn(width=115),
    "Id": st.column_config.TextColumn(width=150),
}
_KINDS = {name: "Int64" if name == "Reviews" else "str" for name in COLUMNS}
STATES = {ItemState.SPLIT: "for a lead", ItemState.ADJUDICATED: "adjudicated"}


def splits(place: Place) -> None:
    """Show one split where the address names one, else what waits for the lead, and one's own."""
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    if place.split is not None:
        one_split(place, place.split, reviewer)
        return
    if may(reviewer, Action.ADJUDICATE):
        _waiting(place)
    _own(reviewer)


def _waiting(place: Place) -> None:
    with reading() as connection:
        found = split_items(connection, place.of, limit=MOST)
    where = f" in “{place.of}”" if place.of else ""
    if not found.lines:
        empty(
            f"No split waits{where}.",
            "Where reviewers of a queue differ, the item comes here: a lead sees all they said and decides.",
        )
        return
    n = len(found.lines)
    more = "more than " if found.next is not None else ""
    with st.container(key="splits_top", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        sentence(f"{more}{count(n, 'split')} {'waits' if n == 1 else 'wait'} for a decision{where}.")
        st.button(
            "Start",
            key="splits_start",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Enter",
            on_click=pick_rows,
            args=(_rows(found, place.of)[0],),
            wrap=False,
        )
    _table(found, key=f"splits_{found.lines[0].item.item_id}_{n}", of=place.of)


def _own(reviewer: Reviewer) -> None:
    with reading() as connection:
        found = own_splits(connection, reviewer.id, limit=MOST)
    if not found.lines:
        return
    sentence(f"On {count(len(found.lines), 'item')} you and others differed.")
    _table(found, key=f"own_splits_{found.lines[0].item.item_id}_{len(found.lines)}", of=None)
    caption("What the others said is shown once a lead has decided.")


def _table(found: SplitPage, *, key: str, of: str | None) -> None:
    rows = _frame(found)
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        selection_mode="single-cell",
        on_select=row_clicked(key, _rows(found, of)),
        column_config=COLUMNS,
    )


def _rows(found: SplitPage, of: str | None) -> list[Rows]:
    more = {} if of is None else {"of": of}
    return [Rows("queue", {"show": "Splits", "split": str(line.item.item_id), **more}) for line in found.lines]


def _frame(found: SplitPage) -> pd.DataFrame:
    return frame(
        _KINDS,
        (
            (
                capital(", ".join(line.differ_on)),
                line.reviews,
                " ".join((line.item.question or "").split()),
                line.item.query_type,
                line.item.queue,
                STATES.get(line.item.state),
                when(line.item.joined_at),
                line.item.external_id,
            )
            for line in found.lines
        ),
    )
