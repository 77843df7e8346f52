"""The list of failure modes on the Settings page, which leads edit, and suggestions from notes."""

from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.people.permissions import Action
from judgeboard.reviews.failure_modes import KEYS, LONGEST_MODE, save_mode, suggested_modes
from judgeboard.store.failure_modes import list_modes
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.session import ask_reviewer, reading, saving, store
from judgeboard_dashboard.widgets.texts import caption, heading

COLUMNS = {
    "name": st.column_config.TextColumn("Failure mode", width=200, required=True, max_chars=LONGEST_MODE),
    "key": st.column_config.SelectboxColumn("Key, with Shift", width=110, options=list(KEYS)),
    "description": st.column_config.TextColumn("Description", width=280),
    "retired": st.column_config.CheckboxColumn("Retired", width=80, default=False),
}


def failure_mode_list() -> None:
    """Show the failure modes as a table to edit, and the frequent words of notes without one."""
    demand(Action.CHANGE_SETTINGS)
    with reading() as connection:
        modes, suggestions = list_modes(connection), suggested_modes(connection)
    heading("Failure modes")
    caption(
        "Reviewers tag answers with them on the review screen. Add one in the last row. Retired ones keep their tags."
    )
    rows = pd.DataFrame([[getattr(mode, name) for name in COLUMNS] for mode in modes.values()], columns=list(COLUMNS))
    texts = {name: "boolean" if name == "retired" else "str" for name in COLUMNS}
    # The time of the last change is in the key: a new table has no edits.
    stored = max((mode.at for mode in modes.values()), default=None)
    edited = st.data_editor(
        rows.astype(texts), column_config=COLUMNS, hide_index=True, num_rows="add", key=f"failure_modes_{stored}"
    )
    reviewer = ask_reviewer("Your name is stored with the change.")
    pressed = st.button("Save failure modes", type="primary", key="failure_modes_save", disabled=reviewer is None)
    if pressed and reviewer is not None:
        known = [tuple(getattr(mode, name) for name in COLUMNS) for mode in modes.values()]
        rows_after: list[list[Any]] = edited.astype(object).where(edited.notna(), None).to_numpy().tolist()
        with saving():
            for name, key, description, retired in rows_after:
                if (name, key, description, retired) not in known:
                    save_mode(store(), name or "", description, key=key, retired=bool(retired), by=reviewer)
    if suggestions:
        frequent = ", ".join(f"{words} ({n})" for words, n in suggestions.items())
        caption(f"Frequent in notes without a failure mode: {frequent}.")
