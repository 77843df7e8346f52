"""The line above the panes: which statement the keys mark, the keys themselves, the two ways to show an answer."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from judgeboard.domain import ClaimStatus, WhyDiffers
from judgeboard_dashboard.controls import Turn, key_button
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.item.mark_presses import MarkPresses
from judgeboard_dashboard.words import WHY_DIFFERS, count

STATUSES = (
    (ClaimStatus.SUPPORTED, "Supported", "B", "You find it in the passages; again: take it back"),
    (ClaimStatus.CONTRADICTED, "Contradicted", "X", "The passages say otherwise; again: take it back"),
    (ClaimStatus.UNSUPPORTED, "Unsupported", "P", "The passages do not say it; again: take it back"),
)
SAID = {
    ClaimStatus.SUPPORTED: "supported",
    ClaimStatus.CONTRADICTED: "contradicted",
    ClaimStatus.UNSUPPORTED: "not supported",
}


def tools_line(
    marks: MarkPresses,
    row: str,
    switch: Callable[[], None],
    *,
    why: Callable[[], None] | None = None,
    reason: WhyDiffers | None = None,
) -> None:
    """Show the line; it has one height whatever stands in it.

    Args:
        marks: What the keys do about the statements of the answer.
        row: What the guard and the widgets know the screen by.
        switch: Shows the answer sentence by sentence, or whole again.
        why: Chooses the next reason why one differs from the judge; None where one does not, or has not seen it.
        reason: The one chosen.
    """
    with st.container(key="tools", horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        show(_where(marks))
        if why is not None:
            key_button(
                "Why do you differ?" if reason is None else WHY_DIFFERS[reason.value],
                why,
                key=f"why_{row}",
                turn=Turn.GIVE,
                shortcut="O",
                quiet=reason is None,
                chosen=reason is not None,
                tip="Why you and the judge differ; the same key goes through the reasons",
            )
        deaf = not marks.statements
        given = _status(marks)
        key_button(
            "Claim" if _claims(marks) else "Sentence",
            marks.next,
            key=f"statement_{row}",
            turn=Turn.GIVE,
            shortcut="V",
            quiet=True,
            disabled=deaf,
            tip="The next statement of the answer, to be marked with B, X or P",
        )
        for status, name, shortcut, tip in STATUSES:
            key_button(
                name,
                partial(marks.mark, status),
                key=f"mark_{status.value}_{row}",
                turn=Turn.GIVE,
                shortcut=shortcut,
                quiet=given is not status,
                chosen=given is status,
                disabled=deaf,
                tip=tip,
            )
        key_button(
            "Whole texts" if marks.here.by_sentence else "By sentence",
            switch,
            key=f"switch_{row}",
            turn=Turn.GIVE,
            shortcut="I",
            quiet=True,
            tip="Each sentence of the answer beside the passage that says most of it, or the whole texts",
        )


def _claims(marks: MarkPresses) -> bool:
    return any(one.judgment_id is not None for one in marks.statements)


def _status(marks: MarkPresses) -> ClaimStatus | None:
    if marks.at is None:
        return None
    mark = marks.shown.get(marks.statements[marks.at].subject)
    return None if mark is None else mark.status


def _where(marks: MarkPresses) -> Html:
    """Return which statement the keys mark, and what was said of it; or how many there are."""
    noun, total = "claim" if _claims(marks) else "sentence", len(marks.statements)
    given = len(marks.shown)
    marked = f", {given:,} marked by you" if given else ""
    if marks.at is None:
        return tag("div", f"{count(total, noun)}{marked}" if total else "", cls="jb-cap jb-line")
    statement, status = marks.statements[marks.at], _status(marks)
    said = "" if status is None else f" · you: {SAID[status]}"
    return tag(
        "div",
        tag("b", f"{noun.capitalize()} {marks.at + 1:,} of {total:,}"),
        said,
        f"{marked} · {statement.text}",
        cls="jb-cap jb-line",
        title=statement.text,
    )
