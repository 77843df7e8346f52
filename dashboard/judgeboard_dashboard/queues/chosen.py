"""One queue of the list: start, its people, and what a lead does about it."""

import streamlit as st

from judgeboard.domain import QueueState
from judgeboard.errors import JudgeboardError
from judgeboard.people import Action, may
from judgeboard.queues import QueueProgress, assign_queue, close_queue, people_named
from judgeboard.review import Reviewer
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.picking import Rows, pick_rows
from judgeboard_dashboard.queues.known_people import known_people
from judgeboard_dashboard.queues.words import PEOPLE_COLUMNS, how_far, people_table, short_of
from judgeboard_dashboard.saying import caption, heading, note
from judgeboard_dashboard.session import store
from judgeboard_dashboard.tables import height
from judgeboard_dashboard.words import count


def chosen_queue(one: QueueProgress, reviewer: Reviewer) -> None:
    """Show one queue: how far it is, who did what, the button that starts."""
    queue, lead = one.queue, may(reviewer, Action.ASSIGN)
    is_open = queue.state is QueueState.OPEN
    with st.container(key="queue_chosen", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        show(tag("div", tag("b", queue.name), " · ", how_far(one), cls="jb-say jb-line"))
        if one.split and lead:
            st.button(
                count(one.split, "split"),
                key="queue_splits",
                icon=":material/call_split:",
                on_click=pick_rows,
                args=(Rows("queue", {"show": "Splits", "of": queue.name}),),
                wrap=False,
            )
        st.button(
            "Start reviewing",
            key="queue_review",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Enter",
            disabled=not is_open,
            on_click=pick_rows,
            args=(Rows("item", {"queue": queue.name}),),
            wrap=False,
        )
    show(tag("div", " · ".join(one.rules), cls="jb-cap"))
    short = short_of(one)
    if short is not None:
        note(short, lead="The random sample is short.")
    with st.container(key="stack_queue"):
        left, right = st.columns([1.3, 1], gap="medium")
    with left:
        _people(one)
    with right:
        if lead and is_open:
            _lead(one, reviewer)
        if queue.guidelines:
            heading("Guidelines")
            show(tag("div", queue.guidelines, cls="jb-reason"))


def _people(one: QueueProgress) -> None:
    heading("People")
    if not one.people:
        show(tag("div", "Nobody has taken anything yet.", cls="jb-mut"))
        return
    rows = people_table(one)
    st.dataframe(
        rows,
        key=f"queue_people_{one.queue.id}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows), most=8),
        column_config=PEOPLE_COLUMNS,
    )


def _lead(one: QueueProgress, reviewer: Reviewer) -> None:
    """Who may take from it, and its end."""
    queue = one.queue
    heading("Given to")
    now = [person.name for person in one.given_to]
    key = f"queue_given_{queue.id}_{len(now)}"
    with st.container(key="queue_assign", horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.multiselect(
            "Given to",
            sorted({*known_people(), *now}),
            default=now,
            key=key,
            accept_new_options=True,
            placeholder="Everybody",
            label_visibility="collapsed",
            width="stretch",
        )
        if st.button("Save", key="queue_assign_save", disabled=set(wanted) == set(now), wrap=False):
            _assign(one, wanted, reviewer)
        with st.popover("Close", icon=":material/lock:"):
            show(tag("div", "A closed queue hands out nothing more and stays closed. What was said in it stands."))
            if st.button(f"Close {as_label(queue.name)}", key="queue_close", wrap=False):
                close_queue(store(), queue.name, by=reviewer)
                st.rerun()
    if queue.blind:
        caption("To those whom a blind queue is given by name, its answers are hidden everywhere.")


def _assign(one: QueueProgress, wanted: list[str], reviewer: Reviewer) -> None:
    try:
        people = people_named(store(), wanted)
        ids = {person.id for person in people}
        gone = [person for person in one.given_to if person.id not in ids]
        assign_queue(store(), one.queue.name, by=reviewer, add=people, remove=gone)
    except JudgeboardError as error:
        problem(f"Not saved: {error}")
        return
    st.rerun()
