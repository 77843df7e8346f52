"""The line above the panes: what was saved, where in the list, which answer; and the keys that move."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from judgeboard.domain import ResponseKind
from judgeboard.review import Reviewer
from judgeboard.store.desk.queue_pages import Neighbours
from judgeboard.store.engine import Store
from judgeboard.store.responses.items import Item, ItemFlag
from judgeboard_dashboard.controls import Turn, key_button, keyboard
from judgeboard_dashboard.evidence import Html, show, tag
from judgeboard_dashboard.item.desk import Desk, Done
from judgeboard_dashboard.item.presses import Presses, take_back
from judgeboard_dashboard.item.screen import Screen
from judgeboard_dashboard.words import when

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
