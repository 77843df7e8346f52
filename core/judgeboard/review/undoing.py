"""Takes back a review of one's own."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import Decision, FlagState
from judgeboard.errors import DecisionRefused, NotFound
from judgeboard.review.checks import check_same, checked_key
from judgeboard.review.sentences import CANNOT_REOPEN, undone
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import (
    STATE_AFTER,
    LockedFlag,
    NewReview,
    StoredReview,
    insert_review,
    lock_flag,
    lock_response,
    newer_flag_is_open,
    replacement_of,
    review_by_id,
    review_by_key,
    set_flag_state,
    standing_review,
)


@dataclass(frozen=True, slots=True)
class Undone:
    """A review taken back; ``reopened`` when its flag waits again because of it, ``message`` tells its author."""

    response_id: int
    flag_id: int | None
    reopened: bool
    message: str


def undo(store: Store, *, review_id: int, reviewer: Reviewer, request_key: str, now: datetime | None = None) -> Undone:
    """Take back a review that stands; a flag that it decided waits again.

    Where a newer flag of the same rule is open on the answer, the old one is superseded by it instead, as an open
    one would have been. What the reviewer said before this review (unsure, an earlier grade) stays history: nothing
    of theirs stands after an undo, and the flag is back in their queue.

    Raises:
        DecisionRefused: It is somebody else's, or it does not stand any more.
        NotFound: No such review.
        BadInput: The request key cannot be used.
    """
    key, at = checked_key(request_key), now or datetime.now(UTC)
    with store.writing() as connection:
        review = review_by_id(connection, review_id)
        if review is None:
            raise NotFound(f"no review {review_id}")
        flag = None if review.flag_id is None else lock_flag(connection, review.flag_id)
        response = lock_response(connection, review.response_id) if flag is None else flag.response
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=stored.replaces == review_id)
            return _undone(review, response.external_id, None if flag is None else flag.state)
        _check_undoable(connection, review, reviewer)
        withdrawal = NewReview(
            response_id=review.response_id,
            flag_id=review.flag_id,
            reviewer_id=reviewer.id,
            decision=Decision.WITHDRAWN,
            replaces=review_id,
            request_key=key,
            at=at,
        )
        details = {"review": insert_review(connection, withdrawal), "undone": review_id, "flag": review.flag_id}
        record_event(connection, "undo", reviewer.name, response_id=response.id, details=details, now=at)
        return _undone(review, response.external_id, None if flag is None else _settle(connection, flag))


def _check_undoable(connection: Connection, review: StoredReview, reviewer: Reviewer) -> None:
    if review.reviewer_id != reviewer.id:
        raise DecisionRefused(f"This is {review.by}'s review: only {review.by} can take it back.")
    later = replacement_of(connection, review.id)
    if review.decision is Decision.WITHDRAWN or (later is not None and later.decision is Decision.WITHDRAWN):
        raise DecisionRefused("This is undone already.")
    if later is not None:
        raise DecisionRefused("You said something newer on this answer: undo that first.")


def _settle(connection: Connection, flag: LockedFlag) -> FlagState:
    """Bring a flag to the state that its standing reviews make of it."""
    if flag.state not in STATE_AFTER.values():
        return flag.state  # nothing was decided here, or a newer verdict has replaced it
    last = standing_review(connection, flag.response.id, flag_id=flag.id, decisions=tuple(STATE_AFTER))
    if last is not None and last.decision is not None:
        state = STATE_AFTER[last.decision]
    else:
        state = FlagState.SUPERSEDED if newer_flag_is_open(connection, flag) else FlagState.OPEN
    if state is not flag.state:
        set_flag_state(connection, flag.id, state)
    return state


def _undone(review: StoredReview, external_id: str, state: FlagState | None) -> Undone:
    decided = review.decision in STATE_AFTER
    reopened = decided and state is FlagState.OPEN
    message = CANNOT_REOPEN if decided and state is FlagState.SUPERSEDED else undone(review, external_id)
    return Undone(review.response_id, review.flag_id, reopened, message)
