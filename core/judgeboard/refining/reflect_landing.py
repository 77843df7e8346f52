"""Stores the steps of a self-reflection run."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.refining.reflect_work import FirstVerdict, Reflecting, ReflectStep, Regenerated, SecondVerdict
from judgeboard.refining.reflection import Outcome, outcome_of
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.landing import LandedVerdict, land_judgments
from judgeboard.store.refine_candidates import REFLECT
from judgeboard.store.refinements import (
    JudgedAnswer,
    NewGeneration,
    NewRefinement,
    current_judgments,
    first_judgments,
    insert_refinements,
    store_generations,
    stored_ids,
)
from judgeboard.store.responses.response_rows import key_of


def land_reflect_steps(store: Store, version: StoredVersion, run_id: int, batch: Sequence[ReflectStep]) -> None:
    """Store a batch in one transaction; a step of one answer never comes before the one it rests on."""
    now = datetime.now(UTC)
    firsts = [step for step in batch if isinstance(step, FirstVerdict)]
    made = [step for step in batch if isinstance(step, Regenerated)]
    seconds = [step for step in batch if isinstance(step, SecondVerdict)]
    with store.writing() as connection:
        verdicts = [LandedVerdict(step.task.origin.item.response_id, 0, 0, step.record) for step in firsts]
        land_judgments(connection, version, run_id, verdicts, now)
        store_generations(connection, run_id, [_generation(step) for step in made], now)
        roots = {step.task.origin.item.response_id for step in (*made, *seconds)}
        before = current_judgments(connection, version.id, roots)
        insert_refinements(connection, run_id, [_without_second(step, before) for step in made if _ends(step)], now)
        _land_seconds(connection, version, run_id, seconds, before, now)


def _generation(step: Regenerated) -> NewGeneration:
    new = None if _ends(step) or step.text is None else step.task.made(step.text)
    return NewGeneration(_subject(step.task), 1, step.task.model, step.record, new)


def _ends(step: Regenerated) -> bool:
    return step.text is None or step.identical


def _without_second(step: Regenerated, before: dict[int, JudgedAnswer]) -> NewRefinement:
    outcome = Outcome.IDENTICAL if step.identical else Outcome.NO_ANSWER
    return _refinement(step.task, outcome, before.get(step.task.origin.item.response_id), None, None)


def _land_seconds(
    connection: Connection,
    version: StoredVersion,
    run_id: int,
    seconds: Sequence[SecondVerdict],
    before: dict[int, JudgedAnswer],
    now: datetime,
) -> None:
    answers = {id(step): step.task.made(step.text) for step in seconds}
    ids = stored_ids(connection, answers.values())
    judged = [(step, ids[key_of(answers[id(step)])]) for step in seconds if key_of(answers[id(step)]) in ids]
    verdicts = [LandedVerdict(response_id, 0, 0, step.record) for step, response_id in judged]
    land_judgments(connection, version, run_id, verdicts, now)
    after = first_judgments(connection, version.id, [response_id for _, response_id in judged])
    rows = []
    for step, response_id in judged:
        first, second = before.get(step.task.origin.item.response_id), after[response_id]
        outcome = outcome_of(None if first is None else first.groundedness, second.groundedness)
        rows.append(_refinement(step.task, outcome, first, second, response_id))
    insert_refinements(connection, run_id, rows, now)


def _refinement(
    task: Reflecting, outcome: Outcome, before: JudgedAnswer | None, after: JudgedAnswer | None, response_id: int | None
) -> NewRefinement:
    return NewRefinement(
        method=REFLECT,
        subject=_subject(task),
        number=1,
        root_response_id=task.origin.item.response_id,
        outcome=outcome.value,
        response_id=response_id,
        judgment_id=None if after is None else after.judgment_id,
        judgment_before_id=None if before is None else before.judgment_id,
    )


def _subject(task: Reflecting) -> str:
    return str(task.origin.item.response_id)
