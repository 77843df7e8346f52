"""Failure modes as stored: the list, the answers that reviews tag with them, and notes of reviews without one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, exists, func, insert, select

from judgeboard.store.reviews import is_current
from judgeboard.store.statements import CURRENT_OF_VERSION, LOGGED, columns_of, record_of
from judgeboard.store.tables import CURRENT, FAILURE_MODE, RESPONSE, REVIEW, REVIEW_FAILURE_MODE

Group = Literal["query_type", "judge_version", "week"]
MOST_NOTES = 2_000  # the latest; suggestions do not need older ones


@dataclass(frozen=True, slots=True)
class FailureMode:
    """A kind of failure that reviewers tag answers with; ``key`` chooses it together with Shift."""

    name: str
    description: str | None
    key: str | None
    retired: bool
    by: str
    at: datetime


def list_modes(connection: Connection) -> dict[str, FailureMode]:
    """Return all failure modes by name, in the order in which they were added, retired ones too."""
    query = select(*columns_of(FailureMode, FAILURE_MODE)).order_by(FAILURE_MODE.c.id)
    return {row.name: record_of(FailureMode, row) for row in connection.execute(query)}


def insert_mode(connection: Connection, **columns: Any) -> None:
    """Write a failure mode, which replaces an earlier row of its name."""
    connection.execute(insert(FAILURE_MODE), columns)


def ensure_modes(connection: Connection, names: Iterable[str], by: str, now: datetime) -> None:
    """Add those of these failure modes that are not in the list."""
    for name in sorted(set(names) - list_modes(connection).keys()):
        insert_mode(connection, name=name, retired=False, by=by, at=now)


class Tagged(NamedTuple):
    """The number of answers in a group: of those that people reviewed (``mode`` None), or tagged with a mode.

    The group is a query type, the id of a judge version, or a UTC day since 1970-01-01.
    """

    group: Any
    mode: str | None
    answers: int


def count_tagged(connection: Connection, by: Group) -> list[Tagged]:
    """Return the numbers of reviewed and of tagged logged answers; only current reviews count, an answer once."""
    group: ColumnElement[Any] = {
        "query_type": RESPONSE.c.query_type,
        "judge_version": CURRENT.c.judge_version_id,
        "week": RESPONSE.c.asked_day,
    }[by]
    counted = func.count(REVIEW.c.response_id.distinct())
    reviewed = (
        select(group, counted).select_from(REVIEW).join(RESPONSE, RESPONSE.c.id == REVIEW.c.response_id).group_by(group)
    ).where(LOGGED, is_current())
    if by == "judge_version":
        reviewed = reviewed.join(CURRENT, CURRENT.c.response_id == RESPONSE.c.id).where(CURRENT_OF_VERSION)
    mode = REVIEW_FAILURE_MODE.c.mode
    tagged = reviewed.join(REVIEW_FAILURE_MODE, REVIEW_FAILURE_MODE.c.review_id == REVIEW.c.id)
    rows = connection.execute(tagged.with_only_columns(group, mode, counted).group_by(mode)).all()
    if not rows:
        return []
    return [Tagged(each, None, n) for each, n in connection.execute(reviewed)] + [Tagged(*row) for row in rows]


def untagged_notes(connection: Connection) -> list[str]:
    """Return the latest notes of current reviews of answers that have no failure mode."""
    tagged = exists().where(REVIEW_FAILURE_MODE.c.review_id == REVIEW.c.id)
    query = select(REVIEW.c.note).where(
        REVIEW.c.note.is_not(None), REVIEW.c.response_id.is_not(None), is_current(), ~tagged
    )
    return list(connection.execute(query.order_by(REVIEW.c.id.desc()).limit(MOST_NOTES)).scalars())
