"""Pages of a long list: which one is shown, the line under it that turns, and all of them for a file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from judgeboard.store.listing import LinePage
from judgeboard_dashboard.address import Query
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.tables import csv_button
from judgeboard_dashboard.words import count

PAGE_SIZE = 50
EXPORT_PAGE = 1_000  # lines that are read at once for a file
Line = TypeVar("Line")


@dataclass(frozen=True, slots=True)
class Place:
    """Which page of a list: behind or before a key, for the address it was taken from."""

    query: Query
    after: str | None = None
    before: str | None = None


def place_in(page: str, query: Query) -> Place:
    """Return the page that was turned to, the first one where the address changed since."""
    place = st.session_state.get(_key(page))
    return place if isinstance(place, Place) and place.query == query else Place(query)


def turning_foot(
    page: str,
    found: LinePage[Any],
    noun: str,
    export: Callable[[], pd.DataFrame],
    *,
    query: Query,
    more: str = "",
    beside: Callable[[], None] | None = None,
) -> None:
    """Show the place in the list, the CSV button and the two that turn pages (keys K and J).

    ``more`` follows the place; ``beside`` shows further buttons before them.
    """
    last = found.first + len(found.lines) - 1
    words = f"{found.first:,}–{last:,} of {count(found.total, noun)}{more}"
    with st.container(key=f"{page}_foot", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", words, cls="jb-cap jb-line"))
        if beside is not None:
            beside()
        csv_button(export, page, key=f"{page}_csv")
        for label, shortcut, place in (
            ("Previous", "K", Place(query, before=found.previous_key)),
            ("Next", "J", Place(query, after=found.next_key)),
        ):
            st.button(
                f"{label} {PAGE_SIZE}",
                key=f"{page}_{label.lower()}",
                type="tertiary",
                shortcut=shortcut,
                disabled=(place.after or place.before) is None,
                on_click=_turn,
                args=(page, place),
                wrap=False,
            )


def all_lines(read: Callable[[str | None, int], LinePage[Line]], most: int | None = None) -> list[Line]:
    """Return the lines of all pages, or at least ``most`` of them; ``read`` is given a key (None first) and a size."""
    lines: list[Line] = []
    key: str | None = None
    while most is None or len(lines) < most:
        found = read(key, EXPORT_PAGE)
        lines.extend(found.lines)
        key = found.next_key
        if key is None:
            break
    return lines


def _turn(page: str, place: Place) -> None:
    st.session_state[_key(page)] = place


def _key(page: str) -> str:
    return f"{page}_place"
