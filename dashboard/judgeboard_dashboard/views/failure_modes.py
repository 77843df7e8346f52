"""The page Failure modes: how often people use each mode, by query type, judge version or week."""

from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Action
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.reviews.failure_modes import (
    GROUPS,
    FailureModeCount,
    failure_mode_counts,
    save_mode,
    suggested_modes,
)
from judgeboard.store.issues import KEYS, LONGEST_MODE, list_modes
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.session import ask_reviewer, page, reading, saving, store
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow, responses
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import caption, heading


def failure_modes() -> None:
    """Show the counts as a table whose rows open the answers. By week, also draw the share of each mode."""
    follow("failure_modes", own=("by",))
    by = switch("Count by", GROUPS, key="by")
    with reading() as connection:
        counts = failure_mode_counts(connection, by)
    if not counts:
        words = "Leads edit the list below. Reviewers tag answers on the review screen."
        empty_page("failure_modes", "No answer has a failure mode yet.", words)
        return
    if by == "week":
        shares = [(each.group, each.mode, 100 * (each.share.value or 0)) for each in counts if not each.where.no_time]
        frame = pd.DataFrame(shares, columns=["week", "Failure mode", "share"])
        st.line_chart(
            frame, x="week", y="share", color="Failure mode", x_label="Week from", y_label="% of reviewed answers"
        )
    columns: Columns[FailureModeCount] = {
        Column(GROUPS[by], width=180): lambda each: each.group,
        Column("Failure mode", width=190): lambda each: each.mode,
        Column("Answers", "count", width=90): lambda each: each.answers,
        Column("Share of reviewed answers", "share estimate", width=300): lambda each: each.share,
    }
    tagged = [each for each in counts if each.answers]
    table(
        Table.of(tagged, columns),
        [responses(each.where) for each in tagged],
        key=f"failure_modes_by_{by}",
        under=(
            "Click a row to open its answers, where you can open an issue. An answer counts once per failure mode.",
            "An answer counts in the week (UTC) of its question." if by == "week" else None,
            "Intervals: 95 % CI.",
        ),
    )


MODE_COLUMNS = {
    "name": st.column_config.TextColumn("Failure mode", width=200, required=True, max_chars=LONGEST_MODE),
    "key": st.column_config.SelectboxColumn("Key, with Shift", width=110, options=list(KEYS)),
    "description": st.column_config.TextColumn("Description", width=280),
    "retired": st.column_config.CheckboxColumn("Retired", width=80, default=False),
}


def failure_mode_list() -> None:
    """Show the failure modes as a table to edit, and frequent phrases of notes without a failure mode."""
    demand(Action.CHANGE_SETTINGS)
    with reading() as connection:
        modes, suggestions = list_modes(connection), suggested_modes(connection)
    heading("Failure modes")
    caption("Reviewers tag answers with these modes. Add a mode in the last row. Retired modes keep their tags.")
    rows = pd.DataFrame(
        [[getattr(mode, name) for name in MODE_COLUMNS] for mode in modes.values()], columns=list(MODE_COLUMNS)
    )
    texts = {name: "boolean" if name == "retired" else "str" for name in MODE_COLUMNS}
    # The time of the last change is in the key: a new table has no edits.
    stored = max((mode.at for mode in modes.values()), default=None)
    edited = st.data_editor(
        rows.astype(texts), column_config=MODE_COLUMNS, hide_index=True, num_rows="add", key=f"failure_modes_{stored}"
    )
    reviewer = ask_reviewer("Your name is stored with the change.", to=Action.CHANGE_SETTINGS)
    pressed = st.button("Save failure modes", type="primary", key="failure_modes_save", disabled=reviewer is None)
    if pressed and reviewer is not None:
        known = [tuple(getattr(mode, name) for name in MODE_COLUMNS) for mode in modes.values()]
        rows_after: list[list[Any]] = edited.astype(object).where(edited.notna(), None).to_numpy().tolist()
        with saving():
            for name, key, description, retired in rows_after:
                if (name, key, description, retired) not in known:
                    save_mode(store(), name or "", description, key=key, retired=bool(retired), by=reviewer)
    if suggestions:
        frequent = ", ".join(f"{words} ({n})" for words, n in suggestions.items())
        caption(f"Frequent phrases in notes that have no failure mode: {frequent}.")


with page():
    failure_modes()
    if permitted(Action.CHANGE_SETTINGS):
        failure_mode_list()
