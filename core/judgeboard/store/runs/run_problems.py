"""What went wrong in a run, grouped by reason, each with an example to look at."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, FromClause, Select, func, literal, select

from judgeboard.domain import Status
from judgeboard.store.schema.method_tables import COMPARISON, GENERATION, JUDGMENT_REVIEW, PAIR, SAMPLE
from judgeboard.store.schema.tables import JUDGMENT, RESPONSE

REVIEW = JUDGMENT_REVIEW

LONGEST = 300  # characters of a reason that count: some repeat a whole reply


@dataclass(frozen=True, slots=True)
class RunProblem:
    """Steps of a run that gave nothing usable for one reason; ``reason`` None is one that nobody gave.

    ``example`` names one of them: an answer's outside id, a pair's, what was to be answered. ``response_id`` is the
    answer it was about, ``pair_id`` the pair, each None where it was about none.
    """

    status: str
    reason: str | None
    steps: int
    response_id: int | None
    pair_id: int | None
    example: str


def run_problems(connection: Connection, run_id: int, *, limit: int = 50) -> list[RunProblem]:
    """Return the reasons of a run, the most frequent first, whatever steps it is made of."""
    found = [
        RunProblem(row.status, row.reason, row.steps, row.response_id, row.pair_id, row.example)
        for steps, example in _STEPS
        for row in connection.execute(_grouped(steps, run_id, example).limit(limit))
    ]
    return sorted(found, key=lambda problem: -problem.steps)[:limit]


def _grouped(steps: FromClause, run_id: int, example: Select[Any]) -> Select[Any]:
    """The reasons of one kind of step; ``example`` selects id, response, pair and name of each of its steps."""
    reason = func.substr(steps.c.error, 1, LONGEST)
    grouped = (
        select(
            steps.c.status,
            reason.label("reason"),
            func.count().label("steps"),
            func.min(steps.c.id).label("first_id"),
        )
        .where(steps.c.run_id == run_id, steps.c.status != Status.OK.value)
        .group_by(steps.c.status, reason)
        .subquery()
    )
    named = example.subquery()
    return (
        select(grouped, named.c.response_id, named.c.pair_id, named.c.example)
        .join_from(grouped, named, named.c.id == grouped.c.first_id)
        .order_by(grouped.c.steps.desc(), grouped.c.first_id)
    )


_NOBODY = literal(None, BigInteger)


def _about(steps: FromClause, response_id: ColumnElement[Any], example: ColumnElement[Any]) -> Select[Any]:
    return select(
        steps.c.id, response_id.label("response_id"), _NOBODY.label("pair_id"), example.label("example")
    ).select_from(steps)


def _about_pairs(steps: FromClause) -> Select[Any]:
    return select(
        steps.c.id, _NOBODY.label("response_id"), steps.c.pair_id, PAIR.c.external_id.label("example")
    ).join_from(steps, PAIR, PAIR.c.id == steps.c.pair_id)


_STEPS: tuple[tuple[FromClause, Select[Any]], ...] = (
    (
        JUDGMENT,
        _about(JUDGMENT, JUDGMENT.c.response_id, RESPONSE.c.external_id).join(
            RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id
        ),
    ),
    (COMPARISON, _about_pairs(COMPARISON)),
    (SAMPLE, _about_pairs(SAMPLE)),
    (GENERATION, _about(GENERATION, GENERATION.c.response_id, GENERATION.c.subject)),
    (
        REVIEW,
        _about(REVIEW, JUDGMENT.c.response_id, RESPONSE.c.external_id)
        .join(JUDGMENT, JUDGMENT.c.id == REVIEW.c.judgment_id)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id),
    ),
)
