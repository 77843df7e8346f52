"""The steps of runs: their common columns, the latest asks of a judge version, missing repeats, and what went wrong."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, FromClause, Select, func, literal, select

from judgeboard.domain import Status
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.method_tables import COMPARISON, GENERATION, JUDGMENT_REVIEW, PAIR, SAMPLE
from judgeboard.store.tables import JUDGMENT, RESPONSE, VERSION


class LatestAsk(NamedTuple):
    """The latest judgment (repeat 0) of a version on a response, without what it says."""

    response_id: int
    ask: int
    run_id: int | None
    status: str

    @property
    def usable(self) -> bool:
        """Whether it gave a usable verdict."""
        return self.status == Status.OK


def latest_asks(
    connection: Connection, version_id: int, response_ids: Collection[int] | None = None
) -> dict[int, LatestAsk]:
    """Return the latest ask of a version on each response that it was asked about, by response.

    ``response_ids`` limits it to a few of them.
    """
    columns = (JUDGMENT.c[name] for name in LatestAsk._fields)
    of_version = (JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.repeat == 0)
    query = select(*columns).where(*of_version).order_by(JUDGMENT.c.id)
    if response_ids is not None:
        query = query.where(JUDGMENT.c.response_id.in_(response_ids))
    return {row.response_id: LatestAsk._make(row) for row in connection.execute(query)}


class Repeat(NamedTuple):
    """One repeat to ask for."""

    response_id: int
    repeat: int


def count_missing(connection: Connection, version_id: int, repeats: int, where: RowFilter, up_to: int) -> int:
    """Return how many asks are left until each of these answers has ``repeats`` judgments of the version."""
    conditions = _meant(connection, where, up_to)
    answers = connection.execute(select(func.count()).select_from(RESPONSE).where(*conditions)).scalar_one()
    there = (
        select(func.count())
        .select_from(JUDGMENT)
        .join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
        .where(*_of(version_id, repeats), *conditions)
    )
    return int(answers) * repeats - int(connection.execute(there).scalar_one())


def next_answers(
    connection: Connection, where: RowFilter, *, after_id: int, up_to: int, limit: int, backwards: bool = False
) -> list[int]:
    """Return the next answers by id: behind ``after_id`` up to ``up_to``, or backwards from before ``after_id``."""
    beyond = RESPONSE.c.id < after_id if backwards else RESPONSE.c.id > after_id
    query = select(RESPONSE.c.id).where(*_meant(connection, where, up_to), beyond)
    order = RESPONSE.c.id.desc() if backwards else RESPONSE.c.id
    return list(connection.execute(query.order_by(order).limit(limit)).scalars())


def missing_repeats(connection: Connection, version_id: int, repeats: int, response_ids: list[int]) -> list[Repeat]:
    """Return the repeats of these answers that the version was not asked for yet, answer by answer."""
    query = select(JUDGMENT.c.response_id, JUDGMENT.c.repeat).where(
        *_of(version_id, repeats), JUDGMENT.c.response_id.in_(response_ids)
    )
    there = {(row.response_id, row.repeat) for row in connection.execute(query)}
    return [Repeat(id_, repeat) for id_ in response_ids for repeat in range(repeats) if (id_, repeat) not in there]


def _meant(connection: Connection, where: RowFilter, up_to: int) -> list[ColumnElement[bool]]:
    return [RESPONSE.c.id <= up_to, RESPONSE.c.answer.is_not(None), *response_conditions(connection, where)]


def _of(version_id: int, repeats: int) -> tuple[ColumnElement[bool], ...]:
    return JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.ask == 0, JUDGMENT.c.repeat < repeats


LATEST = 1_000


@dataclass(frozen=True, slots=True)
class CallHistory:
    """Means over the latest judgments (1,000 at most) of a kind of judge with a model; None where none is known."""

    judgments: int
    prompt_tokens: float | None
    completion_tokens: float | None
    latency_ms: float | None


def call_history(connection: Connection, kind: str, model: str | None) -> CallHistory:
    """Return what the latest judgments by this kind of judge with this model took."""
    versions = select(VERSION.c.id).where(VERSION.c.kind == kind, VERSION.c.model.is_not_distinct_from(model))
    newest = connection.execute(versions.order_by(VERSION.c.id.desc()).limit(1)).scalar()
    if newest is None:
        return CallHistory(0, None, None, None)
    latest = (
        select(JUDGMENT.c.prompt_tokens, JUDGMENT.c.completion_tokens, JUDGMENT.c.latency_ms)
        .where(JUDGMENT.c.judge_version_id == newest)
        .order_by(JUDGMENT.c.response_id.desc())
        .limit(LATEST)
        .subquery()
    )
    means = [func.avg(latest.c[name]) for name in ("prompt_tokens", "completion_tokens", "latency_ms")]
    count, *found = connection.execute(select(func.count(), *means).select_from(latest)).one()
    return CallHistory(count, *(None if mean is None else float(mean) for mean in found))


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
            steps.c.status, reason.label("reason"), func.count().label("steps"), func.min(steps.c.id).label("first_id")
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
