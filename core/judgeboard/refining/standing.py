"""What people say of attempts: which one should stand, and that it should not after all."""

from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.people import Action, allowed
from judgeboard.review.checks import checked_key
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.refinements import (
    SelectedAttempt,
    insert_selected,
    lock_attempts,
    selected_attempts,
    selected_by_key,
)
from judgeboard.store.reviews.reviewers import Reviewer


def let_stand(
    store: Store,
    *,
    run_id: int,
    subject: str,
    number: int,
    reviewer: Reviewer,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store that an attempt should stand and return the row's id; it replaces what the same person said before.

    Args:
        store: The open database.
        run_id: The run that made the attempts.
        subject: What they are attempts at, as the run names it.
        number: Which; 0 is the logged answer that they began with.
        reviewer: Who says so.
        request_key: Of the press, so that it is stored once.
        now: When; the present by default.

    Raises:
        NotAllowed: No admin lets this person review.
        NotFound: No such attempt, or it gave no answer.
        BadInput: The request key cannot be used.
    """
    key, at = checked_key(request_key), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        attempts = lock_attempts(connection, run_id, subject)
        if attempts is None or number not in attempts:
            raise NotFound(f"no answer of attempt {number} in run {run_id}")
        stored = _same_press(connection, key, reviewer, run_id, subject)
        if stored is not None:
            return stored.id
        before = _own(connection, run_id, subject, reviewer)
        row_id = insert_selected(
            connection,
            run_id=run_id,
            subject=subject,
            number=number,
            reviewer_id=reviewer.id,
            withdrawn=False,
            replaces=None if before is None else before.id,
            request_key=key,
            at=at,
        )
        details = {"standing_attempt": row_id, "run": run_id, "number": number}
        record_event(connection, "let_stand", reviewer.name, response_id=_about(attempts), details=details, now=at)
        return row_id


def take_back_standing(
    store: Store, *, run_id: int, subject: str, reviewer: Reviewer, request_key: str, now: datetime | None = None
) -> int:
    """Store that the attempt that a person wanted to stand should not after all; return the row's id.

    Raises:
        DecisionRefused: Nothing that this person said stands.
        NotAllowed: No admin lets this person review.
        NotFound: No such attempts.
        BadInput: The request key cannot be used.
    """
    key, at = checked_key(request_key), now or datetime.now(UTC)
    with allowed(store, reviewer, Action.REVIEW) as connection:
        attempts = lock_attempts(connection, run_id, subject)
        if attempts is None:
            raise NotFound(f"no attempts at {subject} in run {run_id}")
        stored = _same_press(connection, key, reviewer, run_id, subject)
        if stored is not None:
            return stored.id
        before = _own(connection, run_id, subject, reviewer)
        if before is None:
            raise DecisionRefused("Nothing of yours stands here: there is nothing to take back.")
        row_id = insert_selected(
            connection,
            run_id=run_id,
            subject=subject,
            number=before.number,
            reviewer_id=reviewer.id,
            withdrawn=True,
            replaces=before.id,
            request_key=key,
            at=at,
        )
        details = {"standing_attempt": row_id, "undone": before.id, "run": run_id}
        record_event(
            connection, "take_back_standing", reviewer.name, response_id=_about(attempts), details=details, now=at
        )
        return row_id


def standing_of(store: Store, run_id: int, subject: str, reviewer: Reviewer) -> int | None:
    """Return the number of the attempt that a person wants to stand, None where they want none."""
    with store.reading() as connection:
        said = _own(connection, run_id, subject, reviewer)
    return None if said is None else said.number


def _own(connection: Connection, run_id: int, subject: str, reviewer: Reviewer) -> SelectedAttempt | None:
    said = selected_attempts(connection, [run_id])
    return next((one for one in said if (one.subject, one.reviewer_id) == (subject, reviewer.id)), None)


def _same_press(
    connection: Connection, key: str, reviewer: Reviewer, run_id: int, subject: str
) -> SelectedAttempt | None:
    stored = selected_by_key(connection, key)
    if stored is not None and (stored.reviewer_id, stored.run_id, stored.subject) != (reviewer.id, run_id, subject):
        raise BadInput("this request key belongs to another press: every press needs its own")
    return stored


def _about(attempts: dict[int, int | None]) -> int | None:
    return attempts.get(0) or next(iter(attempts.values()), None)
