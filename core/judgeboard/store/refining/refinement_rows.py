"""Rows of refinements: what came of each attempt at a better answer, counted and found again."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select

from judgeboard.storable_text import storable_or_none
from judgeboard.store.schema.method_tables import GenerationRow, RefinementRow
from judgeboard.store.schema.tables import CurrentJudgmentRow, JudgmentRow, RunRow
from judgeboard.store.sql.insertion import insert_or_skip

REFINEMENT = RefinementRow.__table__
GENERATION = GenerationRow.__table__
JUDGMENT = JudgmentRow.__table__
CURRENT = CurrentJudgmentRow.__table__
RUN = RunRow.__table__


@dataclass(frozen=True, slots=True)
class NewRefinement:
    """What came of an attempt; ``root_response_id`` is None where it began with a prompt."""

    method: str
    subject: str
    number: int
    root_response_id: int | None
    outcome: str
    response_id: int | None = None
    judgment_id: int | None = None
    judgment_before_id: int | None = None
    rating: int | None = None
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class SaidOf:
    """A judgment of one judge version on a response: its id and its groundedness, None where it has none."""

    judgment_id: int
    groundedness: float | None


def insert_refinements(connection: Connection, run_id: int, new: Sequence[NewRefinement], now: datetime) -> None:
    """Store refinements; one that is stored already (run, subject, number) is left as it was."""
    if new:
        rows = [
            asdict(one) | {"run_id": run_id, "feedback": storable_or_none(one.feedback), "created_at": now}
            for one in new
        ]
        connection.execute(insert_or_skip(connection, REFINEMENT, "run_id", "subject", "number"), rows)


def current_said(connection: Connection, version_id: int, response_ids: Collection[int]) -> dict[int, SaidOf]:
    """Return a judge version's current verdict on each of these responses that has one."""
    query = select(CURRENT.c.response_id, CURRENT.c.judgment_id, CURRENT.c.groundedness).where(
        CURRENT.c.judge_version_id == version_id, CURRENT.c.response_id.in_(response_ids)
    )
    return {row.response_id: SaidOf(row.judgment_id, row.groundedness) for row in connection.execute(query)}


def first_said(connection: Connection, version_id: int, response_ids: Collection[int]) -> dict[int, SaidOf]:
    """Return a judge version's first judgment of each of these responses, usable or not."""
    query = select(JUDGMENT.c.response_id, JUDGMENT.c.id, JUDGMENT.c.groundedness).where(
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.response_id.in_(response_ids),
        JUDGMENT.c.ask == 0,
        JUDGMENT.c.repeat == 0,
    )
    return {row.response_id: SaidOf(row.id, row.groundedness) for row in connection.execute(query)}


def runs_of_method(connection: Connection, kind: str, version_id: int, method: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the runs of the same kind, judge version and method (the generator's settings), whatever their rule."""
    query = select(RUN.c.id, RUN.c.filter).where(RUN.c.kind == kind, RUN.c.judge_version_id == version_id)
    wanted = json.dumps(method, sort_keys=True)
    found = connection.execute(query.order_by(RUN.c.id))
    return tuple(run_id for run_id, asked in found if json.dumps(asked.get("method"), sort_keys=True) == wanted)


def outcome_counts(connection: Connection, run_id: int) -> Counter[str]:
    """Return how many attempts of a run came to which outcome."""
    query = select(REFINEMENT.c.outcome, func.count().label("n")).where(REFINEMENT.c.run_id == run_id)
    return Counter({row.outcome: row.n for row in connection.execute(query.group_by(REFINEMENT.c.outcome))})


def count_calls(connection: Connection, run_id: int) -> int:
    """Return how many calls to models a run's judgments and generations took, repairs and retries among them."""
    calls = 0
    for steps in (JUDGMENT, GENERATION):
        made = func.coalesce(func.sum(func.json_array_length(steps.c.attempts)), 0)
        calls += int(connection.execute(select(made).where(steps.c.run_id == run_id)).scalar_one())
    return calls
