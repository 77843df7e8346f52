"""The Conflicts page: the items on which reviewers differ, and the screen on which a lead adjudicates one."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from judgeboard.domain import Action, Decision, ItemState, Preference, Shown, Stage
from judgeboard.formats.output import Column, Columns, Table
from judgeboard.people.permissions import may
from judgeboard.reviews.outcome import (
    Conflict,
    ConflictLine,
    differ_words,
    load_conflict,
    open_conflicts,
    own_conflicts,
)
from judgeboard.reviews.queues import schema_of_item
from judgeboard.store.items import load_item
from judgeboard.store.queues import count_conflicts
from judgeboard.store.reviews import Review, comments_on
from judgeboard.store.settings import thresholds
from judgeboard.store.tables import Reviewer
from judgeboard.store.verdicts import load_rubric_scores
from judgeboard_dashboard.evidence import Html, join, show, show_div, tag
from judgeboard_dashboard.review.actions import (
    STORED_SIDES,
    ConflictActions,
    conflict_rows,
    undo_review,
)
from judgeboard_dashboard.review.claims import NumberedClaim
from judgeboard_dashboard.review.comments import comments_block
from judgeboard_dashboard.review.drafts import Draft, UndoableReview, keep_draft, review_session
from judgeboard_dashboard.review.fields import queue_grades
from judgeboard_dashboard.review.schema_form import rubric_schema
from judgeboard_dashboard.review.screen import (
    appear,
    bar,
    decision_choices,
    head_line,
    move,
    side_choices,
    take_input,
    undo_choice,
)
from judgeboard_dashboard.review.signals import (
    DECIDED,
    kept_reviews,
    primary_verdict,
    signals_pane,
    value_words,
)
from judgeboard_dashboard.review.texts import answer_panes, item_texts, pair_block
from judgeboard_dashboard.session import ask_reviewer, in_row, page, read, reading, store
from judgeboard_dashboard.widgets.first_steps import before_import, empty_page
from judgeboard_dashboard.widgets.navigation import follow, number_in_address, start_button
from judgeboard_dashboard.widgets.tables import one_line, table
from judgeboard_dashboard.widgets.texts import capital, count, sentence, short, stored_words, when

STAGE_NOTES = {
    Stage.BLIND: "blind",
    Stage.REVEALED: "after seeing the judge, does not count",
    Stage.ADJUDICATION: "adjudication",
}
STATES = {ItemState.CONFLICT: "for a lead", ItemState.ADJUDICATED: "adjudicated"}
MOST = 200
COLUMNS: Columns[ConflictLine] = {
    Column("Differ on", width=135): lambda line: capital(", ".join(line.differ_on)),
    Column("Reviews", "count", width=70): lambda line: line.reviews,
    Column("Question", width=460): lambda line: one_line(line.item.question),
    Column("Type", width=100): lambda line: line.item.query_type,
    Column("Queue", width=180): lambda line: line.item.queue,
    Column("State", width=110): lambda line: STATES.get(line.item.state),
    Column("In queue since", width=115): lambda line: when(line.item.joined_at),
    Column("Id", width=150): lambda line: line.item.external_id,
}


def conflicts() -> None:
    """Show the conflict in the address. Otherwise list the reviewer's own conflicts, and for leads all open ones."""
    follow("conflicts", own=("conflict", "of"))
    reviewer = None if before_import() else ask_reviewer()
    if reviewer is None:
        return
    queue = st.query_params.get("of")
    item_id = number_in_address("conflict", "item")
    if item_id is not None:
        _one_conflict(item_id, queue, reviewer)
        return
    review_session().screen = None
    to_adjudicate: Sequence[ConflictLine] = ()
    if may(reviewer, Action.ADJUDICATE):
        session = review_session()
        take_input(session)
        if session.adjudicated:
            with in_row("conflicts_adjudicated"):
                if session.message:
                    show_div("jb-note" if session.refused else "jb-say", session.message)
                undo = partial(undo_review, store(), session, reviewer, queue=queue)
                undo_choice(session.adjudicated[-1], undo)(quiet=True)
        conflicts = read(open_conflicts, queue, limit=MOST)
        to_adjudicate = conflicts.lines
        where = f" in “{queue}”" if queue else ""
        if to_adjudicate:
            more = "More than " if conflicts.next is not None else ""
            with in_row("conflicts_top", wrap=False):
                sentence(f"{more}{count(len(to_adjudicate), 'open conflict')}{where}.")
                first = conflict_rows(queue, to_adjudicate[0].item.item_id)
                start_button("Start", first, key="conflicts_start")
            _table(to_adjudicate, "conflicts", queue)
        else:
            empty_page(
                f"No open conflicts{where}.",
                "When reviewers of a queue differ on an item, it appears here. A lead sees all reviews and "
                "adjudicates. An item that you must still review blind is not listed.",
            )
    own = read(own_conflicts, reviewer.id, limit=MOST)
    item_ids = {line.item.item_id for line in to_adjudicate}
    lines = tuple(line for line in own.lines if line.item.item_id not in item_ids)
    if lines:
        more = "more than " if own.next is not None else ""
        number = f"{more}{count(len(lines), 'item')}"
        sentence(
            "You and others also differ on these items."
            if item_ids
            else f"You and others differ on {number}."
        )
        _table(
            lines, "own_conflicts", None, "Reviews of others are shown once a lead has adjudicated."
        )


def _table(lines: Sequence[ConflictLine], name: str, queue: str | None, *under: str) -> None:
    targets = [conflict_rows(queue, line.item.item_id) for line in lines]
    key = f"{name}_{lines[0].item.item_id}_{len(lines)}"
    table(Table.of(lines, COLUMNS), targets, key=key, name=name, under=under)


def _one_conflict(item_id: int, queue: str | None, reviewer: Reviewer) -> None:
    session = review_session()
    take_input(session)
    session.goal = None
    with reading() as connection:
        conflict = load_conflict(connection, item_id, reviewer)
        item = (
            None
            if conflict.item.response_id is None
            else load_item(connection, conflict.item.response_id)
        )
        rubric = None if item is None else load_rubric_scores(connection, item.response_id)
        left = count_conflicts(connection, None if queue is None else conflict.queue.id)
        threshold = thresholds(connection).cuts.of("" if item is None else item.response.query_type)
    adjudication, pair = conflict.adjudication, conflict.pair
    row = f"q{item_id}{'s' if adjudication is None else f'a{adjudication.id}'}"
    texts: tuple[str | None, ...] = () if item is None else item_texts(item.response)
    texts += (
        ()
        if pair is None
        else (pair.question, pair.answer_a, pair.answer_b, *(pair.passages or ()))
    )
    subject = conflict.item.response_id or -(conflict.item.pair_id or 0)
    actions = ConflictActions(
        store=store(),
        session=session,
        reviewer=reviewer,
        row=row,
        request_key=session.request_key(row),
        subject=subject,
        name=item.response.external_id
        if item is not None
        else ""
        if pair is None
        else pair.external_id,
        seconds=appear(session, subject, row, texts),
        judgment=None if item is None else primary_verdict(item),
        threshold=threshold,
        conflict=conflict,
        queue=queue,
    )
    is_open = may(reviewer, Action.ADJUDICATE) and conflict.item.state is ItemState.CONFLICT
    if is_open:
        keep_draft(session, reviewer, actions.subject)
    undoable = session.adjudicated[-1] if session.adjudicated else None
    if adjudication is not None and adjudication.reviewer_id == reviewer.id:
        draft = Draft.of(adjudication.grade.only_notes())
        undoable = UndoableReview(adjudication.id, actions.subject, draft, item_id=item_id)
    state = "Adjudicated" if conflict.item.state is ItemState.ADJUDICATED else "Conflict"
    head_line(
        actions,
        f"{state} {actions.name}",
        tag("span", tag("b", state), f" in “{conflict.queue.name}”"),
        [
            item.response.query_type
            if item is not None
            else None
            if pair is None
            else pair.query_type,
            count(left, "open conflict") if is_open else None,
        ],
        [
            undo_choice(
                undoable, partial(undo_review, store(), session, reviewer, queue=queue), actions
            ),
            move("next", "Next", "J", actions.next),
            move("list", "List", "L", partial(actions.go, conflict_rows(queue))),
        ],
    )
    if item is not None and rubric is not None:
        if is_open:
            schema = schema_of_item(store(), item_id) or rubric_schema(
                conflict.queue, required=False
            )
            actions.draft.schema = schema
        comments = read(comments_on, item.response_id, reviewer.id)

        def side(claims: Sequence[NumberedClaim]) -> tuple[Html, Html]:
            reasons, signals = signals_pane(
                item, claims, threshold, rubric, comments=comments_block(comments)
            )
            return join((reviews_block(conflict), reasons)), signals

        answer_panes(
            actions,
            item,
            side,
            rules=conflict.queue,
            correctable=is_open,
            comments=comments,
        )
    elif pair is not None:
        with st.container(key=f"pair_{item_id}"):
            show(reviews_block(conflict))
            answers = (pair.answer_a, pair.answer_b)
            show(
                pair_block(
                    pair.question,
                    pair.options or (),
                    pair.passages or (),
                    *answers,
                    ("Answer A", "Answer B"),
                )
            )
    if not is_open:
        return
    bar(
        actions,
        "Adjudicate: is there a problem?"
        if pair is None
        else "Adjudicate: which answer is better?",
        decision_choices(actions.decide, flag=True, decisions=(Decision.CONFIRM, Decision.DISMISS))
        if pair is None
        else side_choices(actions.decide, Shown.AB, sides=STORED_SIDES),
        grades=None
        if item is None
        else partial(queue_grades, actions, conflict.queue, item.response, with_marks=False),
        note=("Reason (M)", "Required: the reason for your decision"),
    )


def reviews_block(conflict: Conflict) -> Html:
    """Return a card for each review with grades, note, name and time, then when and why the item was skipped."""
    label = tag("div", "Reviews", tag("span", differ_words(conflict.differ_on)), cls="jb-label")
    repeating_ids = kept_reviews(conflict.reviews)
    keepers = {review.reviewer_id for review in conflict.reviews if review.id in repeating_ids}
    cards = [
        _card(
            review,
            "" if conflict.queue.label_schema_id else " / 5",
            is_kept=review.reviewer_id in keepers,
        )
        for review in conflict.reviews
        if review.id not in repeating_ids
    ]
    skips = [
        tag(
            "div",
            f"Skipped {when(skip.at)}{f': {skip.reason}' if skip.reason else ''}",
            cls="jb-cap",
        )
        for skip in conflict.skips
    ]
    return tag(
        "div",
        tag("div", label, tag("div", *cards, cls="jb-reviews"), *skips, cls="jb-block"),
        cls="jb-pane",
    )


def _card(review: Review, of: str, *, is_kept: bool) -> Html:
    stage = "" if review.stage is None else STAGE_NOTES[review.stage]
    if is_kept and review.stage is Stage.BLIND:
        stage = f"{stage}, kept after seeing the judge"
    decision = DECIDED.get(review.decision or "")
    if isinstance(review.choice, Preference):
        decision = stored_words(review.choice)
    order = (
        "saw answer B on the left" if review.shown is Shown.BA else ""
    )  # the note may name the sides
    grade = review.grade
    words = {
        "Groundedness": None if grade.groundedness is None else short(grade.groundedness),
        "Quality": None if grade.quality is None else f"{grade.quality} / 4",
        "Label": None if grade.label is None else str(grade.label),
        **{name: f"{short(level)}{of}" for name, level in grade.by_dimension.items()},
        **{name: value_words(value) for name, value in {**grade.choices, **grade.texts}.items()},
    }
    lines = [
        tag("div", tag("b", review.reviewer), cls="jb-who"),
        tag("div", capital(decision), cls="jb-big") if decision else None,
        *(
            tag("div", tag("span", name), tag("b", value), cls="jb-grade")
            for name, value in words.items()
            if value is not None
        ),
        tag("div", grade.note, cls="jb-reason") if grade.note else None,
        *(
            tag("div", tag("b", capital(f"{name}: ")), text, cls="jb-reason")
            for name, text in grade.labelled_texts.items()
        ),
        tag(
            "div",
            " · ".join(part for part in (when(review.at), stage, order) if part),
            cls="jb-cap",
        ),
    ]
    return tag(
        "div", *lines, cls=f"jb-review{' jb-gold' if review.stage is Stage.ADJUDICATION else ''}"
    )


with page():
    conflicts()
