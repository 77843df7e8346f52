"""Reviews that their authors have not finished: one draft per person and answer or pair, deleted with the review.

A subject is the id of an answer, or minus the id of a pair.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select

from judgeboard.store.tables import DRAFT, REVIEW


def read_draft(connection: Connection, reviewer_id: int, subject: int) -> dict[str, Any] | None:
    """Return the content of a person's draft, None where there is none."""
    query = select(DRAFT.c.content).where(DRAFT.c.reviewer_id == reviewer_id, _of(DRAFT.c, [subject]))
    content: dict[str, Any] | None = connection.execute(query).scalar_one_or_none()
    return content


def save_draft(
    connection: Connection, reviewer_id: int, subject: int, content: Mapping[str, Any], at: datetime
) -> None:
    """Replace a person's draft; an empty one is deleted. One from before their latest review is not stored."""
    delete_drafts(connection, reviewer_id, [subject])
    later = exists().where(_of(REVIEW.c, [subject]), REVIEW.c.reviewer_id == reviewer_id, REVIEW.c.at >= at)
    if not content or connection.execute(select(later)).scalar_one():
        return
    row = {"reviewer_id": reviewer_id, "response_id" if subject > 0 else "pair_id": abs(subject)}
    connection.execute(insert(DRAFT), row | {"content": dict(content), "at": at})


def delete_drafts(connection: Connection, reviewer_id: int, subjects: Collection[int]) -> None:
    """Delete a person's drafts on at most 1,000 answers, or as many pairs."""
    connection.execute(delete(DRAFT).where(DRAFT.c.reviewer_id == reviewer_id, _of(DRAFT.c, subjects)))


def _of(columns: Any, subjects: Collection[int]) -> ColumnElement[bool]:
    """Compare the subject of rows; all subjects are answers, or all are pairs."""
    condition: ColumnElement[bool] = (columns.pair_id if min(subjects, default=1) < 0 else columns.response_id).in_(
        [abs(subject) for subject in subjects]
    )
    return condition
