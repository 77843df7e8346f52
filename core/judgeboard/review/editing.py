"""Changes a review of one's own: another row that replaces it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import Decision, FlagState, Grade, Stage
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.people import Action, allowed
from judgeboard.review.blind import in_view
from judgeboard.review.checks import (
    NOTHING_GIVEN,
    check_own,
    check_same,
    checked_grade,
    checked_judgment,
    checked_key,
    checked_seconds,
    is_empty,
)
from judgeboard.review.settling import settle_flag, settle_item
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.queues.item_rows import item_by_id
from judgeboard.store.queues.joining import follow_queues
from judgeboard.store.queues.leases import lease_of, use_lease
from judgeboard.store.queues.queue_rows import queue_by_id
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import (
    LockedFlag,
    NewReview,
    StoredReview,
    insert_review,
    lock_flag,
    lock_reviewed,
    review_by_key,
)
from judgeboard.store.reviews.standing import spoken_by_others


@dataclass(frozen=True, slots=True)
class Edited:
    """The row that stands now, and what became of the flag (None without one)."""

    review_id: int
    response_id: int | None
    flag_id: int | None
    state: FlagState | None
    repeated: bool


def edit(
    store: Store,
    *,
    review_id: int,
    reviewer: Reviewer,
    decision: Decision | None,
    grade: Grade,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> Edited:
    """Replace a review of one's own that stands; the flag and the queue item follow from what is said now.

    A word on a flag stays one (confirm, dismiss or unsure), a grade stays a grade. What was said in a named queue
    before the judge was seen is not changed afterwards: it can be undone while nobody has revealed it, and beside it
    stands what its author says after the reveal.

    Raises:
        DecisionRefused: It is somebody else's, does not stand any more, or was said blind (to the judge, or to others
            who have spoken since) or as the last word.
        NotAllowed: No admin lets this person review.
        NotFound: No such review.
        BadInput: The grade says nothing, or it, the judgment or the request key cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review, flag, response = lock_reviewed(connection, review_id)
        stored = review_by_key(connection, key)
        if response is None:
            raise DecisionRefused("A review of a pair is not edited: undo it and review the pair again.")
        if stored is not None:
            check_same(stored, reviewer, same=stored.replaces == review_id)
            return Edited(stored.id, response.id, review.flag_id, None if flag is None else flag.state, repeated=True)
        check_own(connection, review, reviewer, "change it")
        _check_kind(review, decision)
        _check_unseen(connection, review)
        seen = checked_judgment(connection, judgment_seen_id, response)
        given = checked_grade(connection, grade, response, seen)
        if decision is None and is_empty(given):
            raise BadInput(NOTHING_GIVEN)
        new = NewReview(
            response_id=response.id,
            flag_id=review.flag_id,
            queue_item_id=review.queue_item_id,
            stage=review.stage,
            reviewer_id=reviewer.id,
            decision=decision,
            grade=given,
            judgment_seen_id=seen,
            seen=in_view(connection, response.id, reviewer.id, seen),
            seconds=spent,
            replaces=review_id,
            request_key=key,
            at=at,
        )
        new_id = insert_review(connection, new)
        details = {"review": new_id, "edited": review_id, "flag": review.flag_id, "decision": decision}
        record_event(connection, "edit", reviewer.name, response_id=response.id, details=details, now=at)
        return Edited(
            new_id, response.id, review.flag_id, _settle(connection, review, new_id, flag, at), repeated=False
        )


def _check_kind(review: StoredReview, decision: Decision | None) -> None:
    if review.stage in {Stage.BLIND, Stage.ADJUDICATION}:
        said = "before you saw the judge" if review.stage is Stage.BLIND else "as the last word"
        raise DecisionRefused(f"What you said {said} stays as it was said: undo it, or say more in its queue.")
    if decision is Decision.WITHDRAWN:
        raise BadInput("a review is changed to confirm, dismiss or unsure; undo takes it back")
    if (decision is None) != (review.decision is None):
        raise BadInput("a word on a flag stays one, and a grade stays a grade")


def _check_unseen(connection: Connection, review: StoredReview) -> None:
    """Where people review blind to each other, who has read the others could edit a split away."""
    if review.queue_item_id is None:
        return
    queue = queue_by_id(connection, item_by_id(connection, review.queue_item_id).queue_id)
    if queue.blind_people and spoken_by_others(connection, review.response_id or 0, review.reviewer_id):
        raise DecisionRefused("What you said before you saw the others stays as it was said: a lead settles a split.")


def _settle(
    connection: Connection, review: StoredReview, new_id: int, flag: LockedFlag | None, now: datetime
) -> FlagState | None:
    if review.queue_item_id is not None:
        place = lease_of(connection, review.queue_item_id, review.reviewer_id)
        if place is not None and place.review_id == review.id:
            use_lease(connection, place.id, new_id)
        settle_item(connection, review.queue_item_id, now)
    if flag is None:
        return None
    state = settle_flag(connection, lock_flag(connection, flag.id))
    follow_queues(connection, [flag.response.id], now)
    return state
