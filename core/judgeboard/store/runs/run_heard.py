"""When a run was last heard of: nothing else tells a running one from one whose process died."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, func, select

from judgeboard.store.schema.tables import JUDGMENT


def last_verdicts(connection: Connection, run_ids: Collection[int]) -> dict[int, datetime]:
    """Return when the latest verdict of each of these runs came; those without any are left out."""
    latest = select(func.max(JUDGMENT.c.id)).where(JUDGMENT.c.run_id.in_(run_ids)).group_by(JUDGMENT.c.run_id)
    query = select(JUDGMENT.c.run_id, JUDGMENT.c.created_at).where(JUDGMENT.c.id.in_(latest))
    return {row.run_id: row.created_at for row in connection.execute(query)}
