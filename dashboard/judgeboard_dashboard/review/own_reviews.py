"""The reviews of the person at this browser, newest first: of answers, and of pairs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from judgeboard.reviews.shown import shown_side
from judgeboard.store.listing import LinePage
from judgeboard.store.own_reviews import OwnReview, has_pair_reviews, own_reviews_page
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.review.drafts import EDIT, review_session
from judgeboard_dashboard.review.pairs import SIDES, stored_words
from judgeboard_dashboard.review.queues import PAIRS_SEGMENT, Place, go
from judgeboard_dashboard.review.signals import DECIDED, STAGES
from judgeboard_dashboard.session import ask_reviewer, reading
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
from judgeboard_dashboard.widgets.texts import capital, count, empty, rule_words, sentence, when

Column = tuple[str, Callable[[OwnReview], Any], Any]  # kind, value, how Streamlit shows it


@dataclass(frozen=True, slots=True)
class ReviewList:
    """What differs between the list of reviews of answers and that of pairs."""

    page: str
    pairs: bool
    noun: str
    hint: str
    empty: tuple[str, str]
    columns: Mapping[str, Column]
    rows: Callable[[OwnReview], Rows]


def own_reviews(place: Place) -> None:
    """Show the reviews of answers, or of pairs, and the way from one list to the other."""
    reviewer = ask_reviewer("Your reviews are stored under your name.")
    if reviewer is None:
        return
    with reading() as connection:
        has_pairs = has_pair_reviews(connection, reviewer.id)
    reviews = PAIRS if has_pairs and place.on_pairs else ANSWERS
    if has_pairs:
        st.button(
            "Your reviews of answers" if reviews.pairs else "Your reviews of pairs",
            key="my_other",
            type="tertiary",
            icon=":material/swap_horiz:",
            on_click=go,
            kwargs={"on": None if reviews.pairs else PAIRS_SEGMENT},
        )
    session = review_session()
    if session.message:
        show(tag("div", session.message, cls="jb-note" if session.refused else "jb-cap"))
        session.say("")
    turned = place_in(reviews.page, {})

    def read(connection: Any, after: Any, before: Any, limit: int) -> LinePage[OwnReview]:
        return own_reviews_page(connection, reviewer.id, pairs=reviews.pairs, after=after, before=before, limit=limit)

    def export() -> pd.DataFrame:
        with reading() as connection:
            return _frame(reviews, all_lines(lambda key, size: read(connection, key, None, size)))

    with reading() as connection:
        page = read(connection, turned.after, turned.before, PAGE_SIZE)
    if not page.total:
        empty(*reviews.empty)
        return
    sentence(f"{count(page.total, reviews.noun)}, newest first. {reviews.hint}")
    key = f"{reviews.page}_{page.lines[0].review_id}_{page.first}_{page.total}"
    st.dataframe(
        _frame(reviews, page.lines),
        key=key,
        hide_index=True,
        placeholder="",
        row_height=ROW_HEIGHT,
        height=height(len(page.lines)),
        selection_mode="single-cell",
        on_select=row_clicked(key, [reviews.rows(line) for line in page.lines]),
        column_config={name: settings for name, (_, _, settings) in reviews.columns.items()},
    )
    turning_foot(reviews.page, page, reviews.noun, export, query={})


def _frame(reviews: ReviewList, lines: Any) -> pd.DataFrame:
    kinds = {name: kind for name, (kind, _, _) in reviews.columns.items()}
    return frame(kinds, ([value(line) for _, value, _ in reviews.columns.values()] for line in lines))


def rows_of(line: OwnReview) -> Rows:
    """Return where a click leads: to the answer, to change the review where that is possible."""
    query = {"response": str(line.response_id)} if line.flag_id is None else {"flag": str(line.flag_id)}
    return Rows("item", query if line.final else {**query, EDIT: str(line.review_id)})


def pair_rows(line: OwnReview) -> Rows:
    """Return where a click leads: to the pair, on the aspect of the review."""
    aspect = next(iter(line.preferences), None)
    pair = {"pair": str(line.pair_id)}
    return Rows("pairs", pair if aspect is None else {**pair, "in": aspect})


def review_words(line: OwnReview) -> str:
    """Return a review of an answer in words: "Confirmed, blind", "Graded"."""
    if line.decision is not None:
        words = capital(DECIDED[line.decision].removeprefix("was "))
    else:
        graded = (line.label, line.quality, line.groundedness) != (None, None, None)
        words = "Graded" if graded else "Noted"
    return words if line.stage is None else f"{words}, {STAGES[line.stage]}"


def preference_words(line: OwnReview) -> str:
    """Return a review of a pair by the sides as its author saw them; with several aspects each by its name."""
    words = {
        aspect: (stored_words(preference) or "") if line.shown is None else SIDES[shown_side(preference, line.shown)]
        for aspect, preference in line.preferences.items()
    }
    if len(words) < 2:
        return capital(next(iter(words.values()), "noted"))
    return capital("; ".join(f"{aspect}: {preference}" for aspect, preference in words.items()))


def _text(width: int, help_text: str | None = None) -> Any:
    return st.column_config.TextColumn(width=width, help=help_text)


_SECONDS: Column = (
    "Float64",
    lambda line: line.seconds,
    st.column_config.NumberColumn(width=75, format="%.0f", help="Without absences"),
)
ANSWERS = ReviewList(
    page="my_reviews",
    pairs=False,
    noun="review",
    hint="Click one to change it or to undo it.",
    empty=("You have not reviewed any answers yet.", "Your decisions and grades are listed here. You can change them."),
    columns={
        "When": ("str", lambda line: when(line.at), _text(100)),
        "Review": ("str", review_words, _text(165, "The first review, given blind, is the one that counts")),
        "Groundedness": (
            "Float64",
            lambda line: line.groundedness,
            st.column_config.NumberColumn(width=105, format="%.2f"),
        ),
        "Quality": ("Int64", lambda line: line.quality, st.column_config.NumberColumn(width=65)),
        "Label": ("str", lambda line: line.label, _text(95)),
        "Flag": (
            "str",
            lambda line: None if line.rule is None else capital(rule_words(line.rule)),
            _text(125, "The rule that flagged the answer"),
        ),
        "State": ("str", lambda line: line.state, _text(85, "The state of the flag")),
        "Queue": ("str", lambda line: line.queue, _text(110)),
        "Seconds": _SECONDS,
        "Question": ("str", lambda line: one_line(line.question), _text(220)),
        "Answer": ("str", lambda line: one_line(line.answer), _text(240)),
        "Note": ("str", lambda line: one_line(line.note), _text(160)),
        "Id": ("str", lambda line: line.external_id, _text(125)),
    },
    rows=rows_of,
)
PAIRS = ReviewList(
    page="my_pairs",
    pairs=True,
    noun="preference",
    hint="Click one to open its pair.",
    empty=("You have not reviewed any pairs yet.", "Your preferences are listed here."),
    columns={
        "When": ("str", lambda line: when(line.at), _text(100)),
        "Review": ("str", preference_words, _text(185, "Left and right are the sides that you saw")),
        "Queue": ("str", lambda line: line.queue, _text(130)),
        "Seconds": _SECONDS,
        "Question": ("str", lambda line: one_line(line.question), _text(380)),
        "Note": ("str", lambda line: one_line(line.note), _text(220)),
        "Type": ("str", lambda line: line.query_type, _text(100)),
        # its external id may name who wrote the answers
        "Pair": ("str", lambda line: f"pair {line.pair_id}", _text(90)),
    },
    rows=pair_rows,
)
