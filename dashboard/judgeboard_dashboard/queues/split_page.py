"""One item on which reviewers differ: its texts, what each of them said, the judge; a lead says the last word."""

import time
from functools import partial

import streamlit as st

from judgeboard.domain import Decision, ItemState, Preference
from judgeboard.filters import RowFilter
from judgeboard.people import Action, may
from judgeboard.queues import Split
from judgeboard.queues.splits import load_split
from judgeboard.review import Reviewer
from judgeboard.store.judgments.rubric_scores import load_rubric_scores
from judgeboard.store.responses.items import load_item
from judgeboard.store.settings_table import thresholds
from judgeboard_dashboard.controls import Turn, key_button, keyboard
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.item.bar import note_field
from judgeboard_dashboard.item.desk import Desk, desk
from judgeboard_dashboard.item.fields import fill_fields, read_fields
from judgeboard_dashboard.item.judge_pane import judge_pane, primary_verdict
from judgeboard_dashboard.item.mark_presses import MarkPresses
from judgeboard_dashboard.item.panes import item_panes
from judgeboard_dashboard.item.screen import Listing
from judgeboard_dashboard.item.statements import shown_claims, statements_of
from judgeboard_dashboard.item.tools import tools_line
from judgeboard_dashboard.pairs.one import pair_texts_shown
from judgeboard_dashboard.queue_review.bar import dimensions_of, grade_groups
from judgeboard_dashboard.queue_review.screen import QueueScreen
from judgeboard_dashboard.queues.place import Place
from judgeboard_dashboard.queues.split_presses import SplitPresses
from judgeboard_dashboard.queues.split_words import words_block
from judgeboard_dashboard.session import open_rows, reading, store

DECISIONS = (
    (Decision.CONFIRM, "Confirm", "Y", ":material/flag:", "Yes: the answer has a problem"),
    (Decision.DISMISS, "Dismiss", "N", ":material/check:", "No: the answer is fine"),
)
PREFERENCES = (
    (Preference.A, "Left is better", "Q", ":material/arrow_back:"),
    (Preference.TIE, "Tie", "W", ":material/drag_handle:"),
    (Preference.B, "Right is better", "E", ":material/arrow_forward:"),
)


def one_split(place: Place, item_id: int, reviewer: Reviewer) -> None:
    """Show the item.

    Raises:
        NotFound: No such item.
        NotAllowed: The person may not see what others said of it.
    """
    here = desk()
    read_fields(here)
    for press in keyboard().work_off():
        press.act()
    goal, here.goal = here.goal, None
    if goal is not None and goal.page is not None:
        open_rows(goal.page, **goal.query)
    with reading() as connection:
        split = load_split(connection, item_id, reviewer)
    if split.pair is None:
        _answer(place, split, here, reviewer)
    else:
        _pair(place, split, here, reviewer)


def _answer(place: Place, split: Split, here: Desk, reviewer: Reviewer) -> None:
    with reading() as connection:
        item = load_item(connection, split.item.response_id or 0)
        rubric = load_rubric_scores(connection, item.response_id)
        threshold = thresholds(connection).low_groundedness
    seen = primary_verdict(item)
    presses = _presses(place, split, here, reviewer, item.response_id, item.external_id, seen.id if seen else None)
    claims = (seen.claims or ()) if seen else ()
    marks = MarkPresses(here, item.response_id, statements_of(item.answer, claims, seen.id if seen else None))
    _head(presses, item.query_type)
    tools_line(marks, presses.screen.row, presses.by_sentence)
    shown = shown_claims(claims, marks.statements, marks.shown, marks.at)
    signals = judge_pane(item, shown, threshold, None, rubric, keys_shown=False)
    item_panes(item, claims, marks, tag("div", words_block(split), signals, cls="jb-both"), presses.whole)
    _bar(presses)


def _pair(place: Place, split: Split, here: Desk, reviewer: Reviewer) -> None:
    pair = split.pair
    if pair is None:
        return
    presses = _presses(place, split, here, reviewer, -pair.id, pair.external_id, None)
    _head(presses, pair.query_type)
    with st.container(key=f"split_pair_{split.item.id}"):
        show(words_block(split))
        show(pair_texts_shown(pair.question, pair.options or (), pair.passages or (), pair.answer_a, pair.answer_b))
    _bar(presses)


def _presses(
    place: Place, split: Split, here: Desk, reviewer: Reviewer, number: int, name: str, judgment_id: int | None
) -> SplitPresses:
    stage = "s" if split.adjudication is None else f"a{split.adjudication.id}"
    screen = QueueScreen(
        response_id=number,
        external_id=name,
        flag_id=None,
        judgment_seen_id=judgment_id,
        listing=Listing(RowFilter(), ""),
        from_list=True,
        item_id=split.item.id,
        stage=stage,
    )
    held = keyboard()
    held.appear(screen.row, time.monotonic())  # first: the drawing may be cut off by the next press
    return SplitPresses(
        store(), here, reviewer, screen, lambda: held.seconds(time.monotonic()), split=split, of=place.of
    )


def _head(presses: SplitPresses, query_type: str) -> None:
    split, row = presses.split, presses.screen.row
    said = split.adjudication
    mine = said is not None and presses.reviewer is not None and said.reviewer_id == presses.reviewer.id
    line = st.container(key="split_head").container(
        key="head", horizontal=True, vertical_alignment="center", gap="small", wrap=False
    )
    with line:
        show(_line(presses, query_type))
        key_button(
            "Undo", presses.take_back, key=f"undo_{row}", turn=Turn.UNDO, shortcut="Z", quiet=True, disabled=not mine
        )
        key_button("Next", presses.next, key=f"next_{row}", turn=Turn.MOVE, shortcut="J", quiet=True)
        key_button("List", presses.to_splits, key=f"list_{row}", turn=Turn.MOVE, shortcut="L", quiet=True)
    st.set_page_config(page_title=f"Split {presses.screen.external_id} · Judgeboard", layout="wide")


def _line(presses: SplitPresses, query_type: str) -> Html:
    split, here = presses.split, presses.here
    said = tag("span", f"{here.said} ", cls="jb-refused" if here.refused else "jb-saved") if here.said else None
    state = "Adjudicated" if split.item.state is ItemState.ADJUDICATED else "Split"
    rest = [
        "· " if said else None,
        tag("b", state),
        f" in “{split.queue.name}” · ",
        tag("span", presses.screen.external_id, cls="jb-id"),
        f" · {query_type}",
    ]
    taken = str(keyboard().taken)
    return tag(
        "div", said, tag("span", *rest, cls="jb-rest"), cls="jb-head", data_row=presses.screen.row, data_taken=taken
    )


def _bar(presses: SplitPresses) -> None:
    """What a lead says last; whoever may not, or where it is said, sees what stands."""
    split, reviewer = presses.split, presses.reviewer
    if reviewer is None or not may(reviewer, Action.ADJUDICATE) or split.item.state is not ItemState.SPLIT:
        return
    draft = presses.here.draft(presses.screen.response_id)
    draft.dimensions = () if split.pair is not None else dimensions_of(split.queue.grades)
    fill_fields(draft, labels=False)
    with st.bottom, st.container(key="bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        if split.pair is None:
            grade_groups(presses, draft, split.queue.grades)
        note_field(draft, label="Why (M)", hint="The reason of the last word: needed")
        token = presses.here.token(presses.screen.row)
        with st.container(width="content", gap="xxsmall"):
            show(tag("div", "The last word" if split.pair is None else "Which answer is better?", cls="jb-label"))
            with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
                if split.pair is None:
                    _decisions(presses, token)
                else:
                    _preferences(presses, token)


def _decisions(presses: SplitPresses, token: str) -> None:
    for decision, name, shortcut, icon, meaning in DECISIONS:
        key_button(
            name,
            partial(presses.decide, decision, token),
            key=f"{decision.value}_{presses.screen.row}",
            turn=Turn.DECIDE,
            shortcut=shortcut,
            icon=icon,
            tip=meaning,
        )


def _preferences(presses: SplitPresses, token: str) -> None:
    for preference, name, shortcut, icon in PREFERENCES:
        key_button(
            name,
            partial(presses.prefer, preference, token),
            key=f"{preference.value}_{presses.screen.row}",
            turn=Turn.DECIDE,
            shortcut=shortcut,
            icon=icon,
        )
