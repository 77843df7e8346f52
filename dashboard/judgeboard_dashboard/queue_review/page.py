"""A queue, one answer after the other: the three panes and the bar of the item page, the next answer read ahead."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import streamlit as st

from judgeboard.filters import RowFilter
from judgeboard.review import Reviewer
from judgeboard.review.time_spent import longest_pause
from judgeboard.store.responses.items import Item
from judgeboard_dashboard.controls import keyboard
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.item.desk import Desk, desk
from judgeboard_dashboard.item.fields import read_fields
from judgeboard_dashboard.item.judge_pane import primary_verdict
from judgeboard_dashboard.item.mark_presses import MarkPresses
from judgeboard_dashboard.item.marks import NumberedClaim
from judgeboard_dashboard.item.panes import item_panes
from judgeboard_dashboard.item.screen import Listing
from judgeboard_dashboard.item.statements import shown_claims, statements_of
from judgeboard_dashboard.item.tools import tools_line
from judgeboard_dashboard.queue_review.bar import queue_bar
from judgeboard_dashboard.queue_review.card import Card
from judgeboard_dashboard.queue_review.head import queue_head
from judgeboard_dashboard.queue_review.kept_drafts import keep_draft
from judgeboard_dashboard.queue_review.leaving import walk_through
from judgeboard_dashboard.queue_review.pair_page import draw_pair
from judgeboard_dashboard.queue_review.panes import guide_pane, revealed_pane, seen_pane
from judgeboard_dashboard.queue_review.presses import QueuePresses
from judgeboard_dashboard.queue_review.screen import QueueScreen
from judgeboard_dashboard.queue_review.staying import stay
from judgeboard_dashboard.queue_review.walk import AT_HAND, Walk
from judgeboard_dashboard.session import ask_reviewer, current_reviewer, open_rows, store


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
