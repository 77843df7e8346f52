"""Logged answers on which a judge has a current verdict without a groundedness, or without a quality."""

from typing import Literal

from sqlalchemy import Connection, select

from judgeboard.store.figures.trend_sums import CURRENT, verdicts_of

ScoreName = Literal["groundedness", "quality"]


def unscored_answers(connection: Connection, judge: str | int, score: ScoreName) -> tuple[int, ...]:
    """Return the ids of these answers, of a judge by name or of one judge version by id."""
    query = select(CURRENT.c.response_id).where(*verdicts_of(judge), CURRENT.c[score].is_(None))
    return tuple(connection.execute(query.order_by(CURRENT.c.response_id)).scalars())
