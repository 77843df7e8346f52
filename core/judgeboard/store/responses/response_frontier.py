"""The id up to which responses have landed: what comes later belongs to no selection made now."""

from sqlalchemy import Connection, func, select

from judgeboard.domain import ResponseKind
from judgeboard.store.schema.tables import RESPONSE


def last_response_id(connection: Connection) -> int:
    """Return the highest id of a response, 0 where there is none."""
    return int(connection.execute(select(func.coalesce(func.max(RESPONSE.c.id), 0))).scalar_one())


def last_logged_id(connection: Connection) -> int:
    """Return the highest id of a logged answer, 0 where there is none.

    What is made from the log, as controls and second attempts are, does not move it.
    """
    logged = select(RESPONSE.c.id).where(RESPONSE.c.kind == ResponseKind.LOG.value)
    return int(connection.execute(logged.order_by(RESPONSE.c.id.desc()).limit(1)).scalar() or 0)
