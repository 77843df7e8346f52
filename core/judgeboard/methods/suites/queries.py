"""Stores and reads suite runs and the results of cases."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select

from judgeboard.domain import DimensionScore, ResponseKind, RunState
from judgeboard.errors import NotFound
from judgeboard.methods.suites.tables import SUITE_CASE, SUITE_RUN, SuiteCase
from judgeboard.store.judgments import dimension_scores
from judgeboard.store.statements import (
    columns_of,
    insert_or_skip,
    record_of,
    rounded_sum,
    rows_with,
)
from judgeboard.store.tables import GENERATION, JUDGMENT, RESPONSE, RUN, VERSION, version_title


class SuiteCaseName(NamedTuple):
    """The id of a case in the suite, and the hash of the content."""

    id: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredSuiteRun:
    """A suite as it was run, without texts."""

    id: int
    run_id: int
    name: str
    candidate: str
    version_id: int
    judge: str
    state: RunState
    created_at: datetime
    threshold: float
    max_unmeasured: float
    max_drop: float
    weights: Mapping[str, float]
    cases: tuple[SuiteCaseName, ...]


def ensure_suite_run(
    connection: Connection,
    run_id: int,
    *,
    name: str,
    spec: Mapping[str, Any],
    spec_hash: str,
    candidate: str,
    version_id: int,
    now: datetime,
) -> StoredSuiteRun:
    """Store a suite run with the name and the ``spec`` of the suite, unless stored before; return the stored run."""
    row = {
        "run_id": run_id,
        "name": name,
        "spec": spec,
        "spec_hash": spec_hash,
        "candidate": candidate,
    }
    row |= {"judge_version_id": version_id, "created_at": now}
    connection.execute(insert_or_skip(connection, SUITE_RUN, "run_id"), row)
    return get_suite_run(connection, run_id)


def get_suite_run(connection: Connection, run_id: int) -> StoredSuiteRun:
    """Return the suite run of a run, or raise NotFound."""
    row = connection.execute(_RUNS.where(SUITE_RUN.c.run_id == run_id)).one_or_none()
    if row is None:
        raise NotFound(f"no suite run {run_id}; `judgeboard suite list` shows all suite runs")
    return _stored(row)


_MOST_LISTED = 200


def list_suite_runs(connection: Connection, name: str | None = None) -> list[StoredSuiteRun]:
    """Return the latest suite runs (at most 200), newest first, of one suite if ``name`` is set."""
    query = _RUNS if name is None else _RUNS.where(SUITE_RUN.c.name == name)
    return [
        _stored(row)
        for row in connection.execute(query.order_by(SUITE_RUN.c.id.desc()).limit(_MOST_LISTED))
    ]


def latest_finished(
    connection: Connection, name: str, candidate: str, version_id: int, *, before: int | None = None
) -> StoredSuiteRun | None:
    """Return the newest finished run of a suite with this candidate and judge version and an id below ``before``."""
    query = _RUNS.where(
        SUITE_RUN.c.name == name,
        SUITE_RUN.c.candidate == candidate,
        SUITE_RUN.c.judge_version_id == version_id,
        RUN.c.state == RunState.DONE.value,
    )
    if before is not None:
        query = query.where(SUITE_RUN.c.run_id < before)
    row = connection.execute(query.order_by(SUITE_RUN.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else _stored(row)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The result of a programmatic check of an answer."""

    kind: str
    wanted: Any
    passed: bool


def insert_cases(connection: Connection, new: Sequence[SuiteCase]) -> None:
    """Store results of cases; a case that another process finished first does not change."""
    if new:
        rows = [case.new_values() for case in new]
        connection.execute(insert_or_skip(connection, SUITE_CASE, "suite_run_id", "position"), rows)


def finished_positions(connection: Connection, suite_run_id: int) -> set[int]:
    """Return the positions of the finished cases, with or without a score."""
    query = select(SUITE_CASE.c.position).where(SUITE_CASE.c.suite_run_id == suite_run_id)
    return set(connection.scalars(query))


@dataclass(frozen=True, slots=True)
class StoredCase:
    """The result of a case; forgotten texts are None, ``error`` tells why the candidate or judge gave no score."""

    position: int
    key: str
    response_id: int | None
    query: str | None
    answer: str | None
    score: float | None
    reason: str | None
    error: str | None
    checks: tuple[CheckOutcome, ...]
    dimensions: Mapping[str, DimensionScore]
    passages: tuple[str, ...] | None = None


def load_cases(connection: Connection, run: StoredSuiteRun) -> list[StoredCase]:
    """Return the finished cases of a suite run, in order."""
    rows = connection.execute(
        select(
            SUITE_CASE,
            RESPONSE.c.query,
            RESPONSE.c.answer,
            RESPONSE.c.passages,
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
    scores = dimension_scores(
        connection, [row.judgment_id for row in rows if row.judgment_id is not None]
    )
    return [
        record_of(
            StoredCase,
            row,
            key=row.case_key,
            error=row.error if row.score is None else None,
            checks=tuple(CheckOutcome(**check) for check in row.checks or ()),
            dimensions={score.dimension: score for score in scores.get(row.judgment_id, ())},
        )
        for row in rows
    ]


def score_sums(
    connection: Connection, suite_run_ids: Collection[int]
) -> dict[int, tuple[int, float, float]]:
    """Return number, sum and sum of squares of the scores of each suite run that has any case."""
    score = SUITE_CASE.c.score
    query = select(
        SUITE_CASE.c.suite_run_id,
        func.count(score),
        func.sum(score),
        func.sum(score * score),
    ).where(SUITE_CASE.c.suite_run_id.in_(suite_run_ids))
    rows = connection.execute(query.group_by(SUITE_CASE.c.suite_run_id))
    return {id_: (n, rounded_sum(total), rounded_sum(squares)) for id_, n, total, squares in rows}


class StoredAnswer(NamedTuple):
    """An answer of a candidate or of the log; ``answer`` is None if forgotten."""

    id: int
    answer: str | None
    passages: tuple[str, ...] | None
    generator_model: str | None


def stored_answers(
    connection: Connection, source: str, external_ids: Sequence[str]
) -> dict[str, StoredAnswer]:
    """Return the responses of a source with the external ids, by external id."""
    query = select(RESPONSE.c.external_id, *columns_of(StoredAnswer, RESPONSE)).where(
        RESPONSE.c.source == source
    )
    rows = rows_with(connection, query, RESPONSE.c.external_id, external_ids)
    return {external_id: StoredAnswer(*answer) for external_id, *answer in rows}


def answers_by_query(
    connection: Connection, source: str, queries: Sequence[str]
) -> dict[str, StoredAnswer]:
    """Return the newest logged answer of a source to each of the queries (exact text), by query."""
    query = (
        select(RESPONSE.c.query, *columns_of(StoredAnswer, RESPONSE))
        .where(
            RESPONSE.c.source == source,
            RESPONSE.c.kind == ResponseKind.LOG.value,
            RESPONSE.c.answer.is_not(None),
        )
        .order_by(RESPONSE.c.id)
    )
    return {
        text: StoredAnswer(*answer)
        for text, *answer in rows_with(connection, query, RESPONSE.c.query, queries)
    }


_RUNS: Select[Any] = (
    select(SUITE_RUN, VERSION.c.name.label("judge_name"), VERSION.c.number, RUN.c.state)
    .join(VERSION, VERSION.c.id == SUITE_RUN.c.judge_version_id)
    .join(RUN, RUN.c.id == SUITE_RUN.c.run_id)
)


def _stored(row: Row[Any]) -> StoredSuiteRun:
    spec = row.spec
    return record_of(
        StoredSuiteRun,
        row,
        version_id=row.judge_version_id,
        judge=version_title(row.judge_name, row.number),
        **{name: spec[name] for name in ("threshold", "max_unmeasured", "max_drop", "weights")},
        cases=tuple(SuiteCaseName(case["id"], case["key"]) for case in spec["cases"]),
    )
