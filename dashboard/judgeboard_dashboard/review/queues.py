"""The list of queues, one queue with its people, and the form of a new queue."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import QueueOrder, QueueState
from judgeboard.errors import BadInput, JudgeboardError, NotAllowed, NotFound
from judgeboard.people.permissions import SIGNED_IN, Action, may, role_of, why_not
from judgeboard.reviews.checks import people_named
from judgeboard.reviews.queues import (
    ASKED,
    LONGEST_NAME,
    MOST_REVIEWS,
    ORDER_LABELS,
    CreatedQueue,
    QueueProgress,
    QueueRules,
    assign_queue,
    close_queue,
    create_queue,
    orders_of,
    queue_progress,
)
from judgeboard.store.filters import RowFilter, describe
from judgeboard.store.queues import ANSWERS, PAIRS, list_queues
from judgeboard.store.reviewers import Reviewer, reviewers_of
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.session import ORIGIN, ask_reviewer, problem, reading, store
from judgeboard_dashboard.widgets.filters import filter_in, query_of
from judgeboard_dashboard.widgets.navigation import Rows, pick_rows
from judgeboard_dashboard.widgets.tables import frame, height
from judgeboard_dashboard.widgets.texts import capital, caption, count, empty, heading, note, sentence, when

WAITING, QUEUES, SPLITS, MINE = "Waiting", "Queues", "Splits", "My reviews"
SEGMENTS = (WAITING, QUEUES, SPLITS, MINE)
_FIELD, _SEEN = "queue_segment", "queue_segment_seen"
FIELDS = ("show", "new", "split", "of", "on")
PAIRS_SEGMENT = "pairs"


@dataclass(frozen=True, slots=True)
class Place:
    """A segment; ``new``: the form of a new queue; ``split``: an item.

    ``of``: only the splits of this queue; ``on_pairs``: of one's own reviews those of pairs.
    """

    segment: str
    new: bool = False
    split: int | None = None
    of: str | None = None
    on_pairs: bool = False


def place() -> Place:
    """Show the segments and return where the address says one is.

    Raises:
        NotFound: It names no item.
    """
    segment = _segment()
    given = st.query_params.get("split")
    if given is not None and (not given.isdecimal() or len(given) > 18):
        raise NotFound(f"This address names no item: split={given}")
    return Place(
        segment,
        new=st.query_params.get("new") == "1",
        split=None if given is None else int(given),
        of=st.query_params.get("of"),
        on_pairs=st.query_params.get("on") == PAIRS_SEGMENT,
    )


def _segment() -> str:
    """Show the segments, kept equal to the address by hand: links within the page set what it says.

    A field that is bound to it would refuse that.
    """
    asked = st.query_params.get("show") or WAITING
    asked = asked if asked in SEGMENTS else WAITING
    if st.session_state.get(_SEEN) != asked or _FIELD not in st.session_state:
        st.session_state[_FIELD] = asked
    with st.container(key="segments"):
        field = st.segmented_control("Show", SEGMENTS, required=True, key=_FIELD, label_visibility="collapsed")
    chosen = field or asked
    if chosen != asked:
        go(show=None if chosen == WAITING else chosen, new=None, split=None, of=None, on=None)
    st.session_state[_SEEN] = chosen
    return chosen


def go(**parameters: str | None) -> None:
    """Change what the address says; what is None goes."""
    for name, value in parameters.items():
        if value is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = value


LIST_COLUMNS: dict[str, Any] = {
    "Queue": st.column_config.TextColumn(width=210),
    "Finished": st.column_config.ProgressColumn(
        width=120, min_value=0, max_value=1, format="percent", color="primary", help="Settled or adjudicated"
    ),
    "You": st.column_config.NumberColumn(width=55, format="localized", help="What you did"),
    "Waiting": st.column_config.NumberColumn(width=75, format="localized"),
    "Held": st.column_config.NumberColumn(width=60, format="localized", help="Somebody has them on the screen"),
    "Split": st.column_config.NumberColumn(width=60, format="localized", help="Reviewers differ: a lead decides"),
    "Items": st.column_config.NumberColumn(width=65, format="localized"),
    "Reviews": st.column_config.TextColumn(width=95, help="Given of needed"),
    "Given to": st.column_config.TextColumn(width=150),
    "How": st.column_config.TextColumn(width=480),
}
_LIST_KINDS = {
    "Queue": "str",
    "Finished": "Float64",
    "You": "Int64",
    "Waiting": "Int64",
    "Held": "Int64",
    "Split": "Int64",
    "Items": "Int64",
    "Reviews": "str",
    "Given to": "str",
    "How": "str",
}
PEOPLE_COLUMNS: dict[str, Any] = {
    "Person": st.column_config.TextColumn(width=200),
    "Done": st.column_config.NumberColumn(width=65, format="localized"),
    "Unsure": st.column_config.NumberColumn(width=70, format="localized"),
    "Skipped": st.column_config.NumberColumn(width=75, format="localized"),
    "Holds": st.column_config.NumberColumn(width=65, format="localized"),
    "Seconds": st.column_config.NumberColumn(width=90, format="%.0f", help="Per item, the median, absences left out"),
    "Last": st.column_config.TextColumn(width=115),
}
_PEOPLE_KINDS = {
    "Person": "str",
    "Done": "Int64",
    "Unsure": "Int64",
    "Skipped": "Int64",
    "Holds": "Int64",
    "Seconds": "Float64",
    "Last": "str",
}


def list_table(queues: Sequence[QueueProgress], reviewer_id: int | None) -> pd.DataFrame:
    """Return one row a queue."""
    return frame(_LIST_KINDS, (_line(one, reviewer_id) for one in queues))


def people_table(one: QueueProgress) -> pd.DataFrame:
    """Return one row for each person who has a queue or did something in it."""
    return frame(
        _PEOPLE_KINDS,
        (
            (
                person.reviewer.name,
                person.done,
                person.unsure,
                person.skipped,
                person.leases,
                person.median_seconds,
                None if person.last is None else when(person.last),
            )
            for person in one.people
        ),
    )


def how_far(one: QueueProgress) -> str:
    """Return the sentence about a queue."""
    noun = "pair" if one.queue.subject == "pairs" else "answer"
    if one.queue.state is QueueState.CLOSED:
        return f"Closed: {one.finished:,} of {count(one.items, noun)} finished, {count(one.reviews, 'review')} given."
    parts = [f"{one.waiting:,} of {count(one.items, noun)} wait" + ("s" if one.waiting == 1 else "")]
    if one.leased:
        parts.append(f"{one.leased:,} held by somebody")
    if one.conflict:
        parts.append(f"{one.conflict:,} split")
    return f"{', '.join(parts)}, {one.finished:,} finished."


def short_of(one: QueueProgress) -> str | None:
    """Return what the random sample lacks, None where it lacks nothing."""
    if not one.short:
        return None
    return (
        f"{count(one.sampled, 'answer')} in the random sample. {one.short:,} more "
        f"{'was' if one.short == 1 else 'were'} requested, but no random-sample flags are left for these query types, "
        "sources and days."
    )


def _line(one: QueueProgress, reviewer_id: int | None) -> tuple[Any, ...]:
    mine = next((person for person in one.people if person.reviewer.id == reviewer_id), None)
    return (
        one.queue.name if one.queue.state is QueueState.OPEN else f"{one.queue.name} (closed)",
        one.finished * 100 // one.items / 100 if one.items else None,  # whole per cent; 100 once all are
        0 if mine is None else mine.done,
        one.waiting,
        one.leased,
        one.conflict,
        one.items,
        f"{one.reviews:,} / {one.reviews_needed:,}",
        ", ".join(person.name for person in one.assigned_to) or "everybody",
        " · ".join(one.rules),
    )


def known_people() -> list[str]:
    """Return the names of those who sign in and may review, and of those who reviewed at this desk."""
    with reading() as connection:
        found = [one for origin in (SIGNED_IN, ORIGIN) for one in reviewers_of(connection, origin)]
    return sorted({one.name for one in found if one.origin != SIGNED_IN or may(one, Action.REVIEW)})


GOOD_NAME = "x"


def problems(given: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with each value, by the name of its field in `QueueRules`; empty where nothing is.

    An order made from scores in a queue that is blind to the judge is said beside the order.
    """
    found = {}
    for name, value in given.items():
        fields = {"name": GOOD_NAME, "order": QueueOrder.RANDOM, name: value}
        if reason := _refused(**fields):
            found[name] = reason
    if given.get("blind_judge") and (reason := _refused(name=GOOD_NAME, blind_judge=True, order=given["order"])):
        found["order"] = reason
    return found


def _refused(**fields: Any) -> str | None:
    try:
        QueueRules(**fields)
    except BadInput as error:
        return str(error)
    return None


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


def made_words(made: CreatedQueue) -> str:
    """Return what became of a new queue."""
    noun = "pair" if made.queue.subject == PAIRS else "answer"
    words = f"CreatedQueue: {made.queue.name} with {count(made.joined, noun)}"
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
        format_func=lambda one: capital(ORDER_LABELS[one]),
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
        given["repeat_rate"] = again / 100
        wrong["repeat_rate"] = st.container()


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


def chosen_queue(one: QueueProgress, reviewer: Reviewer) -> None:
    """Show one queue: how far it is, who did what, the button that starts."""
    queue, lead = one.queue, may(reviewer, Action.ASSIGN)
    is_open = queue.state is QueueState.OPEN
    with st.container(key="queue_chosen", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        show(tag("div", tag("b", queue.name), " · ", how_far(one), cls="jb-say jb-line"))
        if one.conflict and lead:
            st.button(
                count(one.conflict, "split"),
                key="queue_splits",
                icon=":material/call_split:",
                on_click=pick_rows,
                args=(Rows("queue", {"show": "Splits", "of": queue.name}),),
                wrap=False,
            )
        st.button(
            "Start reviewing",
            key="queue_review",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Enter",
            disabled=not is_open,
            on_click=pick_rows,
            args=(Rows("item", {"queue": queue.name}),),
            wrap=False,
        )
    show(tag("div", " · ".join(one.rules), cls="jb-cap"))
    short = short_of(one)
    if short is not None:
        note(short, lead="The random sample is short.")
    with st.container(key="stack_queue"):
        left, right = st.columns([1.3, 1], gap="medium")
    with left:
        _people(one)
    with right:
        if lead and is_open:
            _lead(one, reviewer)
        if queue.guidelines:
            heading("Guidelines")
            show(tag("div", queue.guidelines, cls="jb-reason"))


def _people(one: QueueProgress) -> None:
    heading("People")
    if not one.people:
        show(tag("div", "Nobody has taken anything yet.", cls="jb-mut"))
        return
    rows = people_table(one)
    st.dataframe(
        rows,
        key=f"queue_people_{one.queue.id}",
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows), most=8),
        column_config=PEOPLE_COLUMNS,
    )


def _lead(one: QueueProgress, reviewer: Reviewer) -> None:
    """Who may take from it, and its end."""
    queue = one.queue
    heading("Given to")
    now = [person.name for person in one.assigned_to]
    key = f"queue_given_{queue.id}_{len(now)}"
    with st.container(key="queue_assign", horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = st.multiselect(
            "Given to",
            sorted({*known_people(), *now}),
            default=now,
            key=key,
            accept_new_options=True,
            placeholder="Everybody",
            label_visibility="collapsed",
            width="stretch",
        )
        if st.button("Save", key="queue_assign_save", disabled=set(wanted) == set(now), wrap=False):
            _assign(one, wanted, reviewer)
        with st.popover("Close", icon=":material/lock:"):
            show(tag("div", "A closed queue hands out nothing more and stays closed. What was said in it stands."))
            if st.button(f"Close {as_label(queue.name)}", key="queue_close", wrap=False):
                close_queue(store(), queue.name, by=reviewer)
                st.rerun()
    if queue.blind:
        caption("To those whom a blind queue is given by name, its answers are hidden everywhere.")


def _assign(one: QueueProgress, wanted: list[str], reviewer: Reviewer) -> None:
    try:
        people = people_named(store(), wanted)
        ids = {person.id for person in people}
        gone = [person for person in one.assigned_to if person.id not in ids]
        assign_queue(store(), one.queue.name, by=reviewer, add=people, remove=gone)
    except JudgeboardError as error:
        problem(f"Not saved: {error}")
        return
    st.rerun()


MOST = 50


def queue_list() -> None:
    """Show the queues that the person may take from; a lead sees all."""
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    lead = may(reviewer, Action.MAKE_QUEUES)
    say_made()
    with st.container(key="queues_top", horizontal=True, vertical_alignment="center", gap="small"):
        closed = st.toggle("Closed ones too", key="queues_closed")
        if lead:
            st.button(
                "New queue", key="queues_new", icon=":material/add:", on_click=go, kwargs={"new": "1"}, wrap=False
            )
    found = _found(reviewer, lead=lead, closed=closed)
    if not found:
        empty(
            "No queue is open.",
            *(
                ["Make one: on a page with New queue, or in a terminal: `judgeboard queue create NAME`"]
                if lead
                else ["A lead makes queues. What no queue asks for is under Waiting."]
            ),
        )
        return
    names = [one.queue.name for one in found]
    rows = list_table(found, reviewer.id)
    picked = st.dataframe(
        rows,
        key=f"queues_{hashlib.sha256(repr(names).encode()).hexdigest()[:8]}",  # a choice is a place in these names
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows), most=8),
        selection_mode="single-row-required",
        on_select="rerun",
        column_config=LIST_COLUMNS,
    )
    chosen = picked.selection.rows
    chosen_queue(found[chosen[0] if chosen and chosen[0] < len(found) else 0], reviewer)


def _found(reviewer: Reviewer, *, lead: bool, closed: bool) -> list[QueueProgress]:
    with reading() as connection:
        queues = list_queues(connection, only_open=not closed)[:MOST]
        found = [queue_progress(connection, queue) for queue in queues]
    mine = [
        one for one in found if lead or not one.assigned_to or reviewer.id in {person.id for person in one.assigned_to}
    ]
    waiting = sum(one.waiting for one in mine if one.queue.state is QueueState.OPEN)
    open_ones = sum(one.queue.state is QueueState.OPEN for one in mine)
    if open_ones:
        sentence(
            f"{count(open_ones, 'queue')} {'is' if open_ones == 1 else 'are'} open, {count(waiting, 'item')} wait."
        )
    if len(queues) == MOST:
        caption(f"The newest {MOST:,}; `judgeboard queue list` has all.")
    return mine
