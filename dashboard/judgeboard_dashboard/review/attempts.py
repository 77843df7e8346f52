"""The attempts at a better answer: their ratings, the text difference, which is selected, and the keys for them."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.methods.attempts import (
    AttemptSequence,
    ShownAttempt,
    deselect_attempt,
    select_attempt,
    selected_attempt,
)
from judgeboard.store.engine import Store
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.review.decisions import Presses, safely
from judgeboard_dashboard.review.drafts import Desk
from judgeboard_dashboard.review.texts import LONGEST, word_difference
from judgeboard_dashboard.widgets.keys import Turn, key_button
from judgeboard_dashboard.widgets.texts import capital, count, money, score, shortened, when

Place = tuple[AttemptSequence, ShownAttempt]


@dataclass(frozen=True, slots=True)
class AttemptPresses:
    """What can be pressed about the attempts on a screen.

    Which attempt is meant is read when a press is worked off: two keys in quick succession, next attempt and select,
    mean the next one although it was not drawn yet.
    """

    store: Store
    here: Desk
    reviewer: Reviewer | None
    response_id: int
    external_id: str
    places: tuple[Place, ...]

    @classmethod
    def on(cls, presses: Presses, places: tuple[Place, ...]) -> "AttemptPresses":
        """Return the presses about ``places`` on a screen."""
        screen = presses.screen
        return cls(presses.store, presses.here, presses.reviewer, screen.response_id, screen.external_id, places)

    @property
    def at(self) -> int:
        """Which attempt is looked at: the one that was chosen, at first the one that the newest run kept."""
        kept = (
            place for place, (sequence, one) in enumerate(self.places) if sequence is self.places[0][0] and one.kept
        )
        return self.here.viewed.get(self.response_id, next(kept, 0)) % len(self.places)

    def next(self) -> None:
        """Look at the next attempt, after the last one at the first."""
        self.here.viewed[self.response_id] = (self.at + 1) % len(self.places)

    def select(self) -> None:
        """Select the attempt; where this person has selected it, deselect it."""
        safely(self.here, self.reviewer, self._select)

    def _select(self, reviewer: Reviewer) -> None:
        sequence, attempt = self.places[self.at]
        row = f"attempt{sequence.run_id}.{sequence.subject}.{attempt.number}"
        token = self.here.token(row)
        if attempt.response_id is None:
            self.here.say(f"Not saved: {attempt.name} gave no answer", refused=True)
        elif selected_attempt(self.store, sequence.run_id, sequence.subject, reviewer) == attempt.number:
            deselect_attempt(
                self.store, run_id=sequence.run_id, subject=sequence.subject, reviewer=reviewer, request_key=token
            )
            self.here.say(f"Undone: you have selected no attempt at {self.external_id}")
        else:
            select_attempt(
                self.store,
                run_id=sequence.run_id,
                subject=sequence.subject,
                number=attempt.number,
                reviewer=reviewer,
                request_key=token,
            )
            self.here.say(f"Saved: {attempt.name} of {self.external_id} is selected")
        self.here.spend(row, token)


METHODS = {"reflect": "Self-reflection", "refine": "Self-refine"}
LONGEST_SAID = 4_000  # characters of an evaluation or a feedback
STARTS = 200  # characters of an answer on its card: one line


def attempts_section(presses: Presses, sequences: Sequence[AttemptSequence]) -> None:
    """Show the attempts under the panes; nothing where there are none.

    Args:
        presses: What the keys of the screen do.
        sequences: The attempts, the newest run's first; keys go through all of them.
    """
    places = tuple((sequence, attempt) for sequence in sequences for attempt in sequence.attempts)
    if not places:
        return
    bound, row = AttemptPresses.on(presses, places), presses.screen.row
    sequence, attempt = places[bound.at]
    with st.container(key="attempts", gap="small"):
        with st.container(key="attempts_head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            show(_title(sequence, len(sequences)))
            key_button(
                "Next attempt", bound.next, key=f"view_{row}", turn=Turn.GIVE, shortcut="9", disabled=len(places) == 1
            )
            _select_button(bound, sequence, attempt, row)
        with st.container(key="stack_attempts"):
            left, right = st.columns([1, 1.35], gap="small")
            with left:
                show(_list(sequence, attempt))
            with right:
                show(_text(sequence, attempt))


def attempts_link(sequences: Sequence[AttemptSequence]) -> Html | None:
    """Return the line that leads from the answer to its attempts, None where there are none."""
    made = sum(sequence.made for sequence in sequences)
    return tag("a", f"{count(made, 'attempt')} at a better one", href="#attempts") if made else None


def _select_button(bound: AttemptPresses, sequence: AttemptSequence, attempt: ShownAttempt, row: str) -> None:
    reviewer = bound.reviewer
    selected = reviewer is not None and sequence.selected_by(reviewer.id) == attempt.number
    key_button(
        "Deselect" if selected else f"Select {attempt.name}",
        bound.select,
        key=f"select_{row}",
        turn=Turn.GIVE,
        shortcut="0",
        chosen=selected,
        disabled=attempt.response_id is None,
        tip="Your name and the time are stored with it. The same key deselects it.",
    )


def _title(sequence: AttemptSequence, runs: int) -> Html:
    """Two lines: what it came to, and who asked; the first is short enough for 800 px."""
    facts = [
        None if sequence.passed is None else "passed" if sequence.passed else "not passed",
        count(sequence.made, "attempt"),
        f"cost {money(sequence.cost_micro)}",
    ]
    asked = [
        f"rated by {sequence.judge}" if sequence.method == "refine" else f"judged by {sequence.judge}",
        f"run {sequence.run_id}, {when(sequence.at)}",
        f"{runs} runs" if runs > 1 else None,
    ]
    named = METHODS.get(sequence.method, sequence.method)
    first = tag("div", tag("b", named), *(f" · {fact}" for fact in facts if fact), cls="jb-line")
    second = tag("div", " · ".join(fact for fact in asked if fact), cls="jb-cap jb-line")
    return tag("div", first, second, cls="jb-attempts-title", id="attempts")


def _list(sequence: AttemptSequence, viewed: ShownAttempt) -> Html:
    cards = [_card(sequence, attempt, viewed=attempt is viewed) for attempt in sequence.attempts]
    selections = [
        tag("div", tag("b", one.reviewer), f" selected {_named(sequence, one.number)}, {when(one.at)}")
        for one in sequence.selected
    ]
    return tag("div", *cards, tag("div", *selections, cls="jb-standing") if selections else None, cls="jb-attempts")


def _named(sequence: AttemptSequence, number: int) -> str:
    return next((one.name for one in sequence.attempts if one.number == number), f"attempt {number}")


def _card(sequence: AttemptSequence, attempt: ShownAttempt, *, viewed: bool) -> Html:
    people = [one.reviewer for one in sequence.selected if one.number == attempt.number]
    in_vain = sequence.passed is False
    kept = "jb-mark jb-short-of" if in_vain else "jb-mark"
    same = _unchanged(_before(sequence, attempt), attempt)
    marks = [
        tag("span", "kept, not passed" if in_vain else "kept", cls=kept) if attempt.kept else None,
        tag("span", "unchanged", cls="jb-cap") if same else None,
        tag("span", f"selected by {', '.join(people)}", cls="jb-mark") if people else None,
    ]
    head = tag(
        "div",
        tag("b", capital(attempt.name)),
        *marks,
        tag("span", _scores(attempt), cls="jb-rating"),
        cls="jb-attempt-head",
    )
    cost = f"cost {money(attempt.cost_micro)}" if attempt.number or attempt.cost_micro is not None else None
    return tag(
        "div",
        head,
        tag("div", _start(attempt.answer), cls="jb-cap jb-line") if attempt.answer and not same else None,
        tag("div", attempt.note, cls="jb-why") if attempt.note else None,
        tag("div", attempt.reasoning[:LONGEST_SAID], cls="jb-reason") if attempt.reasoning else None,
        _feedback(attempt),
        tag("div", cost, cls="jb-cap") if cost else None,
        cls="jb-attempt jb-viewed" if viewed else "jb-attempt",
    )


def _scores(attempt: ShownAttempt) -> str:
    parts = [
        None if attempt.rating is None else f"rated {attempt.rating} of 4",
        None if attempt.groundedness is None else f"groundedness {score(attempt.groundedness)}",
        None if attempt.quality is None else f"quality {attempt.quality} / 4",
    ]
    return ", ".join(part for part in parts if part) or "not rated"


def _feedback(attempt: ShownAttempt) -> Html | None:
    if not attempt.feedback:
        return None
    return tag("div", tag("span", "Feedback ", cls="jb-label"), attempt.feedback[:LONGEST_SAID], cls="jb-reason")


def _before(sequence: AttemptSequence, attempt: ShownAttempt) -> ShownAttempt | None:
    """The attempt that this one is held against: the nearest earlier one with an answer."""
    earlier = [one for one in sequence.attempts if one.number < attempt.number and one.answer is not None]
    return earlier[-1] if earlier else None


def _unchanged(before: ShownAttempt | None, attempt: ShownAttempt) -> bool:
    return before is not None and before.answer == attempt.answer


def _start(answer: str) -> str:
    return shortened(" ".join(answer[: 2 * STARTS].split()), STARTS)


def _text(sequence: AttemptSequence, viewed: ShownAttempt) -> Html:
    before = _before(sequence, viewed)
    heading = capital(viewed.name)
    if viewed.answer is None:
        body = tag("div", viewed.note or "This text was removed (judgeboard forget).", cls="jb-mut")
    elif before is None:
        body = tag("div", viewed.answer[:LONGEST], cls="jb-evidence")
    else:
        heading = f"{heading}, against {before.name}{': unchanged' if _unchanged(before, viewed) else ''}"
        body = _difference(before.answer or "", viewed.answer)
    label = tag("div", heading, tag("span", _scores(viewed)), cls="jb-label jb-both-ends")
    return tag("div", label, body, cls="jb-attempt-text")


def _difference(old: str, new: str) -> Html:
    pieces = word_difference(old, new)
    if pieces is None:
        note = tag("div", "Too long to compare: this is the later text.", cls="jb-cap")
        return tag("div", note, tag("div", new[:LONGEST], cls="jb-evidence"))
    names = {"same": "span", "added": "ins", "removed": "del"}
    return tag("div", *(tag(names[piece.kind], piece.text) for piece in pieces), cls="jb-evidence jb-difference")
