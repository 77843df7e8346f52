"""Rows of import batches: who brought which file, and what became of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from judgeboard.storable_text import storable
from judgeboard.store.events import record_event
from judgeboard.store.schema.tables import IMPORT_BATCH

BATCH = IMPORT_BATCH


@dataclass(frozen=True, slots=True)
class ImportBatch:
    """One import of one file; ``finished_at`` None is one that broke off (its whole batches of rows are in)."""

    id: int
    file: str
    kind: str
    importer: str
    actor: str
    at: datetime
    counts: dict[str, Any] | None
    finished_at: datetime | None


def start_batch(
    connection: Connection, *, file: str, sha256: str | None, importer: str, kind: str, actor: str, now: datetime
) -> int:
    """Insert a batch and return its id."""
    # A file's or a person's name on this machine may hold bytes that no database takes.
    by = storable(actor)[0]
    row = {"file": storable(file)[0], "sha256": sha256, "importer": importer, "kind": kind, "actor": by, "at": now}
    batch_id = int(connection.execute(insert(BATCH).returning(BATCH.c.id), row).scalar_one())
    record_event(connection, "start_import", by, details={"batch": batch_id, "kind": kind}, now=now)
    return batch_id


def finish_batch(connection: Connection, batch_id: int, counts: dict[str, Any], now: datetime) -> None:
    """Set what became of the rows."""
    ended = update(BATCH).where(BATCH.c.id == batch_id).values(counts=counts, finished_at=now)
    actor = connection.execute(ended.returning(BATCH.c.actor)).scalar_one()
    record_event(connection, "finish_import", actor, details={"batch": batch_id, **counts}, now=now)


def same_file_before(connection: Connection, sha256: str, kind: str) -> datetime | None:
    """Return when a file with these bytes was last imported to its end, None if never."""
    query = select(BATCH.c.at).where(BATCH.c.sha256 == sha256, BATCH.c.kind == kind, BATCH.c.finished_at.is_not(None))
    return connection.execute(query.order_by(BATCH.c.id.desc()).limit(1)).scalar()


def list_batches(connection: Connection, limit: int = 50) -> list[ImportBatch]:
    """Return the latest batches, newest first."""
    columns = (BATCH.c[name] for name in ImportBatch.__dataclass_fields__)
    rows = connection.execute(select(*columns).order_by(BATCH.c.id.desc()).limit(limit))
    return [ImportBatch(*row) for row in rows]
