"""Pages of logged answers: every filter's rows, fifty at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Select, func, select

from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_sql import RESPONSE
from judgeboard.store.filters.filter_verdicts import of_judge
from judgeboard.store.filters.judge_sides import CURRENT
from judgeboard.store.judgments.judge_versions import version_title
from judgeboard.store.listing import LinePage
from judgeboard.store.responses.response_list import response_list
from judgeboard.store.responses.text_starts import ANSWER, QUESTION
from judgeboard.store.responses.user_words import latest_feedback
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import FLAG, VERSION
from judgeboard.store.sql.literal_conditions import OPEN


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """The current verdict that a line shows."""

    judgment_id: int
    version_title: str
    groundedness: float | None
    quality: int | None
    label: str | None


@dataclass(frozen=True, slots=True)
class ResponseLine:
    """An answer in the list; ``judged`` is the verdict of the judge that the filter means, else the primary judge's.

    ``judges`` counts the judge names with a usable verdict, ``reviews`` the reviews that stand, ``flag_id`` names the
    worst flag that waits.
    """

    response_id: int
    external_id: str
    source: str
    query_type: str
    question: str | None
    answer: str | None
    generator_model: str | None
    asked_at: datetime | None
    user_feedback: str | None
    judged: JudgedLine | None
    judges: int
    reviews: int
    flag_id: int | None


def response_page(
    connection: Connection,
    given: RowFilter,
    sort: str = "newest",
    *,
    after: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> LinePage[ResponseLine]:
    """Return a page of the answers (`KeyedList.page`); orders are `response_list.ORDERS`.

    Raises:
        BadInput: No such order, or a key that names no place.
    """
    return response_list(connection, given, sort).page(after, before, limit, partial(_lines, connection, given))


def _lines(connection: Connection, given: RowFilter, ids: Sequence[int]) -> tuple[ResponseLine, ...]:
    names = ("id", "external_id", "source", "query_type", "generator_model", "asked_at")
    rows = connection.execute(
        select(
            *(RESPONSE.c[name] for name in names),
            QUESTION,
            ANSWER,
        ).where(RESPONSE.c.id.in_(ids))
    )
    said = latest_feedback(connection, ids)
    judged = _judged(connection, given, ids)
    judges, reviews, flags = _judges(connection, ids), _reviews(connection, ids), _flags(connection, ids)
    lines = {
        row.id: ResponseLine(
            response_id=row.id,
            external_id=row.external_id,
            source=row.source,
            query_type=row.query_type,
            question=row.question,
            answer=row.answer,
            generator_model=row.generator_model,
            asked_at=row.asked_at,
            user_feedback=said.get(row.id),
            judged=judged.get(row.id),
            judges=judges.get(row.id, 0),
            reviews=reviews.get(row.id, 0),
            flag_id=flags.get(row.id),
        )
        for row in rows
    }
    return tuple(lines[id_] for id_ in ids)


def _judged(connection: Connection, given: RowFilter, ids: Sequence[int]) -> dict[int, JudgedLine]:
    query = (
        select(
            CURRENT.c.response_id,
            CURRENT.c.judgment_id,
            CURRENT.c.groundedness,
            CURRENT.c.quality,
            CURRENT.c.label,
            VERSION.c.name,
            VERSION.c.number,
        )
        .join(VERSION, VERSION.c.id == CURRENT.c.judge_version_id)
        .where(CURRENT.c.response_id.in_(ids), *of_judge(connection, given))
        .order_by(CURRENT.c.judgment_id)
    )
    return {
        response_id: JudgedLine(judgment_id, version_title(name, number), groundedness, quality, label)
        for response_id, judgment_id, groundedness, quality, label, name, number in connection.execute(query)
    }


def _judges(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    query = select(CURRENT.c.response_id, func.count()).where(
        CURRENT.c.response_id.in_(ids), CURRENT.c.is_current.is_(True)
    )
    return _by_id(connection, query.group_by(CURRENT.c.response_id))


def _reviews(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    query = select(REVIEW.c.response_id, func.count()).where(REVIEW.c.response_id.in_(ids), standing())
    return _by_id(connection, query.group_by(REVIEW.c.response_id))


def _flags(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    query = select(FLAG.c.response_id, FLAG.c.id).where(FLAG.c.response_id.in_(ids), OPEN)
    return _by_id(connection, query.order_by(FLAG.c.severity, FLAG.c.id.desc()))


def _by_id(connection: Connection, query: Select[Any]) -> dict[int, int]:
    return {row[0]: row[1] for row in connection.execute(query)}
