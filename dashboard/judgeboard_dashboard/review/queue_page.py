"""Reviewing the items of a queue, one after the other."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from judgeboard.domain import Grade
from judgeboard.errors import DecisionRefused
from judgeboard.reviews.checks import longest_pause
from judgeboard.reviews.queue_decisions import decide_item
from judgeboard.reviews.shown import PairText, stored_side
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import Item
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.review.bar import note_field
from judgeboard_dashboard.review.claims import NumberedClaim, shown_claims, statements_of
from judgeboard_dashboard.review.decisions import MarkPresses, safely
from judgeboard_dashboard.review.drafts import Desk, Listing, QueueScreen, desk, keep_draft
from judgeboard_dashboard.review.fields import fill_fields, read_fields
from judgeboard_dashboard.review.leases import AT_HAND, Card, Said, Walk, stay, walk_through
from judgeboard_dashboard.review.pairs import pair_texts_shown
from judgeboard_dashboard.review.queue_bar import (
    QueuePresses,
    again_group,
    guide_pane,
    keys_block,
    queue_bar,
    queue_head,
    revealed_pane,
    seen_pane,
    skip_field,
)
from judgeboard_dashboard.review.signals import primary_verdict
from judgeboard_dashboard.review.texts import item_panes, tools_line
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, open_rows, store
from judgeboard_dashboard.widgets.keys import Turn, key_button, keyboard

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


def review_queue(name: str) -> None:
    """Show the item of a queue that its reviewer holds, the next after each decision."""
    reviewer = current_reviewer()
    if reviewer is None:
        ask_reviewer()
        return
    here = desk()
    read_fields(here)
    walk = walk_through(store(), name, reviewer)
    for press in keyboard().work_off():
        press.act()
    _go(here)
    walk.touch(datetime.now(UTC))
    walk.fill(1)
    if walk.card is None:
        queue_end(walk, here)
        return
    _draw(walk, walk.card, here, reviewer)
    # The screen is drawn: from here on nobody waits.
    walk.fill(AT_HAND)
    stay(walk)


def _go(here: Desk) -> None:
    goal = here.goal
    if goal is not None and goal.page is not None:
        here.goal = None
        open_rows(goal.page, **goal.query)
    here.goal = None


def _draw(walk: Walk, card: Card, here: Desk, reviewer: Reviewer) -> None:
    item = card.item
    if item is None:
        draw_pair(walk, card, here, reviewer)
        return
    reveal = walk.reveal
    if reveal is None:
        keep_draft(here, item.response_id, card.held.token)
    elif reveal.differs(here.draft(item.response_id)):
        reveal.changing = True
    blind = item.hidden.judge
    seen = None if blind else primary_verdict(item)
    screen = QueueScreen(
        response_id=item.response_id,
        external_id=item.external_id,
        flag_id=None,
        judgment_seen_id=seen.id if seen else None,
        listing=Listing(RowFilter(), ""),
        from_list=True,
        item_id=card.held.item_id,
        stage="" if reveal is None else "c" if reveal.changing else "r",
    )
    held = keyboard()
    # First of all: the drawing may be cut off by the next press.
    held.appear(screen.row, time.monotonic(), longest_pause(card.characters))
    card.shown = True
    late = card.asked = reveal is None and card.lapsed(datetime.now(UTC))
    presses = QueuePresses(
        store(),
        here,
        reviewer,
        screen,
        lambda: held.seconds(time.monotonic()),
        seen,
        card.threshold,
        walk=walk,
        card=card,
        late=late,
    )
    st.set_page_config(page_title=f"{walk.place} · Judgeboard", layout="wide")
    queue_head(presses, [item.query_type, None if blind else _written(item)])
    claims = (seen.claims or ()) if seen else ()
    marks = MarkPresses(here, item.response_id, statements_of(item.answer, claims, screen.judgment_seen_id))
    why = presses.why if presses.differs() else None
    tools_line(marks, screen.row, presses.by_sentence, why=why, reason=here.draft(item.response_id).why)
    third = _third(presses, item, shown_claims(claims, marks.statements, marks.shown, marks.at))
    item_panes(item, claims, marks, third, presses.whole)
    queue_bar(presses)


def _written(item: Item) -> str | None:
    return f"written by {item.generator_model}" if item.generator_model else None


def _third(presses: QueuePresses, item: Item, claims: Sequence[NumberedClaim]) -> Html:
    walk, keys_shown = presses.walk, presses.here.keys_shown
    if walk.reveal is not None:
        return revealed_pane(walk.reveal, item, claims)
    if item.hidden.judge:
        return guide_pane(walk.queue, keys_shown=keys_shown)
    return seen_pane(walk.queue, presses.card, item, claims, keys_shown=keys_shown)


def queue_end(walk: Walk, here: Desk) -> None:
    """Nothing is left in the queue for this person, or it was closed."""
    st.set_page_config(page_title="Queue done · Judgeboard", layout="wide")
    if here.said:
        show(tag("div", here.said, cls="jb-note" if here.refused else "jb-say"))
    if walk.closed:
        said = walk.closed[:1].upper() + walk.closed[1:] + "."
    elif walk.done:
        said = f"Nothing is left for you in “{walk.queue.name}”: you did {walk.done:,}."
    else:
        said = f"Nothing waits for you in “{walk.queue.name}”."
    more = None if walk.closed else tag("div", "What others hold comes back when they let it go.")
    show(tag("div", tag("div", said), more, cls="jb-empty"))
    with st.container(horizontal=True, gap="small"):
        if st.button("To the queues", key="end_to_queue", shortcut="Enter", type="primary"):
            here.say("")
            open_rows("queue", show="Queues")
