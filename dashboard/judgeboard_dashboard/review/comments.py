"""The comments on an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from judgeboard.errors import DecisionRefused
from judgeboard.reviews.changes import comment, edit_comment, withdraw_comment
from judgeboard.store.engine import Store
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.reviews import Comment
from judgeboard_dashboard.evidence import Html, as_label, tag
from judgeboard_dashboard.review.decisions import safely
from judgeboard_dashboard.review.drafts import Desk, Remark
from judgeboard_dashboard.widgets.keys import Press, Turn, key_button, keyboard, take_press
from judgeboard_dashboard.widgets.texts import shortened, when

START = 40  # characters of a remark on the button that changes it


@dataclass(frozen=True, slots=True)
class RemarkPresses:
    """What can be pressed about the remarks on an answer. Nothing here touches Streamlit."""

    store: Store
    here: Desk
    reviewer: Reviewer | None
    response_id: int

    def send(self, token: str) -> None:
        """Store the remark that was written, as a new one or in place of one's own."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, partial(self._send, token))

    def change(self, one: Comment) -> None:
        """Take one's own remark into the field."""
        self.here.put_remark(self.response_id, Remark(one.text or "", replaces=one.id))

    def take_back(self, one: Comment, token: str) -> None:
        """Take one's own remark back."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, partial(self._take_back, one, token))

    def token(self, of: int | None = None) -> str:
        """Return the request key of the next remark, or of taking one back."""
        return self.here.token(f"remark{self.response_id}" if of is None else f"unremark{of}")

    def _send(self, token: str, reviewer: Reviewer) -> None:
        written = self.here.remark(self.response_id)
        if not written.text.strip():
            return
        if written.replaces is None:
            comment(self.store, response_id=self.response_id, reviewer=reviewer, text=written.text, request_key=token)
            self.here.say("Saved: your remark")
        else:
            try:
                edit_comment(
                    self.store, comment_id=written.replaces, reviewer=reviewer, text=written.text, request_key=token
                )
                self.here.say("Saved: your remark is changed")
            except DecisionRefused as refused:
                self.here.say(str(refused), refused=True)
        self.here.spend(f"remark{self.response_id}", token)
        self.here.put_remark(self.response_id, Remark())

    def _take_back(self, one: Comment, token: str, reviewer: Reviewer) -> None:
        try:
            withdraw_comment(self.store, comment_id=one.id, reviewer=reviewer, request_key=token)
            self.here.say("Your remark is taken back")
        except DecisionRefused as refused:
            self.here.say(str(refused), refused=True)
        self.here.spend(f"unremark{one.id}", token)
        if self.here.remark(self.response_id).replaces == one.id:
            self.here.put_remark(self.response_id, Remark())


def read_remarks(here: Desk) -> None:
    """Take into the remarks being written what was sent since the last run; call it before presses are worked off."""
    for response_id, written in here.remarks.items():
        key = _field(response_id, written)
        if key in st.session_state:
            written.text = st.session_state[key]


def remarks_block(comments: Sequence[Comment]) -> Html | None:
    """Return the remarks as they stand, the first said first; None where there is none."""
    if not comments:
        return None
    lines = [
        tag(
            "div",
            tag("span", when(one.at)),
            tag(
                "span",
                tag("b", one.reviewer),
                f" (changed {when(one.edited_at)})" if one.edited_at else None,
                tag("div", one.text, cls="jb-remark"),
            ),
            cls="jb-event",
        )
        for one in comments
    ]
    return tag("div", tag("div", f"Remarks ({len(comments)})", cls="jb-label"), *lines, cls="jb-block")


def remark_fields(presses: RemarkPresses, comments: Sequence[Comment]) -> None:
    """Show the field for a remark, reached with T and sent with Enter, and the way to one's own; not without a name."""
    reviewer = presses.reviewer
    if reviewer is None:
        return
    written, response_id = presses.here.remark(presses.response_id), presses.response_id
    key = _field(response_id, written)
    if key not in st.session_state:
        st.session_state[key] = written.text
    with (
        st.container(key="remark"),
        st.form(f"remarkform_{response_id}_{written.shown}", border=False, enter_to_submit=True),
        st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", wrap=False),
    ):
        st.text_input(
            "Remark for the others (T)" if written.replaces is None else "Change your remark (T)",
            key=key,
            placeholder="Others read it beside the answer; Enter sends it",
        )
        send = f"send_{response_id}_{written.shown}"
        st.form_submit_button(
            "Send",
            key=send,
            on_click=take_press,
            args=(keyboard(), send, Press(Turn.GIVE, partial(presses.send, presses.token()))),
            wrap=False,
        )
    mine = [one for one in comments if one.reviewer_id == reviewer.id]
    if mine:
        with st.popover(f"My remarks ({len(mine)})", key="my_remarks"):
            for one in mine:
                _own(presses, one)


def _own(presses: RemarkPresses, one: Comment) -> None:
    start = as_label(shortened(one.text or "", START))
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", wrap=False):
        key_button(
            f"Change: {start}", partial(presses.change, one), key=f"change_remark_{one.id}", turn=Turn.GIVE, quiet=True
        )
        key_button(
            "Take back",
            partial(presses.take_back, one, presses.token(one.id)),
            key=f"unremark_{one.id}",
            turn=Turn.GIVE,
        )


def _field(response_id: int, written: Remark) -> str:
    return f"comment_{response_id}_{written.shown}"
