"""Reviews in a queue, of an answer or a pair: under a lease, after the reveal, or as an adjudication."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import (
    OVERALL,
    Action,
    AspectPreference,
    Decision,
    Grade,
    ItemState,
    Preference,
    QueueState,
    Shown,
    Stage,
)
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.people.permissions import allowed
from judgeboard.reviews.checks import NOTHING, check_required, check_same, checked_request
from judgeboard.reviews.decisions import (
    checked_review,
    keep_note,
    replacing_earlier,
    store_review,
    with_implied,
)
from judgeboard.reviews.outcome import update_item_state
from judgeboard.reviews.shown import check_not_blind, order_for
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.leases import (
    JUDGE,
    PEOPLE,
    find_lease,
    lease_taken_at,
    leases_at,
    note_reveal,
    own_lease,
    split_token,
    use_lease,
)
from judgeboard.store.preferences import saw_hidden_parts
from judgeboard.store.queue_items import (
    flags_to_decide,
    had_all_reviews,
    has_seen,
    item_by_id,
    leased_where_visible,
    revealed_review,
)
from judgeboard.store.queues import Queue, queue_by_id
from judgeboard.store.reviews import (
    LockedResponse,
    Review,
    find_review,
    lock_subject,
)
from judgeboard.store.tables import Lease, QueueItem, Reviewer

NOT_IN_CONFLICT = {
    ItemState.OPEN: "This item still needs reviews: there is nothing to adjudicate yet.",
    ItemState.AGREED: "The reviews of this item agree: there is nothing to adjudicate.",
    ItemState.ADJUDICATED: "This item is adjudicated already.",
    ItemState.LEFT: "This item left its queue.",
}
NO_LEASE = "You have not leased this item with this token: lease it in its queue."
NEWER_LEASE = "You have a newer lease of this item: decide it under that lease."
FREE = "Your lease of this item ended. Nobody else has leased it: lease it again."
LOST = "Your lease of this item ended, and somebody else has leased it."
DECIDED = "You decided this item already."


@dataclass(frozen=True, slots=True)
class DecidedItem:
    """A stored review of an item, and the item's state; ``repeated`` if the same request had stored it before.

    ``reveal`` is true if something was hidden from the reviewer and may be shown now (`reveal`).
    """

    review_id: int
    item_id: int
    state: ItemState
    reveal: bool
    repeated: bool


def decide_item(
    store: Store,
    token: str,
    *,
    reviewer: Reviewer,
    decision: Decision | Preference | None = None,
    grade: Grade = NOTHING,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> DecidedItem:
    """Store a review of the answer or the pair that a reviewer has leased.

    The item's flags are updated once it has all its reviews and they agree. In a queue that hides
    the judge, the review is *blind*, unless its author has seen the judge or could see it: they
    leased the answer in a queue that shows the judge, or the item once had all its reviews and was
    reopened. If the queue has implied labels, the decision implies a label.

    ``token`` identifies the lease. ``decision`` on an answer is confirm, dismiss or unsure, or None
    for a grade alone. On a pair it is the preference between the stored answers (`stored_side`
    translates a side), and ``grade`` has only a note. ``judgment_seen_id`` is the judgment on the
    screen, if the queue shows it. The same ``request_key`` again stores nothing.

    Raises:
        MissingGrades: The queue requires a grade that is missing, and the decision is not unsure.
        DecisionRefused: The reviewer never had this lease of this item: nothing is stored. Or their
            lease ended, or the queue is closed: of the review, only the note is stored.
        BadInput: The grade, the judgment or the request key cannot be used, the review is empty, or
            the decision does not fit the item.
    """
    request = checked_request(reviewer, request_key, seconds, now)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        item_id, secret = split_token(token)
        item = item_by_id(connection, item_id)
        response = lock_subject(connection, item.response_id, item.pair_id)
        item = item_by_id(connection, item_id, lock=True)
        lease = own_lease(connection, token, reviewer.id, lock=True)
        taken_at = (
            lease_taken_at(connection, item_id, reviewer.id, secret)
            if lease is None
            else lease.taken_at
        )
        if lease is None and taken_at is None:
            raise DecisionRefused(NO_LEASE)
        _check_decision(item, decision)
        queue = queue_by_id(connection, item.queue_id)
        if queue.rules.implied_labels:
            grade = with_implied(grade, decision)
        # Read after locking: the same request may be running at the same time.
        stored = find_review(connection, request_key=request.request_key)
        if stored is not None:
            overall = stored.preferences.get(OVERALL)
            before = stored.decision if overall is None else overall.preference
            check_same(
                stored, reviewer, same=stored.queue_item_id == item_id and before == decision
            )
            reveals = stored.stage is Stage.BLIND and may_reveal(connection, queue, item, reviewer)
            return DecidedItem(stored.id, item_id, item.state, reveals, repeated=True)
        refusal = _refusal(connection, lease, item, queue, reviewer, request.at)
        seen = _seen(connection, queue, item, reviewer, taken_at or request.at)
        if refusal is not None:
            seen = tuple(sorted({*seen, *_visible_now(connection, item, reviewer)}))
        blind = queue.rules.blind_judge and JUDGE not in seen
        review = replace(
            request,
            grade=grade,
            judgment_seen_id=None if blind else judgment_seen_id,
            stage=Stage.BLIND if blind else None,
            seen=seen,
            label_schema_id=queue.label_schema_id,
        )
        review = _checked_decision(connection, item, response, decision, review)
        details = _details(item, queue, review)
        if lease is not None and refusal is None:
            check_required(queue.rules, decision, grade)
            review = replacing_earlier(connection, review)
            review_id = store_review(connection, "decide_item", review, reviewer, details)
            use_lease(connection, lease.id, review_id)
            state = update_item_state(connection, item.id, request.at)
            reveals = blind and may_reveal(connection, queue, item, reviewer)
            return DecidedItem(review_id, item.id, state, reveals, repeated=False)
        outside = replace(review, queue_item_id=None, flag_ids=())
        kept = keep_note(connection, outside, reviewer, details | {"decision": None})
        refusal = " ".join((refusal or LOST, *(each.text for each in kept)))
    raise DecisionRefused(refusal)  # raised after the commit, so that the note is kept


def may_reveal(connection: Connection, queue: Queue, item: QueueItem, reviewer: Reviewer) -> bool:
    """Whether the author of a blind review may see the judge now: their queue reveals it, and no other one hides it."""
    hidden = hidden_of(connection, reviewer.id, response_id=item.response_id, pair_id=item.pair_id)
    return queue.rules.reveal and not hidden.judge


def reveal(
    store: Store, review_id: int, *, reviewer: Reviewer, now: datetime | None = None
) -> None:
    """Record the first time that the author of a blind review is shown the hidden parts.

    Raises DecisionRefused if it is not the reviewer's own current blind review, or the judge must
    stay hidden (`may_reveal`).
    """
    at = now or utc_now()
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review = _blind_review(connection, review_id, reviewer)
        item = item_by_id(connection, review.queue_item_id or 0)
        queue = queue_by_id(connection, item.queue_id)
        if not queue.rules.reveal:
            raise DecisionRefused("This queue never shows the judge.")
        if not may_reveal(connection, queue, item, reviewer):
            raise DecisionRefused(
                "You must also review this item blind in another queue. The judge is shown after that."
            )
        lease = find_lease(connection, item.id, reviewer.id)
        if lease is None or lease.review_id != review_id:
            raise DecisionRefused("This review was withdrawn.")
        if lease.revealed_at is None:
            note_reveal(connection, lease.id, at)
            details = {"review": review_id, "item": item.id}
            record_event(
                connection,
                "reveal",
                reviewer.name,
                response_id=review.response_id,
                details=details,
                now=at,
            )


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
    """Store a reviewer's grade of an answer after the reveal; return the review's id.

    The blind review (``review_id``) is still the one that counts. A second grade after the reveal
    replaces the first. The ``grade`` also has the unchanged values. The other arguments are as in
    `decide_item`.

    Raises:
        DecisionRefused: The judge was not shown yet, or the review is not the reviewer's own
            current blind review.
        BadInput: The review is empty or of a pair, or a value cannot be used.
    """
    request = checked_request(reviewer, request_key, seconds, now)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        blind = _blind_review(connection, review_id, reviewer)
        item = item_by_id(connection, blind.queue_item_id or 0)
        _check_decision(item, decision)
        response = lock_subject(connection, item.response_id, item.pair_id)
        stored = find_review(connection, request_key=request.request_key)
        if stored is not None:
            check_same(
                stored,
                reviewer,
                same=(stored.stage, stored.queue_item_id) == (Stage.REVEALED, item.id),
            )
            return stored.id
        lease = find_lease(connection, item.id, reviewer.id)
        if lease is None or lease.review_id != review_id or lease.revealed_at is None:
            raise DecisionRefused("The judge has not been shown on this answer.")
        earlier = revealed_review(connection, item.id, reviewer.id)
        review = replace(
            request,
            decision=decision,
            grade=grade,
            judgment_seen_id=judgment_seen_id,
            flag_ids=blind.flag_ids,
            queue_item_id=item.id,
            stage=Stage.REVEALED,
            seen=(JUDGE,),
            label_schema_id=blind.label_schema_id,
            replaces=None if earlier is None else earlier.id,
        )
        review = checked_review(connection, response, review)
        return store_review(
            connection, "answer_reveal", review, reviewer, {"blind": review_id, "item": item.id}
        )


def adjudicate(
    store: Store,
    item_id: int,
    *,
    by: Reviewer,
    decision: Decision | Preference,
    grade: Grade,
    request_key: str,
    seconds: float | None = None,
    now: datetime | None = None,
) -> int:
    """Store a lead's final decision on an item in conflict (its gold label), update its flags, return the review's id.

    An answer is confirmed or dismissed. A preference on a pair refers to the stored answers A and
    B. The note of the ``grade`` is the reason and is required. The other arguments are as in
    `decide_item`.

    Raises:
        DecisionRefused: The item is not in conflict (any more).
        BadInput: The reason is missing, the decision does not fit the item, or a value cannot be
            used.
    """
    request = checked_request(by, request_key, seconds, now)
    with allowed(store, by, Action.ADJUDICATE) as connection:
        item = item_by_id(connection, item_id)
        _check_decision(item, decision)
        if decision is Decision.UNSURE:
            raise BadInput("an adjudication confirms or dismisses")
        response = lock_subject(connection, item.response_id, item.pair_id)
        item = item_by_id(connection, item_id, lock=True)
        stored = find_review(connection, request_key=request.request_key)
        if stored is not None:
            check_same(
                stored,
                by,
                same=stored.queue_item_id == item_id and stored.stage is Stage.ADJUDICATION,
            )
            return stored.id
        if item.state is not ItemState.CONFLICT:
            raise DecisionRefused(NOT_IN_CONFLICT[item.state])
        queue = queue_by_id(connection, item.queue_id)
        name = "this pair" if response is None else response.external_id
        check_not_blind(connection, by, item.response_id, item.pair_id, name)
        review = replace(
            request,
            grade=grade,
            stage=Stage.ADJUDICATION,
            seen=(JUDGE, PEOPLE),
            label_schema_id=queue.label_schema_id,
        )
        review = _checked_decision(connection, item, response, decision, review)
        if review.grade.note is None:
            raise BadInput("an adjudication needs a reason: give one as its note")
        review = replace(review, shown=None if item.pair_id is None else Shown.AB)
        review_id = store_review(
            connection, "adjudicate", review, by, _details(item, queue, review)
        )
        update_item_state(connection, item_id, request.at)
        return review_id


def _checked_decision(
    connection: Connection,
    item: QueueItem,
    response: LockedResponse | None,
    decision: Decision | Preference | None,
    review: Review,
) -> Review:
    """Return a review with its item and the decision on it, after checking its content."""
    shown = None if item.pair_id is None else order_for(item.pair_id, review.reviewer_id)
    review = replace(review, queue_item_id=item.id, pair_id=item.pair_id, shown=shown)
    if isinstance(decision, Preference):
        review = replace(review, preferences={OVERALL: AspectPreference(decision)})
    else:
        review = replace(review, decision=decision, flag_ids=flags_to_decide(connection, item))
    return checked_review(connection, response, review)


def _check_decision(item: QueueItem, decision: Decision | Preference | None) -> None:
    if item.pair_id is not None and not isinstance(decision, Preference):
        raise BadInput(f"item {item.id} is a pair: choose the better answer")
    if item.pair_id is None and isinstance(decision, Preference):
        raise BadInput(f"item {item.id} is an answer: its decision is confirm, dismiss or unsure")
    if decision is Decision.WITHDRAWN:
        raise BadInput(
            "a decision on an item is confirmed, dismissed or unsure; to withdraw a review, undo it"
        )


def _blind_review(connection: Connection, review_id: int, reviewer: Reviewer) -> Review:
    review = find_review(connection, review_id)
    if review is None or review.reviewer_id != reviewer.id or review.stage is not Stage.BLIND:
        raise DecisionRefused("The judge is revealed only after your own blind review.")
    return review


def _seen(
    connection: Connection, queue: Queue, item: QueueItem, reviewer: Reviewer, taken_at: datetime
) -> tuple[str, ...]:
    if item.pair_id is not None:
        return (JUDGE, PEOPLE) if saw_hidden_parts(connection, item.pair_id, reviewer.id) else ()
    hides = {
        JUDGE: queue.rules.blind_judge,
        PEOPLE: queue.rules.blind_people or item.repeat_for is not None,
    }
    return tuple(
        what
        for what, is_hidden in hides.items()
        if not is_hidden
        or has_seen(connection, reviewer.id, item.response_id or 0, what)
        or had_all_reviews(connection, item, reviewer.id)
        or leased_where_visible(connection, item, reviewer.id, what, taken_at)
    )


def _visible_now(connection: Connection, item: QueueItem, reviewer: Reviewer) -> tuple[str, ...]:
    """Return what is not hidden from a reviewer now: after their lease ended, they may have looked at it."""
    hidden = hidden_of(connection, reviewer.id, response_id=item.response_id, pair_id=item.pair_id)
    return tuple(
        what
        for what, is_hidden in ((JUDGE, hidden.judge), (PEOPLE, hidden.people))
        if not is_hidden
    )


def _refusal(
    connection: Connection,
    lease: Lease | None,
    item: QueueItem,
    queue: Queue,
    reviewer: Reviewer,
    now: datetime,
) -> str | None:
    """Return why a review cannot be stored under ``lease`` (None: the lease ended); None if it can."""
    if queue.state is QueueState.CLOSED:
        return "The queue has been closed since then."
    if item.state is ItemState.LEFT:
        return "This item has left its queue since then."
    if lease is not None:
        return DECIDED if lease.done else None
    own = find_lease(connection, item.id, reviewer.id)
    if own is not None:
        return DECIDED if own.done else NEWER_LEASE
    leases = leases_at(connection, item.id)
    free = any(not each.done and (each.until is None or each.until <= now) for each in leases)
    return FREE if free and item.repeat_for in {None, reviewer.id} else LOST


def _details(item: QueueItem, queue: Queue, review: Review) -> dict[str, Any]:
    what = {"decision": review.decision} if item.pair_id is None else {"pair": item.pair_id}
    return {"queue": queue.name, "item": item.id, **what}
