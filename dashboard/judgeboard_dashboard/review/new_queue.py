"""The form of a new queue."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from judgeboard.domain import QueueOrder
from judgeboard.errors import BadInput, JudgeboardError, NotAllowed
from judgeboard.people.permissions import Action, may, role_of, why_not
from judgeboard.reviews.checks import people_named
from judgeboard.reviews.queues import (
    ASKED,
    LONGEST_NAME,
    MOST_REVIEWS,
    ORDER_LABELS,
    QueueRules,
    create_queue,
    orders_of,
)
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.queues import ANSWERS, PAIRS
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.review.queues import CREATED, OPEN_FLAGS, go, known_people
from judgeboard_dashboard.session import ask_reviewer, problem, store
from judgeboard_dashboard.widgets.filters import filter_in, query_of
from judgeboard_dashboard.widgets.navigation import Rows, pick_rows
from judgeboard_dashboard.widgets.texts import capital, caption, count, heading

GOOD_NAME = "x"


def problems(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with each value, by its field in `QueueRules`.

    An order by scores in a queue that is blind to the judge is a problem of the order.
    """
    reasons = {}
    for name, value in values.items():
        fields = {"name": GOOD_NAME, "order": QueueOrder.RANDOM, name: value}
        if reason := _refusal(**fields):
            reasons[name] = reason
    if values.get("blind_judge") and (reason := _refusal(name=GOOD_NAME, blind_judge=True, order=values["order"])):
        reasons["order"] = reason
    return reasons


def _refusal(**fields: Any) -> str | None:
    try:
        QueueRules(**fields)
    except BadInput as error:
        return str(error)
    return None


SUBJECTS = {ANSWERS: "Flagged answers", PAIRS: "Pairs"}
GRADES = {"label": "Label", "groundedness": "Groundedness", "quality": "Quality"}


def new_queue() -> None:
    """Show the form that creates a queue.

    Raises:
        NotAllowed: The reviewer is no lead.
    """
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    if not may(reviewer, Action.MAKE_QUEUES):
        raise NotAllowed(why_not(Action.MAKE_QUEUES, role_of(reviewer)))
    where, _ = filter_in({name: st.query_params.get_all(name) for name in st.query_params})
    with st.container(key="new_queue_top", horizontal=True, vertical_alignment="center", gap="small"):
        heading("New queue")
        st.button("Back to the queues", key="new_queue_back", type="tertiary", on_click=go, kwargs={"new": None})
    with st.container(key="stack_new_queue"):
        left, right = st.columns(2, gap="large")
    values: dict[str, Any] = {}
    places: dict[str, Any] = {}  # where the problem of a field is shown
    with right:
        _blind(values)  # first: the possible orders depend on it
    with left:
        _what(values, places, where)
        _how_many(values, places)
    with right:
        _grades(values, places)
        people = st.multiselect(
            "Assign to",
            known_people(),
            key="nq_people",
            accept_new_options=True,
            placeholder="Everybody",
        )
        _lease(values, places)
        _guidelines(values, places)
    created = st.button("Create queue", key="nq_create", type="primary", icon=":material/add:")
    reasons = problems(values)
    for name, place in places.items():
        if name in reasons and (name != "name" or values["name"] or created):
            with place:
                show(tag("div", capital(reasons[name]) + ".", cls="jb-wrong"))
    if created and not reasons:
        _create(QueueRules(**values), people, reviewer)


def _what(values: dict[str, Any], places: dict[str, Any], where: RowFilter) -> None:
    values["name"] = st.text_input("Name", key="nq_name", placeholder="March audit", max_chars=LONGEST_NAME)
    places["name"] = st.container()
    subject = st.segmented_control(
        "Items",
        list(SUBJECTS),
        format_func=SUBJECTS.__getitem__,
        default=ANSWERS,
        required=True,
        key="nq_subject",
    )
    values["subject"] = subject or ANSWERS
    values["where"] = where
    noun = "pairs" if values["subject"] == PAIRS else "flagged answers"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        words = f"all {noun}" if where == RowFilter() else f"{noun}: {describe(where)}"
        show(tag("div", tag("b", "Which: "), words, cls="jb-say"))
        st.button(
            f"Filter them under {OPEN_FLAGS}",
            key="nq_narrow",
            type="tertiary",
            on_click=pick_rows,
            args=(Rows("queue", query_of(where)),),
            wrap=False,
        )
    if values["subject"] == PAIRS:
        caption("Pairs are chosen by query type, source and id.")
    blind = values["blind_judge"] or values["subject"] == PAIRS
    order = st.selectbox(
        "Order",
        orders_of(blind=blind),
        key=f"nq_order_{blind}",
        format_func=lambda order: capital(ORDER_LABELS[order]),
    )
    values["order"] = order or QueueOrder.OLDEST
    places["order"] = st.container()


def _how_many(values: dict[str, Any], places: dict[str, Any]) -> None:
    values["needed"] = int(st.number_input("Reviews per item", 1, MOST_REVIEWS, 1, key="nq_needed"))
    if values["needed"] > 1:
        overlap = st.number_input(
            "Share of items with that many reviews (%); the others need one",
            value=100.0,
            step=10.0,
            format="%.4g",
            key="nq_overlap",
        )
        values["overlap"] = overlap / 100
        places["overlap"] = st.container()
    if values["subject"] == ANSWERS:
        sampling_rate = st.number_input(
            "Randomly sampled answers (%)",
            value=0.0,
            step=5.0,
            format="%.4g",
            key="nq_sample",
            help="Randomly sampled answers of the same query types, sources and days. They show what the rules miss.",
        )
        values["sampling_rate"] = sampling_rate / 100
        places["sampling_rate"] = st.container()
        again = st.number_input(
            "Repeated after a week (%)",
            value=0.0,
            step=1.0,
            format="%.4g",
            key="nq_again",
            help="Probability that reviewers get one of their own items again, unannounced: shows self-agreement",
        )
        values["repeat_rate"] = again / 100
        places["repeat_rate"] = st.container()


def _lease(values: dict[str, Any], places: dict[str, Any]) -> None:
    minutes = st.number_input("Lease (minutes without activity)", value=10.0, step=5.0, format="%.4g", key="nq_minutes")
    values["lease_seconds"] = round(minutes * 60)
    places["lease_seconds"] = st.container()


def _blind(values: dict[str, Any]) -> None:
    values["blind_judge"] = st.checkbox(
        "Blind to the judge",
        key="nq_blind_judge",
        help="Reviewers see no judgment of an answer, on any page, until they have graded it",
    )
    values["blind_people"] = st.checkbox(
        "Blind to other people",
        key="nq_blind_people",
        help="Reviewers see no other review of an answer until they have graded it",
    )
    values["reveal"] = (
        st.checkbox(
            "Show the judge after the grade",
            value=True,
            key="nq_reveal",
            help="Reviewers may keep or change their grade; the first one counts. Shows how far they follow the judge.",
        )
        if values["blind_judge"]
        else True
    )


def _grades(values: dict[str, Any], places: dict[str, Any]) -> None:
    if values["subject"] == PAIRS:
        return
    chosen = st.pills(
        "Grades",
        ASKED,
        selection_mode="multi",
        default=["groundedness", "quality"],
        format_func=lambda name: GRADES[name],
        key="nq_grades",
    )
    dimensions = st.text_input(
        "Dimensions of a rubric, 1 to 5", key="nq_dimensions", placeholder="tone, completeness", max_chars=400
    )
    named = [name.strip() for name in (dimensions or "").split(",") if name.strip()]
    values["grades"] = tuple(dict.fromkeys([*chosen, *named]))
    places["grades"] = st.container()


def _guidelines(values: dict[str, Any], places: dict[str, Any]) -> None:
    text = st.text_area(
        "Guidelines",
        key="nq_guidelines",
        height=140,
        placeholder="Shown beside every item as plain text: what counts as a problem here",
    )
    values["guidelines"] = (text or "").strip() or None
    places["guidelines"] = st.container()


def _create(rules: QueueRules, people: list[str], reviewer: Reviewer) -> None:
    try:
        created = create_queue(store(), rules, by=reviewer, assigned=people_named(store(), people))
    except JudgeboardError as error:
        problem(f"Not created: {error}.")
        return
    items = count(created.joined, "pair" if rules.subject == PAIRS else "answer")
    sample = f" ({created.sampled:,} randomly sampled)" if created.sampled else ""
    message = f"Created: {created.queue.name} with {items}{sample}."
    if created.short:
        message += f" {created.short:,} more were requested, but no random-sample flags are left."
    st.session_state[CREATED] = message
    go(new=None)
    st.rerun()
