"""Items on which reviewers differ, and their adjudication."""

import secrets
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Decision, Grade, ItemState, Preference, Stage
from judgeboard.errors import DecisionRefused
from judgeboard.people.permissions import Action, may
from judgeboard.reviews.changes import undo
from judgeboard.reviews.conflicts import Conflict, ConflictPage, load_conflict, open_conflicts, own_conflicts
from judgeboard.reviews.queue_decisions import adjudicate
from judgeboard.store.filters import RowFilter
from judgeboard.store.items import load_item
from judgeboard.store.queue_items import QueueReview
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.settings import thresholds
from judgeboard.store.verdicts import load_rubric_scores
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.review.bar import note_field
from judgeboard_dashboard.review.claims import shown_claims, statements_of
from judgeboard_dashboard.review.decisions import SAVED, MarkPresses, Presses, safely
from judgeboard_dashboard.review.drafts import Desk, Goal, Listing, QueueScreen, desk
from judgeboard_dashboard.review.fields import fill_fields, read_fields
from judgeboard_dashboard.review.pairs import pair_texts_shown
from judgeboard_dashboard.review.queue_bar import dimensions_of, grade_groups
from judgeboard_dashboard.review.queues import Place
from judgeboard_dashboard.review.signals import DECIDED, judge_pane, primary_verdict
from judgeboard_dashboard.review.texts import item_panes, tools_line
from judgeboard_dashboard.session import ask_reviewer, open_rows, reading, store
from judgeboard_dashboard.widgets.keys import Turn, key_button, keyboard
from judgeboard_dashboard.widgets.navigation import Rows, pick_rows, row_clicked
from judgeboard_dashboard.widgets.tables import frame, height
from judgeboard_dashboard.widgets.texts import capital, caption, count, empty, sentence, short, when

STAGES = {
    Stage.BLIND: "blind",
    Stage.REVEALED: "after seeing the judge, does not count",
    Stage.ADJUDICATION: "the last word",
}
SIDES = {Preference.A.value: "the left answer", Preference.B.value: "the right answer", Preference.TIE.value: "a tie"}


def words_block(split: Conflict) -> Html:
    """Return a card for each review, with its grades, note, name and time; then who put the item aside."""
    differ = f"differ on {' and '.join(split.differ_on)}" if split.differ_on else ""
    label = tag("div", "What people said", tag("span", differ), cls="jb-label")
    cards = [_card(word) for word in split.reviews]
    aside = [
        tag("div", f"Skipped {when(one.at)}{f': {one.reason}' if one.reason else ''}", cls="jb-cap")
        for one in split.skips
    ]
    return tag("div", tag("div", label, tag("div", *cards, cls="jb-words"), *aside, cls="jb-block"), cls="jb-pane")


def _card(word: QueueReview) -> Html:
    stage = "" if word.stage is None else STAGES[word.stage]
    said = DECIDED.get(word.decision or "") or SIDES.get(word.decision or "")
    lines = [
        tag("div", tag("b", word.reviewer), cls="jb-who"),
        tag("div", capital(said), cls="jb-big") if said else None,
        *(tag("div", tag("span", name), tag("b", value), cls="jb-grade") for name, value in _grades(word)),
        tag("div", word.note, cls="jb-reason") if word.note else None,
        tag("div", " · ".join(part for part in (when(word.at), stage) if part), cls="jb-cap"),
    ]
    return tag("div", *lines, cls=f"jb-word{' jb-gold' if word.stage is Stage.ADJUDICATION else ''}")


def _grades(word: QueueReview) -> list[tuple[str, str]]:
    given = [
        ("Groundedness", None if word.groundedness is None else short(word.groundedness)),
        ("Quality", None if word.quality is None else f"{word.quality} / 4"),
        ("Label", None if word.label is None else str(word.label)),
        *((name, f"{short(value)} / 5") for name, value in word.scores.items()),
    ]
    return [(name, value) for name, value in given if value is not None]


NO_REASON = "Not saved: say why first (M)."


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPresses(Presses):
    """What can be pressed on a split, bound when it was drawn; ``of`` is the queue whose splits are gone through."""

    split: Conflict
    of: str | None

    def decide(self, decision: Decision, token: str) -> None:
        """Say the last word on an answer."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda lead: self._adjudicate(lead, decision, token))

    def prefer(self, preference: Preference, token: str) -> None:
        """Say the last word on a pair."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda lead: self._prefer(lead, preference, token))

    def take_back(self) -> None:
        """Take one's last word on this item back."""
        safely(self.here, self.reviewer, self._take_back)

    def next(self) -> None:
        """Go to the next split."""
        self.here.say("")
        self.here.goal = self._following()

    def to_splits(self) -> None:
        """Go to the list of splits."""
        self.here.say("")
        self.here.goal = self._to(None)

    def _adjudicate(self, lead: Reviewer, decision: Decision, token: str) -> None:
        grade = self.given()
        if grade.note is None:
            self.here.say(NO_REASON, refused=True)
            return
        try:
            adjudicate(
                self.store,
                self.split.item.id,
                by=lead,
                decision=decision,
                grade=grade,
                seconds=self.seconds(),
                request_key=token,
            )
            self.here.say(f"Saved: {SAVED[decision]} {self.screen.external_id}, the last word")
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self._done(token)

    def _prefer(self, lead: Reviewer, preference: Preference, token: str) -> None:
        reason = self.here.draft(self.screen.response_id).note.strip()
        if not reason:
            self.here.say(NO_REASON, refused=True)
            return
        try:
            adjudicate(
                self.store,
                self.split.item.id,
                by=lead,
                decision=preference,
                grade=Grade(note=reason),
                seconds=self.seconds(),
                request_key=token,
            )
            self.here.say(f"Saved: the last word on {self.screen.external_id}")
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self._done(token)

    def _take_back(self, lead: Reviewer) -> None:
        said = self.split.adjudication
        if said is None:
            return
        key = secrets.token_urlsafe(12)
        try:
            undo(self.store, review_id=said.id, reviewer=lead, request_key=key)
            self.here.say(f"Undone: {self.screen.external_id} is split again.")
            draft = self.here.draft(self.screen.response_id)
            draft.note = said.note or ""
            self.here.put_draft(self.screen.response_id, draft)
        except DecisionRefused as refused:
            self.here.say(str(refused), refused=True)

    def _done(self, token: str) -> None:
        """The item stays on the screen as it is now: what was decided is seen, and Z takes it back."""
        self.here.leave(self.screen, token)

    def _following(self) -> Goal:
        with self.store.reading() as connection:
            page = open_conflicts(connection, self.of, after=self.split.item.id, limit=1)
            lines = page.lines or open_conflicts(connection, self.of, limit=1).lines
        others = [line.item.item_id for line in lines if line.item.item_id != self.split.item.id]
        return self._to(others[0] if others else None)

    def _to(self, item_id: int | None) -> Goal:
        query = {"show": ["Splits"]}
        if item_id is not None:
            query["split"] = [str(item_id)]
        if self.of is not None:
            query["of"] = [self.of]
        return Goal(page="queue", query=query)


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
        split = load_conflict(connection, item_id, reviewer)
    if split.pair is None:
        _answer(place, split, here, reviewer)
    else:
        _pair(place, split, here, reviewer)


def _answer(place: Place, split: Conflict, here: Desk, reviewer: Reviewer) -> None:
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


def _pair(place: Place, split: Conflict, here: Desk, reviewer: Reviewer) -> None:
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
    place: Place, split: Conflict, here: Desk, reviewer: Reviewer, number: int, name: str, judgment_id: int | None
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
    if reviewer is None or not may(reviewer, Action.ADJUDICATE) or split.item.state is not ItemState.CONFLICT:
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


MOST = 200
COLUMNS: dict[str, Any] = {
    "Differ on": st.column_config.TextColumn(width=215),
    "Reviews": st.column_config.NumberColumn(width=70, format="localized"),
    "Question": st.column_config.TextColumn(width=380),
    "Type": st.column_config.TextColumn(width=100),
    "Queue": st.column_config.TextColumn(width=180),
    "State": st.column_config.TextColumn(width=110),
    "Joined": st.column_config.TextColumn(width=115),
    "Id": st.column_config.TextColumn(width=150),
}
_KINDS = {name: "Int64" if name == "Reviews" else "str" for name in COLUMNS}
STATES = {ItemState.CONFLICT: "for a lead", ItemState.ADJUDICATED: "adjudicated"}


def splits(place: Place) -> None:
    """Show one split where the address names one, else what waits for the lead, and one's own."""
    reviewer = ask_reviewer()
    if reviewer is None:
        return
    if place.split is not None:
        one_split(place, place.split, reviewer)
        return
    if may(reviewer, Action.ADJUDICATE):
        _waiting(place)
    _own(reviewer)


def _waiting(place: Place) -> None:
    with reading() as connection:
        found = open_conflicts(connection, place.of, limit=MOST)
    where = f" in “{place.of}”" if place.of else ""
    if not found.lines:
        empty(
            f"No split waits{where}.",
            "Where reviewers of a queue differ, the item comes here: a lead sees all they said and decides.",
        )
        return
    n = len(found.lines)
    more = "more than " if found.next is not None else ""
    with st.container(key="splits_top", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        sentence(f"{more}{count(n, 'split')} {'waits' if n == 1 else 'wait'} for a decision{where}.")
        st.button(
            "Start",
            key="splits_start",
            type="primary",
            icon=":material/play_arrow:",
            shortcut="Enter",
            on_click=pick_rows,
            args=(_rows(found, place.of)[0],),
            wrap=False,
        )
    _table(found, key=f"splits_{found.lines[0].item.item_id}_{n}", of=place.of)


def _own(reviewer: Reviewer) -> None:
    with reading() as connection:
        found = own_conflicts(connection, reviewer.id, limit=MOST)
    if not found.lines:
        return
    sentence(f"On {count(len(found.lines), 'item')} you and others differed.")
    _table(found, key=f"own_splits_{found.lines[0].item.item_id}_{len(found.lines)}", of=None)
    caption("What the others said is shown once a lead has decided.")


def _table(found: ConflictPage, *, key: str, of: str | None) -> None:
    rows = _frame(found)
    st.dataframe(
        rows,
        key=key,
        hide_index=True,
        placeholder="",
        row_height=36,
        height=height(len(rows)),
        selection_mode="single-cell",
        on_select=row_clicked(key, _rows(found, of)),
        column_config=COLUMNS,
    )


def _rows(found: ConflictPage, of: str | None) -> list[Rows]:
    more = {} if of is None else {"of": of}
    return [Rows("queue", {"show": "Splits", "split": str(line.item.item_id), **more}) for line in found.lines]


def _frame(found: ConflictPage) -> pd.DataFrame:
    return frame(
        _KINDS,
        (
            (
                capital(", ".join(line.differ_on)),
                line.reviews,
                " ".join((line.item.question or "").split()),
                line.item.query_type,
                line.item.queue,
                STATES.get(line.item.state),
                when(line.item.joined_at),
                line.item.external_id,
            )
            for line in found.lines
        ),
    )
