"""Counts for how many verdicts of a run an expected score came with them."""

from sqlalchemy import Connection, func, select

from judgeboard.store.schema.tables import JUDGMENT, JUDGMENT_SCORE

SCORE = JUDGMENT_SCORE


def count_expected(connection: Connection, run_id: int) -> int:
    """Return how many judgments of a run have an expected score."""
    query = (
        select(func.count(func.distinct(SCORE.c.judgment_id)))
        .join(JUDGMENT, JUDGMENT.c.id == SCORE.c.judgment_id)
        .where(JUDGMENT.c.run_id == run_id, SCORE.c.dimension.like("expected %"))
    )
    return int(connection.execute(query).scalar_one())
