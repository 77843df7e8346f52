"""Logged questions that self-refine has still to answer."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, exists, func, or_, select

from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_sql import response_conditions
from judgeboard.store.refining.refinement_rows import REFINEMENT
from judgeboard.store.responses.response_rows import RESPONSE

REFINE = "refine"


@dataclass(frozen=True, slots=True)
class RefineSelection:
    """What self-refine answers; ``runs`` are those of the same generator, whose finished work is not repeated.

    ``up_to`` is the frontier; an attempt rated ``success_rating`` or numbered ``attempts`` is the last of its answer.
    """

    where: RowFilter
    up_to: int
    success_rating: int
    attempts: int
    runs: tuple[int, ...] = ()


def unrefined(
    connection: Connection, selection: RefineSelection, *, after_id: int | None, downwards: bool, limit: int
) -> list[int]:
    """Return the next answers whose question waits, by id, behind ``after_id`` where it is given."""
    query = _waiting(connection, selection, select(RESPONSE.c.id))
    if after_id is not None:
        query = query.where(RESPONSE.c.id < after_id if downwards else RESPONSE.c.id > after_id)
    order = RESPONSE.c.id.desc() if downwards else RESPONSE.c.id
    return list(connection.execute(query.order_by(order).limit(limit)).scalars())


def count_unrefined(connection: Connection, selection: RefineSelection) -> int:
    """Return how many questions wait."""
    query = _waiting(connection, selection, select(func.count()).select_from(RESPONSE))
    return int(connection.execute(query).scalar_one())


def _waiting(connection: Connection, selection: RefineSelection, query: Select[Any]) -> Select[Any]:
    finished = exists().where(
        REFINEMENT.c.root_response_id == RESPONSE.c.id,
        REFINEMENT.c.run_id.in_(selection.runs),
        or_(REFINEMENT.c.rating >= selection.success_rating, REFINEMENT.c.number >= selection.attempts),
    )
    return query.where(
        RESPONSE.c.id <= selection.up_to,
        RESPONSE.c.answer.is_not(None),  # not forgotten
        *response_conditions(connection, selection.where),
        ~finished,
    )
