"""What rubric judges and people gave one answer, dimension by dimension."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from judgeboard.judges.rubric_file import OVERALL
from judgeboard.store.judgments.judge_versions import version_title
from judgeboard.store.reviews.standing import REVIEW, standing
from judgeboard.store.schema.tables import (
    CURRENT,
    JUDGMENT,
    JUDGMENT_SCORE,
    REVIEW_SCORE,
    REVIEWER,
    VERSION,
)

SCORE = JUDGMENT_SCORE

RUBRIC = "rubric"


@dataclass(frozen=True, slots=True)
class RubricVerdict:
    """A rubric judge's current verdict: (score 1 to 5 or None, sentence or None) by dimension.

    ``words`` are those of the levels 1 to 5 by dimension; ``note`` says what the judge left out or added.
    """

    version_title: str
    overall: float | None
    note: str | None
    dimensions: Mapping[str, tuple[float | None, str | None]]
    words: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class RubricScores:
    """The current verdicts of rubric judges on an answer, and what people gave: (reviewer, score) by dimension."""

    verdicts: tuple[RubricVerdict, ...] = ()
    people: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """The dimensions that a judge was asked for, with the words of their levels; of two judges the first's."""
        found: dict[str, tuple[str, ...]] = {}
        for verdict in self.verdicts:
            found = {**verdict.words, **found}
        return found


def load_rubric_scores(connection: Connection, response_id: int) -> RubricScores:
    """Return what stands on the item page for rubrics; empty, after one statement, where no such judge judged it."""
    verdicts = _verdicts(connection, response_id)
    return RubricScores(verdicts, _people(connection, response_id)) if verdicts else RubricScores()


def _verdicts(connection: Connection, response_id: int) -> tuple[RubricVerdict, ...]:
    judged = connection.execute(
        select(JUDGMENT.c.id, JUDGMENT.c.reasoning, VERSION.c.name, VERSION.c.number, VERSION.c.params)
        .join(CURRENT, CURRENT.c.judgment_id == JUDGMENT.c.id)
        .join(VERSION, VERSION.c.id == JUDGMENT.c.judge_version_id)
        .where(CURRENT.c.response_id == response_id, CURRENT.c.is_current.is_(True), VERSION.c.kind == RUBRIC)
        .order_by(VERSION.c.name)
    ).all()
    verdicts = []
    for row in judged:
        query = select(SCORE.c.dimension, SCORE.c.value, SCORE.c.reasoning).where(SCORE.c.judgment_id == row.id)
        scores = {name: (value, why) for name, value, why in connection.execute(query.order_by(SCORE.c.id))}
        overall, _ = scores.pop(OVERALL, (None, None))
        words = {one["name"]: tuple(one["levels"]) for one in row.params.get("dimensions", ())}
        verdicts.append(RubricVerdict(version_title(row.name, row.number), overall, row.reasoning, scores, words))
    return tuple(verdicts)


def _people(connection: Connection, response_id: int) -> dict[str, tuple[tuple[str, float], ...]]:
    query = (
        select(REVIEW_SCORE.c.dimension, REVIEWER.c.name, REVIEW_SCORE.c.value)
        .join(REVIEW, REVIEW.c.id == REVIEW_SCORE.c.review_id)
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .where(REVIEW.c.response_id == response_id, standing(), REVIEW_SCORE.c.value.is_not(None))
        .order_by(REVIEW_SCORE.c.id)
    )
    people: dict[str, tuple[tuple[str, float], ...]] = {}
    for dimension, name, value in connection.execute(query):
        people[dimension] = (*people.get(dimension, ()), (name, value))
    return people
