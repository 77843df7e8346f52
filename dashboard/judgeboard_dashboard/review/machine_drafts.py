"""Drafts of agents: the content of a draft, with the buttons that confirm or dismiss the draft."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.mcp.drafts import ACTIONS, confirm, dismiss, draft_words, list_drafts
from judgeboard.mcp.tables import DraftKind, MachineDraft
from judgeboard.store.engine import Store
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.evidence import Html, show_div, tag
from judgeboard_dashboard.gate import refusal
from judgeboard_dashboard.review.actions import Actions, safely
from judgeboard_dashboard.session import button, in_row, read, store
from judgeboard_dashboard.widgets.texts import count, when

Decision = Callable[[Store, int, Reviewer], str]
"""Either `confirm` or `dismiss`."""

CONFIRMED = {
    DraftKind.REVIEW: "It is stored as your own review.",
    DraftKind.LABEL_SCHEMA: "It is stored for new queues.",
    DraftKind.FAILURE_MODES: "They are added to the list that reviewers choose from.",
    DraftKind.RUN: "It starts at once, and its calls may cost money.",
}
"""What a confirmation does, by kind."""


def show_draft(draft: MachineDraft, decide: Callable[[Decision, int], None]) -> None:
    """Show the content of a draft, with the buttons that call ``decide`` with a decision and the draft's id."""
    noun, refusal_text = draft.kind.noun, refusal(ACTIONS[draft.kind])
    with st.container(border=True, key=f"machine_draft_{draft.id}"):
        show_div(
            "jb-cap",
            tag("b", f"Machine draft {draft.id}: {noun}"),
            f" by {draft.by}, {when(draft.at)}. It counts nowhere until a person confirms it.",
        )
        show_div("jb-raw", draft_words(draft))
        with in_row(f"machine_draft_row_{draft.id}"):
            button(
                f"Confirm {noun}",
                key=f"machine_draft_confirm_{draft.id}",
                type="primary",
                icon=":material/check:",
                disabled=refusal_text is not None,
                help=refusal_text or CONFIRMED[draft.kind],
                on_click=decide,
                args=(confirm, draft.id),
            )
            button(
                f"Dismiss {noun}",
                key=f"machine_draft_dismiss_{draft.id}",
                icon=":material/close:",
                disabled=refusal_text is not None,
                help=refusal_text or "Nothing is stored.",
                on_click=decide,
                args=(dismiss, draft.id),
            )


@dataclass(frozen=True, slots=True)
class DraftsSection:
    """The open drafts about an answer, below the panes of the answer; none while the answer is blind for the person."""

    drafts: Sequence[MachineDraft]

    @classmethod
    def read(cls, response_id: int) -> "DraftsSection":
        """Read the drafts that the person may see."""
        return cls(read(list_drafts, response_id=response_id))

    def link(self) -> Html | None:
        """Return the link from the answer to the drafts, None without drafts."""
        words = count(len(self.drafts), "machine draft")
        return tag("a", words, href="#machine-drafts") if self.drafts else None

    def show(self, actions: Actions) -> None:
        """Show the drafts, the newest first."""

        def decide(decision: Decision, draft_id: int) -> None:
            def act(reviewer: Reviewer) -> None:
                actions.session.say(decision(store(), draft_id, reviewer))

            safely(actions.session, actions.reviewer, act)

        if self.drafts:
            show_div("jb-label", "Machine drafts", id="machine-drafts")
        for draft in self.drafts:
            show_draft(draft, decide)
