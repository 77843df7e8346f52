"""Reads what came of the cases of a suite run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from judgeboard.store.schema.method_tables import GenerationRow, SuiteCaseRow
from judgeboard.store.schema.tables import JudgmentRow, JudgmentScoreRow, ResponseRow
from judgeboard.store.sql.batches import batches
from judgeboard.store.suites.suite_rows import StoredSuiteRun

SUITE_CASE = SuiteCaseRow.__table__
GENERATION = GenerationRow.__table__
RESPONSE = ResponseRow.__table__
JUDGMENT = JudgmentRow.__table__
SCORE = JudgmentScoreRow.__table__


@dataclass(frozen=True, slots=True)
class StoredCase:
    """What came of one case; ``dimensions`` maps each to (score or None, sentence or None).

    ``error`` is what the answering or the judging said where there is no score. Texts are None where there is none, or
    it is forgotten.
    """

    position: int
    key: str
    response_id: int | None
    query: str | None
    answer: str | None
    score: float | None
    reason: str | None
    error: str | None
    checks: tuple[dict[str, Any], ...]
    dimensions: Mapping[str, tuple[float | None, str | None]]


def load_cases(connection: Connection, run: StoredSuiteRun) -> list[StoredCase]:
    """Return what came of the cases of a suite run, those that are done with, in order."""
    rows = connection.execute(
        select(
            SUITE_CASE,
            RESPONSE.c.query,
            RESPONSE.c.answer,
            func.coalesce(JUDGMENT.c.error, GENERATION.c.error).label("error"),
        )
        .join(RESPONSE, RESPONSE.c.id == SUITE_CASE.c.response_id, isouter=True)
        .join(JUDGMENT, JUDGMENT.c.id == SUITE_CASE.c.judgment_id, isouter=True)
        .join(
            GENERATION,
            (GENERATION.c.run_id == run.run_id) & (GENERATION.c.subject == SUITE_CASE.c.case_key),
            isouter=True,
        )
        .where(SUITE_CASE.c.suite_run_id == run.id)
        .order_by(SUITE_CASE.c.position)
    ).all()
    scores = _scores(connection, [row.judgment_id for row in rows if row.judgment_id is not None])
    return [
        StoredCase(
            position=row.position,
            key=row.case_key,
            response_id=row.response_id,
            query=row.query,
            answer=row.answer,
            score=row.score,
            reason=row.reason,
            error=row.error if row.score is None else None,
            checks=tuple(row.checks or ()),
            dimensions=scores.get(row.judgment_id, {}),
        )
        for row in rows
    ]


def _scores(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, tuple[float | None, str | None]]]:
    found: dict[int, dict[str, tuple[float | None, str | None]]] = {}
    for some in batches(ids):
        query = select(SCORE.c.judgment_id, SCORE.c.dimension, SCORE.c.value, SCORE.c.reasoning).where(
            SCORE.c.judgment_id.in_(some)
        )
        for judgment_id, dimension, value, reasoning in connection.execute(query.order_by(SCORE.c.id)):
            found.setdefault(judgment_id, {})[dimension] = (value, reasoning)
    return found
