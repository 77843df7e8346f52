"""The list of queues: how far each is, and what one may do about the one that is chosen."""

import hashlib

import streamlit as st

from judgeboard.domain import QueueState
from judgeboard.people import Action, may
from judgeboard.queues import QueueProgress, queue_progress
from judgeboard.review import Reviewer
from judgeboard.store.queues.queue_rows import list_queues
from judgeboard_dashboard.queues.chosen import chosen_queue
from judgeboard_dashboard.queues.making import say_made
from judgeboard_dashboard.queues.place import go
from judgeboard_dashboard.queues.words import LIST_COLUMNS, list_table
from judgeboard_dashboard.saying import caption, empty, sentence
from judgeboard_dashboard.session import ask_reviewer, reading
from judgeboard_dashboard.tables import height
from judgeboard_dashboard.words import count

MOST = 50


def queue_list() -> None:
    """Show the queues that the person may take from; a lead sees all."""
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    lead = may(reviewer, Action.MAKE_QUEUES)
    say_made()
    with st.container(key="queues_top", horizontal=True, vertical_alignment="center", gap="small"):
        closed = st.toggle("Closed ones too", key="queues_closed")
        if lead:
            st.button(
                "New queue", key="queues_new", icon=":material/add:", on_click=go, kwargs={"new": "1"}, wrap=False
            )
    found = _found(reviewer, lead=lead, closed=closed)
    if not found:
        empty(
            "No queue is open.",
            *(
                ["Make one: on a page with New queue, or in a terminal: `judgeboard queue create NAME`"]
                if lead
                else ["A lead makes queues. What no queue asks for is under Waiting."]
            ),
        )
        return
    names = [one.queue.name for one in found]
    rows = list_table(found, reviewer.id)
    picked = st.dataframe(
        rows,
        key=f"queues_{hashlib.sha256(repr(names).encode()).hexdigest()[:8]}",  # a choice is a place in these names
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows), most=8),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config=LIST_COLUMNS,
    )
    chosen = picked.selection.rows
    chosen_queue(found[chosen[0] if chosen and chosen[0] < len(found) else 0], reviewer)


def _found(reviewer: Reviewer, *, lead: bool, closed: bool) -> list[QueueProgress]:
    with reading() as connection:
        queues = list_queues(connection, only_open=not closed)[:MOST]
        found = [queue_progress(connection, queue) for queue in queues]
    mine = [one for one in found if lead or not one.given_to or reviewer.id in {person.id for person in one.given_to}]
    waiting = sum(one.waiting for one in mine if one.queue.state is QueueState.OPEN)
    open_ones = sum(one.queue.state is QueueState.OPEN for one in mine)
    if open_ones:
        sentence(
            f"{count(open_ones, 'queue')} {'is' if open_ones == 1 else 'are'} open, {count(waiting, 'item')} wait."
        )
    if len(queues) == MOST:
        caption(f"The newest {MOST:,}; `judgeboard queue list` has all.")
    return mine
