"""Counts of the whole database, for a first look."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from judgeboard.domain import FlagState, ResponseKind
from judgeboard.store.schema.tables import FLAG, RESPONSE


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """How much there is; responses of the log only."""

    responses: int
    open_flags: int


def store_counts(connection: Connection) -> StoreCounts:
    """Count responses of the log and open flags."""
    responses = select(func.count()).select_from(RESPONSE).where(RESPONSE.c.kind == ResponseKind.LOG.value)
    flags = select(func.count()).select_from(FLAG).where(FLAG.c.state == FlagState.OPEN.value)
    return StoreCounts(connection.execute(responses).scalar_one(), connection.execute(flags).scalar_one())
