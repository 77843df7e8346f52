"""Pages of a long list: which one is shown, and the line under it that turns."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from judgeboard_dashboard.address import Query
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.tables import csv_button


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
    words: str,
    export: Callable[[], pd.DataFrame],
    *,
    query: Query,
    previous_key: str | None,
    next_key: str | None,
    size: int,
    beside: Callable[[], None] | None = None,
) -> None:
    """Show the place in the list, the CSV button and the two that turn pages (keys K and J).

    ``beside`` shows further buttons before them.
    """
    with st.container(key=f"{page}_foot", horizontal=True, vertical_alignment="center", gap="small"):
        show(tag("div", words, cls="jb-cap jb-line"))
        if beside is not None:
            beside()
        csv_button(export, page, key=f"{page}_csv")
        for label, shortcut, place in (
            ("Previous", "K", Place(query, before=previous_key)),
            ("Next", "J", Place(query, after=next_key)),
        ):
            st.button(
                f"{label} {size}",
                key=f"{page}_{label.lower()}",
                type="tertiary",
                shortcut=shortcut,
                disabled=(place.after or place.before) is None,
                on_click=_turn,
                args=(page, place),
                wrap=False,
            )


def _turn(page: str, place: Place) -> None:
    st.session_state[_key(page)] = place


def _key(page: str) -> str:
    return f"{page}_place"
