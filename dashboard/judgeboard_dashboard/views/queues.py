"""The view Queues: the review queues with progress, the forms of a new queue, and the plan of one for a figure."""

import streamlit as st

from judgeboard.errors import BadInput
from judgeboard.flags.rules import RANDOM_SAMPLE
from judgeboard.measure import notes
from judgeboard.measure.label_plans import plan_number, time_words
from judgeboard.measure.plans import draw_plan, plans_for_rate
from judgeboard.measure.sample import log_revision
from judgeboard.measure.samples import judging_version
from judgeboard.people.roster import people_named
from judgeboard.reviews.queues import create_queue
from judgeboard.settings.sections import PLANNED
from judgeboard.stats.rates import Target
from judgeboard.store.filters import RowFilter
from judgeboard.store.queues import LONGEST_NAME, new_queue
from judgeboard_dashboard.evidence import show_div, tag
from judgeboard_dashboard.review.queues import known_people, new_queue_head, queue_form, queue_list
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    in_row,
    kept_until_new_rows,
    page,
    read_all,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.filters import FIELDS, query_of
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import PLANNED_ITEMS, Rows, follow, go, open_button
from judgeboard_dashboard.widgets.tables import show_rows
from judgeboard_dashboard.widgets.texts import caption, confirm, count, heading

USUAL_REACH = 0.07
"""The precision at which the slider starts: plus or minus 7 percentage points."""

TARGETS: dict[str, Target] = {"What the app does": "app", "These answers only": "these"}


def plan_queue() -> None:
    """Show how many labels give which precision of the share of bad answers; a lead can create the queue."""
    left, right = stacking_columns("plan", [1, 1.6], gap="large")
    with left:
        amount = st.container()
        about = st.segmented_control(
            "The share is about",
            list(TARGETS),
            default=next(iter(TARGETS)),
            required=True,
            key="plan_target",
            help="Either the answers are a sample of what the app does, or only these answers count.",
        )
    target = TARGETS.get(about or "", "app")
    try:
        plans = kept_until_new_rows(
            log_revision,
            lambda connection: plans_for_rate(
                connection, judging_version(connection), target=target
            ),
            ("plans", target),
        )
    except BadInput as error:
        with right:
            empty_page(f"No plan: {error}.")
        return
    with amount:
        # The slider over the plans starts at the first plan that is precise enough for most questions.
        by_number = {plan_number(each): each for each in plans}
        plan = plans[0]
        if len(by_number) > 1:
            usual = next(
                (each for each in plans if (each.figure("reach").value or 0) <= USUAL_REACH),
                plans[-1],
            )
            label_count = st.select_slider(
                "Answers to label",
                options=list(by_number),
                value=plan_number(usual),
                format_func=lambda number: f"{number:,}",
                key=f"plan_labels_{target}_{plan_number(plans[-1])}",
                help="More labels give a narrower 95 % confidence interval.",
            )
            plan = by_number[label_count]
    with right:
        show_div("jb-say", tag("b", plan.sentence))
        for each in (*plan.caveats, *plan.next):
            if "command" not in each.values:
                show_div("jb-say", each.text)
        if plan.headline.code == "plan_sample_first":
            sample = Rows("open_flags", query_of(RowFilter(rules=(RANDOM_SAMPLE,))))
            open_button(
                "Open the random sample", sample, key="plan_sample", icon=":material/play_arrow:"
            )
        if plan_number(plan):
            if (minutes := plan.figure("minutes").value) is not None:
                caption(f"Time: about {time_words(minutes)}.")
            heading("Where they come from")
            show_rows(plan.table("answers", "labelled", "more"), key="plan_strata", most=8)
            _create_button(plan_number(plan))


def _create_button(labels: int) -> None:
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    with in_row("plan_create", align="bottom"):
        name = st.text_input(
            "Name of the queue",
            value=f"Share of bad answers: {labels:,} labels",
            key=f"plan_name_{labels}",
            max_chars=LONGEST_NAME,
        )
        people = st.multiselect(
            "Assign to",
            known_people(),
            [reviewer.name],
            key="plan_people",
            accept_new_options=True,
            placeholder="Choose its reviewers",
        )
        if button(
            "Create this queue", key="plan_create_queue", type="primary", icon=":material/add:"
        ):
            with saving("Not created"):
                plan = read_all(draw_plan, RowFilter())
                new = new_queue(name or "", **PLANNED.given() | {"max_items": labels})
                assigned = people_named(store(), people, by=reviewer)
                created = create_queue(store(), new, by=reviewer, assigned=assigned, plan=plan)
                start = f"Created “{created.queue.name}” with {count(created.joined, 'answer')}."
                counts = {"labelled": created.labelled, "joined": created.joined}
                again = notes.note("labelled_again", **counts).text
                confirm("queues", f"{start} {again}" if created.labelled else start)
                go(new=None)
    caption(
        "Reviewers decide with one key per answer. They see these answers only in the queue, without the judge."
    )


with page():
    follow("queues", own=(*FIELDS, "new"))
    new = st.query_params.get("new")
    if new:
        new_queue_head(new)
    if new == PLANNED_ITEMS:
        plan_queue()
    elif new:
        queue_form()
    else:
        queue_list()
