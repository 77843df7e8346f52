"""Attempts at better answers: generations, results, and the attempt that a person selects."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    String,
    and_,
    cast,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
)

from judgeboard.domain import StepRecord
from judgeboard.methods.refining.tables import (
    REFINEMENT,
    SELECTED_ATTEMPT,
    Refinement,
    SelectedAttempt,
)
from judgeboard.store.filter_conditions import response_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.responses import Origin, next_by_id, read_origins
from judgeboard.store.statements import (
    columns_of,
    first_row,
    insert_or_skip,
    number_of,
    record_of,
    rows_of,
)
from judgeboard.store.tables import CURRENT, GENERATION, JUDGMENT, RESPONSE, RUN
from judgeboard.text import storable_or_none


def insert_refinements(connection: Connection, new: Sequence[Refinement]) -> None:
    """Store refinements; one that is already stored (same run, subject and number) does not change."""
    if new:
        rows = [each.new_values() | {"feedback": storable_or_none(each.feedback)} for each in new]
        connection.execute(
            insert_or_skip(connection, REFINEMENT, "run_id", "subject", "number"), rows
        )


def runs_of_method(
    connection: Connection, kind: str, version_id: int, method: Mapping[str, Any]
) -> tuple[int, ...]:
    """Return the runs of the same kind, judge version and method (settings of the generator)."""
    query = select(RUN.c.id, RUN.c.filter).where(
        RUN.c.kind == kind, RUN.c.judge_version_id == version_id
    )
    method_json = json.dumps(method, sort_keys=True)
    runs = connection.execute(query.order_by(RUN.c.id))
    return tuple(
        run_id
        for run_id, question in runs
        if json.dumps(question.get("method"), sort_keys=True) == method_json
    )


def outcome_counts(connection: Connection, run_id: int) -> Counter[str]:
    """Return the number of attempts of a run by outcome."""
    query = select(REFINEMENT.c.outcome, func.count().label("n")).where(
        REFINEMENT.c.run_id == run_id
    )
    return Counter(
        {row.outcome: row.n for row in connection.execute(query.group_by(REFINEMENT.c.outcome))}
    )


def count_calls(connection: Connection, run_id: int) -> int:
    """Return the number of model calls of a run's judgments and generations, with repairs and retries."""
    calls = 0
    for steps in (JUDGMENT, GENERATION):
        count = select(func.sum(func.json_array_length(steps.c.attempts)))
        calls += number_of(connection, count.where(steps.c.run_id == run_id))
    return calls


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """One attempt. ``answer`` is None if the call failed or the text is forgotten.

    ``judging`` is None before the judgment. ``root_response_id`` is the logged answer that the
    attempts started from, ``judgment_before_id`` the judgment of that answer.
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
        GENERATION.c.status,
        GENERATION.c.error,
        GENERATION.c.cost_micro,
        *columns_of(StoredAttempt, GENERATION, REFINEMENT, RESPONSE, JUDGMENT),
        JUDGMENT.c.id.label("judgment_id"),
        JUDGMENT.c.reasoning.label("evaluation"),
        JUDGMENT.c.status.label("judged"),
        JUDGMENT.c.error.label("judge_error"),
        JUDGMENT.c.cost_micro.label("judge_cost"),
    )
    .select_from(GENERATION)
    .outerjoin(RESPONSE, RESPONSE.c.id == GENERATION.c.response_id)
    .outerjoin(
        REFINEMENT,
        and_(
            *(REFINEMENT.c[name] == GENERATION.c[name] for name in ("run_id", "subject", "number"))
        ),
    )
    .outerjoin(JUDGMENT, JUDGMENT.c.id == REFINEMENT.c.judgment_id)
    .order_by(GENERATION.c.id)
)


def stored_attempts(
    connection: Connection, run_id: int, subjects: Collection[str] | None = None
) -> dict[str, list[StoredAttempt]]:
    """Return a run's attempts in order, by subject (default: all subjects)."""
    query = _ATTEMPTS.where(GENERATION.c.run_id == run_id)
    if subjects is not None:
        query = query.where(GENERATION.c.subject.in_(subjects))
    attempts: dict[str, list[StoredAttempt]] = {}
    for row in connection.execute(query):
        judging = StepRecord(row.judged, cost_micro=row.judge_cost, error=row.judge_error)
        attempts.setdefault(row.subject, []).append(
            record_of(
                StoredAttempt,
                row,
                answering=StepRecord(row.status, cost_micro=row.cost_micro, error=row.error),
                judging=None if row.judgment_id is None else judging,
            )
        )
    return attempts


def attempts_with(
    connection: Connection, response_id: int, *, limit: int
) -> list[tuple[int, str, str]]:
    """Return run, subject and method of attempts from an answer, or that made the answer, the newest run first."""
    query = (
        select(REFINEMENT.c.run_id, REFINEMENT.c.subject, REFINEMENT.c.method)
        .where(
            or_(
                REFINEMENT.c.root_response_id == response_id,
                REFINEMENT.c.response_id == response_id,
            )
        )
        .distinct()
        .order_by(REFINEMENT.c.run_id.desc())
        .limit(limit)
    )
    return [(row.run_id, row.subject, row.method) for row in connection.execute(query)]


def selected_attempts(connection: Connection, run_ids: Sequence[int]) -> list[SelectedAttempt]:
    """Return the current selected attempts of these runs, newest first."""
    later = SELECTED_ATTEMPT.alias()
    is_replaced = exists().where(later.c.replaces == SELECTED_ATTEMPT.c.id)
    query = select(SelectedAttempt).where(
        SELECTED_ATTEMPT.c.run_id.in_(run_ids),
        SELECTED_ATTEMPT.c.withdrawn.is_(False),
        ~is_replaced,
    )
    return rows_of(connection, query.order_by(SELECTED_ATTEMPT.c.id.desc()))


def selected_by_key(connection: Connection, request_key: str) -> SelectedAttempt | None:
    """Return the selected attempt that a request stored, or None."""
    return first_row(
        connection,
        select(SelectedAttempt).where(SELECTED_ATTEMPT.c.request_key == request_key),
    )


def lock_attempts(
    connection: Connection, run_id: int, subject: str
) -> dict[int, int | None] | None:
    """Lock a run and return the response of each attempt by number, 0 for the logged answer; None without attempts."""
    connection.execute(select(RUN.c.id).where(RUN.c.id == run_id).with_for_update(key_share=True))
    query = select(GENERATION.c.number, GENERATION.c.response_id).where(
        GENERATION.c.run_id == run_id, GENERATION.c.subject == subject
    )
    attempts = {row.number: row.response_id for row in connection.execute(query)}
    if not attempts:
        return None
    roots = select(REFINEMENT.c.root_response_id).where(
        REFINEMENT.c.run_id == run_id, REFINEMENT.c.subject == subject
    )
    root = connection.scalar(roots.limit(1))
    answers: dict[int, int | None] = {
        number: id_ for number, id_ in attempts.items() if id_ is not None
    }
    return answers if root is None else {0: root} | answers


def insert_selected(connection: Connection, new: SelectedAttempt) -> int:
    """Store the attempt that a person selects or withdraws, and return the id of the row."""
    inserted = insert(SELECTED_ATTEMPT).returning(SELECTED_ATTEMPT.c.id)
    return int(connection.execute(inserted, new.new_values()).scalar_one())


REFINE = "refine"


@dataclass(frozen=True, slots=True)
class RefineSelection:
    """The answers that self-refine works on; finished work of ``runs`` (of the same generator) is not repeated.

    ``up_to`` is the highest response id. An answer is finished with an attempt that has
    ``success_rating`` or more, or the number ``attempts``.
    """

    where: RowFilter
    up_to: int
    success_rating: int
    attempts: int
    runs: tuple[int, ...] = ()


def unrefined(
    connection: Connection,
    selection: RefineSelection,
    *,
    after_id: int | None = None,
    among: Collection[int] | None = None,
    limit: int,
) -> list[int]:
    """Return the next answers to refine after ``after_id``, ordered by id."""
    query = _unrefined(connection, selection, select(RESPONSE.c.id))
    query = query if among is None else query.where(RESPONSE.c.id.in_(among))
    return list(connection.scalars(next_by_id(query, after_id, limit=limit)))


def count_unrefined(connection: Connection, selection: RefineSelection) -> int:
    """Return the number of answers to refine."""
    query = _unrefined(connection, selection, select(func.count()).select_from(RESPONSE))
    return number_of(connection, query)


def _unrefined(
    connection: Connection, selection: RefineSelection, query: Select[Any]
) -> Select[Any]:
    is_finished = exists().where(
        REFINEMENT.c.root_response_id == RESPONSE.c.id,
        REFINEMENT.c.run_id.in_(selection.runs),
        or_(
            REFINEMENT.c.rating >= selection.success_rating,
            REFINEMENT.c.number >= selection.attempts,
        ),
    )
    return query.where(
        RESPONSE.c.id <= selection.up_to,
        RESPONSE.c.answer.is_not(None),  # not forgotten
        *response_conditions(connection, selection.where),
        ~is_finished,
    )


REFLECT = "reflect"
NOT_FINAL = ("second_failed", "no_answer")  # the next run tries such answers again


@dataclass(frozen=True, slots=True)
class ReflectSelection:
    """The answers that self-reflection works on: with these query types and lengths, and judged bad by a version.

    Without ``query_types``, all types count. ``up_to`` is the highest response id; finished work of
    ``runs`` (of the same generator) is not repeated.
    """

    version_id: int
    where: RowFilter
    max_quality: int
    min_chars: int
    query_types: tuple[str, ...]
    rebuild_messages: bool
    up_to: int
    runs: tuple[int, ...]
    run_id: int | None = None


def unreflected(
    connection: Connection, selection: ReflectSelection, *, after_id: int | None, limit: int
) -> list[int]:
    """Return the next answers that need a call after ``after_id``, ordered by id."""
    query = _waiting(connection, selection, select(RESPONSE.c.id))
    return list(connection.scalars(next_by_id(query, after_id, limit=limit)))


def reflect_candidates(
    connection: Connection, selection: ReflectSelection, response_ids: Collection[int]
) -> list[tuple[Origin, bool, str | None]]:
    """Return the answers that need a call, whether each answer is known to be bad, and the new answer of this run."""
    new_answer = RESPONSE.alias("made")
    query = _waiting(
        connection,
        selection,
        select(
            RESPONSE.c.id,
            CURRENT.c.judgment_id,
            select(new_answer.c.answer)
            .join(GENERATION, GENERATION.c.response_id == new_answer.c.id)
            .where(
                GENERATION.c.run_id == (selection.run_id or 0),
                GENERATION.c.subject == cast(RESPONSE.c.id, String),
            )
            .limit(1)
            .correlate(RESPONSE)
            .scalar_subquery(),
        ),
    )
    rows = connection.execute(query.where(RESPONSE.c.id.in_(response_ids))).all()
    origins = read_origins(connection, [row[0] for row in rows])
    return [
        (origins[id_], judgment is not None, text) for id_, judgment, text in rows if id_ in origins
    ]


def count_waiting(
    connection: Connection, selection: ReflectSelection, *, judged: bool | None = None
) -> int:
    """Return the number of answers that need a call; ``judged`` counts only answers that are known to be bad."""
    query = _waiting(connection, selection, select(func.count()))
    if judged:
        query = query.where(CURRENT.c.judgment_id.is_not(None))
    return number_of(connection, query)


def count_no_messages(connection: Connection, selection: ReflectSelection) -> int:
    """Return the number of bad answers that cannot be generated again because the log has no messages."""
    if selection.rebuild_messages:
        return 0
    query = _from_log(selection, select(func.count())).where(
        *_of_kind(connection, selection), _is_bad(selection), RESPONSE.c.messages.is_(None)
    )
    return number_of(connection, query)


def _waiting(
    connection: Connection, selection: ReflectSelection, query: Select[Any]
) -> Select[Any]:
    is_judged = exists().where(
        JUDGMENT.c.response_id == RESPONSE.c.id, JUDGMENT.c.judge_version_id == selection.version_id
    )
    answerable = RESPONSE.c.messages.is_not(None) | literal(selection.rebuild_messages)
    earlier = and_(REFINEMENT.c.run_id.in_(selection.runs), REFINEMENT.c.outcome.not_in(NOT_FINAL))
    here = REFINEMENT.c.run_id == (selection.run_id or 0)
    return _from_log(selection, query).where(
        *_of_kind(connection, selection),
        or_(and_(_is_bad(selection), answerable), ~is_judged),
        ~exists().where(REFINEMENT.c.root_response_id == RESPONSE.c.id, or_(earlier, here)),
    )


def _from_log(selection: ReflectSelection, query: Select[Any]) -> Select[Any]:
    verdict = and_(
        CURRENT.c.response_id == RESPONSE.c.id, CURRENT.c.judge_version_id == selection.version_id
    )
    return query.select_from(RESPONSE).outerjoin(CURRENT, verdict)


def _of_kind(connection: Connection, selection: ReflectSelection) -> list[ColumnElement[bool]]:
    return [
        RESPONSE.c.id <= selection.up_to,
        *([RESPONSE.c.query_type.in_(selection.query_types)] if selection.query_types else []),
        RESPONSE.c.passages.is_not(None),  # groundedness cannot be measured without passages
        func.length(RESPONSE.c.answer) >= selection.min_chars,  # also leaves out forgotten answers
        *response_conditions(connection, selection.where),
    ]


def _is_bad(selection: ReflectSelection) -> ColumnElement[bool]:
    return and_(CURRENT.c.quality <= selection.max_quality, CURRENT.c.groundedness.is_not(None))
