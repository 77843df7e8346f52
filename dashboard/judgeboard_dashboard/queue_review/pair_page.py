"""A queue of pairs: two answers beside each other, the sides shuffled, three keys; nothing of judge and models."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from judgeboard.domain import Grade
from judgeboard.errors import DecisionRefused
from judgeboard.filters import RowFilter
from judgeboard.queues import decide_item
from judgeboard.queues.item_texts import PairText
from judgeboard.review import Reviewer
from judgeboard.review.pair_sides import stored_side
from judgeboard.review.time_spent import longest_pause
from judgeboard_dashboard.controls import Turn, key_button, keyboard
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.item.bar import note_field
from judgeboard_dashboard.item.desk import Desk
from judgeboard_dashboard.item.fields import fill_fields
from judgeboard_dashboard.item.presses import safely
from judgeboard_dashboard.item.screen import Listing
from judgeboard_dashboard.pairs.one import pair_texts_shown
from judgeboard_dashboard.queue_review.bar import again_group, skip_field
from judgeboard_dashboard.queue_review.card import Card
from judgeboard_dashboard.queue_review.head import queue_head
from judgeboard_dashboard.queue_review.panes import keys_block
from judgeboard_dashboard.queue_review.presses import QueuePresses
from judgeboard_dashboard.queue_review.screen import QueueScreen
from judgeboard_dashboard.queue_review.walk import Said, Walk
from judgeboard_dashboard.session import store

SIDES = (
    ("left", "Left is better", "Q", ":material/arrow_back:"),
    ("tie", "Tie", "W", ":material/drag_handle:"),
    ("right", "Right is better", "E", ":material/arrow_forward:"),
)
SAID = {"left": "the left one", "tie": "a tie", "right": "the right one"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQueuePresses(QueuePresses):
    """What can be pressed on a pair of a queue."""

    pair: PairText

    def side(self, side: str, token: str) -> None:
        """Say which answer is better; the next pair is there."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda reviewer: self._side(reviewer, side, token))

    def _side(self, reviewer: Reviewer, side: str, token: str) -> None:
        draft = self.here.draft(self.screen.response_id)
        try:
            decided = decide_item(
                self.store,
                self.card.held.token,
                reviewer=reviewer,
                decision=stored_side(side, self.pair.shown),
                grade=Grade(note=draft.note.strip() or None),
                seconds=self.seconds(),
                request_key=token,
            )
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
            self.here.leave(self.screen, token)
            self.walk.settle(self.card, done=False)
            return
        self.here.say(f"Saved: {SAID[side]} of {self.card.name}")
        self.here.leave(self.screen, token)
        self.walk.settle(self.card, done=True)
        said = Said(decided.review_id, decided.item_id, self.screen.response_id, draft)
        self.walk.said.append(said)


def draw_pair(walk: Walk, card: Card, here: Desk, reviewer: Reviewer) -> None:
    """Show a pair of a queue."""
    pair = card.pair
    if pair is None:
        return
    screen = QueueScreen(
        response_id=-pair.pair_id,  # drafts are kept by answer: a pair's stands below zero
        external_id=card.name,
        flag_id=None,
        judgment_seen_id=None,
        listing=Listing(RowFilter(), ""),
        from_list=True,
        item_id=card.held.item_id,
    )
    held = keyboard()
    held.appear(screen.row, time.monotonic(), longest_pause(card.characters))
    card.shown = True
    late = card.asked = card.lapsed(datetime.now(UTC))
    presses = PairQueuePresses(
        store(),
        here,
        reviewer,
        screen,
        lambda: held.seconds(time.monotonic()),
        walk=walk,
        card=card,
        late=late,
        pair=pair,
    )
    st.set_page_config(page_title=f"{walk.place} · Judgeboard", layout="wide")
    queue_head(presses, [pair.query_type])
    with st.container(key=f"queue_pair_{card.held.item_id}"):
        if here.keys_shown:
            show(keys_block())
        if walk.queue.guidelines:
            show(_guidelines(walk.queue.guidelines))
        show(pair_texts_shown(pair.question, pair.options, pair.passages or (), pair.left, pair.right))
    _bar(presses)


def _guidelines(text: str) -> Html:
    return tag("details", tag("summary", "How to judge these pairs"), tag("div", text, cls="jb-reason"), cls="jb-pane")


def _bar(presses: PairQueuePresses) -> None:
    draft = presses.here.draft(presses.screen.response_id)
    fill_fields(draft)
    with st.bottom, st.container(key="bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        note_field(draft)
        if presses.late:
            again_group(presses)
            return
        if presses.walk.skipping:
            skip_field(presses)
            return
        token = presses.here.token(presses.screen.row)
        with st.container(width="content", gap="xxsmall"):
            show(tag("div", "Which answer is better?", cls="jb-label"))
            with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
                for side, name, shortcut, icon in SIDES:
                    key_button(
                        name,
                        partial(presses.side, side, token),
                        key=f"{side}_{presses.screen.row}",
                        turn=Turn.DECIDE,
                        shortcut=shortcut,
                        icon=icon,
                        disabled=presses.pair.left is None or presses.pair.right is None,
                    )
