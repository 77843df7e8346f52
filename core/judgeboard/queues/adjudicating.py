"""The last word on an item on which reviewers split: a lead's, with a reason; it is gold from then on."""

from dataclasses import dataclass
from datetime import UTC, datetime

from judgeboard.domain import Decision, Grade, ItemState, Stage
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.people import Action, allowed
from judgeboard.review.blind import check_not_blind
from judgeboard.review.checks import check_same, checked_grade, checked_key, checked_seconds
from judgeboard.review.settling import settle_item
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.queues.item_rows import flags_of, item_by_id, lock_item
from judgeboard.store.queues.leases import JUDGE, PEOPLE
from judgeboard.store.queues.queue_rows import queue_by_id
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import NewReview, insert_review, lock_response, review_by_key, worst_flag


@dataclass(frozen=True, slots=True)
class Adjudicated:
    """A stored adjudication; ``repeated`` when the same request had stored it before."""

    review_id: int
    item_id: int
    repeated: bool


def adjudicate(
    store: Store,
    item_id: int,
    *,
    by: Reviewer,
    decision: Decision,
    grade: Grade,
    request_key: str,
    seconds: float | None = None,
    now: datetime | None = None,
) -> Adjudicated:
    """Decide an item on which the reviews split; the flags for which it is there follow.

    Args:
        store: The open database.
        item_id: The item.
        by: Who decides: a lead.
        decision: Confirm or dismiss.
        grade: The last word on label and scores; its note is the reason, which is needed.
        request_key: Unique to this press; the same key again stores nothing.
        seconds: How long the lead looked.
        now: When; the present by default.

    Raises:
        NotAllowed: Only leads adjudicate.
        NotFound: No such item.
        DecisionRefused: The item is not split (any more).
        BadInput: No reason is given, the item is a pair, or a value cannot be used.
    """
    if decision not in {Decision.CONFIRM, Decision.DISMISS}:
        raise BadInput("an adjudication confirms or dismisses")
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, by, Action.ADJUDICATE) as connection:
        item = item_by_id(connection, item_id)
        if item.response_id is None:
            raise BadInput(f"item {item_id} is a pair: say which answer is better")
        response = lock_response(connection, item.response_id)
        item = lock_item(connection, item_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, by, same=stored.queue_item_id == item_id and stored.stage is Stage.ADJUDICATION)
            return Adjudicated(stored.id, item_id, repeated=True)
        if item.state is not ItemState.SPLIT:
            raise DecisionRefused(NOT_SPLIT[item.state])
        check_not_blind(connection, by, response)
        given = checked_grade(connection, grade, response, None)
        if given.note is None:
            raise BadInput("say why: an adjudication needs a reason")
        review = NewReview(
            response_id=response.id,
            flag_id=worst_flag(connection, flags_of(connection, [item_id])[item_id]),
            queue_item_id=item_id,
            reviewer_id=by.id,
            decision=decision,
            grade=given,
            seconds=spent,
            stage=Stage.ADJUDICATION,
            seen=(JUDGE, PEOPLE),
            request_key=key,
            at=at,
        )
        review_id = insert_review(connection, review)
        settle_item(connection, item_id, at)
        name = queue_by_id(connection, item.queue_id).name
        details = {"review": review_id, "item": item_id, "queue": name, "decision": decision}
        record_event(connection, "adjudicate", by.name, response_id=response.id, details=details, now=at)
        return Adjudicated(review_id, item_id, repeated=False)


NOT_SPLIT = {
    ItemState.OPEN: "This item still waits for reviews: there is nothing to adjudicate yet.",
    ItemState.SETTLED: "The reviews of this item agree: there is nothing to adjudicate.",
    ItemState.ADJUDICATED: "This item is adjudicated already.",
    ItemState.LEFT: "This item left its queue.",
}
