"""The criteria of rubric judges: the dimensions on which current verdicts have scores."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, select

from judgeboard.domain import EXPECTED
from judgeboard.store.judge_versions import list_versions
from judgeboard.store.statements import CURRENT_OF_VERSION
from judgeboard.store.tables import CURRENT, JUDGMENT_SCORE, StoredVersion

NEWEST_VERDICTS = 20
"""The criteria of a judge version come from this many newest verdicts."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A dimension of a judge's scores, with the stored scale ("1-5")."""

    name: str
    scale: str


def is_score_on(criterion: Criterion) -> ColumnElement[bool]:
    """Return the condition that a row of judgment_score is the score of a current verdict on a criterion."""
    return and_(
        JUDGMENT_SCORE.c.judgment_id == CURRENT.c.judgment_id,
        JUDGMENT_SCORE.c.dimension == criterion.name,
        JUDGMENT_SCORE.c.scale == criterion.scale,
    )


def criteria_of(connection: Connection, version: StoredVersion) -> list[Criterion]:
    """Return the criteria of a judge version in the order of the rubric; expected scores are not criteria."""
    newest = (
        select(CURRENT.c.judgment_id)
        .where(CURRENT_OF_VERSION, CURRENT.c.judge_version_id == version.id)
        .order_by(CURRENT.c.response_id.desc())
        .limit(NEWEST_VERDICTS)
    )
    ids = connection.scalars(newest).all()
    query = select(JUDGMENT_SCORE.c.dimension, JUDGMENT_SCORE.c.scale).where(
        JUDGMENT_SCORE.c.judgment_id.in_(ids), JUDGMENT_SCORE.c.dimension.not_like(f"{EXPECTED}%")
    )
    rows = connection.execute(query.order_by(JUDGMENT_SCORE.c.id))
    return list({name: Criterion(name, scale) for name, scale in rows}.values())


def criteria_by_judge(connection: Connection) -> dict[str, dict[str, Criterion]]:
    """Return the criteria by judge name, without judges that have none; the newest version decides about the scale."""
    criteria: dict[str, dict[str, Criterion]] = {}
    for version in list_versions(connection):
        of_version = {each.name: each for each in criteria_of(connection, version)}
        if of_version:
            criteria[version.name] = criteria.get(version.name, {}) | of_version
    return criteria
