"""The bar under an item of a queue: the grades that the queue asks for, the note, and the question that is decided."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from judgeboard.domain import Decision, Label
from judgeboard.queues.rules import ASKED
from judgeboard_dashboard.controls import Turn, key_button
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.item.bar import (
    corrected_field,
    exact_field,
    groundedness_group,
    note_field,
    quality_group,
)
from judgeboard_dashboard.item.desk import Draft
from judgeboard_dashboard.item.fields import fill_fields
from judgeboard_dashboard.item.presses import Presses
from judgeboard_dashboard.queue_review.panes import GROUNDEDNESS, LABEL, QUALITY
from judgeboard_dashboard.queue_review.presses import QueuePresses
from judgeboard_dashboard.queue_review.rubric_group import RubricPresses, rubric_group

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
