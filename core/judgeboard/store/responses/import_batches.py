"""Rows of import batches: who brought which file, and what became of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from judgeboard.storable_text import storable
from judgeboard.store.schema.tables import ImportBatchRow

BATCH = ImportBatchRow.__table__


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
    row = {"file": storable(file)[0], "sha256": sha256, "importer": importer, "kind": kind, "at": now}
    row["actor"] = storable(actor)[0]
    return int(connection.execute(insert(BATCH).returning(BATCH.c.id), row).scalar_one())


def finish_batch(connection: Connection, batch_id: int, counts: dict[str, Any], now: datetime) -> None:
    """Set what became of the rows."""
    connection.execute(update(BATCH).where(BATCH.c.id == batch_id).values(counts=counts, finished_at=now))


def same_file_before(connection: Connection, sha256: str, kind: str) -> datetime | None:
    """Return when a file with these bytes was last imported to its end, None if never."""
    query = select(BATCH.c.at).where(BATCH.c.sha256 == sha256, BATCH.c.kind == kind, BATCH.c.finished_at.is_not(None))
    return connection.execute(query.order_by(BATCH.c.id.desc()).limit(1)).scalar()


def list_batches(connection: Connection, limit: int = 50) -> list[ImportBatch]:
    """Return the latest batches, newest first."""
    columns = (BATCH.c[name] for name in ImportBatch.__dataclass_fields__)
    rows = connection.execute(select(*columns).order_by(BATCH.c.id.desc()).limit(limit))
    return [ImportBatch(*row) for row in rows]
