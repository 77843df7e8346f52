"""The form of a new queue: every rule a field, what is wrong with one said under it."""

from typing import Any

import streamlit as st

from judgeboard.domain import QueueOrder
from judgeboard.errors import JudgeboardError, NotAllowed
from judgeboard.filter_words import describe
from judgeboard.filters import RowFilter
from judgeboard.people import Action, may, role_of
from judgeboard.people.permissions import why_not
from judgeboard.queues import Made, QueueRules, create_queue, people_named
from judgeboard.queues.rule_words import ORDER_WORDS
from judgeboard.queues.rules import ASKED, LONGEST_NAME, MOST_REVIEWS, orders_of
from judgeboard.review import Reviewer
from judgeboard.store.queues.queue_rows import ANSWERS, PAIRS
from judgeboard_dashboard.address import filter_in, query_of
from judgeboard_dashboard.errors import problem
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.picking import Rows, pick_rows
from judgeboard_dashboard.queues.asked_rules import problems
from judgeboard_dashboard.queues.known_people import known_people
from judgeboard_dashboard.queues.place import go
from judgeboard_dashboard.saying import caption, heading
from judgeboard_dashboard.session import ask_reviewer, store
from judgeboard_dashboard.words import capital, count

SUBJECTS = {ANSWERS: "Flagged answers", PAIRS: "Pairs"}
GRADES = {"label": "Label", "groundedness": "Groundedness", "quality": "Quality"}
MADE = "queue_made"


def new_queue() -> None:
    """Show the form; a press makes the queue.

    Raises:
        NotAllowed: Only leads make queues.
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
    given: dict[str, Any] = {}
    wrong: dict[str, Any] = {}
    with right:
        _blind(given)  # asked first: the orders that there are depend on it
    with left:
        _what(given, wrong, where)
        _how_many(given, wrong)
    with right:
        _asked(given, wrong)
        people = st.multiselect(
            "Give it to",
            known_people(),
            key="nq_people",
            accept_new_options=True,
            placeholder="Everybody",
        )
        _held(given, wrong)
        _guidelines(given, wrong)
    said = problems(given)
    for name, place in wrong.items():
        if name in said and (name != "name" or given["name"]):
            with place:
                show(tag("div", capital(said[name]) + ".", cls="jb-wrong"))
    if st.button("Make the queue", key="nq_make", type="primary", icon=":material/add:"):
        if not said:
            _make(QueueRules(**given), people, reviewer)
        elif not given["name"]:
            with wrong["name"]:
                show(tag("div", capital(said["name"]) + ".", cls="jb-wrong"))


def made_words(made: Made) -> str:
    """Return what became of a new queue."""
    noun = "pair" if made.queue.subject == PAIRS else "answer"
    words = f"Made: {made.queue.name} with {count(made.joined, noun)}"
    if made.sampled:
        words += f", {made.sampled:,} of them drawn at random"
    if made.short:
        words += f"; {made.short:,} more of the random sample were wanted and are not there"
    return f"{words}."


def _what(given: dict[str, Any], wrong: dict[str, Any], where: RowFilter) -> None:
    given["name"] = st.text_input("Name", key="nq_name", placeholder="March audit", max_chars=LONGEST_NAME)
    wrong["name"] = st.container()
    subject = st.segmented_control(
        "It holds",
        list(SUBJECTS),
        format_func=SUBJECTS.__getitem__,
        default=ANSWERS,
        required=True,
        key="nq_subject",
    )
    given["subject"] = subject or ANSWERS
    given["where"] = where
    noun = "pairs" if given["subject"] == PAIRS else "flagged answers"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        words = f"all {noun}" if where == RowFilter() else f"{noun}: {describe(where)}"
        show(tag("div", tag("b", "Which: "), words, cls="jb-say"))
        st.button(
            "Narrow them under Waiting",
            key="nq_narrow",
            type="tertiary",
            on_click=pick_rows,
            args=(Rows("queue", query_of(where)),),
            wrap=False,
        )
    if given["subject"] == PAIRS:
        caption("Pairs are chosen by query type, source and id.")
    blind = given["blind_judge"] or given["subject"] == PAIRS
    order = st.selectbox(
        "Order",
        orders_of(blind=blind),
        key=f"nq_order_{blind}",
        format_func=lambda one: capital(ORDER_WORDS[one]),
    )
    given["order"] = order or QueueOrder.OLDEST
    wrong["order"] = st.container()


def _how_many(given: dict[str, Any], wrong: dict[str, Any]) -> None:
    given["needed"] = int(st.number_input("Reviews of each", 1, MOST_REVIEWS, 1, key="nq_needed"))
    if given["needed"] > 1:
        overlap = st.number_input(
            "Of how many of them (%); the others need one", value=100.0, step=10.0, format="%.4g", key="nq_overlap"
        )
        given["overlap"] = overlap / 100
        wrong["overlap"] = st.container()
    if given["subject"] == ANSWERS:
        sampling_rate = st.number_input(
            "Randomly sampled answers (%)",
            value=0.0,
            step=5.0,
            format="%.4g",
            key="nq_mix",
            help="From the random sample, of the same query types, sources and days: shows what no rule flags",
        )
        given["sampling_rate"] = sampling_rate / 100
        wrong["sampling_rate"] = st.container()
        again = st.number_input(
            "Served again to who reviewed it a week before (%)",
            value=0.0,
            step=1.0,
            format="%.4g",
            key="nq_again",
            help="Unannounced: shows whether people agree with themselves",
        )
        given["again_share"] = again / 100
        wrong["again_share"] = st.container()


def _held(given: dict[str, Any], wrong: dict[str, Any]) -> None:
    minutes = st.number_input(
        "Held for (minutes without a sign)", value=10.0, step=5.0, format="%.4g", key="nq_minutes"
    )
    given["lease_seconds"] = round(minutes * 60)
    wrong["lease_seconds"] = st.container()


def _blind(given: dict[str, Any]) -> None:
    given["blind_judge"] = st.checkbox(
        "Blind to the judge",
        key="nq_blind_judge",
        help="Until they graded, reviewers are shown nothing of what judges said, on any page",
    )
    given["blind_people"] = st.checkbox(
        "Blind to other people", key="nq_blind_people", help="Until they graded, nobody is shown what others gave"
    )
    given["reveal"] = (
        st.checkbox(
            "Show the judge after the grade",
            value=True,
            key="nq_reveal",
            help="They may keep or change their grade; the first one counts. It measures how far people follow a judge",
        )
        if given["blind_judge"]
        else True
    )


def _asked(given: dict[str, Any], wrong: dict[str, Any]) -> None:
    if given["subject"] == PAIRS:
        return
    chosen = st.pills(
        "What is asked for",
        ASKED,
        selection_mode="multi",
        default=["groundedness", "quality"],
        format_func=lambda name: GRADES[name],
        key="nq_grades",
    )
    dimensions = st.text_input(
        "and dimensions of a rubric, 1 to 5", key="nq_dimensions", placeholder="tone, completeness", max_chars=400
    )
    named = [one.strip() for one in (dimensions or "").split(",") if one.strip()]
    given["grades"] = tuple(dict.fromkeys([*chosen, *named]))
    wrong["grades"] = st.container()


def _guidelines(given: dict[str, Any], wrong: dict[str, Any]) -> None:
    text = st.text_area(
        "Guidelines",
        key="nq_guidelines",
        height=140,
        placeholder="What reviewers read beside every item, as plain text: what counts as a problem here",
    )
    given["guidelines"] = (text or "").strip() or None
    wrong["guidelines"] = st.container()


def _make(rules: QueueRules, people: list[str], reviewer: Reviewer) -> None:
    try:
        made = create_queue(store(), rules, by=reviewer, assigned=people_named(store(), people))
    except JudgeboardError as error:
        problem(f"Not made: {error}.")
        return
    st.session_state[MADE] = made_words(made)
    go(new=None)
    st.rerun()


def say_made() -> None:
    """Say once what became of the queue that was just made."""
    said: str | None = st.session_state.pop(MADE, None)
    if said:
        show(tag("div", said, cls="jb-say"))
