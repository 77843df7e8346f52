"""The corrected answer: edited under the answer, shown with its changes, and added to a suite."""

import streamlit as st

from judgeboard.people.permissions import Action
from judgeboard.store.items import Item
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.actions import Actions
from judgeboard_dashboard.review.differences import difference
from judgeboard_dashboard.review.drafts import Draft
from judgeboard_dashboard.widgets.keys import key_button


def correction(actions: Actions, item: Item) -> None:
    """Show the field for the corrected answer, filled with the answer, and what was changed in it."""
    if item.answer is None or not permitted(Action.REVIEW):
        return
    draft = actions.draft
    correcting = draft.correcting or bool(draft.corrected_answer)
    label = "Discard the correction" if correcting else "Correct the answer"
    key_button(label, draft.correct, key="correct", shortcut="F9", quiet=True)
    if not correcting:
        return
    draft.answer = item.answer
    key = corrected_key(draft)
    if key not in st.session_state:
        st.session_state[key] = draft.corrected_answer or item.answer
    st.text_area("Corrected answer", key=key, height=180, help="Press Ctrl + Enter or Esc to see what you changed.")
    if not draft.corrected_answer:
        return
    show(tag("div", "Your changes", cls="jb-label"))
    show(difference(item.answer, draft.corrected_answer))
    key_button(
        "In the suite" if draft.in_suite else "Add to suite",
        draft.add_to_suite,
        key="suite",
        shortcut="F8",
        chosen=draft.in_suite,
        tip="`judgeboard suite cases` writes it as a case: question, passages, and the corrected answer as reference",
    )


def corrected_key(draft: Draft) -> str:
    """Return the key of the field; it changes when the note's does."""
    return f"corrected_{draft.noted}"


def read_correction(draft: Draft) -> None:
    """Take the corrected answer that was typed into a draft; a text equal to the answer is no correction."""
    typed = st.session_state.get(corrected_key(draft))
    if typed is not None:
        draft.corrected_answer = "" if typed == draft.answer else typed
