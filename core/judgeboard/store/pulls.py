"""How far the history of each project of a tool was pulled."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from judgeboard.store.statements import columns_of, record_of, upsert
from judgeboard.store.tables import PULL


@dataclass(frozen=True, slots=True)
class PullState:
    """A pulled project of a tool (its name and address).

    Everything that began before ``done_until`` was pulled. The window from ``since`` to ``until`` is under way, with
    ``position`` as its next page; without one, ``until`` is None.
    """

    tool: str
    project: str
    done_until: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None
    position: str | None = None
    at: datetime | None = None


def get_pull(connection: Connection, tool: str, project: str) -> PullState:
    """Return how far a project was pulled."""
    query = select(*columns_of(PullState, PULL)).where(PULL.c.tool == tool, PULL.c.project == project)
    row = connection.execute(query).first()
    return PullState(tool, project) if row is None else record_of(PullState, row)


def save_pull(connection: Connection, state: PullState, now: datetime) -> None:
    """Store how far a project was pulled."""
    connection.execute(upsert(connection, PULL, "tool", "project"), asdict(state) | {"at": now})
