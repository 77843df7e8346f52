"""Sentences about what was just stored, kept for the next run of the page."""

import streamlit as st

from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.widgets.texts import commands


def confirm(place: str, words: str, next_step: str = "") -> None:
    """Keep ``words`` about a change that was just stored; `confirmation` of this place shows the words in the next run.

    The words are shown unchanged, since the words may have names. Commands in the ``next_step``
    become code.
    """
    st.session_state[f"confirmed_{place}"] = (words, next_step)


def is_confirmed(place: str) -> bool:
    """Return whether something was just stored, and `confirmation` has not shown the words yet."""
    return f"confirmed_{place}" in st.session_state


def confirmation(place: str) -> None:
    """Show once what was just stored, if anything was."""
    if is_confirmed(place):
        words, next_step = st.session_state.pop(f"confirmed_{place}")
        show_div("jb-say", words, " ", commands(next_step), role="status")
