"""The bar under a review and the line above it."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from judgeboard.domain import Decision, Label, ResponseKind
from judgeboard.store.engine import Store
from judgeboard.store.items import Item, ItemFlag
from judgeboard.store.open_flags import Neighbours
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.verdicts import RubricScores
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.review.decisions import Presses, take_back
from judgeboard_dashboard.review.drafts import Desk, Done, Draft, Screen
from judgeboard_dashboard.review.fields import ANCHORS, QUALITIES, field_key, fill_fields, note_key, rubric_fields
from judgeboard_dashboard.session import NAME_FIELD, give_name
from judgeboard_dashboard.widgets.keys import Turn, key_button, keyboard
from judgeboard_dashboard.widgets.texts import when

DECISIONS = (
    (Decision.CONFIRM, "Confirm", "Y", ":material/flag:", "Yes: the answer has a problem"),
    (Decision.DISMISS, "Dismiss", "N", ":material/check:", "No: the answer is fine"),
    (Decision.UNSURE, "Unsure", "U", ":material/question_mark:", "It stays open for somebody else and out of your way"),
)


def bar(presses: Presses, rubric: RubricScores, *, decided: str | None) -> None:
    """Show the bar; it keeps its place and height whatever the item is.

    Args:
        presses: What the keys do.
        rubric: What rubric judges gave the answer: people may grade on the same dimensions.
        decided: What became of the flag where nothing waits for a decision, None where it does or never was flagged.
    """
    draft = presses.here.draft(presses.screen.response_id)
    draft.dimensions = tuple(rubric.words)
    fill_fields(draft)
    with st.bottom, st.container(key="bar", horizontal=True, vertical_alignment="bottom", gap="small"):
        quality_group(presses, draft)
        groundedness_group(presses, draft, partial(_more, presses, draft))
        rubric_fields(rubric, draft)
        note_field(draft)
        if presses.reviewer is None:
            _who()
        elif presses.screen.flag_id is not None:
            _decision(presses)
        else:
            _save(presses, decided)


def quality_group(presses: Presses, draft: Draft) -> None:
    """Show the four steps of quality."""
    with st.container(width="content", gap="xxsmall"):
        show(tag("div", "Quality", cls="jb-label"))
        with st.container(horizontal=True, gap="xxsmall", wrap=False):
            for step in QUALITIES:
                key_button(
                    step.name,
                    partial(presses.quality, step.value),
                    key=f"quality{step.value}_{presses.screen.row}",
                    turn=Turn.GIVE,
                    shortcut=step.key,
                    chosen=draft.quality == step.value,
                    tip=f"{step.value}: {step.meaning}",
                )


def groundedness_group(presses: Presses, draft: Draft, more: Callable[[], None]) -> None:
    """Show the anchors of groundedness; ``more`` shows what is behind the three dots."""
    given = draft.groundedness
    with st.container(width="content", gap="xxsmall"):
        show(tag("div", "Groundedness", cls="jb-label"))
        with st.container(horizontal=True, gap="xxsmall", wrap=False):
            for step in ANCHORS:
                key_button(
                    step.name,
                    partial(presses.groundedness, step.value),
                    key=f"grounded{step.key}_{presses.screen.row}",
                    turn=Turn.GIVE,
                    shortcut=step.key,
                    chosen=given == step.value,
                    tip=step.meaning,
                )
            exact = given is not None and given not in {step.value for step in ANCHORS}
            chosen = exact or draft.label is not None or bool(draft.corrected_answer)
            said = f"{given:.2f}" if exact else "•••"
            with st.popover(said, type="primary" if chosen else "secondary", key="more_grades"):
                more()


def _more(presses: Presses, draft: Draft) -> None:
    """What is given rarely: an exact value, a label, a better answer; and the way to ask a judge again."""
    exact_field(draft)
    st.segmented_control(
        "Label", [label.value for label in Label], key=field_key("label", draft), format_func=str.capitalize
    )
    corrected_field(draft)
    key_button(
        "Rejudge this answer",
        presses.to_rejudge,
        key=f"rejudge_{presses.screen.row}",
        turn=Turn.MOVE,
        icon=":material/replay:",
    )


def exact_field(draft: Draft) -> None:
    """Show the field of a groundedness between the anchors."""
    st.number_input("Exact groundedness", 0.0, 1.0, value=None, step=0.05, key=field_key("exact", draft), format="%.2f")


def corrected_field(draft: Draft) -> None:
    """Show the field of a better answer."""
    st.text_area(
        "Corrected answer", key=field_key("corrected", draft), height=120, placeholder="What it should have said"
    )


def note_field(
    draft: Draft, *, label: str = "Note (M)", hint: str = "Optional: what is wrong, or why it is fine"
) -> None:
    """Show the field of the note."""
    with st.container(key="notebox", gap="xxsmall"):
        show(tag("div", label, cls="jb-label"))
        st.text_input(
            "Note",
            key=note_key(draft),
            label_visibility="collapsed",
            placeholder=hint,
        )


def _decision(presses: Presses) -> None:
    token = presses.here.token(presses.screen.row)
    with st.container(width="content", gap="xxsmall"):
        asked = "Is there a problem?" if presses.screen.edits is None else "Change your review: is there a problem?"
        show(tag("div", asked, cls="jb-label"))
        with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
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


def _save(presses: Presses, decided: str | None) -> None:
    with st.container(width="content", gap="xxsmall"):
        if presses.screen.edits is not None:
            decided = "Change your grade"
        show(tag("div", decided or "Not flagged: nothing waits for a decision", cls="jb-label"))
        with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
            key_button(
                "Save grade",
                partial(presses.save, presses.here.token(presses.screen.row)),
                key=f"save_{presses.screen.row}",
                turn=Turn.DECIDE,
                shortcut="Ctrl+Enter",
                icon=":material/save:",
                tip="Saves quality, groundedness, label, note and corrected answer as your review",
            )


def _who() -> None:
    with st.container(width="content", gap="xxsmall"):
        show(tag("div", "Who is reviewing? Your name stands beside what you decide.", cls="jb-label"))
        with st.container(key="decide", horizontal=True, gap="xxsmall", wrap=False):
            st.text_input(
                "Your name",
                key=NAME_FIELD,
                label_visibility="collapsed",
                placeholder="Your name",
                width=220,
                on_change=give_name,
            )
            st.button("OK", key="who_start", on_click=give_name, wrap=False)


MADE = {
    "regenerated": "made from a prompt or another answer",
    "control": "made to check a judge",
    "candidate": "answers a suite",
}


def head_line(
    presses: Presses, beside: Neighbours | None, facts: Sequence[str | None], undoable: Done | None, default_sort: str
) -> None:
    """Show the line; it has one height, too long a text ends in an ellipsis.

    Args:
        presses: What the keys do.
        beside: The place in the list, None where the item was not opened from one.
        facts: Query type, generator, … in order; None is left out.
        undoable: What Z takes back, None where there is nothing.
        default_sort: The order that an address need not name.
    """
    screen, here = presses.screen, presses.here
    with st.container(key="head", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        show(_line(screen, here, beside, facts, str(keyboard().taken)))
        undo_button(presses.store, here, presses.reviewer, undoable, screen.row)
        _go(presses, "Previous", "K", beside.previous if beside else None)
        _go(presses, "Next", "J", beside.next if beside else None)
        key_button(
            "List",
            partial(presses.to_list, default_sort),
            key=f"list_{screen.row}",
            turn=Turn.MOVE,
            shortcut="L",
            quiet=True,
        )
        key_button("Keys", presses.keys, key=f"keys_{screen.row}", turn=Turn.GIVE, shortcut="H", quiet=True)


def place_words(beside: Neighbours | None) -> str:
    """Return "14 of 212", an empty text where the item is in no list."""
    return f"{beside.position:,} of {beside.total:,}" if beside is not None and beside.listed else ""


def facts(found: Item, flag: ItemFlag | None) -> Sequence[str | None]:
    """Return what the line says of an answer, in order; None is left out."""
    return (
        MADE.get(found.kind),
        "not flagged" if flag is None and found.kind == ResponseKind.LOG and not found.hidden.judge else None,
        found.query_type,
        f"written by {found.generator_model}" if found.generator_model else None,
        f"asked {when(found.asked_at)}" if found.asked_at else None,
    )


def undo_button(store: Store, here: Desk, reviewer: Reviewer | None, done: Done | None, row: str) -> None:
    """Show the button that takes the last review back, deaf where there is none."""
    name = "undo" if done is None else f"undo{done.review_id}"
    act = _nothing if done is None else partial(take_back, store, here, reviewer, done, here.token(name))
    key_button("Undo", act, key=f"{name}_{row}", turn=Turn.UNDO, shortcut="Z", quiet=True, disabled=done is None)


def _go(presses: Presses, name: str, shortcut: str, flag_id: int | None) -> None:
    key_button(
        name,
        _nothing if flag_id is None else partial(presses.go, flag_id),
        key=f"{name.lower()}_{presses.screen.row}",
        turn=Turn.MOVE,
        shortcut=shortcut,
        quiet=True,
        disabled=flag_id is None,
    )


def _nothing() -> None:
    """What a disabled button does."""


def _line(screen: Screen, here: Desk, beside: Neighbours | None, facts: Sequence[str | None], taken: str) -> Html:
    said = tag("span", here.said, cls="jb-refused" if here.refused else "jb-saved") if here.said else None
    parts: list[str] = []
    if beside is not None and beside.listed:
        parts.append(tag("span", tag("b", f"{beside.position:,}"), f" of {beside.total:,} in “{screen.listing.words}”"))
    parts.append(tag("span", screen.external_id, cls="jb-id"))  # before what may be cut: people quote it
    parts += [tag("span", fact) for fact in facts if fact]
    rest = [piece for place, part in enumerate(parts) for piece in ((" · ", part) if place or said else (part,))]
    return tag("div", said, tag("span", *rest, cls="jb-rest"), cls="jb-head", data_row=screen.row, data_taken=taken)
