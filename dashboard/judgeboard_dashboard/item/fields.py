"""The fields of the bar that are typed into, kept equal to the draft."""

import streamlit as st

from judgeboard.domain import Label
from judgeboard_dashboard.item.desk import Desk, Draft

LAST_FILLED = "filled"


def field_key(name: str, draft: Draft) -> str:
    """Return the key of a field; it changes when the field is filled anew."""
    return f"{name}_{draft.shown}"


def note_key(draft: Draft) -> str:
    """Return the key of the note; no grade changes it."""
    return f"note_{draft.noted}"


def rubric_key(place: int, draft: Draft) -> str:
    """Return the key of the field of a rubric's dimension, by its place."""
    return field_key(f"rubric{place}", draft)


def read_fields(here: Desk) -> None:
    """Take into the drafts what was typed since the last run."""
    state = st.session_state
    for draft in here.drafts.values():
        if not {note_key(draft), field_key(LAST_FILLED, draft)} <= set(state):
            continue  # not on the screen, or its filling was cut off
        draft.note = state[note_key(draft)]
        # What stands behind the three dots is not drawn everywhere, and what is not drawn is forgotten.
        draft.corrected_answer = state.get(field_key("corrected", draft), draft.corrected_answer)
        draft.groundedness = state.get(field_key("exact", draft), draft.groundedness)
        if field_key("label", draft) in state:
            label = state[field_key("label", draft)]
            draft.label = Label(label) if label else None
            given = {name: state.get(rubric_key(place, draft)) for place, name in enumerate(draft.dimensions)}
            draft.scores = {name: value for name, value in given.items() if value is not None}


def fill_fields(draft: Draft, *, labels: bool = True) -> None:
    """Give the fields the draft's values; ``labels``: whether label and rubric are fields there, not keys alone.

    What stands in the popover is given with every run, not once: the browser loads it when it is opened, would miss
    the value and say that there is none. The note is given once, or its typing would be cut off.
    """
    if note_key(draft) not in st.session_state:
        st.session_state[note_key(draft)] = draft.note
    st.session_state[field_key("corrected", draft)] = draft.corrected_answer
    st.session_state[field_key("exact", draft)] = draft.groundedness
    if labels:
        for place, name in enumerate(draft.dimensions):
            st.session_state[rubric_key(place, draft)] = draft.scores.get(name)
        st.session_state[field_key("label", draft)] = str(draft.label.value) if draft.label else None
    else:
        st.session_state.pop(field_key("label", draft), None)
    st.session_state[field_key(LAST_FILLED, draft)] = True
