"""Applies the flag rules anew to what is stored, with progress."""

from collections.abc import Callable

import streamlit as st

from judgeboard.flagging import FlagSummary, raise_flags
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.saying import commands
from judgeboard_dashboard.session import current_reviewer, store
from judgeboard_dashboard.settings_parts.rules_form import forget_saved, just_saved
from judgeboard_dashboard.words import count

_APPLIED = "settings_applied"


def apply_rules(responses: int) -> None:
    """Show the button, after a change with the reason for it; what came of it stays until the next change."""
    applied = st.session_state.get(_APPLIED)
    if just_saved():
        said = "Saved. New verdicts are flagged by it; what is stored has the flags of before until you apply it: "
        show(tag("div", said, commands("here, or in a terminal `judgeboard flag`"), cls="jb-note"))
        applied = None
    elif isinstance(applied, FlagSummary):
        show(tag("div", applied_words(applied), cls="jb-say"))
    pressed = st.button(
        f"Apply the rules to {count(responses, 'answer')}",
        key="settings_apply",
        icon=":material/flag:",
        disabled=not responses,
        help="Raises what the rules now ask for and supersedes open flags whose reason is gone. Decided flags stay. "
        "The page must stay open; what is done stays done.",
        wrap=False,
    )
    if pressed:
        st.session_state[_APPLIED] = raise_flags(store(), actor=current_reviewer() or "somebody", progress=_bar())
        forget_saved()
        st.rerun()


def applied_words(summary: FlagSummary) -> str:
    """Return what applying the rules came to."""
    return (
        f"Applied to {count(summary.logged, 'answer')}: {count(summary.raised, 'flag')} raised, "
        f"{summary.superseded:,} superseded."
    )


def _bar() -> Callable[[int, int], None]:
    bar = st.progress(0.0, text="0 answers")

    def told(done: int, total: int) -> None:
        bar.progress(done / total if total else 1.0, text=f"{done:,} of {total:,} answers")

    return told
