"""Counts what an audit could have looked at."""

from sqlalchemy import Connection, func, select

from judgeboard.store.schema.tables import CURRENT
from judgeboard.store.sql.literal_conditions import CURRENT_OF_VERSION


def count_verdicts(connection: Connection, version_id: int) -> int:
    """Return how many current verdicts a version has on answers of the log, those on forgotten ones included.

    Read from an index alone: which answers are forgotten stands only in their own rows.
    """
    mine = select(func.count()).select_from(CURRENT).where(CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version_id)
    return connection.execute(mine).scalar_one()
