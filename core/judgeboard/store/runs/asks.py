"""Which responses a run still has to ask a judge version about, and the number of each ask."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, func, literal, select

from judgeboard.domain import Status
from judgeboard.errors import BadInput
from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_sql import response_conditions
from judgeboard.store.schema.tables import JUDGMENT, RESPONSE
from judgeboard.store.sql.literal_conditions import NOT_OK


class AskMode(StrEnum):
    """Which responses of a filter are asked about."""

    PLAIN = "plain"
    """Those without any judgment of the version."""
    FAILED = "failed"
    """Those whose latest judgment of the version is not ok."""
    ALL = "all"


PLAIN = AskMode.PLAIN


def ask_mode(given: str) -> AskMode:
    """Return the mode that a text names.

    Raises:
        BadInput: It is not one of plain, failed, all.
    """
    try:
        return AskMode(given)
    except ValueError:
        raise BadInput(f"a run asks plain, failed or all responses, not {given!r}") from None


@dataclass(frozen=True, slots=True)
class Selection:
    """What a run asks about, fixed at its start.

    ``up_to`` is the frontier: responses that landed later have a greater id, and so have those beyond the ``limit``
    that a run was started with.
    """

    where: RowFilter
    mode: AskMode
    limit: int | None
    up_to: int


@dataclass(frozen=True, slots=True)
class SelectedAsk:
    """A response to ask about and the number of this asking: 0 first, one more with every rejudge."""

    response_id: int
    ask: int


def unasked(
    connection: Connection,
    version_id: int,
    selection: Selection,
    run_id: int | None,
    *,
    after_id: int | None = None,
    downwards: bool = False,
    limit: int,
) -> list[SelectedAsk]:
    """Return the next responses that this run has not asked about, by id, behind ``after_id`` where it is given.

    ``downwards`` begins at the frontier and goes to lower ids; ``run_id`` None is for a run that has not begun.
    """
    conditions = _conditions(connection, version_id, selection, run_id)
    if after_id is not None:
        conditions.append(RESPONSE.c.id < after_id if downwards else RESPONSE.c.id > after_id)
    query = select(RESPONSE.c.id, _next_ask(version_id, selection)).where(*conditions)
    order = RESPONSE.c.id.desc() if downwards else RESPONSE.c.id
    return [SelectedAsk(id_, ask) for id_, ask in connection.execute(query.order_by(order).limit(limit))]


def matching(connection: Connection, where: RowFilter, *, limit: int) -> list[int]:
    """Return the first responses of a filter by id."""
    query = select(RESPONSE.c.id).where(*response_conditions(connection, where))
    return list(connection.execute(query.order_by(RESPONSE.c.id).limit(limit)).scalars())


def count_unasked(connection: Connection, version_id: int, selection: Selection, run_id: int | None = None) -> int:
    """Return how many responses are left to ask; ``run_id`` None counts at a start."""
    query = select(func.count()).select_from(RESPONSE).where(*_conditions(connection, version_id, selection, run_id))
    return int(connection.execute(query).scalar_one())


def _conditions(
    connection: Connection, version_id: int, selection: Selection, run_id: int | None
) -> list[ColumnElement[bool]]:
    of_version = (JUDGMENT.c.response_id == RESPONSE.c.id) & (JUDGMENT.c.judge_version_id == version_id)
    conditions = [
        RESPONSE.c.id <= selection.up_to,
        RESPONSE.c.answer.is_not(None),  # a forgotten response cannot be judged
        *response_conditions(connection, selection.where),
    ]
    if selection.mode is AskMode.PLAIN:
        return [*conditions, ~exists().where(of_version)]
    if selection.mode is AskMode.FAILED:
        failed = select(JUDGMENT.c.response_id).where(JUDGMENT.c.judge_version_id == version_id, NOT_OK)
        latest = select(JUDGMENT.c.status).where(of_version, JUDGMENT.c.repeat == 0).order_by(JUDGMENT.c.id.desc())
        conditions += [RESPONSE.c.id.in_(failed), _first(latest) != Status.OK.value]
    if run_id is not None:
        conditions.append(~exists().where(of_version, JUDGMENT.c.run_id == run_id))
    return conditions


def _next_ask(version_id: int, selection: Selection) -> ColumnElement[int]:
    if selection.mode is AskMode.PLAIN:
        return literal(0)
    asked = select(func.max(JUDGMENT.c.ask)).where(
        JUDGMENT.c.response_id == RESPONSE.c.id, JUDGMENT.c.judge_version_id == version_id
    )
    return func.coalesce(asked.scalar_subquery() + 1, 0)


def _first(query: Select[Any]) -> ColumnElement[Any]:
    return query.limit(1).scalar_subquery()
