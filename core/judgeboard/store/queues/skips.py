"""Items that people put aside, and why."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select

from judgeboard.store.schema.queue_tables import SKIP


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item put aside by a person."""

    item_id: int
    reviewer_id: int
    reason: str | None
    at: datetime


def insert_skip(connection: Connection, item_id: int, reviewer_id: int, reason: str | None, now: datetime) -> None:
    """Note that somebody put an item aside."""
    row = {"queue_item_id": item_id, "reviewer_id": reviewer_id, "reason": reason, "at": now}
    connection.execute(insert(SKIP), row)


def skips_of(connection: Connection, item_id: int) -> list[Skipped]:
    """Return who put an item aside, the first first."""
    query = select(SKIP.c.queue_item_id, SKIP.c.reviewer_id, SKIP.c.reason, SKIP.c.at)
    rows = connection.execute(query.where(SKIP.c.queue_item_id == item_id).order_by(SKIP.c.id))
    return [Skipped(*row) for row in rows]
