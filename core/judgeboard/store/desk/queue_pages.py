"""Pages of the queue: open flags in one of its orders, read by key, fifty rows looked up at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.filters import RowFilter
from judgeboard.flags.rules import why
from judgeboard.store.desk.queue_list import queue_list
from judgeboard.store.desk.queue_order import FLAG, order_named
from judgeboard.store.listing import LinePage, Place
from judgeboard.store.responses.text_starts import ANSWER, QUESTION
from judgeboard.store.responses.user_words import latest_feedback
from judgeboard.store.schema.tables import CURRENT, RESPONSE
from judgeboard.store.settings_table import primary_judge
from judgeboard.store.sql.literal_conditions import CURRENT_OF_NAME


@dataclass(frozen=True, slots=True)
class QueueLine:
    """An open flag in the list.

    ``groundedness`` and ``quality`` are the primary judge's when it was raised; its current ones where the flag came
    before any verdict.
    """

    flag_id: int
    response_id: int
    external_id: str
    source: str
    rule: str
    why: str
    severity: float
    groundedness: float | None
    quality: int | None
    user_feedback: str | None
    question: str | None
    answer: str | None
    query_type: str
    asked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Where a flag stands among ``total``, from 1; one that is not ``listed`` has the place it would have."""

    position: int
    total: int
    previous: int | None
    next: int | None
    listed: bool


def queue_page(
    connection: Connection,
    given: RowFilter,
    sort: str = "worst",
    *,
    after: str | None = None,
    before: str | None = None,
    limit: int = 50,
    reviewer_id: int | None = None,
) -> LinePage[QueueLine]:
    """Return a page of the open flags (`KeyedList.page`), without what ``reviewer_id`` marked as unsure.

    Raises:
        BadInput: No such order, or a key that names no place.
    """
    listed = queue_list(connection, given, order_named(sort), reviewer_id)
    return listed.page(after, before, limit, partial(_lines, connection))


def neighbours(
    connection: Connection, given: RowFilter, sort: str, flag_id: int, reviewer_id: int | None = None
) -> Neighbours | None:
    """Return the place of a flag in a list and the flags beside it, None where there is no such flag.

    Raises:
        BadInput: No such order.
    """
    order = order_named(sort)
    found = connection.execute(select(order.value, FLAG.c.id).where(FLAG.c.id == flag_id)).one_or_none()
    if found is None:
        return None
    around = queue_list(connection, given, order, reviewer_id).around(Place(order.name, *found))
    return Neighbours(around.before + 1, around.total, around.previous, around.next, around.listed)


def _lines(connection: Connection, flag_ids: Sequence[int]) -> tuple[QueueLine, ...]:
    rows = connection.execute(
        select(
            FLAG,
            RESPONSE.c.external_id,
            RESPONSE.c.asked_at,
            QUESTION,
            ANSWER,
        )
        .join(RESPONSE, RESPONSE.c.id == FLAG.c.response_id)
        .where(FLAG.c.id.in_(flag_ids))
    ).all()
    said = latest_feedback(connection, {row.response_id for row in rows})
    scored = _scored_since(connection, [row.response_id for row in rows if row.judge_name is None])
    by_id = {row.id: _line(row, scored.get(row.response_id, row), said.get(row.response_id)) for row in rows}
    return tuple(by_id[flag_id] for flag_id in flag_ids)


def _scored_since(connection: Connection, response_ids: Sequence[int]) -> dict[int, Any]:
    """Return the primary judge's current scores of these responses: a drawn flag is raised as its answer lands."""
    if not response_ids:
        return {}
    query = select(CURRENT.c.response_id, CURRENT.c.groundedness, CURRENT.c.quality).where(
        CURRENT.c.response_id.in_(response_ids), CURRENT.c.judge_name == primary_judge(connection), CURRENT_OF_NAME
    )
    return {row.response_id: row for row in connection.execute(query)}


def _line(row: Any, scores: Any, user_feedback: str | None) -> QueueLine:
    return QueueLine(
        flag_id=row.id,
        response_id=row.response_id,
        external_id=row.external_id,
        source=row.source,
        rule=row.rule,
        why=why(row.rule, row.details, row.params),
        severity=row.severity,
        groundedness=scores.groundedness,
        quality=scores.quality,
        user_feedback=user_feedback,
        question=row.question,
        answer=row.answer,
        query_type=row.query_type,
        asked_at=row.asked_at,
    )
