"""The rate of bad answers at the top of the page Agreement."""

import streamlit as st

from judgeboard.agreement.rates import rate_of
from judgeboard.people.permissions import Action
from judgeboard.reports.rates import JUDGE_ALONE, agreement_table, rate_table
from judgeboard.store.judge_versions import StoredVersion
from judgeboard.store.strata import rate_mark
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.queues import PLAN
from judgeboard_dashboard.session import kept_until_new_rows
from judgeboard_dashboard.widgets.navigation import Rows, open_button
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import bold_numbers, caption


def show_rate(version: StoredVersion, *, implied_labels: bool) -> None:
    """Show how many of all answers are bad, and per query type; where that is not known, what to label."""
    result = kept_until_new_rows(
        rate_mark,
        lambda connection: rate_of(connection, version, by="query_type", implied_labels=implied_labels),
        ("rate", version.id, implied_labels),
    )
    show(tag("div", bold_numbers(result.sentence), cls="jb-rate jb-wide"))
    if result.to_label is not None and permitted(Action.MAKE_QUEUES):
        open_button("Plan the labels", Rows("queue", {"show": PLAN}), key="rate_plan", icon=":material/playlist_add:")
    caption(*(each.text for each in result.warnings), result.left_out_sentence)
    if not result.n_labelled:
        return
    with st.expander("Bad answers by query type, and agreement in all answers", key="rate_tables"):
        if len(result.slices) > 1:
            table(rate_table(result, "Query type"), key="rate_types", name="rates", under=(JUDGE_ALONE,))
        if any(each.value is not None for each in result.in_all_answers.values()):
            table(
                agreement_table(result),
                key="rate_agreement",
                name="agreement_in_all",
                under=("Column “In all answers”: a label counts more if its group has many answers and few labels.",),
            )
