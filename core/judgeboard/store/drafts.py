"""Reviews that their authors have not finished: one draft per person and answer or pair, deleted with the review."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, insert, select

from judgeboard.store.tables import DRAFT, REVIEW


def read_draft(
    connection: Connection, reviewer_id: int, response_id: int | None, pair_id: int | None
) -> dict[str, Any] | None:
    """Return the content of a person's draft, None where there is none."""
    query = select(DRAFT.c.content).where(_of(reviewer_id, response_id, pair_id))
    content: dict[str, Any] | None = connection.execute(query).scalar_one_or_none()
    return content


def save_draft(
    connection: Connection,
    reviewer_id: int,
    response_id: int | None,
    pair_id: int | None,
    content: Mapping[str, Any],
    at: datetime,
) -> None:
    """Replace a person's draft; an empty one is deleted. One from before their latest review is not stored."""
    delete_drafts(connection, reviewer_id, [response_id], pair_id)
    column, subject = (REVIEW.c.pair_id, pair_id) if response_id is None else (REVIEW.c.response_id, response_id)
    later = exists().where(column == subject, REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.at >= at)
    if not content or connection.execute(select(later)).scalar_one():
        return
    row = {"reviewer_id": reviewer_id, "response_id": response_id, "pair_id": pair_id}
    connection.execute(insert(DRAFT), row | {"content": dict(content), "at": at})


def delete_drafts(
    connection: Connection, reviewer_id: int, response_ids: Collection[int | None], pair_id: int | None = None
) -> None:
    """Delete a person's drafts on at most 1,000 answers, or on a pair."""
    subject = DRAFT.c.response_id.in_(response_ids) if pair_id is None else DRAFT.c.pair_id == pair_id
    connection.execute(delete(DRAFT).where(DRAFT.c.reviewer_id == reviewer_id, subject))


def _of(reviewer_id: int, response_id: int | None, pair_id: int | None) -> ColumnElement[bool]:
    subject = DRAFT.c.pair_id == pair_id if response_id is None else DRAFT.c.response_id == response_id
    return and_(DRAFT.c.reviewer_id == reviewer_id, subject)
