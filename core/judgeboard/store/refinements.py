"""Attempts at better answers: the calls that made them, what came of them, which one people select."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, and_, exists, func, insert, or_, select

from judgeboard.domain import Response, Status, StepRecord
from judgeboard.storable_text import storable_or_none
from judgeboard.store.landing import land_responses
from judgeboard.store.responses.response_rows import RESPONSE, key_of
from judgeboard.store.runs.step_rows import step_columns
from judgeboard.store.schema.method_tables import GENERATION, REFINEMENT, STANDING_ATTEMPT
from judgeboard.store.schema.tables import CURRENT, JUDGMENT, REVIEWER, RUN
from judgeboard.store.sql.insertion import insert_or_skip

SELECTED = STANDING_ATTEMPT


@dataclass(frozen=True, slots=True)
class NewGeneration:
    """A call to a generator: the number of the attempt at a subject, its record, and the answer where it made one."""

    subject: str
    number: int
    model: str | None
    record: StepRecord
    made: Response | None


def store_generations(connection: Connection, run_id: int, new: Sequence[NewGeneration], now: datetime) -> None:
    """Store calls to generators with the answers that they made; one that is stored already is left as it is."""
    if not new:
        return
    made = [one.made for one in new if one.made is not None]
    land_responses(connection, made, now=now)
    ids = stored_ids(connection, made)
    rows = [
        {
            "subject": one.subject,
            "number": one.number,
            "model": one.model,
            "response_id": None if one.made is None else ids.get(key_of(one.made)),
            **step_columns(one.record, run_id, now),
        }
        for one in new
    ]
    connection.execute(insert_or_skip(connection, GENERATION, "run_id", "subject", "number"), rows)


def stored_ids(connection: Connection, made: Iterable[Response]) -> dict[tuple[str, str], int]:
    """Return the ids of made answers that are stored with exactly this text, by (source, external id).

    Where two processes made an answer at the same time, the first one is stored: a judgment of the other text must not
    be stored for it.
    """
    texts = {key_of(one): one.answer for one in made}
    if not texts:
        return {}
    rows = connection.execute(
        select(RESPONSE.c.source, RESPONSE.c.external_id, RESPONSE.c.id, RESPONSE.c.answer).where(
            RESPONSE.c.source.in_({source for source, _ in texts}),
            RESPONSE.c.external_id.in_({external_id for _, external_id in texts}),
        )
    )
    found = {(row.source, row.external_id): row for row in rows}
    return {key: found[key].id for key, text in texts.items() if key in found and found[key].answer == text}


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
class JudgedAnswer:
    """The judgment of a response by one judge version, and its groundedness."""

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


def current_judgments(
    connection: Connection, version_id: int, response_ids: Collection[int]
) -> dict[int, JudgedAnswer]:
    """Return a judge version's current verdict on each of these responses that has one."""
    query = select(CURRENT.c.response_id, CURRENT.c.judgment_id, CURRENT.c.groundedness).where(
        CURRENT.c.judge_version_id == version_id, CURRENT.c.response_id.in_(response_ids)
    )
    return {row.response_id: JudgedAnswer(row.judgment_id, row.groundedness) for row in connection.execute(query)}


def first_judgments(connection: Connection, version_id: int, response_ids: Collection[int]) -> dict[int, JudgedAnswer]:
    """Return a judge version's first judgment of each of these responses, usable or not."""
    query = select(JUDGMENT.c.response_id, JUDGMENT.c.id, JUDGMENT.c.groundedness).where(
        JUDGMENT.c.judge_version_id == version_id,
        JUDGMENT.c.response_id.in_(response_ids),
        JUDGMENT.c.ask == 0,
        JUDGMENT.c.repeat == 0,
    )
    return {row.response_id: JudgedAnswer(row.id, row.groundedness) for row in connection.execute(query)}


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


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """One attempt; ``answer`` is None where the call gave none, or it is forgotten; ``judging`` None is not rated yet.

    ``root_response_id`` is the logged answer that they began with, ``judgment_before_id`` the judgment of that one.
    """

    subject: str
    number: int
    response_id: int | None
    answer: str | None
    answering: StepRecord
    judging: StepRecord | None
    judgment_before_id: int | None
    root_response_id: int | None
    outcome: str | None
    groundedness: float | None
    quality: int | None
    rating: int | None
    evaluation: str | None
    feedback: str | None


_ATTEMPTS: Select[Any] = (
    select(
        GENERATION.c.subject,
        GENERATION.c.number,
        GENERATION.c.response_id,
        RESPONSE.c.answer,
        GENERATION.c.status,
        GENERATION.c.error,
        GENERATION.c.cost_micro,
        REFINEMENT.c.rating,
        REFINEMENT.c.outcome,
        REFINEMENT.c.root_response_id,
        REFINEMENT.c.judgment_before_id,
        REFINEMENT.c.feedback,
        JUDGMENT.c.id.label("judgment_id"),
        JUDGMENT.c.reasoning,
        JUDGMENT.c.groundedness,
        JUDGMENT.c.quality,
        JUDGMENT.c.status.label("judged"),
        JUDGMENT.c.error.label("judge_error"),
        JUDGMENT.c.cost_micro.label("judge_cost"),
    )
    .select_from(GENERATION)
    .outerjoin(RESPONSE, RESPONSE.c.id == GENERATION.c.response_id)
    .outerjoin(
        REFINEMENT,
        and_(
            REFINEMENT.c.run_id == GENERATION.c.run_id,
            REFINEMENT.c.subject == GENERATION.c.subject,
            REFINEMENT.c.number == GENERATION.c.number,
        ),
    )
    .outerjoin(JUDGMENT, JUDGMENT.c.id == REFINEMENT.c.judgment_id)
    .order_by(GENERATION.c.id)
)


def stored_attempts(
    connection: Connection, run_id: int, subjects: Collection[str] | None = None
) -> dict[str, list[StoredAttempt]]:
    """Return a run's attempts by subject, each subject's in their order; of all subjects where none are named."""
    query = _ATTEMPTS.where(GENERATION.c.run_id == run_id)
    if subjects is not None:
        query = query.where(GENERATION.c.subject.in_(subjects))
    attempts: dict[str, list[StoredAttempt]] = {}
    for row in connection.execute(query):
        attempts.setdefault(row.subject, []).append(_attempt(row))
    return attempts


def _step(status: str, error: str | None, cost_micro: int | None) -> StepRecord:
    return StepRecord(Status(status), cost_micro=cost_micro, error=error)


def _attempt(row: Row[Any]) -> StoredAttempt:
    judged = row.judgment_id is not None
    return StoredAttempt(
        subject=row.subject,
        number=row.number,
        response_id=row.response_id,
        answer=row.answer,
        answering=_step(row.status, row.error, row.cost_micro),
        judging=_step(row.judged, row.judge_error, row.judge_cost) if judged else None,
        judgment_before_id=row.judgment_before_id,
        root_response_id=row.root_response_id,
        outcome=row.outcome,
        groundedness=row.groundedness,
        quality=row.quality,
        rating=row.rating,
        evaluation=row.reasoning,
        feedback=row.feedback,
    )


class AttemptsKey(NamedTuple):
    """The attempts of one run at one subject."""

    run_id: int
    subject: str
    method: str


class OriginalAnswer(NamedTuple):
    """The answer that attempts began with, with its judgment where that is known."""

    response_id: int
    answer: str | None
    groundedness: float | None
    quality: int | None
    reasoning: str | None
    judging: StepRecord | None


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


def read_original(connection: Connection, response_id: int, judgment_id: int | None) -> OriginalAnswer | None:
    """Return the answer that attempts began with, with the judgment of it; None where there is no such answer."""
    answers = connection.execute(select(RESPONSE.c.answer).where(RESPONSE.c.id == response_id)).all()
    if not answers:
        return None
    names = ("groundedness", "quality", "reasoning", "status", "error", "cost_micro")
    said = connection.execute(select(*(JUDGMENT.c[name] for name in names)).where(JUDGMENT.c.id == judgment_id))
    row = said.one_or_none()
    if row is None:
        return OriginalAnswer(response_id, answers[0].answer, None, None, None, None)
    step = _step(row.status, row.error, row.cost_micro)
    return OriginalAnswer(response_id, answers[0].answer, row.groundedness, row.quality, row.reasoning, step)


@dataclass(frozen=True, slots=True)
class SelectedAttempt:
    """The attempt that a person selected; ``number`` 0 is the answer that was there before."""

    id: int
    run_id: int
    subject: str
    number: int
    reviewer_id: int
    reviewer: str
    withdrawn: bool
    at: datetime


_ROWS: Select[Any] = select(
    *(SELECTED.c[name] for name in ("id", "run_id", "subject", "number", "reviewer_id")),
    REVIEWER.c.name.label("reviewer"),
    SELECTED.c.withdrawn,
    SELECTED.c.at,
).join(REVIEWER, REVIEWER.c.id == SELECTED.c.reviewer_id)


def selected_attempts(connection: Connection, run_ids: Sequence[int]) -> list[SelectedAttempt]:
    """Return the selected attempts of these runs, newest first, without those that were replaced or withdrawn."""
    later = SELECTED.alias()
    replaced = exists().where(later.c.replaces == SELECTED.c.id)
    query = _ROWS.where(SELECTED.c.run_id.in_(run_ids), SELECTED.c.withdrawn.is_(False), ~replaced)
    return [_selected(row) for row in connection.execute(query.order_by(SELECTED.c.id.desc()))]


def selected_by_key(connection: Connection, request_key: str) -> SelectedAttempt | None:
    """Return the row that a request wrote."""
    row = connection.execute(_ROWS.where(SELECTED.c.request_key == request_key)).one_or_none()
    return None if row is None else _selected(row)


def lock_attempts(connection: Connection, run_id: int, subject: str) -> dict[int, int | None] | None:
    """Lock a run and return the response of each attempt at a subject that gave an answer, by number.

    Number 0 is the logged answer that they began with, where they began with one. None where there are no attempts.
    """
    connection.execute(select(RUN.c.id).where(RUN.c.id == run_id).with_for_update(key_share=True))
    made = select(GENERATION.c.number, GENERATION.c.response_id).where(
        GENERATION.c.run_id == run_id, GENERATION.c.subject == subject
    )
    found = {row.number: row.response_id for row in connection.execute(made)}
    if not found:
        return None
    roots = select(REFINEMENT.c.root_response_id).where(REFINEMENT.c.run_id == run_id, REFINEMENT.c.subject == subject)
    root = connection.execute(roots.limit(1)).scalar()
    answered: dict[int, int | None] = {number: id_ for number, id_ in found.items() if id_ is not None}
    return answered if root is None else {0: root} | answered


def insert_selected(connection: Connection, new: SelectedAttempt, *, replaces: int | None, request_key: str) -> int:
    """Store which attempt a person selects, or withdraws, and return the row's id."""
    row = {name: getattr(new, name) for name in ("run_id", "subject", "number", "reviewer_id", "withdrawn", "at")}
    row |= {"replaces": replaces, "request_key": request_key}
    return int(connection.execute(insert(SELECTED).returning(SELECTED.c.id), row).scalar_one())


def _selected(row: Row[Any]) -> SelectedAttempt:
    return SelectedAttempt(**dict(zip(row._fields, row, strict=True)))
