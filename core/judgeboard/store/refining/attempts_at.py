"""Finds the attempts that an answer is one of, or that began with it."""

from typing import NamedTuple

from sqlalchemy import Connection, or_, select

from judgeboard.store.refining.attempt_rows import StoredStep
from judgeboard.store.refining.refinement_rows import JUDGMENT, REFINEMENT
from judgeboard.store.responses.response_rows import RESPONSE


class AttemptsKey(NamedTuple):
    """What attempts are known by: the run that made them, and what they are attempts at."""

    run_id: int
    subject: str
    method: str


class OriginalSaid(NamedTuple):
    """The answer that attempts began with, and what their judge said of it; None where that is not known."""

    response_id: int
    answer: str | None
    groundedness: float | None
    quality: int | None
    reasoning: str | None
    judging: StoredStep | None


def attempts_with(connection: Connection, response_id: int, *, limit: int) -> list[AttemptsKey]:
    """Return which attempts began with this answer or made it, those of the newest run first."""
    query = (
        select(REFINEMENT.c.run_id, REFINEMENT.c.subject, REFINEMENT.c.method)
        .where(or_(REFINEMENT.c.root_response_id == response_id, REFINEMENT.c.response_id == response_id))
        .distinct()
        .order_by(REFINEMENT.c.run_id.desc())
        .limit(limit)
    )
    return [AttemptsKey(*row) for row in connection.execute(query)]


def read_original(connection: Connection, response_id: int, judgment_id: int | None) -> OriginalSaid | None:
    """Return the answer that attempts began with, with the judgment of it; None where there is no such answer."""
    answers = connection.execute(select(RESPONSE.c.answer).where(RESPONSE.c.id == response_id)).all()
    if not answers:
        return None
    names = ("groundedness", "quality", "reasoning", "status", "error", "cost_micro")
    said = connection.execute(select(*(JUDGMENT.c[name] for name in names)).where(JUDGMENT.c.id == judgment_id))
    row = said.one_or_none()
    if row is None:
        return OriginalSaid(response_id, answers[0].answer, None, None, None, None)
    step = StoredStep(row.status, row.error, row.cost_micro)
    return OriginalSaid(response_id, answers[0].answer, row.groundedness, row.quality, row.reasoning, step)
