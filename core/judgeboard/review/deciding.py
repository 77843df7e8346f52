"""Decides a flag once, whoever presses first."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import Decision, FlagState, Grade
from judgeboard.errors import BadInput, DecisionRefused
from judgeboard.people import Action, allowed
from judgeboard.review.blind import check_not_blind
from judgeboard.review.checks import (
    check_same,
    checked_grade,
    checked_judgment,
    checked_key,
    checked_seconds,
    is_empty,
)
from judgeboard.review.in_view import in_view
from judgeboard.review.sentences import decided_by, kept, superseded
from judgeboard.review.settling import settle_flag
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.queues.joining import follow_queues
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import (
    STATE_AFTER,
    LockedFlag,
    NewReview,
    StoredReview,
    insert_review,
    lock_flag,
    review_by_key,
    standing_review,
)

NOTHING = Grade()


@dataclass(frozen=True, slots=True)
class Decided:
    """A stored decision and what it made of the flag; ``repeated`` when the same request had stored it before."""

    review_id: int
    flag_id: int
    state: FlagState
    repeated: bool


def decide(
    store: Store,
    *,
    flag_id: int,
    reviewer: Reviewer,
    decision: Decision,
    grade: Grade = NOTHING,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> Decided:
    """Store what a reviewer says of an open flag, with the grade given beside it.

    Confirm and dismiss close the flag, unless a queue still needs reviews of the answer: then the decision is stored
    and the flag stays open. Unsure leaves it open for others; a later decision of the same reviewer
    replaces it. A newer judgment than ``judgment_seen_id`` does not refuse the decision while the flag is open: the
    flag's reason is what was decided, and what was seen is stored with it.

    Raises:
        DecisionRefused: The flag is no longer open; says who or what was first. A grade or a note that came with the
            refused decision is kept as a review without one. Or the reviewer is to review the answer blind in a
            queue: it is decided there.
        NotAllowed: No admin lets this person review.
        NotFound: No such flag.
        BadInput: The grade, the judgment or the request key cannot be used.
    """
    if decision is Decision.WITHDRAWN:
        raise BadInput("a flag is confirmed, dismissed or unsure; undo takes a review back")
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        flag = lock_flag(connection, flag_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=stored.flag_id == flag_id and stored.decision is decision)
            return Decided(stored.id, flag_id, flag.state, repeated=True)
        check_not_blind(connection, reviewer, flag.response)
        seen = checked_judgment(connection, judgment_seen_id, flag.response)
        review = NewReview(
            response_id=flag.response.id,
            flag_id=flag.id,
            reviewer_id=reviewer.id,
            decision=decision,
            grade=checked_grade(connection, grade, flag.response, seen),
            judgment_seen_id=seen,
            seen=in_view(connection, flag.response.id, reviewer.id, seen),
            seconds=spent,
            request_key=key,
            at=at,
        )
        if flag.state is FlagState.OPEN:
            return _store(connection, review, flag, reviewer)
        refusal = _refusal(connection, flag, review) + _keep_draft(connection, review, reviewer)
    raise DecisionRefused(refusal)  # after the commit: the draft stays


def _store(connection: Connection, review: NewReview, flag: LockedFlag, reviewer: Reviewer) -> Decided:
    before = _own(connection, review, Decision.UNSURE, *STATE_AFTER)
    review_id = insert_review(connection, replace(review, replaces=None if before is None else before.id))
    state = settle_flag(connection, flag)
    follow_queues(connection, [review.response_id], review.at)
    details = {"review": review_id, "flag": flag.id, "decision": review.decision}
    record_event(connection, "decide", reviewer.name, response_id=review.response_id, details=details, now=review.at)
    return Decided(review_id, flag.id, state, repeated=False)


def _refusal(connection: Connection, flag: LockedFlag, review: NewReview) -> str:
    first = standing_review(connection, flag.response.id, flag_id=flag.id, decisions=tuple(STATE_AFTER))
    if first is None:
        return superseded(flag.response.external_id)
    return decided_by(first, flag.response.external_id, review.reviewer_id, review.at)


def _keep_draft(connection: Connection, refused: NewReview, reviewer: Reviewer) -> str:
    """Store what came with a refused decision, in place of what an earlier refused press left there."""
    if is_empty(refused.grade):
        return ""
    draft_key = f"{refused.request_key}:kept"
    if review_by_key(connection, draft_key) is None:
        before = _own(connection, refused, None)
        draft = replace(refused, decision=None, request_key=draft_key, replaces=None if before is None else before.id)
        details = {"review": insert_review(connection, draft), "flag": refused.flag_id}
        record_event(
            connection, "keep_draft", reviewer.name, response_id=refused.response_id, details=details, now=refused.at
        )
    return kept(refused.grade)


def _own(connection: Connection, review: NewReview, *decisions: Decision | None) -> StoredReview | None:
    """What the same reviewer said of the flag before and still stands."""
    return standing_review(
        connection,
        review.response_id,
        flag_id=review.flag_id,
        decisions=decisions,
        reviewer_id=review.reviewer_id,
    )
