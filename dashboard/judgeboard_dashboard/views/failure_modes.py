"""The page Failure modes: how often people use each mode, by query type, judge version or week."""

import pandas as pd
import streamlit as st

from judgeboard.reports.output import Column, Columns, Table
from judgeboard.reviews.failure_modes import GROUPS, FailureModeCount, failure_mode_counts
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.filters import switch
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow, responses
from judgeboard_dashboard.widgets.tables import table


def failure_modes() -> None:
    """Show the counts as a table whose rows open the answers. By week, also draw the share of each mode."""
    follow("failure_modes", own=("by",))
    by = switch("Count by", GROUPS, key="by")
    with reading() as connection:
        counts = failure_mode_counts(connection, by)
    if not counts:
        words = "Leads edit the list on Settings. Reviewers tag answers on the review screen."
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
        Column("Failure mode", width=220): lambda each: each.mode,
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


with page("Failure modes"):
    failure_modes()
