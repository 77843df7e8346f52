"""Why people and the judge differ: one's own reason for an answer, and how often each was given."""

import secrets
from collections.abc import Sequence

import streamlit as st

from judgeboard.disagreement import Disagreement
from judgeboard.domain import Stage, WhyDiffers
from judgeboard.errors import JudgeboardError
from judgeboard.reports.tables import Column, Table
from judgeboard.review import Reviewer
from judgeboard.review.differing import say_why
from judgeboard.store.figures.disagreement_rows import PersonSaid
from judgeboard.store.figures.why_counts import WhyCounts
from judgeboard_dashboard.figure import table
from judgeboard_dashboard.saying import caption, heading
from judgeboard_dashboard.session import store
from judgeboard_dashboard.words import WHY_DIFFERS

_REFUSED = "why_refused"


def why_pills(line: Disagreement, reviewer: Reviewer | None) -> None:
    """Show the reasons to choose from, where the person at this browser graded the answer; a press stores it."""
    own = None if reviewer is None else next((one for one in line.people_said if one.reviewer_id == reviewer.id), None)
    if own is None or reviewer is None:
        return
    if own.stage == Stage.BLIND:
        caption("You graded this before you saw the judge: why you differ is said in its queue.")
        return
    key = f"why_differs_{line.said.response_id}_{own.at.timestamp()}_{own.why_differs}"
    st.pills(
        "Why they differ",
        list(WhyDiffers),
        format_func=lambda reason: WHY_DIFFERS[reason.value],
        default=None if own.why_differs is None else WhyDiffers(own.why_differs),
        key=key,
        on_change=_chosen,
        args=(key, line.said.response_id, line.said.judgment_id, reviewer),
    )
    refused = st.session_state.pop(_REFUSED, None)
    if refused:
        caption(refused)


def why_words(said: PersonSaid) -> str | None:
    """Return the reason that somebody gave, None where they gave none."""
    return None if said.why_differs is None else WHY_DIFFERS[said.why_differs]


def why_table(counts: Sequence[WhyCounts]) -> None:
    """Show on how many answers each reason was given, one line a judge version; nothing where none was."""
    if not counts:
        return
    heading("Why people say they differ, by judge version")
    columns = (Column("Judge version"), *(Column(name, "count") for name in ("Answers", *WHY_DIFFERS.values())))
    rows = ((each.title, each.answers, *(each.reasons[WhyDiffers(why)] for why in WHY_DIFFERS)) for each in counts)
    under = ("Answers on which somebody gave the reason, for the version whose verdict they saw.",)
    table(Table(columns, tuple(rows)), [None] * len(counts), key="why_they_differ", under=under, most=8)


def _chosen(key: str, response_id: int, judgment_id: int, reviewer: Reviewer) -> None:
    try:
        say_why(
            store(),
            response_id=response_id,
            reviewer=reviewer,
            why=st.session_state[key],
            judgment_id=judgment_id,
            request_key=f"why:{secrets.token_urlsafe(12)}",
        )
    except JudgeboardError as error:
        st.session_state[_REFUSED] = f"Not saved: {error}"
