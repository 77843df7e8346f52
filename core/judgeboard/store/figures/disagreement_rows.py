"""The texts of a few answers on which judge and people differ: the judge's reasoning, the reviewers' notes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from judgeboard.store.responses.text_starts import ANSWER, QUESTION
from judgeboard.store.reviews.standing import REVIEW, has_grade, standing
from judgeboard.store.schema.tables import CURRENT, JUDGMENT, RESPONSE, REVIEWER


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """One standing review with a grade, the note included; every grade may be missing."""

    response_id: int
    reviewer_id: int
    reviewer: str
    stage: str | None
    label: str | None
    groundedness: float | None
    quality: int | None
    note: str | None
    at: datetime
    why_differs: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerSaid:
    """An answer with the start of its texts, and one judge version's current verdict with its reasoning."""

    response_id: int
    source: str
    external_id: str
    query_type: str
    question: str | None
    answer: str | None
    judgment_id: int
    reasoning: str | None


def answers_said(connection: Connection, version_id: int, response_ids: Sequence[int]) -> dict[int, AnswerSaid]:
    """Return these responses with what one judge version currently says of them, by id."""
    query = (
        select(
            RESPONSE.c.id,
            RESPONSE.c.source,
            RESPONSE.c.external_id,
            RESPONSE.c.query_type,
            QUESTION,
            ANSWER,
            JUDGMENT.c.id,
            JUDGMENT.c.reasoning,
        )
        .join(CURRENT, CURRENT.c.response_id == RESPONSE.c.id)
        .join(JUDGMENT, JUDGMENT.c.id == CURRENT.c.judgment_id)
        .where(RESPONSE.c.id.in_(response_ids), CURRENT.c.judge_version_id == version_id)
    )
    return {row[0]: AnswerSaid(*row) for row in connection.execute(query)}


def people_said(connection: Connection, response_ids: Sequence[int]) -> dict[int, tuple[PersonSaid, ...]]:
    """Return the standing reviews with a grade of these responses, the latest first."""
    query = (
        select(
            REVIEW.c.response_id,
            REVIEW.c.reviewer_id,
            REVIEWER.c.name,
            REVIEW.c.stage,
            REVIEW.c.label,
            REVIEW.c.groundedness,
            REVIEW.c.quality,
            REVIEW.c.note,
            REVIEW.c.at,
            REVIEW.c.why_differs,
        )
        .join(REVIEWER, REVIEWER.c.id == REVIEW.c.reviewer_id)
        .where(REVIEW.c.response_id.in_(response_ids), standing(), has_grade())
        .order_by(REVIEW.c.id.desc())
    )
    said: dict[int, tuple[PersonSaid, ...]] = {}
    for row in connection.execute(query):
        person = PersonSaid(*tuple[Any, ...](row))
        said[person.response_id] = (*said.get(person.response_id, ()), person)
    return said
