"""Changes of a person's own reviews and comments: undo, withdraw, and explain a difference from the judge."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from judgeboard.domain import (
    Action,
    Decision,
    FlagState,
    Grade,
    ItemState,
    Label,
    Stage,
    Verdict,
    WhyDiffers,
)
from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.flags.rule import rounded
from judgeboard.measure.notes import Note, note
from judgeboard.people.permissions import allowed
from judgeboard.reviews.checks import (
    check_not_forgotten,
    check_own,
    checked_key,
    checked_text,
    stored_before,
)
from judgeboard.reviews.decisions import LONGEST_ID, store_review, withdrawal
from judgeboard.reviews.outcome import update_states
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import MENTION, mentioned, record_event
from judgeboard.store.leases import reopen_lease, seen_since
from judgeboard.store.own_reviews import latest_graded_review
from judgeboard.store.queue_items import item_by_id, revealed_review
from judgeboard.store.reviewers import people_to_mention
from judgeboard.store.reviews import (
    LONGEST_COMMENT,
    STATE_AFTER,
    LockedResponse,
    Review,
    find_comment,
    insert_comment,
    insert_review,
    lock_response,
    lock_reviewed,
)
from judgeboard.store.tables import Comment, Reviewer
from judgeboard.text import shortened

UNDO_LEASE = timedelta(
    minutes=10
)  # the lease that the author of a withdrawn review gets on the item
FROM_GROUNDEDNESS = 0.2
"""Groundedness values differ if they are at least this far apart. People grade in steps of 0.2 to 0.3."""


def undo(
    store: Store,
    *,
    review_id: int,
    reviewer: Reviewer,
    request_key: str,
    now: datetime | None = None,
) -> Note:
    """Withdraw a current review, reopen the flags that it decided, and return what happened.

    If a newer flag of the same rule is open on the answer, the old flag is superseded instead.
    Earlier reviews that this review replaced stay in the history and do not become current again.
    In a queue the reviewer leases the item again, and the reviewer's grade after the reveal is
    withdrawn too. The record that the reviewer has seen the judge is kept. Raises DecisionRefused
    if the review is somebody else's or not current.
    """
    key, at = checked_key(request_key), now or utc_now()
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review, flags, response = lock_reviewed(connection, review_id)
        item_id = review.queue_item_id
        stored_review = stored_before(
            connection, key, reviewer, lambda review: review.replaces == review_id
        )
        if stored_review is not None:
            item_state = None if item_id is None else item_by_id(connection, item_id).state
            return _undone(review, response, {flag.id: flag.state for flag in flags}, item_state)
        check_own(connection, review, reviewer, "undo it")
        if item_id is not None and review.stage is Stage.BLIND:
            revealed = revealed_review(connection, item_id, review.reviewer_id)
            if revealed is not None:
                insert_review(connection, withdrawal(revealed, f"{key}:revealed", at))
        withdrawn = withdrawal(review, key, at, seen_since(connection, review.id))
        of = {"flags": review.flag_ids} if review.pair_id is None else {"item": item_id}
        store_review(connection, "undo", withdrawn, reviewer, {"undone": review_id, **of})
        if item_id is not None:
            reopen_lease(connection, review.id, until=at + UNDO_LEASE)
        return _undone(review, response, *update_states(connection, item_id, flags, at))


def explain_difference(
    store: Store,
    *,
    response_id: int,
    reviewer: Reviewer,
    why: WhyDiffers | None,
    judgment_id: int,
    request_key: str,
) -> int:
    """Store why a person's latest grade of an answer differs from a judgment; None removes the reason.

    Raises:
        DecisionRefused: The grade was given blind. The reason must be given in the queue.
        BadInput: The person has not graded the answer, or the judgment belongs to another answer.
    """
    with store.reading() as connection:
        graded_review = latest_graded_review(connection, response_id, reviewer.id)
    if graded_review is None:
        raise BadInput("grade the answer first: the reason is stored with your grade")
    submission = Submission(
        reviewer=reviewer,
        request_key=request_key,
        changes=graded_review.id,
        decision=graded_review.decision,
        grade=replace(graded_review.grade, why_differs=why),
        judgment_seen_id=judgment_id,
        seconds=graded_review.seconds,
    )
    return submit(store, submission).review_id


def differs(grade: Grade, verdict: Verdict, low: float) -> bool:
    """Whether a grade and a judgment differ on anything that both give.

    Labels and qualities differ if they are not equal, groundedness if the difference is at least
    0.2. If one side has only a label and the other only a groundedness, the groundedness counts as
    *hallucinated* below ``low``.
    """
    if (
        grade.quality is not None
        and verdict.quality is not None
        and grade.quality != verdict.quality
    ):
        return True
    human, judge = grade.groundedness, verdict.groundedness
    if human is not None and judge is not None and rounded(abs(human - judge)) >= FROM_GROUNDEDNESS:
        return True
    if grade.label is not None and verdict.label is not None:
        return grade.label != verdict.label
    if grade.label is not None and judge is not None:
        return grade.label is not _label_of(judge, low)
    if verdict.label is not None and human is not None:
        return _label_of(human, low) != verdict.label
    return False


def comment(
    store: Store,
    *,
    reviewer: Reviewer,
    text: str | None,
    request_key: str,
    response_id: int | None = None,
    replaces: int | None = None,
    now: datetime | None = None,
) -> int:
    """Store a comment on an answer and return its id; the same request again returns the same id.

    Args:
        store: The database.
        reviewer: The author.
        text: The text; None withdraws the comment ``replaces``.
        request_key: The key of the request.
        response_id: The answer of a new comment.
        replaces: The person's own comment that a new row replaces.
        now: The time (default: that of the clock).

    Raises:
        DecisionRefused: The answer was forgotten, or the replaced comment is somebody else's, or
            was edited or withdrawn already.
        BadInput: The text is empty, longer than 5,000 characters or cannot be stored; the request
            key cannot be used.
        NotFound: There is no such answer or comment.
    """
    kind = "comment" if replaces is None else "withdraw_comment" if text is None else "edit_comment"
    comment_text = None if kind == "withdraw_comment" else checked_text("the comment", text or "")
    if comment_text is None and kind != "withdraw_comment":
        raise BadInput("a comment needs a text")
    if comment_text is not None and len(comment_text) > LONGEST_COMMENT:
        raise BadInput(
            f"a comment has at most {LONGEST_COMMENT:,} characters, not {len(comment_text):,}"
        )
    key = checked_key(request_key)
    with allowed(store, reviewer, Action.REVIEW, response_id=response_id) as connection:
        earlier = None if replaces is None else find_comment(connection, replaces)
        if replaces is not None and (earlier is None or earlier.response_id is None):
            raise NotFound(f"no comment {replaces} on an answer")
        subject = response_id if earlier is None else earlier.response_id
        response = lock_response(connection, subject or 0)
        if earlier is None:
            check_not_forgotten(response)
        elif earlier.reviewer_id != reviewer.id:
            raise DecisionRefused("Only the author of a comment can edit it.")
        new = Comment(
            response_id=response.id,
            reviewer_id=reviewer.id,
            text=comment_text,
            replaces=replaces,
            request_key=key,
            at=now or utc_now(),
        )
        stored_comment = find_comment(connection, request_key=new.request_key)
        if stored_comment is not None:
            if (
                stored_comment.response_id,
                stored_comment.reviewer_id,
                stored_comment.replaces,
            ) != (new.response_id, new.reviewer_id, new.replaces):
                raise BadInput(
                    "this request key belongs to another comment: every request needs its own"
                )
            return stored_comment.id
        if earlier is not None and (
            earlier.text is None or find_comment(connection, replaces=earlier.id) is not None
        ):
            raise DecisionRefused("This comment has already been edited or withdrawn.")
        comment_id = insert_comment(connection, new)
        # Event: who wrote the comment. A second event tells the people whom the text mentions.
        details: dict[str, Any] = {"comment": comment_id}
        if new.replaces is not None:
            details["replaces"] = new.replaces
        record = partial(
            record_event, connection, actor=reviewer.name, response_id=new.response_id, now=new.at
        )
        record(kind, details=details)
        stored_text = new.text or ""
        names = people_to_mention(connection) if "@" in stored_text else {}
        if people := [person for person in mentioned(stored_text, names) if person != reviewer.id]:
            record(MENTION, details=details | {"people": people})
        return comment_id


def _undone(
    review: Review,
    response: LockedResponse | None,
    states: Mapping[int, FlagState],
    item_state: ItemState | None,
) -> Note:
    if response is None:
        return note("undone_pair", pair=review.pair_id or 0)
    answer = shortened(response.external_id, LONGEST_ID)
    if review.decision not in STATE_AFTER:
        return note(
            "undone_unsure" if review.decision is Decision.UNSURE else "undone_grade", answer=answer
        )
    if states and set(states.values()) == {FlagState.SUPERSEDED}:
        return note("undone_superseded", answer=answer)
    is_open = not states or FlagState.OPEN in states.values()
    is_reopened = is_open and item_state is not ItemState.ADJUDICATED
    return note("undone_open" if is_reopened else "undone_decided", answer=answer)


def _label_of(groundedness: float, low: float) -> Label:
    return Label.HALLUCINATED if rounded(groundedness) < low else Label.GROUNDED
