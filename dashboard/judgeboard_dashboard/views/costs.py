"""The page Cost: what the calls of runs cost, by week, purpose and judge version."""

import streamlit as st

from judgeboard.measure.notes import paragraph
from judgeboard.reports.costs import costs, costs_notes, costs_table
from judgeboard.store.clock import utc_now
from judgeboard_dashboard.session import page, reading
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import follow
from judgeboard_dashboard.widgets.tables import choose_row, foot
from judgeboard_dashboard.widgets.texts import caption, heading, sentence

PAGE = "costs"
TALL = 210  # px of the chart


def cost() -> None:
    """Show the cost of all calls, the lines by purpose and judge version, and the weeks of the selected one."""
    follow(PAGE)
    with reading() as connection:
        shown = costs(connection, utc_now())
    if not shown.lines:
        empty_page(PAGE, "No calls yet. This page shows what judging, audits and comparisons cost, week by week.")
        return
    sentence(paragraph(costs_notes(shown)))
    lines = [shown.total, *shown.lines]
    table = costs_table(lines)
    chosen = lines[choose_row(table, key=f"costs_{len(lines)}", most=8)]
    foot(table, PAGE)
    if chosen.cost_micro is None:
        caption("The cost of these calls is unknown. To set a price, use `judgeboard.toml` or `--price`.")
        return
    if not chosen.cost_micro:
        known = f"{chosen.calls - chosen.unpriced:,} of these calls cost nothing. The cost of the others is unknown."
        caption(known if chosen.unpriced else "These calls cost nothing.")
        return
    heading("Cost per week" if chosen is lines[0] else f"Cost per week: {chosen.purpose}, {chosen.judge}")
    from judgeboard_dashboard.widgets.charts import framed  # slow to import
    from judgeboard_dashboard.widgets.charts.trend import week_chart

    st.altair_chart(framed(week_chart(shown.weeks, chosen.by_week), TALL), theme=None)
    caption("A week begins on Monday, UTC. All calls of a run count in the week in which the run started.")


with page():
    cost()
