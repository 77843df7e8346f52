"""What became of the latest ask of a judge version on each response."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from judgeboard.domain import Status
from judgeboard.store.schema.tables import JUDGMENT


class LatestAsk(NamedTuple):
    """The latest judgment (repeat 0) of a version on a response, without what it says."""

    response_id: int
    ask: int
    run_id: int | None
    status: str

    @property
    def usable(self) -> bool:
        """Whether it gave a usable verdict."""
        return self.status == Status.OK


def latest_asks(
    connection: Connection, version_id: int, response_ids: Collection[int] | None = None
) -> dict[int, LatestAsk]:
    """Return the latest ask of a version on each response that it was asked about, by response.

    ``response_ids`` limits it to a few of them.
    """
    columns = (JUDGMENT.c[name] for name in LatestAsk._fields)
    of_version = (JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.repeat == 0)
    query = select(*columns).where(*of_version).order_by(JUDGMENT.c.id)
    if response_ids is not None:
        query = query.where(JUDGMENT.c.response_id.in_(response_ids))
    return {row.response_id: LatestAsk._make(row) for row in connection.execute(query)}
