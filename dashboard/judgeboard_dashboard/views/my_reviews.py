"""The view My reviews: a person's own reviews of answers and of pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from judgeboard.domain import GRADE_TEXTS, NOTES
from judgeboard.formats.output import Column, Table
from judgeboard.reports.people import seconds_words
from judgeboard.reviews.person_work import person_work
from judgeboard.store.listing import LinePage
from judgeboard.store.own_reviews import OwnReview, has_pair_reviews, own_reviews_page
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.evidence import show_div
from judgeboard_dashboard.review.drafts import EDIT, review_session
from judgeboard_dashboard.review.people import queues_and_agreement
from judgeboard_dashboard.review.signals import DECIDED, STAGES, label_words
from judgeboard_dashboard.session import ask_reviewer, page, read, reading
from judgeboard_dashboard.widgets.first_steps import before_import, empty_page
from judgeboard_dashboard.widgets.navigation import Rows, follow, go
from judgeboard_dashboard.widgets.tables import (
    PAGE_SIZE,
    all_lines,
    current_page,
    one_line,
    show_rows,
    sorts_by_header,
    text_of,
    turning_foot,
)
from judgeboard_dashboard.widgets.texts import (
    RULES_HELP,
    capital,
    count,
    rules_words,
    sentence,
    stored_words,
    when,
)

ON_PAIRS = "pairs"
ColumnOf = tuple[Column, Callable[[OwnReview], Any]]


@dataclass(frozen=True, slots=True)
class ReviewList:
    """The texts, columns and links of a list of reviews, either of answers or of pairs."""

    page: str
    pairs: bool
    noun: str
    hint: str
    when_empty: tuple[str, str]
    columns: Sequence[ColumnOf]
    rows: Callable[[OwnReview], Rows]


def own_reviews() -> None:
    """Show the person's reviews of answers, or of pairs, and a button to switch."""
    reviewer = None if before_import() else ask_reviewer("Your reviews are stored under your name.")
    if reviewer is None:
        return
    has_pairs = read(has_pair_reviews, reviewer.id)
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
        show_div("jb-note" if session.refused else "jb-cap", session.message)
        session.say("")
    own_work(reviewer)
    turned = current_page(reviews.page, {})

    def page_of(
        connection: Any, after: str | None, before: str | None, limit: int
    ) -> LinePage[OwnReview]:
        return own_reviews_page(
            connection, reviewer.id, pairs=reviews.pairs, after=after, before=before, limit=limit
        )

    def export() -> Table:
        with reading() as connection:
            return _table(
                reviews, all_lines(lambda key, size: page_of(connection, key, None, size))
            )

    lines = read(page_of, turned.after, turned.before, PAGE_SIZE)
    if not lines.total:
        empty_page(*reviews.when_empty)
        return
    sentence(f"{count(lines.total, reviews.noun)}, newest first. {reviews.hint}")
    key = f"{reviews.page}_{lines.lines[0].review.id}_{lines.first}_{lines.total}"
    show_rows(
        _table(reviews, lines.lines).without_empty(),
        key=key,
        targets=[reviews.rows(line) for line in lines.lines],
        sort=sorts_by_header(reviews.page, {}),
    )
    turning_foot(reviews.page, lines, reviews.noun, export, query={})


def own_work(reviewer: Reviewer) -> None:
    """Show a person's own progress, agreement and pace; nothing before the first review."""
    work = read(person_work, reviewer)
    if not work.reviews:
        return
    pace = (
        ""
        if work.seconds.value is None
        else f" Median time per item: {seconds_words(work.seconds)}."
    )
    sentence(
        f"Your latest {count(work.reviews, 'review')} on these pages, with 95 % intervals.{pace}"
    )
    queues_and_agreement(work)


def _table(reviews: ReviewList, lines: Sequence[OwnReview]) -> Table:
    rows = (tuple(value(line) for _, value in reviews.columns) for line in lines)
    return Table(tuple(column for column, _ in reviews.columns), tuple(rows))


def rows_of(line: OwnReview) -> Rows:
    """Return the link to the answer. The link opens the review for changes, if the review can be changed."""
    query = {"response": str(line.review.response_id)}
    review = line.revealed if line.final else line.review
    return Rows("item", query if review is None else {**query, EDIT: str(review.id)})


def pair_rows(line: OwnReview) -> Rows:
    """Return the link to the pair."""
    return Rows("pairs", {"pair": str(line.review.pair_id)})


def review_words(line: OwnReview) -> str:
    """Return a review of an answer in words: "Confirmed, blind", "Graded", "Confirmed, blind; then dismissed"."""
    review, grade = line.review, line.review.grade
    if review.decision is not None:
        words = capital(DECIDED[review.decision].removeprefix("was "))
    else:
        has_grade = (grade.label, grade.quality, grade.groundedness) != (None, None, None)
        words = "Graded" if has_grade else "Noted"
    words = words if review.stage is None else f"{words}, {STAGES[review.stage]}"
    then = None if line.revealed is None else line.revealed.decision
    if then is None or then is review.decision:
        return words
    return f"{words}; then {DECIDED[then].removeprefix('was ')}"


def preference_words(line: OwnReview) -> str:
    """Return the preferences of a review. Several aspects are named."""
    words = {
        aspect: stored_words(each.preference) or ""
        for aspect, each in line.review.preferences.items()
        if each.preference is not None
    }
    if len(words) < 2:
        return capital(next(iter(words.values()), "noted"))
    return capital("; ".join(f"{aspect}: {preference}" for aspect, preference in words.items()))


def _text_column(name: str, width: int) -> ColumnOf:
    """Return the column of a text of a grade."""
    words = text_of(name)
    column = Column(capital(GRADE_TEXTS[name].label), width=width)
    return column, lambda line: words(line.review.grade)


_SECONDS: ColumnOf = (
    Column("Seconds", "integer", width=75, help="Breaks are not counted"),
    lambda line: line.review.seconds,
)
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
        (Column("When", width=100), lambda line: when(line.review.at)),
        (
            Column(
                "Review",
                width=165,
                help="Your blind review counts. “Then” is your decision after the judge was shown.",
            ),
            review_words,
        ),
        (Column("Question", width=220), lambda line: one_line(line.question)),
        (Column("Groundedness", "number", width=105), lambda line: line.review.grade.groundedness),
        (Column("Quality", "integer", width=65), lambda line: line.review.grade.quality),
        (
            Column("Label", width=95, help="“Implied” means that the decision set the label."),
            lambda line: label_words(line.review.grade),
        ),
        (
            Column("Flags", width=140, help=RULES_HELP),
            lambda line: rules_words([flag.rule for flag in line.flags], 21) or None,
        ),
        (
            Column("State", width=85, help="The state of the worst flag"),
            lambda line: next((f.state for f in line.flags), None),
        ),
        (Column("Queue", width=110), lambda line: line.queue),
        _SECONDS,
        (Column("Answer", width=240), lambda line: one_line(line.answer)),
        *(_text_column(name, 160) for name in GRADE_TEXTS),
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
        (Column("When", width=100), lambda line: when(line.review.at)),
        (Column("Review", width=185), preference_words),
        (Column("Queue", width=130), lambda line: line.queue),
        _SECONDS,
        (Column("Question", width=380), lambda line: one_line(line.question)),
        *(_text_column(name, 220) for name in NOTES),
        (Column("Type", width=100), lambda line: line.query_type),
        # not the external id, which may name the models
        (Column("Pair", width=90), lambda line: f"pair {line.review.pair_id}"),
    ),
    rows=pair_rows,
)


with page():
    follow("my_reviews", own=("on",))
    own_reviews()
