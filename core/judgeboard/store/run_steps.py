"""Steps of runs: the latest asks of a judge version, missing repeats, costs of calls, and problems."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    String,
    Table,
    case,
    func,
    literal,
    select,
)

from judgeboard.domain import Status
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.responses import next_by_id
from judgeboard.store.statements import columns_of, count_rows, record_of, rows_with
from judgeboard.store.tables import JUDGMENT, JUDGMENT_REVIEW, PAIR, RESPONSE, STEP_TABLES, VERSION
from judgeboard.text import EXPECTED


class LatestAsk(NamedTuple):
    """The latest ask of one judge version about one item: its number from 0, and its run (None: recorded).

    ``status`` is ok if this ask counts as answered.
    """

    ask: int
    run_id: int | None
    status: Status

    @property
    def usable(self) -> bool:
        """Whether the ask gave a usable answer."""
        return self.status is Status.OK


def latest_asks(
    connection: Connection, version_id: int, response_ids: Collection[int] | None = None
) -> dict[int, LatestAsk]:
    """Return the latest judgment (repeat 0) of a version on each judged response, by response."""
    of_version = (JUDGMENT.c.judge_version_id == version_id, JUDGMENT.c.repeat == 0)
    query = select(JUDGMENT.c.response_id, *columns_of(LatestAsk, JUDGMENT)).where(*of_version)
    rows = rows_with(
        connection, query.order_by(JUDGMENT.c.id), JUDGMENT.c.response_id, response_ids
    )
    return {response_id: LatestAsk(*ask) for response_id, *ask in rows}


def count_missing(
    connection: Connection, version_id: int, repeats: int, where: RowFilter, up_to: int
) -> int:
    """Return how many judgments by the version are missing so that each of these answers has ``repeats``."""
    conditions = _meant(connection, where, up_to)
    of_answers = JUDGMENT.join(RESPONSE, RESPONSE.c.id == JUDGMENT.c.response_id)
    stored_judgments = count_rows(connection, of_answers, *_of(version_id, repeats), *conditions)
    return count_rows(connection, RESPONSE, *conditions) * repeats - stored_judgments


def next_answers(
    connection: Connection, where: RowFilter, *, after_id: int | None, up_to: int, limit: int
) -> list[int]:
    """Return the next answers by id: after ``after_id`` and up to ``up_to``."""
    query = select(RESPONSE.c.id).where(*_meant(connection, where, up_to))
    return list(connection.scalars(next_by_id(query, after_id, limit=limit)))


def missing_repeats(
    connection: Connection, version_id: int, repeats: int, response_ids: list[int]
) -> list[tuple[int, int]]:
    """Return the missing (response id, repeat) of these answers, answer by answer."""
    query = select(JUDGMENT.c.response_id, JUDGMENT.c.repeat).where(
        *_of(version_id, repeats), JUDGMENT.c.response_id.in_(response_ids)
    )
    stored_repeats = {(row.response_id, row.repeat) for row in connection.execute(query)}
    return [
        (id_, repeat)
        for id_ in response_ids
        for repeat in range(repeats)
        if (id_, repeat) not in stored_repeats
    ]


def _meant(connection: Connection, where: RowFilter, up_to: int) -> list[ColumnElement[bool]]:
    return [
        RESPONSE.c.id <= up_to,
        RESPONSE.c.answer.is_not(None),
        *response_conditions(connection, where),
    ]


def _of(version_id: int, repeats: int) -> tuple[ColumnElement[bool], ...]:
    return (
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.ask == 0,
        JUDGMENT.c.repeat < repeats,
    )


_LATEST = 1_000


def call_history(connection: Connection, kind: str, model: str | None) -> list[float | None]:
    """Return the mean prompt tokens, completion tokens and latency (ms) of a kind of judge with a model.

    The means are over the latest judgments (at most 1,000) of the newest version; an unknown mean
    is None.
    """
    versions = select(VERSION.c.id).where(
        VERSION.c.kind == kind, VERSION.c.model.is_not_distinct_from(model)
    )
    newest = connection.scalar(versions.order_by(VERSION.c.id.desc()).limit(1))
    latest = (
        select(JUDGMENT.c.prompt_tokens, JUDGMENT.c.completion_tokens, JUDGMENT.c.latency_ms)
        .where(JUDGMENT.c.judge_version_id == newest)
        .order_by(JUDGMENT.c.response_id.desc())
        .limit(_LATEST)
        .subquery()
    )
    means = [
        func.avg(latest.c[name]) for name in ("prompt_tokens", "completion_tokens", "latency_ms")
    ]
    return [
        None if mean is None else float(mean) for mean in connection.execute(select(*means)).one()
    ]


_REASON_LENGTH = 300  # characters: some reasons repeat a whole reply


@dataclass(frozen=True, slots=True)
class RunProblem:
    """Steps of a run without a usable result for the same ``reason`` (None: unknown).

    ``example`` is the external id of one answer or pair, or the subject of a generation.
    ``response_id`` or ``pair_id`` is the id of the example, if there is one.
    """

    status: str
    reason: str | None
    steps: int
    response_id: int | None
    pair_id: int | None
    example: str


def run_problems(connection: Connection, run_id: int, *, limit: int = 50) -> list[RunProblem]:
    """Return the problems of a run, the most frequent first."""
    problems = [
        record_of(RunProblem, row)
        for steps in (JUDGMENT, *STEP_TABLES)
        for row in connection.execute(_grouped(connection, steps, run_id).limit(limit))
    ]
    return sorted(problems, key=lambda problem: -problem.steps)[:limit]


def _grouped(connection: Connection, steps: Table, run_id: int) -> Select[Any]:
    """Return the query of the problems of one table of steps, each with the first step as the example."""
    position = func.instr if connection.dialect.name == "sqlite" else func.strpos
    end = position(steps.c.error, EXPECTED)
    reason = func.substr(steps.c.error, 1, case((end > 0, end - 1), else_=_REASON_LENGTH))
    problems = (
        select(
            steps.c.status,
            reason.label("reason"),
            func.count().label("steps"),
            func.min(steps.c.id).label("first_id"),
        )
        .where(steps.c.run_id == run_id, steps.c.status != Status.OK)
        .group_by(steps.c.status, reason)
        .subquery()
    )
    query = select(problems).join_from(problems, steps, steps.c.id == problems.c.first_id)
    columns = steps.c
    if steps is JUDGMENT_REVIEW:
        query, columns = query.join(JUDGMENT, JUDGMENT.c.id == steps.c.judgment_id), JUDGMENT.c
    response_id, pair_id = (
        columns.get(name, literal(None, BigInteger)) for name in ("response_id", "pair_id")
    )
    subject = columns.get("subject", literal(None, String))
    example = func.coalesce(subject, RESPONSE.c.external_id, PAIR.c.external_id)
    return (
        query.outerjoin(RESPONSE, RESPONSE.c.id == response_id)
        .outerjoin(PAIR, PAIR.c.id == pair_id)
        .add_columns(
            response_id.label("response_id"), pair_id.label("pair_id"), example.label("example")
        )
        .order_by(problems.c.steps.desc(), problems.c.first_id)
    )
