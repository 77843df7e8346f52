"""The attempts at a better answer: ratings, text differences, selections and keys."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from judgeboard.domain import Action
from judgeboard.methods.refining.attempts import (
    AttemptSequence,
    ShownAttempt,
    attempt_sequences,
    select_attempt,
    selected_attempt,
)
from judgeboard.store.tables import Reviewer
from judgeboard.text import money, shortened
from judgeboard_dashboard.evidence import Html, beginning, both_sides, show, show_div, tag
from judgeboard_dashboard.gate import refusal
from judgeboard_dashboard.review.actions import Actions, safely
from judgeboard_dashboard.review.texts import LONGEST, forgotten
from judgeboard_dashboard.session import in_row, read, stacking_columns
from judgeboard_dashboard.widgets.keys import key_button
from judgeboard_dashboard.widgets.texts import capital, count, score, when

METHODS = {"reflect": "Self-reflection", "refine": "Self-refine"}
LONGEST_TEXT = 4_000  # characters of an evaluation or a feedback
STARTS = 200  # characters of an answer on a card: one line


@dataclass(frozen=True, slots=True)
class AttemptActions:
    """The actions for the attempts of all sequences, in order.

    The current attempt is read when a key press is processed. So the keys for "next attempt" and
    "select", pressed in quick succession, select the next attempt even before the screen shows the
    next attempt.
    """

    actions: Actions
    attempts: tuple[tuple[AttemptSequence, ShownAttempt], ...]

    @property
    def at(self) -> int:
        """The index of the attempt on the screen: at first, the attempt that the newest run kept."""
        newest = self.attempts[0][0]
        kept_indices = (
            at
            for at, (sequence, attempt) in enumerate(self.attempts)
            if sequence is newest and attempt.kept
        )
        return self.actions.session.viewed.get(self.actions.subject, next(kept_indices, 0)) % len(
            self.attempts
        )

    def next(self) -> None:
        """Show the next attempt; after the last attempt, show the first."""
        self.actions.session.viewed[self.actions.subject] = (self.at + 1) % len(self.attempts)

    def select(self) -> None:
        """Select the attempt, or deselect an attempt that this reviewer has selected."""
        store, session, name = self.actions.store, self.actions.session, self.actions.name
        sequence, attempt = self.attempts[self.at]
        run_id, subject = sequence.run_id, sequence.subject
        row = f"attempt{run_id}.{subject}.{attempt.number}"
        key = session.request_key(row)

        def act(reviewer: Reviewer) -> None:
            is_selected = selected_attempt(store, run_id, subject, reviewer) == attempt.number
            number = None if is_selected else attempt.number
            select_attempt(
                store,
                run_id=run_id,
                subject=subject,
                number=number,
                reviewer=reviewer,
                request_key=key,
            )
            undo_message = f"Undone: you have selected no attempt at {name}"
            session.say(
                undo_message if is_selected else f"Saved: {attempt.name} of {name} is selected"
            )
            session.finish_key(row, key)

        safely(session, self.actions.reviewer, act)


@dataclass(frozen=True, slots=True)
class AttemptsSection:
    """The attempts at an answer, below the panes: ``sequences`` begin with the sequence of the newest run."""

    sequences: Sequence[AttemptSequence]

    @classmethod
    def read(cls, response_id: int) -> "AttemptsSection":
        """Read the attempts that started from an answer or made the answer."""
        return cls(read(attempt_sequences, response_id))

    def link(self) -> Html | None:
        """Return the link from the answer to the attempts, None without attempts."""
        number = sum(sequence.made for sequence in self.sequences)
        return (
            tag("a", f"{count(number, 'attempt')} at a better answer", href="#attempts")
            if number
            else None
        )

    def show(self, actions: Actions) -> None:
        """Show the attempts under the panes, the attempts of the newest run first."""
        attempts = tuple(
            (sequence, attempt) for sequence in self.sequences for attempt in sequence.attempts
        )
        if not attempts:
            return
        bound, reviewer = AttemptActions(actions, attempts), actions.reviewer
        sequence, attempt = attempts[bound.at]
        is_selected = reviewer is not None and sequence.selected_by(reviewer.id) == attempt.number
        refusal_text = refusal(Action.REVIEW)
        with st.container(key="attempts", gap="small"):
            with in_row("attempts_head", wrap=False):
                # Two lines: the result, then judge and run. The first line fits into a width of 800
                # px.
                runs = len(self.sequences)
                result = (
                    ""
                    if sequence.passed is None
                    else " · passed"
                    if sequence.passed
                    else " · not passed"
                )
                facts = f"{result} · {count(sequence.made, 'attempt')} · cost {money(sequence.cost_micro)}"
                judge = (
                    f"{'rated' if sequence.method == 'refine' else 'judged'} by {sequence.judge}"
                )
                origin = f"{judge} · run {sequence.run_id}, {when(sequence.at)}{f' · {runs} runs' if runs > 1 else ''}"
                first = tag(
                    "div",
                    tag("b", METHODS.get(sequence.method, sequence.method)),
                    facts,
                    cls="jb-line",
                )
                second = tag("div", origin, cls="jb-cap jb-line")
                show_div("jb-attempts-title", first, second, id="attempts")
                key_button(
                    "Next attempt",
                    bound.next,
                    key="view",
                    shortcut="9",
                    disabled=len(attempts) == 1,
                )
                key_button(
                    "Deselect" if is_selected else f"Select {attempt.name}",
                    bound.select,
                    key="select",
                    shortcut="0",
                    is_chosen=is_selected,
                    disabled=attempt.response_id is None or refusal_text is not None,
                    tip=refusal_text
                    or "Your name and the time are stored with the selection. Press the key again to deselect it.",
                )
            left, right = stacking_columns("attempts", [1, 1.35], gap="small")
            with left:
                viewed = attempt
                cards = [
                    _card(sequence, attempt, viewed=attempt is viewed)
                    for attempt in sequence.attempts
                ]
                names = {attempt.number: attempt.name for attempt in sequence.attempts}
                selections = [
                    tag(
                        "div",
                        tag("b", sequence.people[choice.reviewer_id]),
                        f" selected {names[choice.number]}, {when(choice.at)}",
                    )
                    for choice in sequence.selected
                ]
                show_div(
                    "jb-attempts",
                    *cards,
                    tag("div", *selections, cls="jb-selected") if selections else None,
                )
            with right:
                show(_text(sequence, attempt))


def _card(sequence: AttemptSequence, attempt: ShownAttempt, *, viewed: bool) -> Html:
    people = [
        sequence.people[choice.reviewer_id]
        for choice in sequence.selected
        if choice.number == attempt.number
    ]
    in_vain = sequence.passed is False
    mark_classes = "jb-mark jb-short-of" if in_vain else "jb-mark"
    same = _unchanged(_before(sequence, attempt), attempt)
    marks = [
        tag("span", "kept, not passed" if in_vain else "kept", cls=mark_classes)
        if attempt.kept
        else None,
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
    start = (attempt.answer or "")[: 2 * STARTS]
    cost = (
        f"cost {money(attempt.cost_micro)}"
        if attempt.number or attempt.cost_micro is not None
        else None
    )
    return tag(
        "div",
        head,
        tag("div", shortened(" ".join(start.split()), STARTS), cls="jb-cap jb-line")
        if start and not same
        else None,
        tag("div", attempt.note, cls="jb-why") if attempt.note else None,
        tag("div", beginning(attempt.reasoning, LONGEST_TEXT), cls="jb-reason")
        if attempt.reasoning
        else None,
        tag(
            "div",
            tag("span", "Feedback ", cls="jb-label"),
            beginning(attempt.feedback, LONGEST_TEXT),
            cls="jb-reason",
        )
        if attempt.feedback
        else None,
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


def _before(sequence: AttemptSequence, attempt: ShownAttempt) -> ShownAttempt | None:
    """Return the nearest earlier attempt with an answer, which this attempt is compared with."""
    earlier = [
        other
        for other in sequence.attempts
        if other.number < attempt.number and other.answer is not None
    ]
    return earlier[-1] if earlier else None


def _unchanged(before: ShownAttempt | None, attempt: ShownAttempt) -> bool:
    return before is not None and before.answer == attempt.answer


def _text(sequence: AttemptSequence, viewed: ShownAttempt) -> Html:
    before = _before(sequence, viewed)
    if viewed.answer is None:
        sides = [(viewed, tag("div", viewed.note or forgotten(), cls="jb-mut"))]
    elif before is None or _unchanged(before, viewed):
        sides = [(viewed, tag("div", beginning(viewed.answer, LONGEST), cls="jb-evidence"))]
    else:
        sides = list(
            zip((before, viewed), both_sides(before.answer or "", viewed.answer), strict=True)
        )
    columns = [
        tag(
            "div",
            tag(
                "div",
                capital(attempt.name),
                tag("span", _scores(attempt)),
                cls="jb-label jb-both-ends",
            ),
            text,
        )
        for attempt, text in sides
    ]
    return tag("div", *columns, cls=f"jb-attempt-text{' jb-sides' if len(columns) > 1 else ''}")
