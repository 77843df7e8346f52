"""The review screen: head line, panes and bar, the same for an answer, a queue item, a pair and a conflict."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import streamlit as st

from judgeboard.domain import Action, Decision, Label, Preference, Shown
from judgeboard.flags.rules import LOW_GROUNDEDNESS
from judgeboard.reviews.decisions import IMPLIED
from judgeboard.reviews.shown import stored_side
from judgeboard_dashboard.evidence import Html, show_div, tag
from judgeboard_dashboard.gate import refusal
from judgeboard_dashboard.review.actions import SIDES, Actions
from judgeboard_dashboard.review.comments import read_comments
from judgeboard_dashboard.review.drafts import Draft, ReviewSession
from judgeboard_dashboard.review.fields import fill_fields, note_fields, read_fields, row_of_buttons
from judgeboard_dashboard.session import (
    accept_name,
    in_row,
    name_field,
    name_is_suggested,
    open_rows,
    reviewer_name,
    visit,
)
from judgeboard_dashboard.widgets.keys import Turn, key_button, keyboard, listen, longest_pause
from judgeboard_dashboard.widgets.texts import capital

# decision, label if a flag is shown, label if no flag is shown, key, icon, meaning
DECISIONS = (
    (Decision.CONFIRM, "Confirm", "Yes", "Y", ":material/flag:", "Yes: the answer has a problem"),
    (Decision.DISMISS, "Dismiss", "No", "N", ":material/check:", "No: the answer is fine"),
    (
        Decision.UNSURE,
        "Unsure",
        "Unsure",
        "U",
        ":material/question_mark:",
        "You cannot decide: leave it to others",
    ),
)
IMPLIED_QUESTION = "Store the label hallucinated when you confirm, and grounded when you dismiss? You are asked once."
SIDE_KEYS = {
    "left": ("Q", ":material/arrow_back:"),
    "tie": ("W", ":material/drag_handle:"),
    "right": ("E", ":material/arrow_forward:"),
}
Undoable = TypeVar("Undoable")


Choice = Callable[..., None]
"""Draws a button with a key."""


def choice(
    *,
    name: str,
    label: str,
    act: Callable[[], None],
    key: str | None = None,
    turn: Turn = Turn.DECIDE,
    is_chosen: bool = False,
    tip: str | None = None,
    icon: str | None = None,
    disabled: bool = False,
) -> Choice:
    """Return a button that is drawn later, with a key; ``name`` is unique on the screen. See `key_button`."""
    return partial(
        key_button,
        label,
        act,
        key=name,
        turn=turn,
        shortcut=key,
        is_chosen=is_chosen,
        tip=tip,
        icon=icon,
        disabled=disabled,
    )


def take_input(session: ReviewSession) -> None:
    """Before a screen is drawn: copy typed texts to drafts, process key presses, and open another page if needed."""
    read_fields(session)
    read_comments(session)
    session.names_reviewer = name_is_suggested()
    listen()
    keys = keyboard()
    for press in keys.work_off():
        press.act()
    if keys.early:
        session.say("The item has just changed. Press again.", refused=True)
        keys.early = False
    if name_is_suggested() and not session.names_reviewer:
        accept_name()
    goal = session.goal
    if goal is not None and goal.page != "item":
        session.goal = None
        open_rows(goal.page, **goal.query)


def appear(
    session: ReviewSession, subject: int, row: str, texts: Iterable[str | None]
) -> Callable[[], float]:
    """Show the draft for a subject, and start the clock of the screen with these texts.

    Return a function that returns the seconds spent on the screen.

    Call this before anything is drawn, because the next key press may interrupt the drawing.
    """
    session.show_draft(visit(), subject)
    keys = keyboard()
    keys.appear(row, time.monotonic(), longest_pause(sum(len(text or "") for text in texts)))
    return lambda: keys.seconds(time.monotonic())


def move(name: str, label: str, key: str, act: Callable[[], None] | None) -> Choice:
    """Return a button of the head line that opens another item or page, disabled without an action."""
    return choice(
        name=name,
        label=label,
        act=act or (lambda: None),
        key=key,
        turn=Turn.MOVE,
        disabled=act is None,
    )


def undo_choice(
    undoable: Undoable | None, undo: Callable[[Undoable], None], actions: Actions | None = None
) -> Choice:
    """Return the button that undoes a review or a skip, disabled without a review or skip.

    On the screen of ``actions``, the button brings back a discarded correction first.
    """
    act = (lambda: None) if undoable is None else partial(undo, undoable)
    disabled = undoable is None
    if actions is not None:
        act, disabled = (
            partial(actions.undo_last, act),
            disabled and actions.draft.discarded is None,
        )
    return choice(name="undo", label="Undo", act=act, key="Z", turn=Turn.UNDO, disabled=disabled)


def head_line(
    actions: Actions,
    title: str,
    position: Html | None,
    facts: Sequence[str | None],
    buttons: Sequence[Choice],
) -> None:
    """Show the line over the panes. The height is fixed, and a text that is too long ends in an ellipsis.

    ``title`` is the title of the browser tab and the heading for screen readers. A fact that is
    None is left out. keys.js lists the keys of the page over this line.
    """
    st.set_page_config(page_title=f"{title} · Judgeboard", layout="wide")
    session, presses = actions.session, keyboard()
    message = (
        tag("span", session.message, cls="jb-refused" if session.refused else "jb-saved")
        if session.message
        else None
    )
    parts = [
        *([position] if position else []),
        tag(
            "span", actions.name, cls="jb-id"
        ),  # first, so that the id is never cut: people quote the id
        *(tag("span", fact) for fact in facts if fact),
    ]
    rest = [
        piece
        for at, part in enumerate(parts)
        for piece in ((" · ", part) if at or message else (part,))
    ]
    with in_row("head", wrap=False):
        show_div(
            "jb-head",
            tag("h1", title, cls="jb-unseen"),
            message,
            tag("span", *rest, cls="jb-rest"),
            data_name=reviewer_name() or None,
            data_suggested=reviewer_name() if name_is_suggested() else None,
            data_row=actions.row,
            data_done=str(presses.done),
            data_returned=" ".join(map(str, presses.returned)),
            data_session=presses.session,
            data_asks=None if session.asks is None else " ".join(map(str, session.asks)),
        )
        for button in buttons:
            button(quiet=True)
        key_button("Keys", lambda: None, key="keys", shortcut="H", quiet=True)


def bar(
    actions: Actions,
    question: str,
    choices: Sequence[Choice],
    *,
    grades: Callable[[], None] | None = None,
    note: tuple[str, str] = ("Note (M)", "Optional: what is wrong, or why it is fine"),
    form: Callable[[], None] | None = None,
) -> None:
    """Show the bar at the bottom, always at the same place and with the same height.

    ``question`` is the label over the choices. ``note`` has the label and the hint of the note
    field. ``grades`` draws the buttons for grades. ``form`` draws a form in place of the choices.
    """
    with st.bottom, in_row("bar", align="bottom"):
        if (reason := refusal(Action.REVIEW)) is not None:
            show_div("jb-cap", reason)
            return
        if grades is not None:
            grades()
        else:
            fill_fields(actions.draft)
        note_fields(actions.draft, *note)
        if form is not None:
            form()
            return
        open_question = actions.question()
        if open_question is not None and open_question.label is None:
            # No keys of decisions: people press such keys fast, and this answer is for all decisions.
            answers = (
                (True, "Yes, store the label", "Enter", ":material/label:"),
                (False, "No label", "Backspace", ":material/label_off:"),
            )
            question = IMPLIED_QUESTION
            choices = [
                choice(
                    name=f"implied_{implied}",
                    label=label,
                    act=partial(actions.answer_implied, implied),
                    key=key,
                    icon=icon,
                    tip="Stored for your next decisions. A lead can choose for everybody in Flag rules.",
                )
                for implied, label, key, icon in answers
            ]
        elif open_question is not None:
            question = f"You marked it {open_question.label}. Which is right?"
            choices = [
                choice(
                    name=f"contradicted_{decision}",
                    label=label,
                    act=partial(actions.answer_contradiction, decision),
                    key=key,
                    icon=icon,
                    tip=f"Stores the label {IMPLIED[decision]} with this decision",
                )
                for decision, label, key, icon in (
                    (Decision.CONFIRM, "Hallucinated", "Y", ":material/flag:"),
                    (Decision.DISMISS, "Grounded", "N", ":material/check:"),
                )
            ]
        with row_of_buttons(question, row_key="decide"):
            for button in choices:
                button()


def implied_labels(actions: Actions) -> Mapping[Decision, Label]:
    """Return the labels that decisions imply. Empty until the reviewer has answered whether decisions imply labels."""
    return (
        IMPLIED if actions.implies and actions.implied_label(Decision.CONFIRM) is not None else {}
    )


def problem_question(draft: Draft, rules: Collection[str]) -> str:
    """Return the question over the decisions. An answer with flags of these rules may be grounded and have a problem.

    `check_label` refuses the decision where the low-groundedness flag is the only one.
    """
    another = draft.label is Label.GROUNDED and set(rules) != {LOW_GROUNDEDNESS}
    return (
        "You marked it grounded. Does it have another problem?"
        if another
        else "Does the answer have a problem?"
    )


def implied_words(labels: Mapping[Decision, Label]) -> str:
    """Return the labels that decisions imply, to be put after the question; empty without such labels."""
    return f" Y: {labels[Decision.CONFIRM]}, N: {labels[Decision.DISMISS]}" if labels else ""


def decision_choices(
    decide: Callable[[Decision], None],
    *,
    flag: bool,
    decisions: Collection[Decision] = tuple(Decision),
    implied: Mapping[Decision, Label] = MappingProxyType({}),
) -> list[Choice]:
    """Return the buttons to decide on an answer. ``flag``: a flag is shown. ``implied``: labels to store as well."""
    return [
        choice(
            name=decision.value,
            label=of_flag if flag else plain,
            act=partial(decide, decision),
            key=key,
            icon=icon,
            tip=f"{tip}. It also stores the label {implied[decision]}"
            if decision in implied
            else tip,
        )
        for decision, of_flag, plain, key, icon, tip in DECISIONS
        if decision in decisions
    ]


def side_choices(
    decide: Callable[[Preference], None],
    order: Shown,
    *,
    sides: Mapping[str, str] = SIDES,
    enabled: bool = True,
) -> list[Choice]:
    """Return the buttons for a preference on a pair; ``order`` is the order of the answers on the screen.

    ``sides`` are the names of the sides. ``enabled``: both answers are available.
    """
    return [
        choice(
            name=side,
            label=capital(sides[side]),
            act=partial(decide, stored_side(side, order)),
            key=key,
            icon=icon,
            disabled=not enabled,
        )
        for side, (key, icon) in SIDE_KEYS.items()
    ]


def name_form() -> None:
    """Show the field for the reviewer's name in the bar."""
    with row_of_buttons(
        "Who is reviewing? Your name is stored with each decision.", row_key="decide"
    ):
        name_field()
