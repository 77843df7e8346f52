"""Attempts of self-refine as stored: the answer, its rating, what each took."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, select

from judgeboard.store.refining.refinement_rows import GENERATION, JUDGMENT, REFINEMENT
from judgeboard.store.responses.response_rows import RESPONSE


@dataclass(frozen=True, slots=True)
class StoredStep:
    """What became of a request, and what it cost in millionths (None is unknown)."""

    status: str
    error: str | None
    cost_micro: int | None


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """One attempt; ``answer`` is None where the call gave none, or it is forgotten; ``judging`` None is not rated yet.

    ``root_response_id`` is the logged answer that they began with, ``judgment_before_id`` what was said of that one.
    ``finished`` tells that nothing of it is left to do, and ``outcome`` what came of it.
    """

    subject: str
    number: int
    response_id: int | None
    answer: str | None
    answering: StoredStep
    judging: StoredStep | None
    judgment_id: int | None
    judgment_before_id: int | None
    root_response_id: int | None
    outcome: str | None
    groundedness: float | None
    quality: int | None
    rating: int | None
    evaluation: str | None
    feedback: str | None
    finished: bool


_ATTEMPTS: Select[Any] = (
    select(
        GENERATION.c.subject,
        GENERATION.c.number,
        GENERATION.c.response_id,
        RESPONSE.c.answer,
        GENERATION.c.status,
        GENERATION.c.error,
        GENERATION.c.cost_micro,
        REFINEMENT.c.id.label("refinement_id"),
        REFINEMENT.c.rating,
        REFINEMENT.c.outcome,
        REFINEMENT.c.root_response_id,
        REFINEMENT.c.judgment_before_id,
        REFINEMENT.c.feedback,
        JUDGMENT.c.id.label("judgment_id"),
        JUDGMENT.c.reasoning,
        JUDGMENT.c.groundedness,
        JUDGMENT.c.quality,
        JUDGMENT.c.status.label("judged"),
        JUDGMENT.c.error.label("judge_error"),
        JUDGMENT.c.cost_micro.label("judge_cost"),
    )
    .select_from(GENERATION)
    .outerjoin(RESPONSE, RESPONSE.c.id == GENERATION.c.response_id)
    .outerjoin(
        REFINEMENT,
        and_(
            REFINEMENT.c.run_id == GENERATION.c.run_id,
            REFINEMENT.c.subject == GENERATION.c.subject,
            REFINEMENT.c.number == GENERATION.c.number,
        ),
    )
    .outerjoin(JUDGMENT, JUDGMENT.c.id == REFINEMENT.c.judgment_id)
    .order_by(GENERATION.c.id)
)


def stored_attempts(
    connection: Connection, run_id: int, subjects: Collection[str] | None = None
) -> dict[str, list[StoredAttempt]]:
    """Return a run's attempts by subject, each subject's in their order; of all subjects where none are named."""
    query = _ATTEMPTS.where(GENERATION.c.run_id == run_id)
    if subjects is not None:
        query = query.where(GENERATION.c.subject.in_(subjects))
    attempts: dict[str, list[StoredAttempt]] = {}
    for row in connection.execute(query):
        attempts.setdefault(row.subject, []).append(_attempt(row))
    return attempts


def _attempt(row: Row[Any]) -> StoredAttempt:
    judged = row.judgment_id is not None
    return StoredAttempt(
        subject=row.subject,
        number=row.number,
        response_id=row.response_id,
        answer=row.answer,
        answering=StoredStep(row.status, row.error, row.cost_micro),
        judging=StoredStep(row.judged, row.judge_error, row.judge_cost) if judged else None,
        judgment_id=row.judgment_id,
        judgment_before_id=row.judgment_before_id,
        root_response_id=row.root_response_id,
        outcome=row.outcome,
        groundedness=row.groundedness,
        quality=row.quality,
        rating=row.rating,
        evaluation=row.reasoning,
        feedback=row.feedback,
        finished=row.refinement_id is not None,
    )
