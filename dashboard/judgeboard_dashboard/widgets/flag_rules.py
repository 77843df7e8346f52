"""Stores settings of the flag rules, and applies the rules to the stored answers."""

from typing import Any

import streamlit as st

from judgeboard.domain import Action
from judgeboard.people.roster import change_settings, flags_to_supersede, raise_flags
from judgeboard.store.flags import FlagSummary
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.session import button, current_reviewer, in_row, saving, store
from judgeboard_dashboard.widgets.texts import commands, count

_SAVED = "settings_saved"  # whether a setting was saved after the rules were last applied
_SAVED_WORDS = (
    "Saved. New verdicts use the new settings. Stored answers keep their flags until you apply the rules, with this "
    "button or with `judgeboard flags apply`."
)
_APPLIED = "settings_applied"
_TO_SUPERSEDE = "settings_to_supersede"  # number of open flags that the rules would supersede


def store_settings(changes: dict[str, Any], reviewer: Reviewer) -> None:
    """Store changed settings, and show the fields with the stored values."""
    with saving():
        change_settings(store(), changes, reviewer)
        for key in changes:
            st.session_state.pop(field_key(key), None)
        st.session_state[_SAVED] = True


def field_key(name: str) -> str:
    """Return the key of the field of a setting."""
    return f"setting_{name}"


def apply_rules(responses: int) -> None:
    """Show the button to apply the rules, with the reason for a press after a change, and the result of a press."""
    applied = st.session_state.get(_APPLIED)
    if st.session_state.get(_SAVED):
        show_div("jb-note", commands(_SAVED_WORDS))
    elif isinstance(applied, FlagSummary):
        words = (
            f"Applied to {count(applied.logged, 'answer')}: {count(applied.raised, 'flag')} raised, "
            f"{applied.superseded:,} superseded."
        )
        show_div("jb-say", words)
    is_pressed = button(
        f"Apply the rules to {count(responses, 'answer')}",
        key="settings_apply",
        icon=":material/flag:",
        disabled=not (responses and permitted(Action.CHANGE_SETTINGS)),
        help="Raises new flags, and supersedes open flags whose reason no longer holds. Decided flags do not change. "
        "Keep this page open until it is done.",
    )
    if is_pressed:
        st.session_state[_TO_SUPERSEDE] = flags_to_supersede(store())
        if not st.session_state[_TO_SUPERSEDE]:
            _apply()
    if superseded := st.session_state.get(_TO_SUPERSEDE):
        words = f"{count(superseded, 'open flag')} would be superseded: the reason no longer holds."
        show_div("jb-note", words)
        with in_row("settings_supersede"):
            label = f"Apply and supersede {count(superseded, 'flag')}"
            confirmed = button(label, key="settings_apply_confirmed", type="primary")
            if button("Cancel", key="settings_apply_cancelled", type="tertiary"):
                del st.session_state[_TO_SUPERSEDE]
                st.rerun()
        if confirmed:
            _apply()


def _apply() -> None:
    bar = st.progress(0.0, text="0 answers")

    def report(number: int, total: int) -> None:
        bar.progress(number / total if total else 1.0, text=f"{number:,} of {total:,} answers")

    st.session_state[_APPLIED] = raise_flags(
        store(), actor=current_reviewer() or "somebody", progress=report
    )
    st.session_state.pop(_SAVED, None)
    st.session_state.pop(_TO_SUPERSEDE, None)
    st.rerun()
