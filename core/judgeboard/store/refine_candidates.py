"""Logged answers that self-refine and self-reflection have still to look at."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, String, and_, cast, exists, func, literal, or_, select

from judgeboard.filters import RowFilter
from judgeboard.store.filters.filter_sql import response_conditions
from judgeboard.store.refinements import CURRENT, GENERATION, JUDGMENT, REFINEMENT
from judgeboard.store.responses.logged_origins import Origin, read_origins
from judgeboard.store.responses.response_rows import RESPONSE

REFINE = "refine"


@dataclass(frozen=True, slots=True)
class RefineSelection:
    """What self-refine answers; ``runs`` are those of the same generator, whose finished work is not repeated.

    ``up_to`` is the frontier; an attempt rated ``success_rating`` or numbered ``attempts`` is the last of its answer.
    """

    where: RowFilter
    up_to: int
    success_rating: int
    attempts: int
    runs: tuple[int, ...] = ()


def unrefined(
    connection: Connection, selection: RefineSelection, *, after_id: int | None, downwards: bool, limit: int
) -> list[int]:
    """Return the next answers whose question waits, by id, behind ``after_id`` where it is given."""
    query = _unrefined(connection, selection, select(RESPONSE.c.id))
    if after_id is not None:
        query = query.where(RESPONSE.c.id < after_id if downwards else RESPONSE.c.id > after_id)
    order = RESPONSE.c.id.desc() if downwards else RESPONSE.c.id
    return list(connection.execute(query.order_by(order).limit(limit)).scalars())


def count_unrefined(connection: Connection, selection: RefineSelection) -> int:
    """Return how many questions wait."""
    query = _unrefined(connection, selection, select(func.count()).select_from(RESPONSE))
    return int(connection.execute(query).scalar_one())


def _unrefined(connection: Connection, selection: RefineSelection, query: Select[Any]) -> Select[Any]:
    finished = exists().where(
        REFINEMENT.c.root_response_id == RESPONSE.c.id,
        REFINEMENT.c.run_id.in_(selection.runs),
        or_(REFINEMENT.c.rating >= selection.success_rating, REFINEMENT.c.number >= selection.attempts),
    )
    return query.where(
        RESPONSE.c.id <= selection.up_to,
        RESPONSE.c.answer.is_not(None),  # not forgotten
        *response_conditions(connection, selection.where),
        ~finished,
    )


REFLECT = "reflect"
NOT_FINAL = ("second_failed", "no_answer")  # what failed in one run is tried again by the next


@dataclass(frozen=True, slots=True)
class ReflectSelection:
    """What self-reflection looks at: answers of these query types and lengths that a judge version finds bad.

    ``up_to`` is the frontier; ``settled_by`` are the runs of the same generator, whose work is not repeated.
    """

    version_id: int
    where: RowFilter
    max_quality: int
    min_chars: int
    query_types: tuple[str, ...]
    rebuild_messages: bool
    up_to: int
    settled_by: tuple[int, ...]
    run_id: int | None = None


@dataclass(frozen=True, slots=True)
class ReflectCandidate:
    """An answer to look at; ``judged`` tells that it is known to be bad, ``new_answer`` is the one made in this run."""

    origin: Origin
    judged: bool
    new_answer: str | None = None


def reflect_candidates(
    connection: Connection, selection: ReflectSelection, *, after_id: int | None, downwards: bool, limit: int
) -> list[ReflectCandidate]:
    """Return the next answers that wait for a call, by id, behind ``after_id`` where it is given."""
    query = _waiting(connection, selection, select(RESPONSE.c.id, CURRENT.c.judgment_id, _new_answer(selection)))
    if after_id is not None:
        query = query.where(RESPONSE.c.id < after_id if downwards else RESPONSE.c.id > after_id)
    rows = connection.execute(query.order_by(RESPONSE.c.id.desc() if downwards else RESPONSE.c.id).limit(limit)).all()
    origins = read_origins(connection, [row[0] for row in rows])
    return [
        ReflectCandidate(origins[id_], judgment is not None, text) for id_, judgment, text in rows if id_ in origins
    ]


def count_waiting(connection: Connection, selection: ReflectSelection, *, judged: bool | None = None) -> int:
    """Return how many answers wait for a call; ``judged`` counts only those known to be bad."""
    query = _waiting(connection, selection, select(func.count()))
    if judged:
        query = query.where(CURRENT.c.judgment_id.is_not(None))
    return int(connection.execute(query).scalar_one())


def count_no_messages(connection: Connection, selection: ReflectSelection) -> int:
    """Return how many bad answers cannot be made anew because the log kept no messages."""
    if selection.rebuild_messages:
        return 0
    query = _from_log(selection, select(func.count())).where(
        *_of_kind(connection, selection), _is_bad(selection), RESPONSE.c.messages.is_(None)
    )
    return int(connection.execute(query).scalar_one())


def _waiting(connection: Connection, selection: ReflectSelection, query: Select[Any]) -> Select[Any]:
    judged = exists().where(
        JUDGMENT.c.response_id == RESPONSE.c.id, JUDGMENT.c.judge_version_id == selection.version_id
    )
    answerable = RESPONSE.c.messages.is_not(None) | literal(selection.rebuild_messages)
    return _from_log(selection, query).where(
        *_of_kind(connection, selection),
        or_(and_(_is_bad(selection), answerable), ~judged),
        ~_settled(selection),
    )


def _from_log(selection: ReflectSelection, query: Select[Any]) -> Select[Any]:
    said = and_(CURRENT.c.response_id == RESPONSE.c.id, CURRENT.c.judge_version_id == selection.version_id)
    return query.select_from(RESPONSE).outerjoin(CURRENT, said)


def _of_kind(connection: Connection, selection: ReflectSelection) -> list[ColumnElement[bool]]:
    return [
        RESPONSE.c.id <= selection.up_to,
        RESPONSE.c.query_type.in_(selection.query_types),
        RESPONSE.c.passages.is_not(None),  # without them groundedness stays unmeasured, whatever the judge
        func.length(RESPONSE.c.answer) >= selection.min_chars,  # also: not forgotten
        *response_conditions(connection, selection.where),
    ]


def _is_bad(selection: ReflectSelection) -> ColumnElement[bool]:
    return and_(CURRENT.c.quality <= selection.max_quality, CURRENT.c.groundedness.is_not(None))


def _settled(selection: ReflectSelection) -> ColumnElement[bool]:
    earlier = and_(REFINEMENT.c.run_id.in_(selection.settled_by), REFINEMENT.c.outcome.not_in(NOT_FINAL))
    here = REFINEMENT.c.run_id == (selection.run_id or 0)
    return exists().where(REFINEMENT.c.root_response_id == RESPONSE.c.id, or_(earlier, here))


def _new_answer(selection: ReflectSelection) -> ColumnElement[str | None]:
    made = RESPONSE.alias("made")
    return (
        select(made.c.answer)
        .join(GENERATION, GENERATION.c.response_id == made.c.id)
        .where(GENERATION.c.run_id == (selection.run_id or 0), GENERATION.c.subject == cast(RESPONSE.c.id, String))
        .limit(1)
        .correlate(RESPONSE)
        .scalar_subquery()
    )
