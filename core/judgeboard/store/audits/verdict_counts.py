"""Counts what an audit could have looked at."""

from sqlalchemy import Connection, func, select

from judgeboard.domain import ResponseKind
from judgeboard.store.schema.tables import CurrentJudgmentRow, ResponseRow
from judgeboard.store.sql.literal_conditions import CURRENT_OF_VERSION

CURRENT = CurrentJudgmentRow.__table__
RESPONSE = ResponseRow.__table__


def count_verdicts(connection: Connection, version_id: int) -> int:
    """Return how many current verdicts a version has on answers of the log; forgotten ones are left out."""
    query = (
        select(func.count())
        .select_from(CURRENT)
        .join(RESPONSE, RESPONSE.c.id == CURRENT.c.response_id)
        .where(
            CURRENT_OF_VERSION,
            CURRENT.c.judge_version_id == version_id,
            RESPONSE.c.kind == ResponseKind.LOG.value,
            RESPONSE.c.answer.is_not(None),
        )
    )
    return int(connection.execute(query).scalar_one())
