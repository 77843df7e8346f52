"""Stores the steps of a self-refine run."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection

from judgeboard.domain import Response, Verdict
from judgeboard.judges.rating import Rated
from judgeboard.refining.attempts import RefineRule
from judgeboard.refining.refine_work import RefineStep
from judgeboard.store.engine import Store
from judgeboard.store.judgments.judge_versions import StoredVersion
from judgeboard.store.landing import LandedVerdict, land_judgments
from judgeboard.store.refine_candidates import REFINE
from judgeboard.store.refinements import (
    NewGeneration,
    NewRefinement,
    first_judgments,
    insert_refinements,
    store_generations,
    stored_ids,
)
from judgeboard.store.responses.response_rows import key_of


def land_refine_steps(
    store: Store, version: StoredVersion, run_id: int, rule: RefineRule, batch: Sequence[RefineStep]
) -> None:
    """Store a batch in one transaction; an attempt's answer never comes after its rating."""
    now = datetime.now(UTC)
    answers = [step for step in batch if step.attempt.judging is None]
    ratings = [step for step in batch if step.attempt.judging is not None]
    with store.writing() as connection:
        store_generations(connection, run_id, [_generation(step) for step in answers], now)
        empty = [_refinement(step, "no_answer") for step in answers if step.attempt.answer is None]
        insert_refinements(connection, run_id, empty, now)
        _land_ratings(connection, version, run_id, rule, ratings, now)


def _generation(step: RefineStep) -> NewGeneration:
    attempt = step.attempt
    made = None if attempt.answer is None else _made(step)
    return NewGeneration(step.prompt.subject, attempt.number, step.prompt.model, attempt.answering, made)


def _made(step: RefineStep) -> Response:
    return step.prompt.made(step.attempt.number, step.attempt.answer or "", step.asked_with)


def _land_ratings(
    connection: Connection,
    version: StoredVersion,
    run_id: int,
    rule: RefineRule,
    ratings: Sequence[RefineStep],
    now: datetime,
) -> None:
    keys = {id(step): _made(step) for step in ratings}
    ids = stored_ids(connection, keys.values())
    rated = [(step, ids[key_of(keys[id(step)])]) for step in ratings if key_of(keys[id(step)]) in ids]
    verdicts = [LandedVerdict(response_id, 0, 0, _verdict(step)) for step, response_id in rated]
    land_judgments(connection, version, run_id, verdicts, now)
    said = first_judgments(connection, version.id, [response_id for _, response_id in rated])
    rows = []
    for step, response_id in rated:
        rating = step.attempt.rating
        outcome = "unrated" if rating is None else "passed" if rule.succeeds(rating.rating) else "failed"
        rows.append(_refinement(step, outcome, response_id, said[response_id].judgment_id))
    insert_refinements(connection, run_id, rows, now)


def _verdict(step: RefineStep) -> Verdict:
    return Rated(step.attempt.rating, step.attempt.latest).verdict


def _refinement(
    step: RefineStep, outcome: str, response_id: int | None = None, judgment_id: int | None = None
) -> NewRefinement:
    rating = step.attempt.rating
    return NewRefinement(
        method=REFINE,
        subject=step.prompt.subject,
        number=step.attempt.number,
        root_response_id=step.prompt.origin.root_response_id,
        outcome=outcome,
        response_id=response_id,
        judgment_id=judgment_id,
        rating=None if rating is None else rating.rating,
        feedback=step.attempt.feedback,
    )
