"""Rows of suites: their runs, the answers of candidates, the cases that are done with, each landed once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select

from judgeboard.domain import ResponseKind, RunState
from judgeboard.errors import NotFound
from judgeboard.store.judgments.judge_versions import version_title
from judgeboard.store.schema.method_tables import GenerationRow, SuiteCaseRow, SuiteRunRow
from judgeboard.store.schema.tables import JudgeVersionRow, JudgmentRow, ResponseRow, RunRow
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.insertion import insert_or_skip

SUITE_RUN = SuiteRunRow.__table__
SUITE_CASE = SuiteCaseRow.__table__
GENERATION = GenerationRow.__table__
RESPONSE = ResponseRow.__table__
JUDGMENT = JudgmentRow.__table__
VERSION = JudgeVersionRow.__table__
RUN = RunRow.__table__


@dataclass(frozen=True, slots=True)
class StoredSuiteRun:
    """A suite as it was run; ``spec`` holds thresholds, weights and the addresses of its cases, no text of theirs."""

    id: int
    run_id: int
    name: str
    spec: dict[str, Any]
    spec_hash: str
    candidate: str
    version_id: int
    judge: str
    state: RunState
    created_at: datetime


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """An answer of the log, found by its query."""

    id: int
    answer: str
    passages: tuple[str, ...] | None
    generator_model: str | None


def ensure_suite_run(connection: Connection, row: Mapping[str, Any]) -> StoredSuiteRun:
    """Store a suite run under its ``run_id``, unless it is there, and return it."""
    connection.execute(insert_or_skip(connection, SUITE_RUN, "run_id"), dict(row))
    return get_suite_run(connection, row["run_id"])


def get_suite_run(connection: Connection, run_id: int) -> StoredSuiteRun:
    """Return the suite run of a run.

    Raises:
        NotFound: That run ran no suite.
    """
    row = connection.execute(_RUNS.where(SUITE_RUN.c.run_id == run_id)).one_or_none()
    if row is None:
        raise NotFound(f"no suite run {run_id}: `judgeboard suite list` names them")
    return _stored(row)


def list_suite_runs(connection: Connection, name: str | None = None, *, limit: int = 200) -> list[StoredSuiteRun]:
    """Return suite runs, newest first, of one suite where it is named."""
    query = _RUNS if name is None else _RUNS.where(SUITE_RUN.c.name == name)
    return [_stored(row) for row in connection.execute(query.order_by(SUITE_RUN.c.id.desc()).limit(limit))]


def latest_finished(
    connection: Connection, name: str, candidate: str, version_id: int, *, before: int | None = None
) -> StoredSuiteRun | None:
    """Return the newest finished run of a suite with this candidate and judge version, None where there is none.

    Args:
        connection: A transaction.
        name: The suite.
        candidate: Who answered.
        version_id: Who judged.
        before: Only runs with a lower number.
    """
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


def insert_cases(connection: Connection, suite_run_id: int, rows: Sequence[Mapping[str, Any]], now: datetime) -> None:
    """Store what came of cases; one that another process finished first is left as it was."""
    if rows:
        statement = insert_or_skip(connection, SUITE_CASE, "suite_run_id", "position")
        connection.execute(statement, [{"suite_run_id": suite_run_id, "created_at": now, **row} for row in rows])


def insert_generations(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store calls to a candidate; one whose answer another process stored first is left as it was."""
    if rows:
        connection.execute(insert_or_skip(connection, GENERATION, "run_id", "subject", "number"), list(rows))


def finished_positions(connection: Connection, suite_run_id: int) -> set[int]:
    """Return the places of the cases that are done with, measured or not."""
    query = select(SUITE_CASE.c.position).where(SUITE_CASE.c.suite_run_id == suite_run_id)
    return set(connection.execute(query).scalars())


def count_finished(connection: Connection, suite_run_id: int) -> int:
    """Return how many cases are done with."""
    query = select(func.count()).where(SUITE_CASE.c.suite_run_id == suite_run_id)
    return int(connection.execute(query).scalar_one())


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer of a candidate, as stored; None once it is forgotten."""

    id: int
    answer: str | None
    passages: tuple[str, ...] | None


def stored_answers(connection: Connection, source: str, external_ids: Sequence[str]) -> dict[str, StoredAnswer]:
    """Return those of these responses that are stored, by outside id."""
    found: dict[str, StoredAnswer] = {}
    for some in batches(external_ids):
        query = select(RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.answer, RESPONSE.c.passages).where(
            RESPONSE.c.source == source, RESPONSE.c.external_id.in_(some)
        )
        for external_id, id_, answer, passages in connection.execute(query):
            found[external_id] = StoredAnswer(id_, answer, None if passages is None else tuple(passages))
    return found


def judgment_ids(connection: Connection, version_id: int, response_ids: Collection[int]) -> dict[int, int]:
    """Return the first judgment of a judge version on each of these responses."""
    query = select(JUDGMENT.c.response_id, JUDGMENT.c.id).where(
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.response_id.in_(response_ids),
        JUDGMENT.c.ask == 0,
        JUDGMENT.c.repeat == 0,
    )
    return {row.response_id: row.id for row in connection.execute(query)}


def answers_by_query(connection: Connection, source: str, queries: Sequence[str]) -> dict[str, LoggedAnswer]:
    """Return the newest logged answer of a source to each of these queries, which must be the same text."""
    found: dict[str, LoggedAnswer] = {}
    for some in batches(queries):
        query = select(
            RESPONSE.c.id, RESPONSE.c.query, RESPONSE.c.answer, RESPONSE.c.passages, RESPONSE.c.generator_model
        ).where(
            RESPONSE.c.source == source,
            RESPONSE.c.kind == ResponseKind.LOG.value,
            RESPONSE.c.answer.is_not(None),
            RESPONSE.c.query.in_(some),
        )
        for row in connection.execute(query.order_by(RESPONSE.c.id)):
            passages = None if row.passages is None else tuple(row.passages)
            found[row.query] = LoggedAnswer(row.id, row.answer, passages, row.generator_model)
    return found


def suite_averages(connection: Connection, suite_run_ids: Collection[int]) -> dict[int, tuple[int, float, float]]:
    """Return the number of scores of each suite run, their sum and the sum of their squares."""
    score = SUITE_CASE.c.score
    query = select(
        SUITE_CASE.c.suite_run_id,
        func.count(score),
        func.coalesce(func.sum(score), 0.0),
        func.coalesce(func.sum(score * score), 0.0),
    ).where(SUITE_CASE.c.suite_run_id.in_(suite_run_ids))
    rows = connection.execute(query.group_by(SUITE_CASE.c.suite_run_id))
    return {id_: (n, float(total), float(squares)) for id_, n, total, squares in rows}


_RUNS: Select[Any] = (
    select(SUITE_RUN, VERSION.c.name.label("judge_name"), VERSION.c.number, RUN.c.state)
    .join(VERSION, VERSION.c.id == SUITE_RUN.c.judge_version_id)
    .join(RUN, RUN.c.id == SUITE_RUN.c.run_id)
)


def _stored(row: Row[Any]) -> StoredSuiteRun:
    return StoredSuiteRun(
        id=row.id,
        run_id=row.run_id,
        name=row.name,
        spec=row.spec,
        spec_hash=row.spec_hash,
        candidate=row.candidate,
        version_id=row.judge_version_id,
        judge=version_title(row.judge_name, row.number),
        state=RunState(row.state),
        created_at=row.created_at,
    )
