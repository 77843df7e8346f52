"""Which side a judge is on: low, as the rules of low scores see it, or high."""

from sqlalchemy import ColumnElement, and_, or_

from judgeboard.domain import Label
from judgeboard.flags.rule import HALF_STEP, Thresholds
from judgeboard.store.schema.tables import CURRENT


def is_low(at: Thresholds) -> ColumnElement[bool]:
    """Return the condition under which a row of current_judgment is low; it is never NULL."""
    return or_(
        and_(CURRENT.c.groundedness.is_not(None), CURRENT.c.groundedness < at.low_groundedness - HALF_STEP),
        and_(CURRENT.c.quality.is_not(None), CURRENT.c.quality <= at.low_quality),
        and_(
            CURRENT.c.groundedness.is_(None),
            CURRENT.c.label.is_not(None),
            CURRENT.c.label == Label.HALLUCINATED.value,
        ),
    )
