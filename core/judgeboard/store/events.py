"""Events: who did what, written in the transaction of the change."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, select

from judgeboard.store.listing import KeyedList, LinePage, Order, occurring_values
from judgeboard.store.statements import columns_of, record_of
from judgeboard.store.tables import EVENT, RESPONSE, REVIEWER

NEWEST = Order("newest", "newest first", EVENT.c.id, EVENT.c.id, None, descending=True, id_descending=True)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event; ``response`` is the external id of its answer, ``details`` contains ids and numbers."""

    id: int
    kind: str
    actor: str
    at: datetime
    response_id: int | None
    response: str | None
    details: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventFilter:
    """A filter of events; ``response`` is an external id of any source, ``since`` is timezone-aware."""

    kind: str | None = None
    actor: str | None = None
    response: str | None = None
    since: datetime | None = None


def record_event(
    connection: Connection,
    kind: str,
    actor: str,
    *,
    response_id: int | None = None,
    details: dict[str, Any] | None = None,
    now: datetime | None = None,
) -> int:
    """Store an event and return its id; ``details`` contains ids and numbers, never texts of a log."""
    inserted = connection.execute(
        insert(EVENT).returning(EVENT.c.id),
        {
            "kind": kind,
            "actor": actor,
            "at": now or datetime.now(UTC),
            "response_id": response_id,
            "details": details or {},
        },
    )
    return int(inserted.scalar_one())


def event_page(
    connection: Connection, where: EventFilter, *, after: str | None = None, before: str | None = None, limit: int = 50
) -> LinePage[StoredEvent]:
    """Return a page of events, newest first (`KeyedList.page`); raise BadInput if a key is invalid."""
    listed = KeyedList(connection, EVENT, NEWEST, own=_conditions(connection, where))
    return listed.page(after, before, limit, lambda ids: _events(connection, EVENT.c.id.in_(ids)))


def latest_events(
    connection: Connection, where: EventFilter, *, limit: int, before_id: int | None = None
) -> tuple[StoredEvent, ...]:
    """Return up to ``limit`` events with ids below ``before_id``, newest first."""
    older = [] if before_id is None else [EVENT.c.id < before_id]
    return _events(connection, *_conditions(connection, where), *older, limit=limit)


def event_kinds(connection: Connection) -> tuple[str, ...]:
    """Return the kinds that occur, sorted."""
    return occurring_values(connection, EVENT.c.kind)


def event_actors(connection: Connection) -> tuple[str, ...]:
    """Return the actors, sorted, at most 200."""
    return occurring_values(connection, EVENT.c.actor)


def _conditions(connection: Connection, where: EventFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.kind is not None:
        conditions.append(EVENT.c.kind == where.kind)
    if where.actor is not None:
        conditions.append(EVENT.c.actor == _actor(connection, where.actor))
    if where.response is not None:
        named = select(RESPONSE.c.id).where(RESPONSE.c.external_id == where.response)
        conditions.append(EVENT.c.response_id.in_(named))
    if where.since is not None:
        conditions.append(EVENT.c.at >= where.since)
    return conditions


def _actor(connection: Connection, name: str) -> str:
    """Return an actor as stored: an exact match first, then a name that differs only by case."""
    if connection.execute(select(EVENT.c.id).where(EVENT.c.actor == name).limit(1)).first() is not None:
        return name
    stored = (*event_actors(connection), *connection.execute(select(REVIEWER.c.name)).scalars())
    return next((each for each in stored if each.casefold() == name.casefold()), name)


def _events(
    connection: Connection, *conditions: ColumnElement[bool], limit: int | None = None
) -> tuple[StoredEvent, ...]:
    query = (
        select(*columns_of(StoredEvent, EVENT), RESPONSE.c.external_id.label("response"))
        .select_from(EVENT.outerjoin(RESPONSE, RESPONSE.c.id == EVENT.c.response_id))
        .where(*conditions)
        .order_by(EVENT.c.id.desc())
    )
    return tuple(record_of(StoredEvent, row) for row in connection.execute(query.limit(limit)))
