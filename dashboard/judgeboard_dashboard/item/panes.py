"""The panes of an item: answer and passages, whole or sentence by sentence, and what else is to be read beside them."""

from collections.abc import Callable, Sequence

import streamlit as st

from judgeboard.domain import Claim
from judgeboard.evidence_alignment import align
from judgeboard.store.responses.items import Item
from judgeboard_dashboard.controls import Turn, key_button
from judgeboard_dashboard.evidence import Html, show, size
from judgeboard_dashboard.item.mark_presses import MarkPresses
from judgeboard_dashboard.item.sentence_pane import sentence_pane
from judgeboard_dashboard.item.statements import shown_claims
from judgeboard_dashboard.item.text_panes import answer_pane, passages_pane, unsent

WIDTHS = {"answer": 1.0, "passages": 1.05, "judge": 0.85}
PANE_HEIGHT = 500  # the stylesheet stretches it to the window


def item_panes(
    item: Item,
    claims: Sequence[Claim],
    marks: MarkPresses,
    third: Html,
    send_whole: Callable[[], None],
    *,
    link: Html | None = None,
    under_third: Callable[[], None] | None = None,
) -> None:
    """Show the panes.

    Args:
        item: The answer.
        claims: The judge's claims that may be seen; none where the judge is hidden.
        marks: The statements, the person's marks on them, and how answers are shown.
        third: What stands in the pane on the right: signals, or guidelines.
        send_whole: Sends long texts whole.
        link: Leads from the answer to more about it.
        under_third: Shows fields under what stands on the right.
    """
    whole = item.response_id in marks.here.whole
    shown = shown_claims(claims, marks.statements, marks.shown, marks.at)
    if marks.here.by_sentence:
        aligned = align(item.answer or "", item.passages, claims)
        parts = [("evidence", sentence_pane(item, aligned, shown, whole=whole, link=link))]
        widths = [WIDTHS["answer"] + WIDTHS["passages"], WIDTHS["judge"]]
    else:
        parts = [
            ("answer", answer_pane(item, shown, whole=whole, link=link)),
            ("passages", passages_pane(item, shown, whole=whole)),
        ]
        widths = list(WIDTHS.values())
    more = 0 if whole else unsent([item.query, item.answer], item.passages)
    with st.container(key="panes_two" if marks.here.by_sentence else "panes"):
        for column, (name, markup) in zip(st.columns(widths, gap="small"), [*parts, ("judge", third)], strict=True):
            # The id in the key mounts the pane anew, so that the next item starts at its top.
            with column, st.container(height=PANE_HEIGHT, border=True, key=f"pane_{name}_{item.response_id}"):
                show(markup)
                if more and name != "judge":
                    said = f"Show all ({size(more)})"
                    key_button(said, send_whole, key=f"whole_{name}_{item.response_id}", turn=Turn.GIVE)
                if name == "judge" and under_third is not None:
                    under_third()
