"""The comments on an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from judgeboard.domain import Action
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import comment
from judgeboard.store.engine import Store
from judgeboard.store.items import Item
from judgeboard.store.reviews import ShownComment
from judgeboard.store.tables import Comment, Reviewer
from judgeboard.text import shortened
from judgeboard_dashboard.evidence import Html, as_label, tag
from judgeboard_dashboard.gate import permitted
from judgeboard_dashboard.review.actions import safely
from judgeboard_dashboard.review.drafts import CommentDraft, ReviewSession
from judgeboard_dashboard.session import in_row
from judgeboard_dashboard.widgets.keys import Press, Turn, key_button, keyboard, take_press
from judgeboard_dashboard.widgets.texts import when

START = 40  # characters of a comment on the button that changes the comment


@dataclass(frozen=True, slots=True)
class CommentActions:
    """The actions for the comments on an answer, without Streamlit."""

    store: Store
    session: ReviewSession
    reviewer: Reviewer | None
    item: Item

    def send(self, request_key: str) -> None:
        """Store the written text as a new comment, or as a change of the reviewer's own comment."""
        draft = self.session.comment(self.item.response_id)
        if not draft.text.strip():
            return
        new = draft.replaces is None
        self._store(
            draft.text,
            "Saved: your comment" if new else "Saved: your comment is changed",
            f"comment{self.item.response_id}",
            request_key,
            draft.replaces,
        )

    def change(self, old_comment: Comment) -> None:
        """Put a comment of the reviewer into the field, to change the comment."""
        self.session.put_comment(
            self.item.response_id, CommentDraft(old_comment.text or "", replaces=old_comment.id)
        )

    def withdraw(self, withdrawn: Comment, request_key: str) -> None:
        """Withdraw a comment of the reviewer."""
        row = f"withdraw{withdrawn.id}"
        self._store(None, "Your comment is withdrawn.", row, request_key, withdrawn.id)

    def request_key(self, withdrawn: int | None = None) -> str:
        """Return the request key for the next comment, or for the withdrawal of the comment ``withdrawn``."""
        return self.session.request_key(
            f"comment{self.item.response_id}" if withdrawn is None else f"withdraw{withdrawn}"
        )

    def _store(
        self, text: str | None, message: str, row: str, request_key: str, replaces: int | None
    ) -> None:
        """Store a comment (see `comment`). Empty the field if the text in the field replaces the same comment."""
        response_id = self.item.response_id

        def act(reviewer: Reviewer) -> None:
            try:
                comment(
                    self.store,
                    reviewer=reviewer,
                    text=text,
                    request_key=request_key,
                    response_id=response_id if replaces is None else None,
                    replaces=replaces,
                )
                self.session.say(message)
            except DecisionRefused as refused:
                self.session.say(str(refused), refused=True)
            self.session.finish_key(row, request_key)
            if self.session.comment(response_id).replaces == replaces:
                self.session.put_comment(response_id, CommentDraft())

        safely(self.session, self.reviewer, act, request_key)


def read_comments(session: ReviewSession) -> None:
    """Copy the typed texts into the drafts. Call this before key presses are processed."""
    for response_id, draft in session.comments.items():
        key = _field(response_id, draft)
        if key in st.session_state:
            draft.text = st.session_state[key]


def comments_block(comments: Sequence[ShownComment]) -> Html | None:
    """Return the current comments, oldest first; None without comments."""
    if not comments:
        return None
    lines = [
        tag(
            "div",
            tag("span", when(current.first_at)),
            tag(
                "span",
                tag("b", current.reviewer),
                None if last.replaces is None else f" (changed {when(last.at)})",
                tag("div", last.text, cls="jb-comment"),
            ),
            cls="jb-event",
        )
        for current, last in ((each, each.comment) for each in comments)
    ]
    return tag(
        "div", tag("div", f"Comments ({len(comments)})", cls="jb-label"), *lines, cls="jb-block"
    )


def comment_fields(actions: CommentActions, comments: Sequence[ShownComment]) -> None:
    """Show the field for a comment and the reviewer's own comments.

    Nobody comments on an answer during a blind review: others would read the reviewer's opinion.
    """
    reviewer = actions.reviewer
    if reviewer is None or actions.item.hidden or not permitted(Action.REVIEW):
        return
    draft, response_id = actions.session.comment(actions.item.response_id), actions.item.response_id
    key = _field(response_id, draft)
    if key not in st.session_state:
        st.session_state[key] = draft.text
    with (
        st.container(key="commentbox"),
        st.form(f"commentform_{response_id}_{draft.shown}", border=False, enter_to_submit=True),
        in_row(align="bottom", gap="xsmall", wrap=False),
    ):
        st.text_input(
            "Comment for other reviewers (T)"
            if draft.replaces is None
            else "Change your comment (T)",
            key=key,
            placeholder="Other reviewers see it here. Enter sends it.",
        )
        send = f"send_{response_id}_{draft.shown}"
        st.form_submit_button(
            "Send",
            key=send,
            on_click=take_press,
            args=(keyboard(), send, Press(Turn.GIVE, partial(actions.send, actions.request_key()))),
            wrap=False,
        )
    own_comments = [each.comment for each in comments if each.comment.reviewer_id == reviewer.id]
    if own_comments:
        with st.popover(f"My comments ({len(own_comments)})", key="my_comments"):
            for own in own_comments:
                start = as_label(shortened(own.text or "", START))
                with in_row(gap="xsmall", wrap=False):
                    change = partial(actions.change, own)
                    key_button(
                        f"Change: {start}", change, key=f"change_comment_{own.id}", quiet=True
                    )
                    withdraw = partial(actions.withdraw, own, actions.request_key(own.id))
                    key_button("Withdraw", withdraw, key=f"withdraw_comment_{own.id}")


def _field(response_id: int, draft: CommentDraft) -> str:
    return f"comment_{response_id}_{draft.shown}"
