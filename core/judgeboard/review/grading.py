"""Grades an answer, flagged or not, without deciding anything."""

from datetime import UTC, datetime

from judgeboard.domain import Grade
from judgeboard.errors import BadInput
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
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import NewReview, insert_review, lock_response, review_by_key, standing_review


def grade(
    store: Store,
    *,
    response_id: int,
    reviewer: Reviewer,
    grade: Grade,
    judgment_seen_id: int | None = None,
    seconds: float | None = None,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store a grade of an answer and return the review's id.

    It replaces the grade that the same reviewer gave this answer in this way before.

    Raises:
        DecisionRefused: The reviewer is to review the answer blind in a queue: it is graded there.
        NotAllowed: No admin lets this person review.
        NotFound: No such response.
        BadInput: The grade says nothing, or it, the judgment or the request key cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        response = lock_response(connection, response_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=(stored.response_id, stored.flag_id) == (response_id, None))
            return stored.id
        check_not_blind(connection, reviewer, response)
        seen = checked_judgment(connection, judgment_seen_id, response)
        given = checked_grade(connection, grade, response, seen)
        if is_empty(given):
            raise BadInput("nothing to save: give a label, a score, a note, a mark or a corrected answer")
        before = standing_review(connection, response_id, flag_id=None, decisions=(None,), reviewer_id=reviewer.id)
        review_id = insert_review(
            connection,
            NewReview(
                response_id=response_id,
                reviewer_id=reviewer.id,
                grade=given,
                judgment_seen_id=seen,
                seen=in_view(connection, response_id, reviewer.id, seen),
                seconds=spent,
                replaces=None if before is None else before.id,
                request_key=key,
                at=at,
            ),
        )
        record_event(connection, "grade", reviewer.name, response_id=response_id, details={"review": review_id}, now=at)
        return review_id
