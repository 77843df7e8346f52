"""Comments on an answer: written, edited and withdrawn by their author; one transaction each."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.errors import BadInput, DecisionRefused, NotFound
from judgeboard.people import Action, allowed
from judgeboard.review.checks import check_not_forgotten, checked_key
from judgeboard.storable_text import unstorable
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.reviews.comments import (
    StoredComment,
    comment_by_id,
    comment_by_key,
    insert_comment,
    replacement_of_comment,
)
from judgeboard.store.reviews.reviewers import Reviewer
from judgeboard.store.reviews.reviews import lock_response

LONGEST_COMMENT = 5_000


def comment(
    store: Store,
    *,
    response_id: int,
    reviewer: Reviewer,
    text: str,
    request_key: str,
    now: datetime | None = None,
) -> int:
    """Store a comment on an answer and return its id; the same request again returns it again.

    Raises:
        NotAllowed: No admin lets this person review.
        NotFound: No such response.
        DecisionRefused: It was forgotten.
        BadInput: The text is empty, longer than 5,000 characters or cannot be stored; the request key cannot be used.
    """
    said, key = _checked_text(text), checked_key(request_key)
    with allowed(store, reviewer, Action.REVIEW, response_id=response_id) as connection:
        check_not_forgotten(lock_response(connection, response_id))
        return _write(connection, "comment", response_id, reviewer, said, None, key, now)


def edit_comment(
    store: Store, *, comment_id: int, reviewer: Reviewer, text: str, request_key: str, now: datetime | None = None
) -> int:
    """Replace a comment of one's own by another row and return that row's id.

    Raises:
        DecisionRefused: It is somebody else's, or was edited or withdrawn already.
        NotAllowed: No admin lets this person review.
        NotFound: No such comment.
        BadInput: As for `comment`.
    """
    said, key = _checked_text(text), checked_key(request_key)
    with _own(store, comment_id, reviewer) as (connection, response_id):
        return _write(connection, "edit_comment", response_id, reviewer, said, comment_id, key, now)


def withdraw_comment(
    store: Store, *, comment_id: int, reviewer: Reviewer, request_key: str, now: datetime | None = None
) -> int:
    """Withdraw a comment of one's own by a row without a text, and return that row's id.

    Raises:
        DecisionRefused: It is somebody else's, or was edited or withdrawn already.
        NotAllowed: No admin lets this person review.
        NotFound: No such comment.
        BadInput: The request key cannot be used.
    """
    key = checked_key(request_key)
    with _own(store, comment_id, reviewer) as (connection, response_id):
        return _write(connection, "withdraw_comment", response_id, reviewer, None, comment_id, key, now)


def _checked_text(text: str) -> str:
    said = text.strip()
    if not said:
        raise BadInput("a comment needs a text")
    if len(said) > LONGEST_COMMENT:
        raise BadInput(f"a comment has at most {LONGEST_COMMENT:,} characters, not {len(said):,}")
    reason = unstorable(said)
    if reason is not None:
        raise BadInput(f"the comment cannot be stored: {reason}")
    return said


@contextmanager
def _own(store: Store, comment_id: int, reviewer: Reviewer) -> Iterator[tuple[Connection, int]]:
    """Open the transaction of a change to one's own comment; gives the answer it is on, locked."""
    with allowed(store, reviewer, Action.REVIEW) as connection:
        before = comment_by_id(connection, comment_id)
        if before is None or before.response_id is None:
            raise NotFound(f"no comment {comment_id} on an answer")
        lock_response(connection, before.response_id)
        if before.reviewer_id != reviewer.id:
            raise DecisionRefused(f"This is {before.by}'s comment: only {before.by} can edit it.")
        yield connection, before.response_id


def _write(
    connection: Connection,
    kind: str,
    response_id: int,
    reviewer: Reviewer,
    text: str | None,
    replaces: int | None,
    key: str,
    now: datetime | None,
) -> int:
    stored = comment_by_key(connection, key)
    if stored is not None:
        return _same(stored, response_id, reviewer, replaces)
    if replaces is not None:
        _check_stands(connection, replaces)
    at = now or datetime.now(UTC)
    comment_id = insert_comment(
        connection,
        response_id=response_id,
        reviewer_id=reviewer.id,
        text=text,
        replaces=replaces,
        request_key=key,
        at=at,
    )
    details = {"comment": comment_id} | ({} if replaces is None else {"replaces": replaces})
    record_event(connection, kind, reviewer.name, response_id=response_id, details=details, now=at)
    return comment_id


def _same(stored: StoredComment, response_id: int, reviewer: Reviewer, replaces: int | None) -> int:
    if (stored.response_id, stored.reviewer_id, stored.replaces) != (response_id, reviewer.id, replaces):
        raise BadInput("this request key belongs to another comment: every request needs its own")
    return stored.id


def _check_stands(connection: Connection, comment_id: int) -> None:
    row = comment_by_id(connection, comment_id)
    withdrawn = row is not None and row.text is None
    if withdrawn or replacement_of_comment(connection, comment_id) is not None:
        raise DecisionRefused("This comment was edited or withdrawn already.")
