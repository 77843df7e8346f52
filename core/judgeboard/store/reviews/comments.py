"""Rows of comments on answers: written once; an edit or a withdrawal is a row that names the one it replaces."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select

from judgeboard.store.hidden_rows import hidden_of_response
from judgeboard.store.schema.queue_tables import COMMENT
from judgeboard.store.schema.tables import REVIEWER


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment as it stands: said ``at``, changed last at ``edited_at`` (None where never)."""

    id: int
    response_id: int
    reviewer_id: int
    reviewer: str
    text: str
    at: datetime
    edited_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredComment:
    """One row; ``text`` is None where it withdraws the one it replaces, or is forgotten."""

    id: int
    response_id: int | None
    reviewer_id: int
    by: str
    text: str | None
    replaces: int | None
    at: datetime


def comments_on(connection: Connection, response_id: int, viewer: int | None = None) -> tuple[Comment, ...]:
    """Return the comments that stand on an answer, the first said first.

    Where the answer is hidden from ``viewer`` (they are to review it blind and have not), only their own.
    """
    rows = {
        row.id: _stored(row)
        for row in connection.execute(_COMMENTS.where(COMMENT.c.response_id == response_id).order_by(COMMENT.c.id))
    }
    if not rows:
        return ()
    hidden = hidden_of_response(connection, viewer, response_id)
    replaced = {row.replaces for row in rows.values()}
    standing = [
        row
        for row in rows.values()
        if row.id not in replaced and row.text is not None and (not hidden or row.reviewer_id == viewer)
    ]
    firsts = sorted(((_first(row, rows), row) for row in standing), key=lambda pair: pair[0].id)
    return tuple(_comment(row, first, response_id) for first, row in firsts)


def comment_by_key(connection: Connection, request_key: str) -> StoredComment | None:
    """Return the row that a request wrote, None where it wrote none."""
    return _one(connection, COMMENT.c.request_key == request_key)


def comment_by_id(connection: Connection, comment_id: int) -> StoredComment | None:
    """Return a row, None where there is none of this id."""
    return _one(connection, COMMENT.c.id == comment_id)


def replacement_of_comment(connection: Connection, comment_id: int) -> StoredComment | None:
    """Return the row that replaces another, None while none does."""
    return _one(connection, COMMENT.c.replaces == comment_id)


def insert_comment(
    connection: Connection,
    *,
    response_id: int,
    reviewer_id: int,
    text: str | None,
    replaces: int | None,
    request_key: str,
    at: datetime,
) -> int:
    """Write a row and return its id."""
    values = {
        "response_id": response_id,
        "reviewer_id": reviewer_id,
        "text": text,
        "replaces": replaces,
        "request_key": request_key,
        "at": at,
    }
    return int(connection.execute(insert(COMMENT).returning(COMMENT.c.id), values).scalar_one())


_COMMENTS: Select[Any] = select(
    COMMENT.c.id,
    COMMENT.c.response_id,
    COMMENT.c.reviewer_id,
    REVIEWER.c.name.label("by"),
    COMMENT.c.text,
    COMMENT.c.replaces,
    COMMENT.c.at,
).join(REVIEWER, REVIEWER.c.id == COMMENT.c.reviewer_id)


def _one(connection: Connection, condition: Any) -> StoredComment | None:
    row = connection.execute(_COMMENTS.where(condition)).one_or_none()
    return None if row is None else _stored(row)


def _stored(row: Row[Any]) -> StoredComment:
    return StoredComment(**dict(zip(row._fields, row, strict=True)))


def _first(row: StoredComment, rows: Mapping[int, StoredComment]) -> StoredComment:
    while row.replaces is not None:
        row = rows[row.replaces]
    return row


def _comment(row: StoredComment, first: StoredComment, response_id: int) -> Comment:
    edited_at = None if first is row else row.at
    return Comment(row.id, response_id, row.reviewer_id, row.by, row.text or "", first.at, edited_at)
