"""Which reviews stand: neither replaced by a later row nor a withdrawal themselves."""

from sqlalchemy import ColumnElement, Connection, FromClause, and_, exists, or_, select

from judgeboard.domain import Decision
from judgeboard.store.schema.tables import REVIEW


def standing(review: FromClause = REVIEW) -> ColumnElement[bool]:
    """Return the condition under which a row of ``review`` (the table or an alias of it) stands.

    Undo, edit and re-grade are rows that name the one they replace, so a replaced row never stands again: what
    somebody said before a decision that was taken back is history.
    """
    later = REVIEW.alias()
    replaced = exists(select(later.c.id).where(later.c.replaces == review.c.id))
    return and_(review.c.decision.is_distinct_from(Decision.WITHDRAWN.value), ~replaced)


def spoken_by_others(connection: Connection, response_id: int, reviewer_id: int) -> bool:
    """Whether a review of anybody else stands on an answer."""
    query = select(REVIEW.c.id).where(
        REVIEW.c.response_id == response_id, REVIEW.c.reviewer_id != reviewer_id, standing()
    )
    return connection.execute(query.limit(1)).first() is not None


def has_grade(review: FromClause = REVIEW) -> ColumnElement[bool]:
    """Return the condition under which a review carries a grade: a label, a groundedness or a quality."""
    return or_(review.c.label.is_not(None), review.c.groundedness.is_not(None), review.c.quality.is_not(None))
