"""Stores what a reviewer says of an item that they hold."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import Decision, Grade, ItemState, Stage
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.people import Action, allowed
from judgeboard.queues.refusing import refusal
from judgeboard.queues.revealing import may_reveal
from judgeboard.queues.tokens import split_token
from judgeboard.review.checks import (
    check_same,
    checked_grade,
    checked_judgment,
    checked_key,
    checked_seconds,
    is_empty,
)
from judgeboard.review.sentences import kept
from judgeboard.review.settling import settle_item
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.queues.item_reviews import has_seen
from judgeboard.store.queues.item_rows import QueueItem, flags_of, item_by_id, lock_item
from judgeboard.store.queues.leases import JUDGE, PEOPLE, lease_by_token, use_place
from judgeboard.store.queues.queue_rows import Queue, queue_by_id
from judgeboard.store.queues.shown_before import had_all_reviews, held_in_sight
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import NewReview, insert_review, lock_response, review_by_key, worst_flag

NOTHING = Grade()


@dataclass(frozen=True, slots=True)
class DecidedItem:
    """A stored word on an item, and the state it left it in; ``repeated`` when the same request had stored it.

    ``reveal`` says that the judge was hidden and may be shown now (`reveal_item`).
    """

    review_id: int
    item_id: int
    lease_id: int
    state: ItemState
    reveal: bool
    repeated: bool


def decide_item(
    store: Store,
    token: str,
    *,
    reviewer: Reviewer,
    decision: Decision | None = None,
    grade: Grade = NOTHING,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> DecidedItem:
    """Store what a reviewer says of the answer that they hold by ``token``, with the grade given beside it.

    The flags for which the answer is there follow once it has as many reviews as it needs and these agree. What had
    been seen is stored with it: in a queue that is blind to the judge the review is *blind*, unless its author had
    seen the judge on this answer before, or could: they took it in a queue that shows the judge, or it had all its
    reviews already and waits again.

    Raises:
        DecisionRefused: The item is not held by that token any more, or its queue is closed. A grade or a note that
            came with it is kept as a review without a decision.
        NotAllowed: No admin lets this person review.
        NotFound: No such item.
        BadInput: The grade, the judgment or the request key cannot be used, or nothing is said at all.
    """
    if decision is Decision.WITHDRAWN:
        raise BadInput("an item is confirmed, dismissed or unsure; undo takes a review back")
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        item_id, secret = split_token(token)
        item = item_by_id(connection, item_id)
        if item.response_id is None:
            raise BadInput("this item is a pair: say which answer is better")
        response = lock_response(connection, item.response_id)
        item = lock_item(connection, item_id)
        lease = lease_by_token(connection, secret, lock=True)
        queue = queue_by_id(connection, item.queue_id)
        stored = review_by_key(connection, key)  # behind the locks: the same press may be on its way
        if stored is not None:
            check_same(stored, reviewer, same=(stored.queue_item_id, stored.decision) == (item_id, decision))
            lease_id = 0 if lease is None else lease.id
            reveal = stored.stage is Stage.BLIND and may_reveal(connection, queue, response.id, reviewer)
            return DecidedItem(stored.id, item_id, lease_id, item.state, reveal, repeated=True)
        seen = _seen(connection, queue, item, reviewer, at if lease is None else lease.taken_at or at)
        blind = queue.blind_judge and JUDGE not in seen
        judgment = None if blind else checked_judgment(connection, judgment_seen_id, response)
        flags = flags_of(connection, [item.id])[item.id]
        given = checked_grade(connection, grade, response, judgment)
        if decision is None and is_empty(given):
            raise BadInput("nothing to save: decide, or give a label, a score, a note or a corrected answer")
        review = NewReview(
            response_id=response.id,
            flag_id=worst_flag(connection, flags),
            queue_item_id=item.id,
            reviewer_id=reviewer.id,
            decision=decision,
            grade=given,
            judgment_seen_id=judgment,
            seconds=spent,
            stage=Stage.BLIND if blind else None,
            seen=seen,
            request_key=key,
            at=at,
        )
        refused = refusal(connection, lease, item, queue, reviewer, at)
        if lease is not None and refused is None:
            review_id = insert_review(connection, review)
            use_place(connection, lease.id, review_id=review_id)
            state = settle_item(connection, item.id, at).state
            _record(connection, "decide_item", review, review_id, reviewer, queue)
            reveal = blind and may_reveal(connection, queue, response.id, reviewer)
            return DecidedItem(review_id, item.id, lease.id, state, reveal, repeated=False)
        message = f"{refused}{_keep_draft(connection, review, reviewer, queue)}"
    raise DecisionRefused(message)  # after the commit: the draft stays


def _seen(
    connection: Connection, queue: Queue, item: QueueItem, reviewer: Reviewer, taken_at: datetime
) -> tuple[str, ...]:
    hidden = {JUDGE: queue.blind_judge, PEOPLE: queue.blind_people or item.again_for is not None}
    return tuple(
        what
        for what, away in hidden.items()
        if not away
        or has_seen(connection, reviewer.id, item.response_id or 0, what)
        or had_all_reviews(connection, item, reviewer.id)
        or held_in_sight(connection, item, reviewer.id, what, taken_at)
    )


def _keep_draft(connection: Connection, refused: NewReview, reviewer: Reviewer, queue: Queue) -> str:
    """Store what came with a refused decision as a word of its own, which does not count for the item."""
    if is_empty(refused.grade):
        return ""
    key = f"{refused.request_key}:kept"
    if review_by_key(connection, key) is None:
        draft = replace(refused, decision=None, queue_item_id=None, flag_id=None, request_key=key)
        _record(connection, "keep_draft", draft, insert_review(connection, draft), reviewer, queue)
    return kept(refused.grade)


def _record(
    connection: Connection, kind: str, review: NewReview, review_id: int, reviewer: Reviewer, queue: Queue
) -> None:
    details = {"review": review_id, "queue": queue.name, "item": review.queue_item_id, "decision": review.decision}
    record_event(connection, kind, reviewer.name, response_id=review.response_id, details=details, now=review.at)
