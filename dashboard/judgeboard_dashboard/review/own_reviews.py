"""The reviews of the person at this browser, newest first."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.domain import Preference, Shown
from judgeboard.reviews.shown import shown_side
from judgeboard.store.listing import LinePage
from judgeboard.store.own_reviews import OwnReview, has_pair_reviews, own_reviews_page
from judgeboard.store.reviewers import Reviewer
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.review.drafts import EDIT, desk
from judgeboard_dashboard.review.pairs import SIDES, stored_words
from judgeboard_dashboard.review.queues import PAIRS_SEGMENT, Place, go
from judgeboard_dashboard.review.signals import DECIDED, WHEN_SAID
from judgeboard_dashboard.session import ask_reviewer, reading
from judgeboard_dashboard.widgets.filters import Query
from judgeboard_dashboard.widgets.navigation import Rows, row_clicked
from judgeboard_dashboard.widgets.tables import (
    PAGE_SIZE,
    ROW_HEIGHT,
    all_lines,
    frame,
    height,
    one_line,
    place_in,
    turning_foot,
)
from judgeboard_dashboard.widgets.texts import capital, empty, rule_words, sentence, when

PAIR_PAGE = "my_pairs"
QUERY: Query = {}  # the list has no filter
PAIR_COLUMNS = {
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
    place = place_in(PAIR_PAGE, QUERY)
    with reading() as connection:
        found = own_reviews_page(
            connection, reviewer.id, pairs=True, after=place.after, before=place.before, limit=PAGE_SIZE
        )
    if not found.total:
        empty("No preference of yours stands.", "What you say of pairs is listed here.")
        return
    stand = "preference of yours stands" if found.total == 1 else "preferences of yours stand"
    sentence(f"{found.total:,} {stand}, newest first. Click one to open its pair.")
    _pair_table(found)
    turning_foot(PAIR_PAGE, found, "preference", lambda: _export_pairs(reviewer.id), query=QUERY)


def said_words(line: OwnReview) -> str:
    """Return what was said as its reader saw it; on more than one aspect each with its name."""
    words = {aspect: _side_words(preference, line.shown) for aspect, preference in line.preferences.items()}
    if not words:
        return "Noted"
    if len(words) == 1:
        return capital(next(iter(words.values())))
    return capital("; ".join(f"{aspect}: {said}" for aspect, said in words.items()))


def pair_rows(line: OwnReview) -> Rows:
    """Return where a click on a line leads: to its pair, on the aspect that was judged."""
    aspect = next(iter(line.preferences), None)
    pair = {"pair": str(line.pair_id)}
    return Rows("pairs", pair if aspect is None else {**pair, "in": aspect})


def _side_words(preference: Preference, shown: Shown | None) -> str:
    if shown is None:
        return stored_words(preference) or ""
    return SIDES[shown_side(preference, shown)]


def _pair_table(found: LinePage[OwnReview]) -> None:
    key = f"my_pairs_{found.lines[0].review_id}_{found.first}_{found.total}"
    st.dataframe(
        _pair_frame(found.lines),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(found.lines)),
        selection_mode="single-cell",
        on_select=row_clicked(key, [pair_rows(line) for line in found.lines]),
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


def _pair_frame(lines: Sequence[OwnReview]) -> pd.DataFrame:
    return frame(PAIR_COLUMNS, (_pair_row(line) for line in lines))


def _pair_row(line: OwnReview) -> tuple[Any, ...]:
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


def _export_pairs(reviewer_id: int) -> pd.DataFrame:
    with reading() as connection:
        return _pair_frame(
            all_lines(lambda key, size: own_reviews_page(connection, reviewer_id, pairs=True, after=key, limit=size))
        )


PAGE = "my_reviews"
COLUMNS = {
    "When": "str",
    "Said": "str",
    "Groundedness": "Float64",
    "Quality": "Int64",
    "Label": "str",
    "Flag": "str",
    "State": "str",
    "Queue": "str",
    "Seconds": "Float64",
    "Question": "str",
    "Answer": "str",
    "Note": "str",
    "Id": "str",
}


def my_reviews(place: Place) -> None:
    """Show what the person said of answers, or of pairs, and the way from one to the other where they said any."""
    reviewer = ask_reviewer("Your reviews are kept under your name.")
    if reviewer is None:
        return
    with reading() as connection:
        compared = has_pair_reviews(connection, reviewer.id)
    if compared:
        label, on = (
            ("Your reviews of answers", None) if place.on_pairs else ("Your preferences on pairs", PAIRS_SEGMENT)
        )
        st.button(label, key="my_other", type="tertiary", icon=":material/swap_horiz:", on_click=go, kwargs={"on": on})
        if place.on_pairs:
            my_pairs(reviewer)
            return
    _answers(reviewer)


def _answers(reviewer: Reviewer) -> None:
    """Show the reviews, fifty at a time, and what was said of the last change."""
    here = desk()
    if here.said:
        show(tag("div", here.said, cls="jb-note" if here.refused else "jb-cap"))
        here.say("")
    turned = place_in(PAGE, QUERY)
    with reading() as connection:
        found = own_reviews_page(connection, reviewer.id, after=turned.after, before=turned.before, limit=PAGE_SIZE)
    if not found.total:
        empty(
            "You have reviewed no answer yet.", "What you decide or grade is listed here, and can be changed from here."
        )
        return
    stand = "review of yours stands" if found.total == 1 else "reviews of yours stand"
    sentence(f"{found.total:,} {stand}, newest first. Click one to change it or to undo it.")
    _table(found)
    turning_foot(PAGE, found, "review", lambda: _export(reviewer.id), query=QUERY)


def rows_of(line: OwnReview) -> Rows:
    """Return where a click on a line leads: to its answer, with the review to be changed where it may be."""
    where = {"response": str(line.response_id)} if line.flag_id is None else {"flag": str(line.flag_id)}
    return Rows("item", where if line.final else {**where, EDIT: str(line.review_id)})


def _table(found: LinePage[OwnReview]) -> None:
    key = f"my_reviews_{found.lines[0].review_id}_{found.first}_{found.total}"
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
            "Said": st.column_config.TextColumn(width=165, help="The first word, said blind, is the one that counts"),
            "Groundedness": st.column_config.NumberColumn(width=105, format="%.2f"),
            "Quality": st.column_config.NumberColumn(width=65),
            "Label": st.column_config.TextColumn(width=95),
            "Flag": st.column_config.TextColumn(width=125, help="The rule that flagged the answer"),
            "State": st.column_config.TextColumn(width=85, help="What became of the flag"),
            "Queue": st.column_config.TextColumn(width=110),
            "Seconds": st.column_config.NumberColumn(width=75, format="%.0f", help="Absences left out"),
            "Question": st.column_config.TextColumn(width=220),
            "Answer": st.column_config.TextColumn(width=240),
            "Note": st.column_config.TextColumn(width=160),
            "Id": st.column_config.TextColumn(width=125),
        },
    )


def _frame(lines: Sequence[OwnReview]) -> pd.DataFrame:
    return frame(COLUMNS, (_row(line) for line in lines))


def _row(line: OwnReview) -> tuple[Any, ...]:
    return (
        when(line.at),
        _said(line),
        line.groundedness,
        line.quality,
        line.label,
        None if line.rule is None else capital(rule_words(line.rule)),
        line.state,
        line.queue,
        line.seconds,
        one_line(line.question),
        one_line(line.answer),
        one_line(line.note),
        line.external_id,
    )


def _said(line: OwnReview) -> str:
    if line.decision is not None:
        said = capital(DECIDED[line.decision].removeprefix("was "))
    else:
        graded = (line.label, line.quality, line.groundedness) != (None, None, None)
        said = "Graded" if graded else "Noted"
    return said if line.stage is None else f"{said}, {WHEN_SAID[line.stage]}"


def _export(reviewer_id: int) -> pd.DataFrame:
    with reading() as connection:
        return _frame(all_lines(lambda key, size: own_reviews_page(connection, reviewer_id, after=key, limit=size)))
