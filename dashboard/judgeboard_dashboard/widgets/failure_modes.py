"""The list of failure modes on the Settings page: add, change, retire, and suggestions from notes."""

from collections.abc import Callable

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.people.permissions import Action
from judgeboard.reports.output import Column, Table
from judgeboard.reviews.failure_modes import KEYS, add_mode, retire_mode, suggested_modes
from judgeboard.store.failure_modes import list_modes
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import ask_reviewer, problem, reading, store
from judgeboard_dashboard.widgets.tables import one_line, show_rows
from judgeboard_dashboard.widgets.texts import caption, empty, heading

COLUMNS = (
    Column("Failure mode", width=180),
    Column("Key", width=70),
    Column("Description", width=330),
    Column("State", width=75),
)
NO_KEY = "No key"
_RESULT = "failure_mode_result"


def failure_mode_list() -> None:
    """Show the failure modes at the left, the form and the suggestions at the right."""
    demand(Action.CHANGE_SETTINGS)
    with reading() as connection:
        modes, suggestions = list_modes(connection), suggested_modes(connection)
    with st.container(key="stack_failure_modes"):
        left, right = st.columns([1.35, 1], gap="medium")
    with left:
        heading("Failure modes")
        rows = tuple(
            (each.name, f"Shift {each.key}" if each.key else None, each.description, "retired" if each.retired else "")
            for each in modes.values()
        )
        if rows:
            show_rows(Table(COLUMNS, rows), key="failure_mode_list")
            caption("Reviewers tag answers with them on the review screen. Tags of a retired mode stay.")
        else:
            empty("No failure modes yet.", "Add one, or start from a frequent phrase of the notes.")
    with right:
        reviewer = ask_reviewer("Your name is stored with the change.")
        _form([each.name for each in modes.values() if not each.retired], reviewer)
        if suggestions:
            heading("Frequent in notes without a failure mode")
        for place, each in enumerate(suggestions):
            with st.container(horizontal=True, gap="small", vertical_alignment="center"):
                key = f"failure_mode_suggestion_{place}"
                st.button(as_label(each.words), key=key, on_click=_fill, args=(each.words,), wrap=False)
                example = one_line(each.example) or ""
                show(tag("div", f"{each.notes} notes, for example “{example}”", cls="jb-cap jb-line"))


def _form(offered: list[str], reviewer: Reviewer | None) -> None:
    with st.container(border=True, key="failure_mode_form"):
        st.text_input("Name", key="failure_mode_name", max_chars=60, placeholder="wrong entity")
        st.text_input("Description", key="failure_mode_description", placeholder="When to choose it")
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            keys = [NO_KEY, *KEYS]
            st.selectbox("Key, with Shift", keys, key="failure_mode_key", width=130)
            options = {"disabled": reviewer is None, "wrap": False, "on_click": _add, "args": (reviewer,)}
            st.button("Save failure mode", key="failure_mode_save", type="primary", **options)
    if offered:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            name = st.selectbox("Retire", offered, key="failure_mode_retired")
            options |= {"on_click": _retire, "args": (name, reviewer)}
            st.button("Retire failure mode", key="failure_mode_retire", **options)
    saved, wrong = st.session_state.pop(_RESULT, (None, None))
    if saved:
        show(tag("div", saved, cls="jb-say"))
    if wrong:
        problem(wrong)


def _fill(words: str) -> None:
    st.session_state["failure_mode_name"] = words


def _add(reviewer: Reviewer) -> None:
    state = st.session_state
    name, key = state["failure_mode_name"], state["failure_mode_key"]

    def add() -> str:
        letter = None if key == NO_KEY else key
        added = add_mode(store(), name, state["failure_mode_description"], key=letter, by=reviewer)
        state["failure_mode_name"] = state["failure_mode_description"] = ""
        state["failure_mode_key"] = NO_KEY
        return f"Saved: {added.name}."

    _change(add)


def _retire(name: str, reviewer: Reviewer) -> None:
    _change(lambda: f"Retired: {retire_mode(store(), name, by=reviewer).name}. Its tags stay.")


def _change(act: Callable[[], str]) -> None:
    try:
        st.session_state[_RESULT] = act(), None
    except JudgeboardError as error:
        st.session_state[_RESULT] = None, f"Not saved: {error}"
