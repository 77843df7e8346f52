"""Who did what, written in the transaction of the change itself."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert

from judgeboard.store.schema.tables import EventRow


def record_event(
    connection: Connection,
    kind: str,
    actor: str,
    *,
    response_id: int | None = None,
    details: dict[str, Any] | None = None,
    now: datetime | None = None,
) -> int:
    """Write an event and return its id; ``details`` holds ids and numbers, never texts of a log."""
    inserted = connection.execute(
        insert(EventRow.__table__).returning(EventRow.__table__.c.id),
        {
            "kind": kind,
            "actor": actor,
            "at": now or datetime.now(UTC),
            "response_id": response_id,
            "details": details or {},
        },
    )
    return int(inserted.scalar_one())
