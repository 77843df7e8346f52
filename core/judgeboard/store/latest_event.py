"""Reads the latest event of a kind for short commands, which have no time to import all tables."""

from typing import Any

from sqlalchemy import JSON, Connection, column, select, table

EVENT = table("event", column("id"), column("kind"), column("details", JSON))


def latest_event(connection: Connection, kind: str) -> dict[str, Any] | None:
    """Return the details of the latest event of a kind, or None."""
    newest = select(EVENT.c.details).where(EVENT.c.kind == kind).order_by(EVENT.c.id.desc()).limit(1)
    return connection.execute(newest).scalar()
