"""Events (who did what), written in the transaction of the change, and people's notifications about events."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, or_, select, update

from judgeboard.store.clock import utc_now
from judgeboard.store.listing import occurring_values
from judgeboard.store.sql_compiler import with_hidden_rows
from judgeboard.store.statements import any_row, grouped, number_of, rows_of
from judgeboard.store.tables import EVENT, RESPONSE, REVIEWER, Event

CONFLICT, MENTION = "conflict", "mention"
ASSIGNED = ("make_queue", "assign_queue")
LATEST = 200  # events of a kind that are read for a list


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
    event = Event(
        kind=kind,
        actor=actor,
        at=now or utc_now(),
        response_id=response_id,
        details=details or {},
    )
    result = connection.execute(insert(EVENT).returning(EVENT.c.id), event.new_values())
    return int(result.scalar_one())


def latest_events(
    connection: Connection, where: EventFilter, *, limit: int, before_id: int | None = None
) -> tuple[Event, ...]:
    """Return up to ``limit`` events with ids below ``before_id``, newest first."""
    older = [] if before_id is None else [EVENT.c.id < before_id]
    conditions: list[ColumnElement[bool]] = []
    if where.kind is not None:
        conditions.append(EVENT.c.kind == where.kind)
    if where.actor is not None:
        actor = where.actor
        if not any_row(connection, EVENT.c.actor == actor):
            # A name that differs only by case.
            names = (
                *occurring_values(connection, EVENT.c.actor),
                *connection.scalars(select(REVIEWER.c.name)),
            )
            actor = next((name for name in names if name.casefold() == actor.casefold()), actor)
        conditions.append(EVENT.c.actor == actor)
    if where.response is not None:
        response_ids = select(RESPONSE.c.id).where(RESPONSE.c.external_id == where.response)
        conditions.append(EVENT.c.response_id.in_(response_ids))
    if where.since is not None:
        conditions.append(EVENT.c.at >= where.since)
    return _events(connection, *conditions, *older, limit=limit)


def _events(
    connection: Connection, *conditions: ColumnElement[bool], limit: int | None = None
) -> tuple[Event, ...]:
    query = select(Event).where(*conditions).order_by(EVENT.c.id.desc()).limit(limit)
    return tuple(rows_of(connection, query))


def notifications(
    connection: Connection, reviewer_id: int, *, limit: int = 20
) -> tuple[Event, ...]:
    """Return a person's notifications, the newest first, without notifications about hidden answers."""
    # One query per kind: each reads only the end of an index. Only the last query leaves out hidden
    # rows, because leaving out rows in every query takes several times longer.
    latest = select(EVENT.c.id, EVENT.c.details).order_by(EVENT.c.id.desc()).limit(LATEST)
    about = [
        event.id
        for kind in (*ASSIGNED, CONFLICT, MENTION)
        for event in connection.execute(with_hidden_rows(latest.where(EVENT.c.kind == kind)))
        if reviewer_id in event.details.get("people", event.details.get("assigned_to", ()))
    ]
    return _events(connection, EVENT.c.id.in_(about), limit=limit) if about else ()


def read_until(connection: Connection, reviewer_id: int) -> int:
    """Return the latest event up to which a person has read the notifications."""
    query = select(REVIEWER.c.notified_until).where(REVIEWER.c.id == reviewer_id)
    return number_of(connection, query)


def mark_read(connection: Connection, reviewer_id: int, until: int) -> None:
    """Store that a person has read the notifications up to this event."""
    unread = or_(REVIEWER.c.notified_until.is_(None), REVIEWER.c.notified_until < until)
    connection.execute(
        update(REVIEWER).where(REVIEWER.c.id == reviewer_id, unread).values(notified_until=until)
    )


def mentioned(text: str, names: Mapping[int, str]) -> list[int]:
    """Return the people (by id) whom a text mentions: "@ann", "@Ann Lee", or "@ann" for ann@example.org.

    The longest name that matches counts: "@Ann Lee" does not mention Ann.
    """
    handles = grouped(
        (handle, id_)
        for id_, name in names.items()
        for handle in {name.casefold(), name.casefold().split("@")[0]}
        if handle  # a name that begins with @ has no first part
    )
    plain_text, people = text.casefold(), set[int]()
    for handle in sorted(handles, key=len, reverse=True):
        pattern = rf"(?<!\w)@{re.escape(handle)}(?!\w)"
        plain_text, mentions = re.subn(pattern, " ", plain_text)
        if mentions:
            people.update(handles[handle])
    return sorted(people)
