"""The segment Plan of the Queue page: how many answers to label for a precision, and the queue that samples them."""

import streamlit as st

from judgeboard.agreement.plans import LabelPlan, PlannedStratum, draw_plan, plan_labels, plan_versions
from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput
from judgeboard.people.permissions import Action, may
from judgeboard.reports.output import Column, Columns, Table
from judgeboard.reviews.queues import LONGEST_NAME, MOST_ITEMS, QueueRules, create_queue
from judgeboard.stats.sample_size import Target
from judgeboard.store.filters import RowFilter
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.session import current_reviewer, problem, reading, saving, stacking_columns, store
from judgeboard_dashboard.widgets.navigation import go
from judgeboard_dashboard.widgets.tables import show_rows
from judgeboard_dashboard.widgets.texts import caption, empty, heading

TARGETS: dict[str, Target] = {"What the app does": "app", "These answers only": "these"}
COLUMNS: Columns[PlannedStratum] = {
    Column("Stratum", width=220): lambda stratum: stratum.title,
    Column("Answers", "count", width=85): lambda stratum: stratum.answers,
    Column("Labelled", "count", width=85, help="Labels that are a random sample"): lambda stratum: stratum.labelled,
    Column("To label", "count", width=85): lambda stratum: stratum.labels,
}


def plan_segment() -> None:
    """Show the plan for the share of bad answers; a lead can create its queue."""
    left, right = stacking_columns("plan", [1, 1.6], gap="large")
    with left:
        points = st.number_input(
            "Precision of the share of bad answers (± percentage points)",
            min_value=0.5,
            max_value=50.0,
            value=5.0,
            step=1.0,
            format="%.4g",
            key="plan_points",
            help="Half the width of the 95 % confidence interval.",
        )
        about = st.segmented_control(
            "The share is about",
            list(TARGETS),
            default=next(iter(TARGETS)),
            required=True,
            key="plan_target",
            help="Either the answers are a sample of what the app does, or only these answers count.",
        )
    with right:
        try:
            with reading() as connection:
                versions = plan_versions(connection)
                target = TARGETS.get(about or "", "app")
                (plan,) = plan_labels(connection, points / 100, versions=versions, target=target)
        except BadInput as error:
            empty(f"No plan: {error}.")
            return
        first, *others = plan.sentences
        show(tag("div", tag("b", first), cls="jb-say"))
        for sentence in others:
            show(tag("div", sentence, cls="jb-say"))
        if plan.more:
            heading("Answers to label")
            show_rows(Table.of(plan.strata, COLUMNS), key="plan_strata", most=8)
            _create_button(plan, points)


def _create_button(plan: LabelPlan, points: float) -> None:
    reviewer = current_reviewer()
    if reviewer is None or not may(reviewer, Action.MAKE_QUEUES):
        caption("Leads can create a queue of these answers here.")
        return
    with st.container(key="plan_create", horizontal=True, vertical_alignment="bottom", gap="small"):
        name = st.text_input(
            "Name of the queue",
            value=f"Rate to ±{points:g} points",
            key=f"plan_name_{points:g}",
            max_chars=LONGEST_NAME,
        )
        if st.button("Create this queue", key="plan_create_queue", type="primary", icon=":material/add:", wrap=False):
            _create(plan, name or "", reviewer)
    caption("Every stratum has the same probability. The judge is hidden until the review.")


def _create(plan: LabelPlan, name: str, reviewer: Reviewer) -> None:
    if plan.more > MOST_ITEMS:
        problem(f"Not created: a queue has at most {MOST_ITEMS:,} answers")
        return
    with saving("Not created"):
        with store().reading() as connection:
            drawn = draw_plan(connection, RowFilter())
        rules = QueueRules(name, order=QueueOrder.RANDOM, flagged_only=False, blind_judge=True, max_items=plan.more)
        create_queue(store(), rules, by=reviewer, plan=drawn)
        go(show="Queues")
