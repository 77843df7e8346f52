"""Which repeats of a judge version are still to ask: the same question n times, numbered from 0."""

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, func, select

from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_sql import response_conditions
from judgeboard.store.schema.tables import JUDGMENT, RESPONSE


class Repeat(NamedTuple):
    """One repeat to ask for."""

    response_id: int
    repeat: int


def count_missing(connection: Connection, version_id: int, repeats: int, where: RowFilter, up_to: int) -> int:
    """Return how many asks are left until each of these answers has ``repeats`` judgments of the version."""
    conditions = _meant(connection, where, up_to)
    answers = connection.execute(select(func.count()).select_from(RESPONSE).where(*conditions)).scalar_one()
    there = (
        select(func.count())
        .select_from(JUDGMENT)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(*_of(version_id, repeats), *conditions)
    )
    return int(answers) * repeats - int(connection.execute(there).scalar_one())


def next_answers(
    connection: Connection, where: RowFilter, *, after_id: int, up_to: int, limit: int, backwards: bool = False
) -> list[int]:
    """Return the next answers by id: behind ``after_id`` up to ``up_to``, or backwards from before ``after_id``."""
    beyond = RESPONSE.c.id < after_id if backwards else RESPONSE.c.id > after_id
    query = select(RESPONSE.c.id).where(*_meant(connection, where, up_to), beyond)
    order = RESPONSE.c.id.desc() if backwards else RESPONSE.c.id
    return list(connection.execute(query.order_by(order).limit(limit)).scalars())


def missing_repeats(connection: Connection, version_id: int, repeats: int, response_ids: list[int]) -> list[Repeat]:
    """Return the repeats of these answers that the version was not asked for yet, answer by answer."""
    query = select(JUDGMENT.c.response_id, JUDGMENT.c.repeat).where(
        *_of(version_id, repeats), JUDGMENT.c.response_id.in_(response_ids)
    )
    there = {(row.response_id, row.repeat) for row in connection.execute(query)}
    return [Repeat(id_, repeat) for id_ in response_ids for repeat in range(repeats) if (id_, repeat) not in there]


def _meant(connection: Connection, where: RowFilter, up_to: int) -> list[ColumnElement[bool]]:
    return [RESPONSE.c.id <= up_to, RESPONSE.c.answer.is_not(None), *response_conditions(connection, where)]


def _of(version_id: int, repeats: int) -> tuple[ColumnElement[bool], ...]:
    return JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.ask == 0, JUDGMENT.c.repeat < repeats
