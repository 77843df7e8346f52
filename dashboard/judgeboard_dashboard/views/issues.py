"""The page Issues: systemic problems, one with its flags and its share of answers over time, and its form."""

from dataclasses import replace

import streamlit as st

from judgeboard.domain import IssueState
from judgeboard.errors import JudgeboardError
from judgeboard.people.permissions import Action, may
from judgeboard.reports.issues import issue_table
from judgeboard.reviews.issues import LONGEST_TITLE, issue_filter, issue_sentence, measure_issue, save_issue
from judgeboard.store.issues import Issue, get_issue, list_issues
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.gate import demand
from judgeboard_dashboard.review.queues import known_people
from judgeboard_dashboard.session import ask_reviewer, page, problem, reading, store
from judgeboard_dashboard.widgets.charts.trend import share_by_week
from judgeboard_dashboard.widgets.filters import FIELDS, as_date, as_day, filter_in, filter_sentence
from judgeboard_dashboard.widgets.navigation import Rows, follow, number_in_address, open_button, responses
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import capital, caption, count, empty, heading, sentence, when


def issues() -> None:
    """Show the list, one issue, or the form of a new one about the filter in the address."""
    follow("issues", own=(*FIELDS, "issue", "new", "closed"))
    number = number_in_address("issue", "issue")
    if st.query_params.get("new") == "1":
        demand(Action.KEEP_ISSUES)
        where, _ = filter_in({name: st.query_params.get_all(name) for name in st.query_params})
        _issue(Issue("", issue_filter(where)))
    elif number is not None:
        with reading() as connection:
            issue = get_issue(connection, number)
        _issue(issue)
    else:
        _list()


def _list() -> None:
    closed = st.toggle("Include closed issues", key="closed", bind="query-params")
    with reading() as connection:
        listed = list_issues(connection, closed=closed)
        figures = [measure_issue(connection, issue) for issue in listed]
    if not listed:
        empty(
            "No issue is open.",
            "An issue is a systemic problem: a title, an owner and a state for the answers of a filter.",
            "Filter answers on Responses or Queue, or click a line of Failure modes. Then press Open an issue.",
        )
        return
    table(
        issue_table(listed, figures),
        [Rows("issues", {"issue": str(issue.number)}) for issue in listed],
        key="issues",
        under=("Click a line to open the issue. Shares have 95 % intervals.",),
    )


def _issue(issue: Issue) -> None:
    """Show an issue, also one that is not stored yet, and its form."""
    with reading() as connection:
        figures = measure_issue(connection, issue)
    with st.container(key="issue_top", horizontal=True, vertical_alignment="center", gap="small"):
        name = f"{issue.number}: {issue.title}" if issue.number else "New issue"
        show(tag("div", tag("b", name), cls="jb-say jb-line"))
        label = f"Open {count(figures.answers, 'answer')}"
        open_button(label, responses(issue.where), key="issue_answers", icon=":material/article:")
        st.button("All issues", key="issue_back", type="tertiary", on_click=st.query_params.clear)
    flags = ", ".join(f"{n:,} {state}" for state, n in figures.flags.items())
    state = f"{capital(issue.state.value)}. Owner: {issue.owner or 'nobody'}. " if issue.number else ""
    changed = f" Last change: {issue.by}, {when(issue.at)}." if issue.at else ""
    show(tag("div", f"{state}Answers: {filter_sentence(issue.where)}. Flags: {flags}.{changed}", cls="jb-cap"))
    with st.container(key="stack_issue"):
        left, right = st.columns([1.6, 1], gap="large")
    with left:
        sentence(issue_sentence(issue, figures))
        if figures.weeks:
            mark = None if issue.fixed_day is None else (issue.fixed_day, "Fix")
            share_by_week(figures.weeks, "Share with this problem", mark, key="issue_weeks")
            untimed = (
                f"{count(figures.without_time, 'answer')} without a time left out. " if figures.without_time else ""
            )
            caption(f"{untimed}Click a point to open its answers with this problem.")
        if issue.description:
            show(tag("div", issue.description, cls="jb-reason"))
    with right:
        _form(issue)


def _form(issue: Issue) -> None:
    reviewer = ask_reviewer("Your name is stored with the issue.")
    if reviewer is None or not may(reviewer, Action.KEEP_ISSUES):
        return
    heading("Change it" if issue.number else "Open an issue")
    key = f"issue_{issue.number}_{issue.version}"  # what is saved is no edit any more
    title = st.text_input("Title", issue.title, key=f"{key}_title", max_chars=LONGEST_TITLE)
    description = st.text_area("Description", issue.description, key=f"{key}_description", height=120)
    people = sorted({*known_people(), *([issue.owner] if issue.owner else [])})
    place = people.index(issue.owner) if issue.owner else None
    owner = st.selectbox("Owner", people, index=place, key=f"{key}_owner", placeholder="Nobody")
    changed = replace(issue, title=title, description=description, owner=owner)
    if issue.number:
        states = list(IssueState)
        state = st.segmented_control(
            "State", states, format_func=capital, default=issue.state, required=True, key=f"{key}_state"
        )
        changed = replace(changed, state=state or issue.state)
    if changed.state is IssueState.FIXED:
        day = st.date_input(
            "First day with the fix (UTC)", as_date(issue.fixed_day) or "today", key=f"{key}_day", format="YYYY-MM-DD"
        )
        changed = replace(changed, fixed_day=as_day(day))
    if st.button("Save changes" if issue.number else "Open issue", key="issue_save", type="primary", wrap=False):
        try:
            saved = save_issue(store(), changed, by=reviewer)
        except JudgeboardError as error:
            problem(f"Not saved: {error}")
        else:
            st.query_params.from_dict({"issue": str(saved.number)})
            st.rerun()


with page("Issues"):
    issues()
