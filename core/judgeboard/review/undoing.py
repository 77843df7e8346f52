"""Takes back a review of one's own, of an answer or of a pair."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection

from judgeboard.domain import Decision, FlagState, ItemState, Stage
from judgeboard.people import Action, allowed
from judgeboard.review.checks import check_own, check_same, checked_key
from judgeboard.review.sentences import CANNOT_REOPEN, undone
from judgeboard.review.settling import settle_flag, settle_item
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.queues.item_reviews import revealed_review
from judgeboard.store.queues.item_rows import item_by_id
from judgeboard.store.queues.joining import follow_queues
from judgeboard.store.queues.leases import reopen_lease, seen_since
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import (
    STATE_AFTER,
    LockedFlag,
    LockedResponse,
    NewReview,
    StoredReview,
    insert_review,
    lock_flag,
    lock_reviewed,
    review_by_key,
)

UNDO_HOLDS = timedelta(minutes=10)  # how long an item taken back is its author's before others may take it


@dataclass(frozen=True, slots=True)
class Undone:
    """A review taken back; ``reopened`` when its flag is open again because of it, ``message`` tells its author.

    ``item_state`` is the state of the queue item that it was about, None outside queues.
    """

    response_id: int | None
    pair_id: int | None
    flag_id: int | None
    reopened: bool
    item_state: ItemState | None
    message: str


def undo(store: Store, *, review_id: int, reviewer: Reviewer, request_key: str, now: datetime | None = None) -> Undone:
    """Take back a review that stands; a flag that it decided is open again.

    Where a newer flag of the same rule is open on the answer, the old one is superseded by it instead, as an open
    one would have been. What the reviewer said before this review (unsure, an earlier grade) stays history: nothing
    of theirs stands after an undo, and the flag is back in their queue. In a named queue the item is theirs again, and
    what they said there after the judge was revealed goes too; that they have seen it is kept.

    Raises:
        DecisionRefused: It is somebody else's, or it does not stand any more.
        NotAllowed: No admin lets this person review.
        NotFound: No such review.
        BadInput: The request key cannot be used.
    """
    key, at = checked_key(request_key), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review, flag, response = lock_reviewed(connection, review_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=stored.replaces == review_id)
            return _undone(review, response, None if flag is None else flag.state, _item_state(connection, review))
        check_own(connection, review, reviewer, "take it back")
        _withdraw_revealed(connection, review, key, at)
        seen = seen_since(connection, review.id)
        details = {"review": _withdraw(connection, review, key, at, seen), "undone": review_id, "flag": review.flag_id}
        if review.pair_id is not None:
            details = {"review": details["review"], "undone": review_id, "item": review.queue_item_id}
        record_event(connection, "undo", reviewer.name, response_id=review.response_id, details=details, now=at)
        return _undone(review, response, *_settle(connection, review, flag, at))


def _settle(
    connection: Connection, review: StoredReview, flag: LockedFlag | None, now: datetime
) -> tuple[FlagState | None, ItemState | None]:
    """Bring flag and item to the state that the other reviews make of them; return both."""
    item_state = None
    if review.queue_item_id is not None:
        reopen_lease(connection, review.id, until=now + UNDO_HOLDS)
        item_state = settle_item(connection, review.queue_item_id, now).state
    if flag is None:
        return None, item_state
    state = settle_flag(connection, lock_flag(connection, flag.id))
    follow_queues(connection, [flag.response.id], now)
    return state, item_state


def _item_state(connection: Connection, review: StoredReview) -> ItemState | None:
    return None if review.queue_item_id is None else item_by_id(connection, review.queue_item_id).state


def _withdraw(
    connection: Connection, review: StoredReview, key: str, at: datetime, seen: tuple[str, ...] | None = None
) -> int:
    withdrawal = NewReview(
        response_id=review.response_id,
        pair_id=review.pair_id,
        flag_id=review.flag_id,
        queue_item_id=review.queue_item_id,
        reviewer_id=review.reviewer_id,
        decision=Decision.WITHDRAWN,
        replaces=review.id,
        seen=seen,
        request_key=key,
        at=at,
    )
    return insert_review(connection, withdrawal)


def _withdraw_revealed(connection: Connection, review: StoredReview, key: str, at: datetime) -> None:
    """With a blind review goes what its author said after the reveal."""
    if review.queue_item_id is None or review.stage is not Stage.BLIND:
        return
    after = revealed_review(connection, review.queue_item_id, review.reviewer_id)
    if after is not None:
        _withdraw(connection, after, f"{key}:revealed", at)


def _undone(
    review: StoredReview, response: LockedResponse | None, state: FlagState | None, item_state: ItemState | None
) -> Undone:
    decided = review.decision in STATE_AFTER
    reopened = decided and state is FlagState.OPEN
    if response is None:
        message = f"Undone: pair {review.pair_id} is yours again."
    else:
        superseded = decided and state is FlagState.SUPERSEDED
        message = CANNOT_REOPEN if superseded else undone(review, response.external_id)
    return Undone(review.response_id, review.pair_id, review.flag_id, reopened, item_state, message)
