"""Shows a reviewer the judge after a blind review, and stores whether they keep their grade."""

from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import Decision, Grade, Stage
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.people import Action, allowed
from judgeboard.review.checks import (
    check_same,
    checked_grade,
    checked_judgment,
    checked_key,
    checked_seconds,
    is_empty,
)
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import hidden_of_response
from judgeboard.store.queues.item_reviews import revealed_review
from judgeboard.store.queues.item_rows import item_by_id
from judgeboard.store.queues.leases import JUDGE, lease_of, note_reveal
from judgeboard.store.queues.queue_rows import Queue, queue_by_id
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import NewReview, insert_review, lock_response, review_by_id, review_by_key


def may_reveal(connection: Connection, queue: Queue, response_id: int, reviewer: Reviewer) -> bool:
    """Whether somebody who has reviewed an answer of a queue blind may be shown the judge now.

    Not while they are to review it blind in another queue as well: what they were shown here would be seen there.
    """
    return queue.reveal and not hidden_of_response(connection, reviewer.id, response_id).judge


def reveal_item(store: Store, review_id: int, *, reviewer: Reviewer, now: datetime | None = None) -> None:
    """Note that the author of a blind review is shown the judge from now on; the first time counts.

    Raises:
        DecisionRefused: It is somebody else's review, not a blind one that stands, or the judge stays hidden on it
            (`may_reveal`).
        NotAllowed: No admin lets this person review.
    """
    at = now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review = review_by_id(connection, review_id)
        if review is None or review.reviewer_id != reviewer.id or review.stage is not Stage.BLIND:
            raise DecisionRefused("Only a blind review of your own can be followed by a look at the judge.")
        item_id = review.queue_item_id or 0
        queue = queue_by_id(connection, item_by_id(connection, item_id).queue_id)
        if not queue.reveal:
            raise DecisionRefused("This queue keeps hidden what the judge said.")
        if not may_reveal(connection, queue, review.response_id, reviewer):
            raise DecisionRefused("You are to review this answer blind in another queue too: the judge is shown there.")
        lease = lease_of(connection, item_id, reviewer.id)
        if lease is None or lease.review_id != review_id:
            raise DecisionRefused("This review was taken back.")
        if lease.revealed_at is None:
            note_reveal(connection, lease.id, at)
            details = {"review": review_id, "item": item_id}
            record_event(connection, "reveal", reviewer.name, response_id=review.response_id, details=details, now=at)


def answer_reveal(
    store: Store,
    review_id: int,
    *,
    reviewer: Reviewer,
    grade: Grade,
    decision: Decision | None = None,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store what a reviewer says after the reveal, the same grade again or another; return the review's id.

    The blind review stays and is the one that counts; this row stands beside it. Again replaces it.

    Args:
        store: The open database.
        review_id: The blind review.
        reviewer: Its author.
        grade: What they say now; what they keep is given again.
        decision: Likewise.
        judgment_seen_id: The judge's verdict that was shown.
        seconds: How long they looked at it.
        request_key: Unique to this press; the same key again stores nothing.
        now: When; the present by default.

    Raises:
        DecisionRefused: The judge was not shown yet, or the review is not a blind one of theirs that stands.
        BadInput: Nothing is said, or a value cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        blind = review_by_id(connection, review_id)
        if blind is None or blind.reviewer_id != reviewer.id or blind.stage is not Stage.BLIND:
            raise DecisionRefused("Only a blind review of your own can be followed by a look at the judge.")
        response = lock_response(connection, blind.response_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=stored.stage is Stage.REVEALED and stored.response_id == response.id)
            return stored.id
        item_id = blind.queue_item_id or 0
        lease = lease_of(connection, item_id, reviewer.id)
        if lease is None or lease.review_id != review_id or lease.revealed_at is None:
            raise DecisionRefused("The judge has not been shown on this answer.")
        judgment = checked_judgment(connection, judgment_seen_id, response)
        given = checked_grade(connection, grade, response, judgment)
        if decision is None and is_empty(given):
            raise BadInput("nothing to save: keep your grade, or give another")
        before = revealed_review(connection, item_id, reviewer.id)
        said = insert_review(
            connection,
            NewReview(
                response_id=response.id,
                flag_id=blind.flag_id,
                queue_item_id=item_id,
                reviewer_id=reviewer.id,
                decision=decision,
                grade=given,
                judgment_seen_id=judgment,
                seconds=spent,
                stage=Stage.REVEALED,
                seen=(JUDGE,),
                replaces=None if before is None else before.id,
                request_key=key,
                at=at,
            ),
        )
        details = {"review": said, "blind": review_id, "item": item_id}
        record_event(connection, "answer_reveal", reviewer.name, response_id=response.id, details=details, now=at)
        return said
