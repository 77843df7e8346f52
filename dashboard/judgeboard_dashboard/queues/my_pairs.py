"""What the person at this browser said of pairs, newest first; a click opens the pair."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Preference, Shown
from judgeboard.review import Reviewer
from judgeboard.review.pair_sides import shown_side
from judgeboard.store.listing import LinePage
from judgeboard.store.reviews.own_reviews import OwnReview, own_reviews_page
from judgeboard_dashboard.address import Query
from judgeboard_dashboard.paging import PAGE_SIZE, all_lines, place_in, turning_foot
from judgeboard_dashboard.pairs.words import SIDES, stored_words
from judgeboard_dashboard.picking import Rows, row_clicked
from judgeboard_dashboard.saying import empty, sentence
from judgeboard_dashboard.session import reading
from judgeboard_dashboard.tables import ROW_HEIGHT, frame, height, one_line
from judgeboard_dashboard.words import capital, when

PAGE = "my_pairs"
QUERY: Query = {}  # the list has no filter
COLUMNS = {
    "When": "str",
    "Said": "str",
    "Queue": "str",
    "Seconds": "Float64",
    "Question": "str",
    "Note": "str",
    "Type": "str",
    "Pair": "str",
}


def my_pairs(reviewer: Reviewer) -> None:
    """Show the preferences, fifty at a time."""
    place = place_in(PAGE, QUERY)
    with reading() as connection:
        found = own_reviews_page(
            connection, reviewer.id, pairs=True, after=place.after, before=place.before, limit=PAGE_SIZE
        )
    if not found.total:
        empty("No preference of yours stands.", "What you say of pairs is listed here.")
        return
    stand = "preference of yours stands" if found.total == 1 else "preferences of yours stand"
    sentence(f"{found.total:,} {stand}, newest first. Click one to open its pair.")
    _table(found)
    turning_foot(PAGE, found, "preference", lambda: _export(reviewer.id), query=QUERY)


def said_words(line: OwnReview) -> str:
    """Return what was said as its reader saw it; on more than one aspect each with its name."""
    words = {aspect: _side_words(preference, line.shown) for aspect, preference in line.preferences.items()}
    if not words:
        return "Noted"
    if len(words) == 1:
        return capital(next(iter(words.values())))
    return capital("; ".join(f"{aspect}: {said}" for aspect, said in words.items()))


def rows_of(line: OwnReview) -> Rows:
    """Return where a click on a line leads: to its pair, on the aspect that was judged."""
    aspect = next(iter(line.preferences), None)
    pair = {"pair": str(line.pair_id)}
    return Rows("pairs", pair if aspect is None else {**pair, "in": aspect})


def _side_words(preference: Preference, shown: Shown | None) -> str:
    if shown is None:
        return stored_words(preference) or ""
    return SIDES[shown_side(preference, shown)]


def _table(found: LinePage[OwnReview]) -> None:
    key = f"my_pairs_{found.lines[0].review_id}_{found.first}_{found.total}"
    st.dataframe(
        _frame(found.lines),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(found.lines)),
        selection_mode="single-cell",
        on_select=row_clicked(key, [rows_of(line) for line in found.lines]),
        column_config={
            "When": st.column_config.TextColumn(width=100),
            "Said": st.column_config.TextColumn(width=185, help="By the sides as you saw them"),
            "Queue": st.column_config.TextColumn(width=130),
            "Seconds": st.column_config.NumberColumn(width=75, format="%.0f", help="Absences left out"),
            "Question": st.column_config.TextColumn(width=380),
            "Note": st.column_config.TextColumn(width=220),
            "Type": st.column_config.TextColumn(width=100),
            "Pair": st.column_config.TextColumn(width=90),
        },
    )


def _frame(lines: Sequence[OwnReview]) -> pd.DataFrame:
    return frame(COLUMNS, (_row(line) for line in lines))


def _row(line: OwnReview) -> tuple[Any, ...]:
    return (
        when(line.at),
        said_words(line),
        line.queue,
        line.seconds,
        one_line(line.question),
        one_line(line.note),
        line.query_type,
        f"pair {line.pair_id}",  # its id in the log may name who wrote the answers
    )


def _export(reviewer_id: int) -> pd.DataFrame:
    with reading() as connection:
        return _frame(
            all_lines(lambda key, size: own_reviews_page(connection, reviewer_id, pairs=True, after=key, limit=size))
        )
