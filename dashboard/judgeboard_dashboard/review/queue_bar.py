"""The head line, the bar and the decisions of a queue's review screen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from judgeboard.domain import Decision, Label
from judgeboard.errors import DecisionRefused
from judgeboard.judges.rubric_file import LEVELS
from judgeboard.reviews.changes import undo
from judgeboard.reviews.checks import NOTHING
from judgeboard.reviews.leases import skip, take_item
from judgeboard.reviews.queue_decisions import answer_reveal, decide_item, reveal
from judgeboard.reviews.queues import ASKED
from judgeboard.store.items import Item
from judgeboard.store.queues import Queue
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import Html, as_label, show, tag
from judgeboard_dashboard.review.bar import corrected_field, exact_field, groundedness_group, note_field, quality_group
from judgeboard_dashboard.review.claims import NumberedClaim
from judgeboard_dashboard.review.decisions import SAVED, Presses, safely
from judgeboard_dashboard.review.drafts import Desk, Draft, Goal
from judgeboard_dashboard.review.fields import ANCHORS, QUALITIES, fill_fields
from judgeboard_dashboard.review.leases import QUEUE_KEYS, Card, Reveal, Said, Walk, beside, read_card
from judgeboard_dashboard.review.signals import judge_pane, primary_verdict
from judgeboard_dashboard.widgets.keys import Turn, key_button, keyboard

TAKEN = "Somebody else has this item by now."


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePresses(Presses):
    """What can be pressed on an item of a queue, bound when it was drawn; ``late`` when its time was over by then."""

    walk: Walk
    card: Card
    late: bool = False

    def decide(self, decision: Decision, token: str) -> None:
        """Decide the item with the draft; the next one is there, or the judge where it is shown now."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda reviewer: self._decide_item(reviewer, decision, token))

    def answer(self, decision: Decision | None, token: str) -> None:
        """After the reveal: keep what was given (no decision), or give what the draft says now."""
        if token not in self.here.used:
            safely(self.here, self.reviewer, lambda reviewer: self._answer(reviewer, decision, token))

    def change(self) -> None:
        """After the reveal: give another grade."""
        if self.walk.reveal is not None:
            self.walk.reveal.changing = True

    def ask_skip(self) -> None:
        """Open the field of the reason, or close it."""
        self.walk.skipping = not self.walk.skipping

    def skip(self, reason: str) -> None:
        """Put the item aside."""
        safely(self.here, self.reviewer, lambda reviewer: self._skip(reviewer, reason))

    def take_again(self) -> None:
        """Hold an item again that was held too long without a sign."""
        safely(self.here, self.reviewer, self._take_again)

    def stop(self) -> None:
        """Leave the queue; what is held goes back."""
        self.here.say("")
        self.here.goal = Goal(page="queue", query={"show": ["Queues"]})

    def _decide_item(self, reviewer: Reviewer, decision: Decision, token: str) -> None:
        walk, card, here = self.walk, self.card, self.here
        draft = here.draft(self.screen.response_id)
        try:
            decided = decide_item(
                self.store,
                card.held.token,
                reviewer=reviewer,
                decision=decision,
                grade=self.given(),
                judgment_seen_id=self.screen.judgment_seen_id,
                seconds=self.seconds(),
                request_key=token,
            )
        except DecisionRefused as refused:
            here.say(f"Not saved: {refused}", refused=True)
            here.leave(self.screen, token)
            walk.settle(card, done=False)
            walk.look_whether_open()
            return
        given = draft.copied()
        here.say(f"Saved: {SAVED[decision]} {card.name}")
        here.leave(self.screen, token)
        walk.settle(card, done=True)
        walk.said.append(Said(decided.review_id, decided.item_id, self.screen.response_id, given))
        if decided.reveal:
            reveal(self.store, decided.review_id, reviewer=reviewer)
            walk.reveal = Reveal(read_card(self.store, card.held, reviewer), decided.review_id, decision, given)
            here.put_draft(self.screen.response_id, given.copied())

    def _answer(self, reviewer: Reviewer, decision: Decision | None, token: str) -> None:
        reveal = self.walk.reveal
        if reveal is None:
            return
        kept = decision is None
        grade = self.given()
        said = Decision(reveal.decision) if kept and reveal.decision else decision
        judge = None if reveal.card.item is None else primary_verdict(reveal.card.item)
        try:
            answer_reveal(
                self.store,
                reveal.review_id,
                reviewer=reviewer,
                grade=grade,
                decision=said,
                judgment_seen_id=None if judge is None else judge.id,
                seconds=self.seconds(),
                request_key=token,
            )
            self.here.say(
                f"{'Kept' if kept else 'Changed'}: {reveal.card.name}; your first grade is the one that counts"
            )
        except DecisionRefused as refused:
            self.here.say(f"Not saved: {refused}", refused=True)
        self.here.leave(self.screen, token)
        self.walk.reveal = None

    def _skip(self, reviewer: Reviewer, reason: str) -> None:
        skipped = skip(self.store, self.card.held.token, reviewer, reason=reason)
        self.here.say(
            f"Skipped {self.card.name}: it waits for somebody else." if skipped else TAKEN, refused=not skipped
        )
        self.here.drafts.pop(self.screen.response_id, None)
        self.walk.settle(self.card, done=False)

    def _take_again(self, reviewer: Reviewer) -> None:
        held = take_item(self.store, self.card.held.item_id, reviewer)
        if held is not None:
            self.card.held, self.card.until = held, held.until
            self.here.say("You hold it again.")
            return
        self.here.say(self._lost(reviewer), refused=True)
        self.here.drafts.pop(self.screen.response_id, None)
        self.walk.settle(self.card, done=False)

    def _lost(self, reviewer: Reviewer) -> str:
        """Keep what was given on an item that somebody else has by now; say so."""
        given = self.here.draft(self.screen.response_id).grade()
        if given == NOTHING or self.card.held.response_id is None:
            return TAKEN
        key = self.here.token(f"{self.screen.row}lost")
        try:
            decide_item(self.store, self.card.held.token, reviewer=reviewer, grade=given, request_key=key)
        except DecisionRefused as refused:
            return str(refused)
        return TAKEN


def take_back(walk: Walk, here: Desk, said: Said, token: str) -> None:
    """Take the last word back: its item is held again and on the screen, with what was given."""
    if token not in here.used:
        safely(here, walk.reviewer, lambda reviewer: _take_back(walk, here, said, token, reviewer))


def _take_back(walk: Walk, here: Desk, said: Said, token: str, reviewer: Reviewer) -> None:
    here.used.add(token)
    walk.said = [one for one in walk.said if one is not said]
    try:
        message = undo(walk.store, review_id=said.id, reviewer=reviewer, request_key=token).message
    except DecisionRefused as refused:
        here.say(str(refused), refused=True)
        return
    here.say(message)
    held = take_item(walk.store, said.item_id, reviewer)
    if held is not None:
        here.put_draft(said.response_id, said.draft)
        walk.bring_back(read_card(walk.store, held, reviewer))


GROUNDEDNESS, QUALITY, LABEL = "groundedness", "quality", "label"


def guide_pane(queue: Queue, *, keys_shown: bool) -> Html:
    """Return how to grade: what is hidden, the scales with their keys, the queue's own guidelines."""
    return tag(
        "div",
        keys_block() if keys_shown else None,
        _blind(queue),
        tag("div", *_scales(queue), cls="jb-block"),
        _guidelines(queue),
        cls="jb-pane jb-signals",
    )


def seen_pane(queue: Queue, card: Card, item: Item, claims: Sequence[NumberedClaim], *, keys_shown: bool) -> Html:
    """Return the judge's side of an item that is not blind, how to grade folded under it."""
    return tag("div", keys_block() if keys_shown else None, _signals(card, item, claims), _folded(queue), cls="jb-both")


def revealed_pane(reveal: Reveal, item: Item, claims: Sequence[NumberedClaim]) -> Html:
    """Return the judge's side after a blind grade, both grades beside each other above it."""
    lines = [tag("div", *(tag("span", part) for part in line), cls="jb-against") for line in beside(reveal.given, item)]
    return tag(
        "div",
        tag("div", tag("div", "You and the judge", cls="jb-label"), *lines, cls="jb-pane jb-block"),
        _signals(reveal.card, item, claims),
        cls="jb-both",
    )


def _signals(card: Card, item: Item, claims: Sequence[NumberedClaim]) -> Html:
    return judge_pane(item, claims, card.threshold, None, card.rubric, keys_shown=False)


def _blind(queue: Queue) -> Html | None:
    if not queue.blind:
        return None
    hidden = [
        *(["The judge’s verdict", "the reason for this item"] if queue.blind_judge else []),
        *(["other people’s grades"] if queue.blind_people else []),
    ]
    after = " come after yours." if queue.reveal and queue.blind_judge else " are hidden."
    said = ", ".join(hidden[:-1]) + (" and " if hidden[:-1] else "") + hidden[-1] + after
    return tag(
        "div",
        tag("div", "Blind until you grade", cls="jb-label"),
        tag("div", said[0].upper() + said[1:], cls="jb-why"),
        cls="jb-block",
    )


def _scales(queue: Queue) -> list[Html]:
    parts = [tag("div", "How to grade", tag("span", f"queue “{queue.name}”"), cls="jb-label")]
    if GROUNDEDNESS in queue.grades:
        rows = [(one.key, one.name, one.meaning) for one in reversed(ANCHORS)]
        parts += [tag("div", "Groundedness: how much of the answer is in the passages?"), _scale(rows)]
    if QUALITY in queue.grades:
        rows = [(one.key, one.name, one.meaning) for one in reversed(QUALITIES)]
        parts += [tag("div", "Quality: does it answer the question?"), _scale(rows)]
    if LABEL in queue.grades:
        rows = [
            ("Q", "Grounded", "everything it says is in the passages"),
            ("W", "Hallucinated", "something it says is not"),
        ]
        parts += [tag("div", "Label: is anything made up?"), _scale(rows)]
    return parts


def _scale(rows: list[tuple[str, str, str]]) -> Html:
    cells = [
        part
        for key, name, meaning in rows
        for part in (tag("kbd", key), tag("span", name, cls="jb-step"), tag("span", meaning))
    ]
    return tag("div", *cells, cls="jb-scale")


def _guidelines(queue: Queue) -> Html | None:
    if not queue.guidelines:
        return None
    return tag(
        "div",
        tag("div", "This queue", cls="jb-label"),
        tag("div", queue.guidelines, cls="jb-reason"),
        cls="jb-block",
    )


def _folded(queue: Queue) -> Html:
    body = tag("div", *_scales(queue), _guidelines(queue), cls="jb-block")
    return tag("div", tag("details", tag("summary", "How to grade"), body), cls="jb-pane jb-block")


def keys_block() -> Html:
    """Return the list of keys."""
    lines = [part for key, meaning in QUEUE_KEYS for part in (tag("kbd", key), tag("span", meaning))]
    return tag("div", tag("div", "Keys", cls="jb-label"), tag("div", *lines, cls="jb-keys"), cls="jb-pane jb-block")


NEXT = "K"
KEYS = "12345"
KEYS_BESIDE_QUALITY = "67890"  # 1 to 4 give the quality then


@dataclass(frozen=True, slots=True)
class RubricPresses:
    """What can be pressed about the rubric's dimensions on the draft of an answer; there is one at least.

    Which dimension is meant is read when a press is worked off: two levels in quick succession are given to two
    dimensions although the second was not drawn yet.
    """

    here: Desk
    response_id: int

    @property
    def draft(self) -> Draft:
        """The draft that the levels are in."""
        return self.here.draft(self.response_id)

    @property
    def at(self) -> int:
        """The place of the dimension that the keys give a level to."""
        return self.draft.dimension_at % len(self.draft.dimensions)

    def next(self) -> None:
        """Go to the next dimension, after the last one to the first."""
        self.draft.dimension_at = (self.at + 1) % len(self.draft.dimensions)

    def give(self, level: int) -> None:
        """Give a level, 1 to 5, and go to the next dimension unless it was the last; the same again takes it back."""
        draft, at = self.draft, self.at
        name = draft.dimensions[at]
        if draft.scores.get(name) == level:
            del draft.scores[name]
            return
        draft.scores[name] = level
        draft.dimension_at = min(at + 1, len(draft.dimensions) - 1)


def rubric_group(presses: RubricPresses, row: str, *, beside_quality: bool, words: Mapping[str, Sequence[str]]) -> None:
    """Show the dimension that the keys give a level to.

    Args:
        presses: What the keys do.
        row: What the buttons belong to.
        beside_quality: Whether the quality is asked for too, which takes the keys 1 to 4.
        words: What the levels 1 to 5 mean, by dimension, where a judge that may be seen brought it.
    """
    draft = presses.draft
    name = draft.dimensions[presses.at]
    meanings = words.get(name, ())
    with st.container(key="rubric_group", width="content", gap="xxsmall"):
        counted = f" {presses.at + 1} of {len(draft.dimensions)}, {len(draft.scores)} given"
        show(tag("div", tag("span", name, cls="jb-dimension"), tag("span", counted), cls="jb-label"))
        with st.container(horizontal=True, gap="xxsmall", wrap=False):
            for level, shortcut in zip(LEVELS, KEYS_BESIDE_QUALITY if beside_quality else KEYS, strict=True):
                meaning = meanings[level - 1] if level <= len(meanings) else ""
                key_button(
                    str(level),
                    partial(presses.give, level),
                    key=f"rubric{level}_{row}",
                    turn=Turn.GIVE,
                    shortcut=shortcut,
                    chosen=draft.scores.get(name) == level,
                    tip=as_label(meaning) or None,
                    each=True,
                )
            if len(draft.dimensions) > 1:
                key_button(
                    "Next",
                    presses.next,
                    key=f"rubric_next_{row}",
                    turn=Turn.GIVE,
                    shortcut=NEXT,
                    tip="The next dimension of the rubric",
                    each=True,
                )


def queue_head(presses: QueuePresses, facts: Sequence[str | None]) -> None:
    """Show the line; it has one height, too long a text ends in an ellipsis."""
    row, here, walk = presses.screen.row, presses.here, presses.walk
    with st.container(key="head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        show(head_text(row, here.said, walk, [presses.screen.external_id, *facts], refused=here.refused))
        undo_button(presses)
        key_button(
            "Skip",
            presses.ask_skip,
            key=f"skip_{row}",
            turn=Turn.MOVE,
            shortcut="J",
            quiet=True,
            disabled=walk.reveal is not None,
        )
        key_button("Leave", presses.stop, key=f"leave_{row}", turn=Turn.MOVE, shortcut="L", quiet=True)
        key_button("Keys", presses.keys, key=f"keys_{row}", turn=Turn.GIVE, shortcut="H", quiet=True)


def undo_button(presses: QueuePresses) -> None:
    """Show the button that takes the last word back, deaf where there is none."""
    walk, here, row = presses.walk, presses.here, presses.screen.row
    said = walk.said[-1] if walk.said else None
    name = "undo" if said is None else f"undo{said.id}"
    act = _nothing if said is None else partial(take_back, walk, here, said, here.token(name))
    key_button("Undo", act, key=f"{name}_{row}", turn=Turn.UNDO, shortcut="Z", quiet=True, disabled=said is None)


def head_text(row: str, said: str, walk: Walk, facts: Sequence[str | None], *, refused: bool) -> Html:
    """Return the text of the line."""
    first = tag("span", f"{said} ", cls="jb-refused" if refused else "jb-saved") if said else None
    place, _, rest = walk.place.partition(" ")
    parts = [
        tag("span", tag("b", place), f" {rest} in “{walk.queue.name}”"),
        *(tag("span", fact, cls=None if number else "jb-id") for number, fact in enumerate(facts) if fact),
    ]
    joined = [piece for number, part in enumerate(parts) for piece in ((" · ", part) if number or said else (part,))]
    taken = str(keyboard().taken)
    return tag("div", first, tag("span", *joined, cls="jb-rest"), cls="jb-head", data_row=row, data_taken=taken)


def _nothing() -> None:
    """What a disabled button does."""


DECISIONS = (
    (Decision.CONFIRM, "Yes", "Y", ":material/flag:", "The answer has a problem"),
    (Decision.DISMISS, "No", "N", ":material/check:", "The answer is fine"),
    (Decision.UNSURE, "Unsure", "U", ":material/question_mark:", "You cannot say: somebody else will look"),
)
NO_WORDS: Mapping[str, Sequence[str]] = {}
LABELS = ((Label.GROUNDED, "Grounded", "Q"), (Label.HALLUCINATED, "Hallucinated", "W"))


def queue_bar(presses: QueuePresses) -> None:
    """Show the bar for the stage that the item is in: to be decided, held too long, revealed, being changed."""
    walk, draft = presses.walk, presses.here.draft(presses.screen.response_id)
    reveal = walk.reveal
    draft.dimensions = dimensions_of(walk.queue.grades)
    fill_fields(draft, labels=False)
    with st.bottom, st.container(key="bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        grade_groups(presses, draft, walk.queue.grades, presses.card.rubric.words)
        note_field(draft)
        if presses.late:
            again_group(presses)
        elif walk.skipping:
            skip_field(presses)
        elif reveal is None:
            _decide(presses, "Is there a problem?")
        elif reveal.changing:
            _decide(presses, "Having seen the judge: is there a problem?")
        else:
            _keep(presses)


def grade_groups(
    presses: Presses, draft: Draft, grades: Sequence[str], words: Mapping[str, Sequence[str]] = NO_WORDS
) -> None:
    """Show the groups of buttons for the grades that a queue asks for.

    Args:
        presses: What the keys do.
        draft: What is given so far.
        grades: Label, groundedness, quality, or a dimension of a rubric.
        words: Those of the levels 1 to 5 by dimension, where a judge that may be seen brought them.
    """
    if QUALITY in grades:
        quality_group(presses, draft)
    if GROUNDEDNESS in grades:
        groundedness_group(presses, draft, partial(_more, draft))
    if LABEL in grades:
        _labels(presses, draft)
    if draft.dimensions:
        rubric_group(
            RubricPresses(presses.here, presses.screen.response_id),
            presses.screen.row,
            beside_quality=QUALITY in grades,
            words=words,
        )


def dimensions_of(grades: Sequence[str]) -> tuple[str, ...]:
    """Return the dimensions of a rubric among the grades that a queue asks for."""
    return tuple(name for name in grades if name not in ASKED)


def _more(draft: Draft) -> None:
    exact_field(draft)
    corrected_field(draft)


def give_label(draft: Draft, label: Label) -> None:
    """Give a label; the same again takes it back."""
    draft.label = None if draft.label == label else label


def _labels(presses: Presses, draft: Draft) -> None:
    with st.container(key="label_group", width="content", gap="xxsmall"):
        show(tag("div", "Label", cls="jb-label"))
        with st.container(horizontal=True, gap="xxsmall", wrap=False):
            for label, name, shortcut in LABELS:
                key_button(
                    name,
                    partial(give_label, draft, label),
                    key=f"label{shortcut}_{presses.screen.row}",
                    turn=Turn.GIVE,
                    shortcut=shortcut,
                    chosen=draft.label is label,
                )


def _decide(presses: QueuePresses, question: str) -> None:
    token = presses.here.token(presses.screen.row)
    act = presses.decide if presses.walk.reveal is None else presses.answer
    with st.container(width="content", gap="xxsmall"):
        show(tag("div", question, cls="jb-label"))
        with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
            for decision, name, shortcut, icon, meaning in DECISIONS:
                key_button(
                    name,
                    partial(act, decision, token),
                    key=f"{decision.value}_{presses.screen.row}",
                    turn=Turn.DECIDE,
                    shortcut=shortcut,
                    icon=icon,
                    tip=meaning,
                )


def _keep(presses: QueuePresses) -> None:
    token = presses.here.token(presses.screen.row)
    with st.container(width="content", gap="xxsmall"):
        show(tag("div", "The judge is shown now. Your grade?", cls="jb-label"))
        with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
            key_button(
                "Keep mine",
                partial(presses.answer, None, token),
                key=f"keep_{presses.screen.row}",
                turn=Turn.DECIDE,
                shortcut="Y",
                icon=":material/check:",
                tip="The same grade, having seen the judge",
            )
            key_button(
                "Change it",
                presses.change,
                key=f"change_{presses.screen.row}",
                turn=Turn.GIVE,
                shortcut="E",
                icon=":material/edit:",
                tip="Another grade, stored beside your first, which is the one that counts",
            )


def again_group(presses: QueuePresses) -> None:
    """Say that the item was held too long without a sign, and offer it again."""
    minutes = max(presses.walk.queue.lease_seconds // 60, 1)
    said = f"You held this item for {minutes:,} {'minute' if minutes == 1 else 'minutes'} without a sign."
    with st.container(width="content", gap="xxsmall"):
        show(tag("div", said, cls="jb-label"))
        with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
            key_button(
                "Take it again?",
                presses.take_again,
                key=f"again_{presses.screen.row}",
                turn=Turn.DECIDE,
                shortcut="Y",
                icon=":material/front_hand:",
            )


def skip_field(presses: QueuePresses) -> None:
    """Show one field for the reason; Enter skips, with or without one."""
    reason = f"reason_{presses.screen.row}"
    form = st.form("skip_form", border=False, enter_to_submit=True, width=330)
    with form, st.container(key="skip_row", horizontal=True, vertical_alignment="bottom", gap="xsmall", wrap=False):
        st.text_input("Why skip it? (optional)", key=reason, max_chars=500, placeholder="Enter skips")
        pressed = st.form_submit_button("Skip", icon=":material/skip_next:")
    if pressed:
        presses.skip(st.session_state[reason])
        st.rerun()
