"""The line above the panes of a queue: what was saved, how far one is, which answer; and the keys that move."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from judgeboard_dashboard.controls import Turn, key_button, keyboard
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.queue_review.presses import QueuePresses, take_back
from judgeboard_dashboard.queue_review.walk import Walk


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
