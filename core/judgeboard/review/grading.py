"""Grades an answer, flagged or not, without deciding anything."""

from datetime import UTC, datetime

from judgeboard.domain import Grade
from judgeboard.errors import BadInput
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
        NotFound: No such response.
        BadInput: The grade says nothing, or it, the judgment or the request key cannot be used.
    """
    key, spent, at = checked_key(request_key), checked_seconds(seconds), now or datetime.now(UTC)
    with store.writing() as connection:
        response = lock_response(connection, response_id)
        stored = review_by_key(connection, key)
        if stored is not None:
            check_same(stored, reviewer, same=(stored.response_id, stored.flag_id) == (response_id, None))
            return stored.id
        given = checked_grade(grade, response.answer)
        if is_empty(given):
            raise BadInput("nothing to save: give a label, a score, a note or a corrected answer")
        before = standing_review(connection, response_id, flag_id=None, decisions=(None,), reviewer_id=reviewer.id)
        review_id = insert_review(
            connection,
            NewReview(
                response_id=response_id,
                reviewer_id=reviewer.id,
                grade=given,
                judgment_seen_id=checked_judgment(connection, judgment_seen_id, response),
                seconds=spent,
                replaces=None if before is None else before.id,
                request_key=key,
                at=at,
            ),
        )
        record_event(connection, "grade", reviewer.name, response_id=response_id, details={"review": review_id}, now=at)
        return review_id
