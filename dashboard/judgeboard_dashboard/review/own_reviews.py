"""The reviews of the person at this browser, newest first: of answers, and of pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from judgeboard.reports.output import Column, Table
from judgeboard.reviews.shown import shown_side
from judgeboard.store.listing import LinePage
from judgeboard.store.own_reviews import OwnReview, has_pair_reviews, own_reviews_page
from judgeboard_dashboard.evidence import show, tag
from judgeboard_dashboard.review.actions import SIDES
from judgeboard_dashboard.review.drafts import EDIT, review_session
from judgeboard_dashboard.review.pairs import stored_words
from judgeboard_dashboard.review.people import own_work
from judgeboard_dashboard.review.signals import DECIDED, STAGES
from judgeboard_dashboard.session import ask_reviewer, reading
from judgeboard_dashboard.widgets.first_steps import STEPS, empty_page
from judgeboard_dashboard.widgets.navigation import Rows, go
from judgeboard_dashboard.widgets.tables import (
    PAGE_SIZE,
    all_lines,
    current_page,
    one_line,
    show_rows,
    sorts_by_header,
    turning_foot,
)
from judgeboard_dashboard.widgets.texts import capital, count, rules_words, sentence, when

FIELDS = ("on",)
ON_PAIRS = "pairs"
ColumnOf = tuple[Column, Callable[[OwnReview], Any]]


@dataclass(frozen=True, slots=True)
class ReviewList:
    """What differs between the list of reviews of answers and that of pairs."""

    page: str
    pairs: bool
    noun: str
    hint: str
    when_empty: tuple[str, str]
    columns: Sequence[ColumnOf]
    rows: Callable[[OwnReview], Rows]


def own_reviews() -> None:
    """Show the reviews of answers, or of pairs, and the way from one list to the other."""
    reviewer = ask_reviewer("Your reviews are stored under your name.")
    if reviewer is None:
        return
    with reading() as connection:
        has_pairs = has_pair_reviews(connection, reviewer.id)
    reviews = PAIRS if has_pairs and st.query_params.get("on") == ON_PAIRS else ANSWERS
    if has_pairs:
        st.button(
            "Your reviews of answers" if reviews.pairs else "Your reviews of pairs",
            key="my_other",
            type="tertiary",
            icon=":material/swap_horiz:",
            on_click=go,
            kwargs={"on": None if reviews.pairs else ON_PAIRS},
        )
    session = review_session()
    if session.message:
        show(tag("div", session.message, cls="jb-note" if session.refused else "jb-cap"))
        session.say("")
    own_work(reviewer)
    turned = current_page(reviews.page, {})

    def read(connection: Any, after: str | None, before: str | None, limit: int) -> LinePage[OwnReview]:
        return own_reviews_page(connection, reviewer.id, pairs=reviews.pairs, after=after, before=before, limit=limit)

    def export() -> Table:
        with reading() as connection:
            return _table(reviews, all_lines(lambda key, size: read(connection, key, None, size)))

    with reading() as connection:
        page = read(connection, turned.after, turned.before, PAGE_SIZE)
    if not page.total:
        empty_page("my_reviews", *reviews.when_empty, among=STEPS)
        return
    sentence(f"{count(page.total, reviews.noun)}, newest first. {reviews.hint}")
    key = f"{reviews.page}_{page.lines[0].review_id}_{page.first}_{page.total}"
    show_rows(
        _table(reviews, page.lines).without_empty(),
        key=key,
        targets=[reviews.rows(line) for line in page.lines],
        sort=sorts_by_header(reviews.page, {}),
    )
    turning_foot(reviews.page, page, reviews.noun, export, query={})


def _table(reviews: ReviewList, lines: Sequence[OwnReview]) -> Table:
    rows = (tuple(value(line) for _, value in reviews.columns) for line in lines)
    return Table(tuple(column for column, _ in reviews.columns), tuple(rows))


def rows_of(line: OwnReview) -> Rows:
    """Return where a click leads: to the answer, to change the review where that is possible."""
    query = {"response": str(line.response_id)}
    review_id = line.revealed_id if line.final else line.review_id
    return Rows("item", query if review_id is None else {**query, EDIT: str(review_id)})


def pair_rows(line: OwnReview) -> Rows:
    """Return where a click leads: to the pair, on the aspect of the review."""
    aspect = next(iter(line.preferences), None)
    pair = {"pair": str(line.pair_id)}
    return Rows("pairs", pair if aspect is None else {**pair, "in": aspect})


def review_words(line: OwnReview) -> str:
    """Return a review of an answer in words: "Confirmed, blind", "Graded", "Confirmed, blind; then dismissed"."""
    if line.decision is not None:
        words = capital(DECIDED[line.decision].removeprefix("was "))
    else:
        graded = (line.label, line.quality, line.groundedness) != (None, None, None)
        words = "Graded" if graded else "Noted"
    words = words if line.stage is None else f"{words}, {STAGES[line.stage]}"
    changed = line.revealed is not None and line.revealed != line.decision
    return f"{words}; then {DECIDED[line.revealed or ''].removeprefix('was ')}" if changed else words


def preference_words(line: OwnReview) -> str:
    """Return a review of a pair by the sides as its author saw them; with several aspects each by its name."""
    words = {
        aspect: (stored_words(preference) or "") if line.shown is None else SIDES[shown_side(preference, line.shown)]
        for aspect, preference in line.preferences.items()
    }
    if len(words) < 2:
        return capital(next(iter(words.values()), "noted"))
    return capital("; ".join(f"{aspect}: {preference}" for aspect, preference in words.items()))


_SECONDS: ColumnOf = (Column("Seconds", "integer", width=75, help="Without absences"), lambda line: line.seconds)
ANSWERS = ReviewList(
    page="my_reviews",
    pairs=False,
    noun="review",
    hint="Click one to change it or to undo it.",
    when_empty=(
        "You have not reviewed any answers yet.",
        "Your decisions and grades are listed here. You can change them.",
    ),
    columns=(
        (Column("When", width=100), lambda line: when(line.at)),
        (
            Column(
                "Review",
                width=165,
                help="A blind review counts. Then: what you decided after the judge was shown",
            ),
            review_words,
        ),
        (Column("Question", width=220), lambda line: one_line(line.question)),
        (Column("Groundedness", "number", width=105), lambda line: line.groundedness),
        (Column("Quality", "integer", width=65), lambda line: line.quality),
        (
            Column("Label", width=95, help="Implied: by the decision, not given"),
            lambda line: f"{line.label} (implied)" if line.label_implied else line.label,
        ),
        (
            Column("Flags", width=125, help="The rules that flagged the answer, the worst flag first"),
            lambda line: rules_words([flag.rule for flag in line.flags]) or None,
        ),
        (
            Column("State", width=85, help="The state of the worst flag"),
            lambda line: next((f.state for f in line.flags), None),
        ),
        (Column("Queue", width=110), lambda line: line.queue),
        _SECONDS,
        (Column("Answer", width=240), lambda line: one_line(line.answer)),
        (Column("Note", width=160), lambda line: one_line(line.note)),
        (Column("Id", width=125), lambda line: line.external_id),
    ),
    rows=rows_of,
)
PAIRS = ReviewList(
    page="my_pairs",
    pairs=True,
    noun="preference",
    hint="Click one to open its pair.",
    when_empty=("You have not reviewed any pairs yet.", "Your preferences are listed here."),
    columns=(
        (Column("When", width=100), lambda line: when(line.at)),
        (Column("Review", width=185, help="Left and right are the sides that you saw"), preference_words),
        (Column("Queue", width=130), lambda line: line.queue),
        _SECONDS,
        (Column("Question", width=380), lambda line: one_line(line.question)),
        (Column("Note", width=220), lambda line: one_line(line.note)),
        (Column("Type", width=100), lambda line: line.query_type),
        # its external id may name who wrote the answers
        (Column("Pair", width=90), lambda line: f"pair {line.pair_id}"),
    ),
    rows=pair_rows,
)
