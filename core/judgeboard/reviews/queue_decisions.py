"""Reviews in a queue, of an answer or of a pair: given under a lease, after the reveal, or as an adjudication."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import (
    OVERALL,
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
from judgeboard.people.permissions import Action, allowed
from judgeboard.reviews.checks import (
    check_same,
    checked_grade,
    checked_judgment,
    checked_key,
    checked_seconds,
    is_empty,
)
from judgeboard.reviews.decisions import kept
from judgeboard.reviews.leases import split_token
from judgeboard.reviews.outcome import update_item_state
from judgeboard.reviews.shown import check_not_blind, order_for, stored_side
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.hidden_rows import hidden_of
from judgeboard.store.leases import JUDGE, PEOPLE, Lease, lease_by_token, lease_of, leases_at, note_reveal, use_lease
from judgeboard.store.preferences import saw_hidden_parts
from judgeboard.store.queue_items import (
    QueueItem,
    flags_of,
    had_all_reviews,
    has_seen,
    item_by_id,
    leased_where_visible,
    lock_item,
    revealed_review,
)
from judgeboard.store.queues import Queue, queue_by_id
from judgeboard.store.reviewers import Reviewer
from judgeboard.store.reviews import (
    LockedResponse,
    NewReview,
    StoredReview,
    insert_review,
    lock_subject,
    preferences_of,
    review_by_id,
    review_by_key,
    worst_flag,
)

NOTHING = Grade()
NOT_IN_CONFLICT = {
    ItemState.OPEN: "This item still waits for reviews: there is nothing to adjudicate yet.",
    ItemState.AGREED: "The reviews of this item agree: there is nothing to adjudicate.",
    ItemState.ADJUDICATED: "This item is adjudicated already.",
    ItemState.LEFT: "This item left its queue.",
}
NEWER_LEASE = "You took this item again since then: decide it where you took it last."
FREE = "Your lease of this item ended. Nobody else has it: take it again."
LOST = "Your lease of this item ended, and somebody else has it now."


@dataclass(frozen=True, slots=True)
class DecidedItem:
    """A stored review of an item, and the state of the item; ``repeated`` when the same request had stored it.

    ``reveal`` says that something was hidden and may be shown now (`reveal`).
    """

    review_id: int
    item_id: int
    lease_id: int
    state: ItemState
    reveal: bool
    repeated: bool


@dataclass(frozen=True, slots=True)
class Adjudicated:
    """A stored adjudication; ``repeated`` when the same request had stored it before."""

    review_id: int
    item_id: int
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
    """Store a review of the answer or the pair that is leased to a reviewer by ``token``.

    The flags for which an answer is there follow once it has as many reviews as it needs and these agree. What had
    been seen is stored with it: in a queue that is blind to the judge the review is *blind*, unless its author had
    seen the judge before, or could: they took the answer in a queue that shows the judge, or it had all its reviews
    already and waits again.

    Args:
        store: The open database.
        token: Of the lease.
        reviewer: Who reviews.
        decision: Of an answer: confirm, dismiss or unsure, or None for a grade alone. Of a pair: the preference, in
            terms of the stored answers (`preference_at` translates a side); it was shown in the order of `order_for`.
        grade: Label, scores and note; of a pair the note alone.
        judgment_seen_id: The judge's verdict that was on the screen, where the queue shows it.
        seconds: How long the reviewer looked.
        request_key: Unique to this request; the same key again stores nothing.
        now: When; the present by default.

    Raises:
        DecisionRefused: The lease is over, or the queue is closed. A grade or a note that came with it is kept as a
            review without a decision.
        NotAllowed: No admin lets this person review.
        NotFound: No such item.
        BadInput: The grade, the judgment or the request key cannot be used, nothing is given at all, or the decision
            is not one that the item takes.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        item_id, secret = split_token(token)
        item = item_by_id(connection, item_id)
        _check_decision(item, decision)
        response = lock_subject(connection, item.response_id, item.pair_id)
        item = lock_item(connection, item_id)
        lease = lease_by_token(connection, secret, lock=True)
        queue = queue_by_id(connection, item.queue_id)
        stored = review_by_key(connection, key)  # behind the locks: the same request may be on its way
        if stored is not None:
            same = stored.queue_item_id == item_id and _decision_of(connection, stored) == decision
            check_same(stored, reviewer, same=same)
            lease_id = 0 if lease is None else lease.id
            reveals = stored.stage is Stage.BLIND and may_reveal(connection, queue, item, reviewer)
            return DecidedItem(stored.id, item_id, lease_id, item.state, reveals, repeated=True)
        seen = _seen(connection, queue, item, reviewer, at if lease is None else lease.taken_at or at)
        blind = queue.blind_judge and JUDGE not in seen
        review = _new_review(
            connection,
            item,
            response,
            reviewer,
            decision=decision,
            grade=grade,
            flag_id=_worst_flag(connection, item),
            judgment_seen_id=None if blind else judgment_seen_id,
            seconds=spent,
            stage=Stage.BLIND if blind else None,
            seen=seen,
            request_key=key,
            at=at,
        )
        refused = _refusal(connection, lease, item, queue, reviewer, at)
        if lease is not None and refused is None:
            review_id = insert_review(connection, review)
            use_lease(connection, lease.id, review_id)
            state = update_item_state(connection, item.id, at).state
            _record(connection, "decide_item", review, review_id, item, queue, reviewer)
            reveals = blind and may_reveal(connection, queue, item, reviewer)
            return DecidedItem(review_id, item.id, lease.id, state, reveals, repeated=False)
        message = f"{refused}{_keep_draft(connection, review, item, queue, reviewer)}"
    raise DecisionRefused(message)  # after the commit: the draft stays


def preference_at(store: Store, token: str, reviewer: Reviewer, side: str) -> Preference:
    """Return which stored answer stands at a side (left, tie, right) of the pair that a token is for.

    Raises:
        NotFound: No such item.
        BadInput: It is no token, or its item is an answer.
    """
    with store.reading() as connection:
        item = item_by_id(connection, split_token(token)[0])
    _check_decision(item, Preference.TIE)
    return stored_side(side, order_for(item.pair_id or 0, reviewer.id))


def may_reveal(connection: Connection, queue: Queue, item: QueueItem, reviewer: Reviewer) -> bool:
    """Whether somebody who has reviewed an item of a queue blind may be shown the judge now.

    Not while they are to review it blind in another queue as well: what they were shown here would be seen there.
    """
    hidden = hidden_of(connection, reviewer.id, response_id=item.response_id, pair_id=item.pair_id)
    return queue.reveal and not hidden.judge


def reveal(store: Store, review_id: int, *, reviewer: Reviewer, now: datetime | None = None) -> None:
    """Note that the author of a blind review is shown what was hidden from now on; the first time counts.

    Raises:
        DecisionRefused: It is somebody else's review, not a blind one that stands, or its queue keeps it hidden
            (`may_reveal`).
        NotAllowed: No admin lets this person review.
    """
    at = now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        review = _blind_review(connection, review_id, reviewer)
        item = item_by_id(connection, review.queue_item_id or 0)
        queue = queue_by_id(connection, item.queue_id)
        if not queue.reveal:
            raise DecisionRefused("This queue keeps hidden what the judge said.")
        if not may_reveal(connection, queue, item, reviewer):
            raise DecisionRefused("You are to review this blind in another queue too: the judge is shown there.")
        lease = lease_of(connection, item.id, reviewer.id)
        if lease is None or lease.review_id != review_id:
            raise DecisionRefused("This review was taken back.")
        if lease.revealed_at is None:
            note_reveal(connection, lease.id, at)
            details = {"review": review_id, "item": item.id}
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
    """Store a reviewer's grade of an answer after the reveal, the same again or another; return the review's id.

    The blind review stays and is the one that counts; this row stands beside it. Again replaces it.

    Args:
        store: The open database.
        review_id: The blind review.
        reviewer: Its author.
        grade: The grade now; what they keep is given again.
        decision: Likewise.
        judgment_seen_id: The judge's verdict that was shown.
        seconds: How long they looked at it.
        request_key: Unique to this request; the same key again stores nothing.
        now: When; the present by default.

    Raises:
        DecisionRefused: The judge was not shown yet, or the review is not a blind one of theirs that stands.
        BadInput: Nothing is given, the review is of a pair, or a value cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        blind = _blind_review(connection, review_id, reviewer)
        item = item_by_id(connection, blind.queue_item_id or 0)
        _check_decision(item, decision)
        response = lock_subject(connection, item.response_id, item.pair_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=(stored.stage, stored.queue_item_id) == (Stage.REVEALED, item.id))
            return stored.id
        lease = lease_of(connection, item.id, reviewer.id)
        if lease is None or lease.review_id != review_id or lease.revealed_at is None:
            raise DecisionRefused("The judge has not been shown on this answer.")
        review = _new_review(
            connection,
            item,
            response,
            reviewer,
            decision=decision,
            grade=grade,
            flag_id=blind.flag_id,
            judgment_seen_id=judgment_seen_id,
            seconds=spent,
            stage=Stage.REVEALED,
            seen=(JUDGE,),
            request_key=key,
            at=at,
        )
        before = revealed_review(connection, item.id, reviewer.id)
        replaces = None if before is None else before.id
        stored_id = insert_review(connection, replace(review, replaces=replaces))
        details = {"review": stored_id, "blind": review_id, "item": item.id}
        record_event(connection, "answer_reveal", reviewer.name, response_id=item.response_id, details=details, now=at)
        return stored_id


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
) -> Adjudicated:
    """Store a lead's final decision on an item whose reviews are in conflict: the gold label from then on.

    The flags for which an answer is there follow.

    Args:
        store: The open database.
        item_id: The item.
        by: Who decides: a lead.
        decision: Of an answer confirm or dismiss; of a pair the preference, in terms of the stored answers.
        grade: The final label and scores (of an answer); its note is the reason, which is needed.
        request_key: Unique to this request; the same key again stores nothing.
        seconds: How long the lead looked.
        now: When; the present by default.

    Raises:
        NotAllowed: Only leads adjudicate.
        NotFound: No such item.
        DecisionRefused: The item is not in conflict (any more).
        BadInput: No reason is given, the decision is not one that the item takes, or a value cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, by, Action.ADJUDICATE) as connection:
        item = item_by_id(connection, item_id)
        _check_decision(item, decision)
        if decision is Decision.UNSURE:
            raise BadInput("an adjudication confirms or dismisses")
        response = lock_subject(connection, item.response_id, item.pair_id)
        item = lock_item(connection, item_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, by, same=stored.queue_item_id == item_id and stored.stage is Stage.ADJUDICATION)
            return Adjudicated(stored.id, item_id, repeated=True)
        if item.state is not ItemState.CONFLICT:
            raise DecisionRefused(NOT_IN_CONFLICT[item.state])
        check_not_blind(
            connection, by, item.response_id, item.pair_id, response.external_id if response else "this pair"
        )
        review = _new_review(
            connection,
            item,
            response,
            by,
            decision=decision,
            grade=grade,
            flag_id=_worst_flag(connection, item),
            judgment_seen_id=None,
            seconds=spent,
            stage=Stage.ADJUDICATION,
            seen=(JUDGE, PEOPLE),
            request_key=key,
            at=at,
        )
        if review.grade.note is None:
            raise BadInput("an adjudication needs a reason: give one as its note")
        review = replace(review, shown=None if item.pair_id is None else Shown.AB)
        review_id = insert_review(connection, review)
        update_item_state(connection, item_id, at)
        _record(connection, "adjudicate", review, review_id, item, queue_by_id(connection, item.queue_id), by)
        return Adjudicated(review_id, item_id, repeated=False)


def _new_review(
    connection: Connection,
    item: QueueItem,
    response: LockedResponse | None,
    reviewer: Reviewer,
    *,
    decision: Decision | Preference | None,
    grade: Grade,
    flag_id: int | None,
    judgment_seen_id: int | None,
    seconds: float | None,
    stage: Stage | None,
    seen: tuple[str, ...],
    request_key: str,
    at: datetime,
) -> NewReview:
    """Return a review of a queue item, its content checked: the one place where answers and pairs differ."""
    judgment = None if response is None else checked_judgment(connection, judgment_seen_id, response)
    given = checked_grade(connection, grade, response, judgment)
    review = NewReview(
        response_id=item.response_id,
        pair_id=item.pair_id,
        flag_id=flag_id,
        queue_item_id=item.id,
        reviewer_id=reviewer.id,
        grade=given,
        judgment_seen_id=judgment,
        seconds=seconds,
        stage=stage,
        seen=seen,
        request_key=request_key,
        at=at,
    )
    if isinstance(decision, Preference):
        shown = order_for(item.pair_id or 0, reviewer.id)
        return replace(review, preferences={OVERALL: AspectPreference(decision)}, shown=shown)
    if decision is None and is_empty(given):
        raise BadInput("nothing to save: decide, or give a label, a score, a note or a corrected answer")
    return replace(review, decision=decision)


def _worst_flag(connection: Connection, item: QueueItem) -> int | None:
    return None if item.pair_id is not None else worst_flag(connection, flags_of(connection, [item.id])[item.id])


def _check_decision(item: QueueItem, decision: Decision | Preference | None) -> None:
    if item.pair_id is not None and not isinstance(decision, Preference):
        raise BadInput(f"item {item.id} is a pair: say which answer is better")
    if item.pair_id is None and isinstance(decision, Preference):
        raise BadInput(f"item {item.id} is an answer: confirm it, dismiss it, or say that you are unsure")
    if decision is Decision.WITHDRAWN:
        raise BadInput("an item is confirmed, dismissed or unsure; undo takes a review back")


def _decision_of(connection: Connection, review: StoredReview) -> Decision | Preference | None:
    return review.decision if review.pair_id is None else preferences_of(connection, review.id).get(OVERALL)


def _blind_review(connection: Connection, review_id: int, reviewer: Reviewer) -> StoredReview:
    review = review_by_id(connection, review_id)
    if review is None or review.reviewer_id != reviewer.id or review.stage is not Stage.BLIND:
        raise DecisionRefused("Only a blind review of your own can be followed by a look at the judge.")
    return review


def _seen(
    connection: Connection, queue: Queue, item: QueueItem, reviewer: Reviewer, taken_at: datetime
) -> tuple[str, ...]:
    if item.pair_id is not None:
        return (JUDGE, PEOPLE) if saw_hidden_parts(connection, item.pair_id, reviewer.id) else ()
    hidden = {JUDGE: queue.blind_judge, PEOPLE: queue.blind_people or item.repeat_for is not None}
    return tuple(
        what
        for what, away in hidden.items()
        if not away
        or has_seen(connection, reviewer.id, item.response_id or 0, what)
        or had_all_reviews(connection, item, reviewer.id)
        or leased_where_visible(connection, item, reviewer.id, what, taken_at)
    )


def _refusal(
    connection: Connection, lease: Lease | None, item: QueueItem, queue: Queue, reviewer: Reviewer, now: datetime
) -> str | None:
    """Return why a review of an item cannot be stored under a lease (None: the token is of none); None where it can."""
    if queue.state is QueueState.CLOSED:
        return f"The queue {queue.name} was closed meanwhile."
    if item.state is ItemState.LEFT:
        return "This item left its queue meanwhile."
    if lease is not None and lease.reviewer_id == reviewer.id:
        return "You decided this item already." if lease.done else None
    own = lease_of(connection, item.id, reviewer.id)
    if own is not None:
        return "You decided this item already." if own.done else NEWER_LEASE
    places = leases_at(connection, item.id)
    free = any(not one.done and (one.until is None or one.until <= now) for one in places)
    return FREE if free and item.repeat_for in {None, reviewer.id} else LOST


def _keep_draft(connection: Connection, refused: NewReview, item: QueueItem, queue: Queue, reviewer: Reviewer) -> str:
    """Store the grade or note of a refused decision as a review of its own, which does not count for the item."""
    if is_empty(refused.grade):
        return ""
    key = f"{refused.request_key}:kept"
    if review_by_key(connection, key) is None:
        draft = replace(refused, decision=None, preferences={}, queue_item_id=None, flag_id=None, request_key=key)
        _record(connection, "keep_draft", draft, insert_review(connection, draft), item, queue, reviewer)
    return kept(refused.grade)


def _record(
    connection: Connection,
    kind: str,
    review: NewReview,
    review_id: int,
    item: QueueItem,
    queue: Queue,
    reviewer: Reviewer,
) -> None:
    details = {"review": review_id, "queue": queue.name, "item": item.id, "decision": review.decision}
    if item.pair_id is not None:
        details = {"review": review_id, "queue": queue.name, "item": item.id, "pair": item.pair_id}
    record_event(connection, kind, reviewer.name, response_id=review.response_id, details=details, now=review.at)
