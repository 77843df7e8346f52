"""The page Problems: issues, failure modes and the list of modes; one issue with weeks and a form."""

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Action, IssueState
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.measure.notes import paragraph
from judgeboard.measure.periods import FIRST_YEAR, start_of
from judgeboard.people.permissions import may
from judgeboard.reviews.failure_modes import (
    GROUPS,
    FailureModeCount,
    failure_mode_counts,
    save_mode,
    suggested_modes,
)
from judgeboard.reviews.issues import (
    IssueFigures,
    issue_filter,
    issue_notes,
    measure_issue,
    save_issue,
)
from judgeboard.store.filters import RowFilter
from judgeboard.store.issues import (
    KEYS,
    LONGEST_MODE,
    LONGEST_TITLE,
    get_issue,
    list_issues,
    list_modes,
)
from judgeboard.store.metadata import metadata_fields
from judgeboard.store.response_pages import response_facets
from judgeboard.store.tables import Issue
from judgeboard.text import day_words
from judgeboard_dashboard.evidence import show_div, tag
from judgeboard_dashboard.gate import demand, permitted
from judgeboard_dashboard.review.queues import known_people
from judgeboard_dashboard.session import (
    ask_reviewer,
    button,
    in_row,
    page,
    read,
    reading,
    saving,
    stacking_columns,
    store,
)
from judgeboard_dashboard.widgets.charts import end_of_shares, trend
from judgeboard_dashboard.widgets.filters import (
    FIELDS,
    MORE_PARTS,
    Choices,
    as_date,
    as_day,
    filter_row,
    filter_sentence,
    switch,
    write_address,
)
from judgeboard_dashboard.widgets.first_steps import empty_page
from judgeboard_dashboard.widgets.navigation import (
    Rows,
    clickable_chart,
    follow,
    go,
    number_in_address,
    open_button,
    responses,
)
from judgeboard_dashboard.widgets.tables import table
from judgeboard_dashboard.widgets.texts import capital, caption, count, heading, sentence, when

COLUMNS: Columns[tuple[Issue, IssueFigures]] = {
    Column("Issue", "count", width=52): lambda line: line[0].number,
    Column("State", width=62): lambda line: line[0].state.value,
    Column("Title", width=290): lambda line: line[0].title,
    Column("Owner", width=75): lambda line: line[0].owner,
    Column("Answers", "count", width=70, help="Answers with the problem"): lambda line: (
        line[1].answers
    ),
    Column("Open flags", "count", width=80): lambda line: line[1].flags["open"],
    Column(
        "Share",
        "share estimate",
        width=110,
        help="Share of answers with the problem, until it is fixed",
    ): (lambda line: line[1].before),
    Column(
        "After the fix",
        "share estimate",
        width=130,
        help="The same share from the day of the fix on",
    ): (lambda line: None if line[0].fixed_day is None else line[1].after),
    Column("Last seen", width=130, help="Day of the latest answer with the problem"): (
        lambda line: None if line[1].last_day is None else day_words(line[1].last_day)
    ),
}
MOST = 20  # each is measured when the page opens
PAGE = "problems"


def problems() -> None:
    """Show one issue, the form for a new issue about the filter in the address, or all problems."""
    follow(PAGE, own=(*FIELDS, "issue", "new", "by"))
    number = number_in_address("issue", "issue")
    if st.query_params.get("new"):
        demand(Action.KEEP_ISSUES)
        # Show the filter for the answers of a new issue, and the issue.
        with reading() as connection:
            choices = replace(
                Choices.of_answers(response_facets(connection), metadata_fields(connection)),
                failure_modes=tuple(list_modes(connection)),
            )
        more = ("failure_mode", "judge", *MORE_PARTS, "score", "days")
        listing = filter_row(PAGE, choices, more=more, own={"new": "1"})
        write_address(PAGE, listing.query)
        if listing.where == RowFilter():
            heading("New issue")
            sentence(
                "Choose the answers with this problem first: a text, a rule, a query type, or one of More filters."
            )
            st.button(
                "All problems", key="issue_back", type="tertiary", on_click=st.query_params.clear
            )
        else:
            _issue(Issue(title="", filter=issue_filter(listing.where)))
    elif number is not None:
        issue = read(get_issue, number)
        _issue(issue)
    else:
        _all()


def _all() -> None:
    """Show the issues and the counts of failure modes; leads also edit the list of failure modes."""
    if permitted(Action.KEEP_ISSUES):
        button(
            "New issue", key="issues_new", icon=":material/add:", on_click=go, kwargs={"new": "1"}
        )
    with reading() as connection:
        measured = [
            (issue, measure_issue(connection, issue)) for issue in list_issues(connection)[:MOST]
        ]
        tagged = failure_mode_counts(connection, next(iter(GROUPS)))
    if not measured and not tagged:
        empty_page(
            "No issue is open, and no answer has a failure mode. An issue describes a problem of many answers.",
            "Press New issue, or filter answers on Review or Answers, and press Open an issue. "
            "Reviewers tag answers with failure modes.",
        )
    if measured:
        heading("Issues")
        newest = f"The first {MOST}." if len(measured) == MOST else None
        targets = [Rows(PAGE, {"issue": str(issue.number)}) for issue, _ in measured]
        under = (newest, "Click a row to open the issue. Intervals: 95 % CI.")
        table(Table.of(measured, COLUMNS), targets, key="issues", under=under)
    if tagged:
        # How many answers have each failure mode: the rows of the table open the answers.
        heading("Answers by failure mode")
        by = switch("Count by", GROUPS, key="by")
        counts = [each for each in read(failure_mode_counts, by) if each.answers]
        columns: Columns[FailureModeCount] = {
            Column(GROUPS[by], width=180): lambda each: each.group,
            Column("Failure mode", width=190): lambda each: each.mode,
            Column("Answers", "count", width=90): lambda each: each.answers,
            Column("Share of reviewed answers", "share estimate", width=300): lambda each: (
                each.share
            ),
        }
        table(
            Table.of(counts, columns),
            [responses(each.where) for each in counts],
            key=f"failure_modes_by_{by}",
            under=(
                "Click a row to open its answers. An answer counts once per failure mode.",
                "An answer counts in the week (UTC) of its question." if by == "week" else None,
                "Intervals: 95 % CI.",
            ),
        )
    if permitted(Action.CHANGE_SETTINGS):
        _mode_list()


MODE_COLUMNS = {
    "name": st.column_config.TextColumn(
        "Failure mode", width=200, required=True, max_chars=LONGEST_MODE
    ),
    "key": st.column_config.SelectboxColumn("Key, with Shift", width=110, options=list(KEYS)),
    "description": st.column_config.TextColumn("Description", width=280),
    "retired": st.column_config.CheckboxColumn("Retired", width=80, default=False),
}


def _mode_list() -> None:
    """Show the failure modes as a table to edit, and frequent phrases of notes without a failure mode."""
    with reading() as connection:
        modes, suggestions = list_modes(connection), suggested_modes(connection)
    heading("Failure modes")
    caption(
        "Reviewers tag answers with these modes. Add a mode in the last row. Retired modes keep their tags."
    )
    rows = pd.DataFrame(
        [[getattr(mode, name) for name in MODE_COLUMNS] for mode in modes.values()],
        columns=list(MODE_COLUMNS),
    )
    texts = {name: "boolean" if name == "retired" else "str" for name in MODE_COLUMNS}
    # The time of the last change is in the key: a new table has no edits.
    last_change = max((mode.at for mode in modes.values()), default=None)
    edited = st.data_editor(
        rows.astype(texts),
        column_config=MODE_COLUMNS,
        hide_index=True,
        num_rows="add",
        key=f"failure_modes_{last_change}",
    )
    reviewer = ask_reviewer("Your name is stored with the change.", to=Action.CHANGE_SETTINGS)
    is_pressed = st.button(
        "Save failure modes", type="primary", key="failure_modes_save", disabled=reviewer is None
    )
    if is_pressed and reviewer is not None:
        stored_rows = [
            tuple(getattr(mode, name) for name in MODE_COLUMNS) for mode in modes.values()
        ]
        rows_after: list[list[Any]] = (
            edited.astype(object).where(edited.notna(), None).to_numpy().tolist()
        )
        with saving():
            for name, key, description, retired in rows_after:
                if (name, key, description, retired) not in stored_rows:
                    save_mode(
                        store(),
                        name or "",
                        description,
                        key=key,
                        retired=bool(retired),
                        by=reviewer,
                    )
    if suggestions:
        frequent = ", ".join(f"{words} ({n})" for words, n in suggestions.items())
        caption(f"Frequent phrases in notes that have no failure mode: {frequent}.")


def _issue(issue: Issue) -> None:
    """Show a stored or new issue, and the form for the issue."""
    figures = read(measure_issue, issue)
    with in_row("issue_top"):
        name = f"{issue.number}: {issue.title}" if issue.number else "New issue"
        show_div("jb-say jb-line", tag("b", name))
        label = f"Open {count(figures.answers, 'answer')}"
        open_button(label, responses(issue.filter), key="issue_answers", icon=":material/article:")
        st.button("All problems", key="issue_back", type="tertiary", on_click=st.query_params.clear)
    flags = ", ".join(f"{n:,} {state}" for state, n in figures.flags.items())
    last_change = f" Last change: {issue.by}, {when(issue.at)}." if issue.at else ""
    caption(f"Answers: {filter_sentence(issue.filter)}. Flags: {flags}.{last_change}")
    left, right = stacking_columns("issue", [1.6, 1], gap="large")
    with left:
        sentence(paragraph(issue_notes(issue, figures)))
        if figures.weeks:
            title = "Share with this problem"
            fixes = [] if issue.fixed_day is None else [(issue.fixed_day, "Fix")]
            weeks_of_fixes = [start_of(day, "week") for day, _ in fixes]
            end = end_of_shares(week.estimate for week in figures.weeks)
            axis = trend.TrendAxis(title, days=7, high=end).over(figures.weeks, also=weeks_of_fixes)
            chart = trend.trend_chart(figures.weeks, fixes, axis)
            says = f"{title} per week, {len(figures.weeks)} points with 95 % intervals"
            targets = [responses(week.where) for week in figures.weeks]
            clickable_chart(chart, trend.HEIGHT, targets, key="issue_weeks", says=says)
            untimed = f"{count(figures.without_time, 'answer')} without a time left out."
            misdated = f"{count(figures.misdated, 'answer')} dated before {FIRST_YEAR} or in the future left out."
            caption(
                untimed if figures.without_time else None,
                misdated if figures.misdated else None,
                "Click a point to open its answers with this problem.",
            )
    with right:
        _form(issue)


def _form(issue: Issue) -> None:
    reviewer = ask_reviewer("Your name is stored with the issue.")
    if reviewer is None or not may(reviewer, Action.KEEP_ISSUES):
        caption(
            f"{capital(issue.state)}. Owner: {issue.owner or 'nobody'}. {issue.description or ''}"
        )
        return
    key = f"issue_{issue.number}_{issue.version}"  # fields with a new key have no edits
    title = st.text_input("Title", issue.title, key=f"{key}_title", max_chars=LONGEST_TITLE)
    description = st.text_area(
        "Description", issue.description, key=f"{key}_description", height=120
    )
    people = sorted({*known_people(), *([issue.owner] if issue.owner else [])})
    place = people.index(issue.owner) if issue.owner else None
    owner = st.selectbox("Owner", people, index=place, key=f"{key}_owner", placeholder="Nobody")
    state = st.segmented_control(
        "State",
        list(IssueState),
        format_func=capital,
        default=issue.state,
        required=True,
        key=f"{key}_state",
    )
    new_issue = issue.changed(
        title=title, description=description, owner=owner, state=state or issue.state
    )
    if new_issue.state is IssueState.FIXED:
        fixed_on = as_date(issue.fixed_day) or "today"
        day = st.date_input(
            "First day with the fix (UTC)", fixed_on, key=f"{key}_day", format="YYYY-MM-DD"
        )
        new_issue = new_issue.changed(fixed_day=as_day(day))
    if button("Save changes" if issue.number else "Open issue", key="issue_save", type="primary"):
        with saving():
            stored_issue = save_issue(store(), new_issue, by=reviewer)
            st.query_params.from_dict({"issue": str(stored_issue.number)})


with page():
    problems()
