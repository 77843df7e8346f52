"""The view Drafts: what agents drafted, for a person to confirm or dismiss."""

import streamlit as st

from judgeboard.errors import JudgeboardError
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.mcp.drafts import ACTIONS, draft_words, list_drafts
from judgeboard.mcp.tables import MachineDraft
from judgeboard.store.responses import external_ids
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.machine_drafts import Decision, show_draft
from judgeboard_dashboard.session import ask_reviewer, page, problem, reading, store
from judgeboard_dashboard.widgets.navigation import follow, item, open_button
from judgeboard_dashboard.widgets.tables import choose_row, one_line
from judgeboard_dashboard.widgets.texts import confirm as keep
from judgeboard_dashboard.widgets.texts import confirmation, empty, sentence, when

_PROBLEM = "machine_draft_problem"


def drafts() -> None:
    """Show the open drafts that the person may decide, and the selected draft with buttons."""
    confirmation("machine_drafts")
    if _PROBLEM in st.session_state:
        problem(st.session_state.pop(_PROBLEM))
    sentence("Coding assistants drafted these. A draft counts nowhere until a person confirms it.")
    with reading() as connection:
        open_drafts = [each for each in list_drafts(connection) if permitted(ACTIONS[each.kind])]
        answers = external_ids(connection, {each.response_id or 0 for each in open_drafts})
    if not open_drafts:
        empty(
            "No draft is open. To let a coding assistant use Judgeboard:", "`judgeboard mcp --help`"
        )
        return
    columns: Columns[MachineDraft] = {
        Column("Draft", "integer", width=70): lambda each: each.id,
        Column("Kind", width=120): lambda each: each.kind.noun,
        Column("By", width=170): lambda each: each.by,
        Column("When", width=120): lambda each: when(each.at),
        Column("Answer", width=170): lambda each: answers.get(each.response_id or 0),
        Column("Content", width=430): lambda each: one_line(draft_words(each)),
    }
    key = f"machine_drafts_{open_drafts[0].id}_{len(open_drafts)}"
    draft = open_drafts[choose_row(Table.of(open_drafts, columns), key=key, most=8)]
    person = ask_reviewer(to=ACTIONS[draft.kind])
    if draft.response_id is not None:
        open_button(
            "Open the answer", item(draft.response_id), key="machine_draft_open", type="tertiary"
        )

    def decide(decision: Decision, draft_id: int) -> None:
        if person is None:
            return
        try:
            keep("machine_drafts", decision(store(), draft_id, person))
        except JudgeboardError as error:
            st.session_state[_PROBLEM] = f"Not saved: {error}"

    show_draft(draft, decide)


with page(answers=False):
    follow("machine_drafts")
    drafts()
