"""How people review: one's own work on My reviews, and everybody's on the page People, where leads reassign queues."""

from collections.abc import Sequence

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.people.permissions import Action
from judgeboard.people.roster import people_named
from judgeboard.reports.output import Column, Table
from judgeboard.reports.people import SAME, seconds_words, share_words, work_table
from judgeboard.reviews.person_work import DAYS, PersonWork, Streak, everybodys_work, person_work, reassign
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import as_label, show, tag
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.review.queues import known_people
from judgeboard_dashboard.session import ask_reviewer, reading, store
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.tables import choose_row, csv_button, show_rows
from judgeboard_dashboard.widgets.texts import capital, caption, count, day, heading, sentence, when

ALL = "All their queues"
_RESULT = "reassigned"
_QUEUE_COLUMNS = (Column("Queue", width=200), Column("Done", "count", width=60), Column("Left", "count", width=60))
_DAY_COLUMNS = (Column("Day (UTC)", width=110), Column("Reviews", "count", width=80))
_FIGURE_COLUMNS = (Column("Reviews agree", width=200, help=f"{SAME}."), Column("Share", width=200))


def own_work(reviewer: Reviewer) -> None:
    """Show a person's own progress, agreement and pace; nothing before their first review."""
    with reading() as connection:
        work = person_work(connection, reviewer)
    if not work.reviews:
        return
    given = sum(number for _, number in work.days)
    pace = "" if work.seconds.value is None else f" Median time per item: {seconds_words(work.seconds)}."
    sentence(f"{count(given, 'review')} in the last {DAYS} days.{pace}")
    for streak in work.streaks:
        show(tag("div", streak_words(streak), cls="jb-cap"))
    with st.container(key="stack_own_work"):
        left, middle, right = st.columns([1.3, 1, 0.7], gap="medium")
    with left:
        _agreement(work, "Your agreement")
    with middle:
        _queues(work, "own_queues")
    with right:
        if work.days:
            days = tuple((day(at), number) for at, number in work.days)
            show_rows(Table(_DAY_COLUMNS, days), key=f"own_days_{len(days)}", most=4)
    caption(f"Agreement is of your latest {work.reviews:,} reviews, with 95 % intervals.")


def _agreement(work: PersonWork, whose: str) -> None:
    compared = {
        "with gold labels (adjudicated)": work.gold,
        "with their own (repeated items)": work.own,
        "with other people": work.others,
        "with gold labels (training)": work.training,
    }
    shares = tuple((name, share_words(estimate)) for name, estimate in compared.items() if estimate.value is not None)
    if shares:
        show_rows(Table(_FIGURE_COLUMNS, shares), key=f"agreement_{work.person.id}")
    else:
        caption(f"{whose} is shown once items were adjudicated, repeated, or reviewed by others.")


def streak_words(streak: Streak) -> str:
    """Return "12 times Confirm in a row in 40 s, 12 Mar 09:41"."""
    return (
        f"{streak.reviews} times {capital(streak.decision)} in a row in {streak.seconds:.0f} s, {when(streak.at)} UTC."
    )


def people() -> None:
    """Show the work of everybody; of the selected person the queues, which a lead can reassign."""
    demand(Action.ASSIGN)
    lead = ask_reviewer("Your name is stored with the change.")
    with reading() as connection:
        everybody = everybodys_work(connection)
    if not everybody:
        words = "People are listed here with their load, pace and agreement."
        empty_page("people", "Nobody has reviewed in a queue yet.", words)
        return
    left = sum(work.left for work in everybody)
    people = "1 person" if len(everybody) == 1 else f"{len(everybody)} people"
    sentence(f"{people}, {count(left, 'item')} left in assigned queues.")
    key = f"people_{len(everybody)}_{everybody[0].person.id}"
    rows = work_table(everybody, words=True).without_empty()  # what nobody has takes no width
    chosen = everybody[choose_row(rows, key=key, most=10, placeholder="–")]
    with st.container(key="foot_people", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        caption("Figures are of each person’s latest 1,000 reviews, with 95 % intervals. “–”: nothing to compare.")
        csv_button(lambda: work_table(everybody), "people", key="people_csv")
    result: str | None = st.session_state.pop(_RESULT, None)
    if result is not None:
        show(tag("div", result, cls="jb-say", role="status"))
    heading(f"{chosen.person.name}: queues and agreement")
    with st.container(key="stack_person"):
        left_side, right_side = st.columns(2, gap="medium")
    with left_side:
        _queues(chosen, f"person_queues_{chosen.person.id}")
        for streak in chosen.streaks:
            show(tag("div", streak_words(streak), cls="jb-cap"))
        if chosen.queues and lead is not None:
            _reassign(chosen, lead)
    with right_side:
        _agreement(chosen, "Agreement")


def _queues(work: PersonWork, key: str) -> None:
    if not work.queues:
        caption("No open queue is assigned to this person." if key != "own_queues" else "No queue is open for you.")
        return
    rows = tuple((each.queue.name, each.done, each.left) for each in work.queues)
    show_rows(Table(_QUEUE_COLUMNS, rows), key=f"{key}_{len(rows)}", most=4)


def _reassign(work: PersonWork, lead: Reviewer) -> None:
    person = work.person
    others = [name for name in known_people() if name != person.name]
    with st.container(key="reassign", horizontal=True, vertical_alignment="bottom", gap="small"):
        names = [ALL, *(each.queue.name for each in work.queues)]
        queue = st.selectbox("Reassign", names, key=f"reassign_queue_{person.id}", format_func=as_label, width=220)
        to = st.selectbox(
            "To",
            others,
            index=None,
            key=f"reassign_to_{person.id}",
            placeholder="Person",
            format_func=as_label,
            width=200,
        )
        queues = [] if queue == ALL else [queue]
        st.button(
            "Reassign",
            key="reassign_button",
            type="primary",
            icon=":material/swap_horiz:",
            disabled=to is None,
            help="The other person gets the items that are left, leased ones too. Reviews keep their author.",
            on_click=_move,
            args=(person, to, queues, lead),
            wrap=False,
        )


def _move(person: Reviewer, to: str, queues: Sequence[str], lead: Reviewer) -> None:
    try:
        [other] = people_named(store(), [to], new=False)
        moved = reassign(store(), by=lead, person=person, to=other, queues=queues)
        st.session_state[_RESULT] = f"Reassigned from {person.name} to {other.name}: {', '.join(moved)}."
    except JudgeboardError as error:
        st.session_state[_RESULT] = f"Not reassigned: {error}"
