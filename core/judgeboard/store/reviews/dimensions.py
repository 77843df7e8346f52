"""The dimensions of rubrics that people or judges scored answers on, and on which scales."""

from dataclasses import dataclass

from sqlalchemy import Connection, case, func, select

from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import CURRENT, JUDGMENT_SCORE, REVIEW_SCORE

OF_JUDGES = JUDGMENT_SCORE
OF_PEOPLE = REVIEW_SCORE


@dataclass(frozen=True, slots=True)
class DimensionScales:
    """The scales on which people or current verdicts score a dimension, as they are written; none: nobody does.

    ``whole`` says that every score is a whole number.
    """

    written: tuple[str, ...]
    whole: bool


def scales_of_dimension(connection: Connection, dimension: str) -> DimensionScales:
    """Return on which scales a dimension is scored, by standing reviews and current verdicts."""
    fraction = func.max(case((func.round(OF_PEOPLE.c.value) != OF_PEOPLE.c.value, 1), else_=0))
    people = (
        select(OF_PEOPLE.c.scale, fraction)
        .join(REVIEW, REVIEW.c.id == OF_PEOPLE.c.review_id)
        .where(OF_PEOPLE.c.dimension == dimension, OF_PEOPLE.c.value.is_not(None), standing())
        .group_by(OF_PEOPLE.c.scale)
    )
    fraction = func.max(case((func.round(OF_JUDGES.c.value) != OF_JUDGES.c.value, 1), else_=0))
    judges = (
        select(OF_JUDGES.c.scale, fraction)
        .join(CURRENT, CURRENT.c.judgment_id == OF_JUDGES.c.judgment_id)
        .where(OF_JUDGES.c.dimension == dimension, OF_JUDGES.c.value.is_not(None))
        .group_by(OF_JUDGES.c.scale)
    )
    found = [tuple(row) for query in (people, judges) for row in connection.execute(query)]
    return DimensionScales(tuple(sorted({scale for scale, _ in found})), not any(fraction for _, fraction in found))


def dimensions_scored(connection: Connection) -> tuple[str, ...]:
    """Return the dimensions that people scored, by name."""
    return tuple(sorted(connection.execute(select(OF_PEOPLE.c.dimension).distinct()).scalars()))
