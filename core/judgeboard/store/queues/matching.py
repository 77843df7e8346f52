"""Which open flags a queue is for, and where an answer stands in its order."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Connection, func, select

from judgeboard.domain import QueueOrder, Status
from judgeboard.filters import RowFilter
from judgeboard.flags.random_sample import NAME as RANDOM_SAMPLE
from judgeboard.flags.random_sample import draw
from judgeboard.store.filters.filter_sql import flag_narrowing
from judgeboard.store.queues.queue_rows import Queue
from judgeboard.store.schema.tables import CURRENT, FLAG, JUDGMENT, RESPONSE
from judgeboard.store.sql.batches import batches
from judgeboard.store.sql.literal_conditions import OPEN

UNDATED = 9_999_999.0  # answers without a time come last, as on the queue page


@dataclass(frozen=True, slots=True)
class Matching:
    """An answer with the open flags for which it belongs to a queue."""

    response_id: int
    source: str
    external_id: str
    asked_day: int | None
    severity: float  # of its worst flag
    flag_ids: tuple[int, ...]


def matching_answers(
    connection: Connection, queue: Queue, response_ids: Collection[int] | None = None
) -> list[Matching]:
    """Return the answers whose open flags a queue's filter matches, among these or among all.

    Where a queue mixes drawn answers in, those come by the draw alone and not by the filter, unless it names them.
    """
    narrowing = flag_narrowing(connection, replace(queue.filter, response_ids=None))
    conditions = [OPEN, *narrowing.own, *narrowing.elsewhere]
    if queue.sampling_rate and RANDOM_SAMPLE not in queue.filter.rules:
        conditions.append(FLAG.c.rule != RANDOM_SAMPLE)
    if queue.filter.response_ids is not None:
        wanted = set(queue.filter.response_ids)
        response_ids = sorted(wanted if response_ids is None else wanted & set(response_ids))
    if response_ids is not None:
        conditions.append(FLAG.c.response_id.in_(response_ids))
    return _answers(connection, conditions)


def drawn_answers(connection: Connection, where: RowFilter) -> list[Matching]:
    """Return the answers with an open flag of the random sample under a filter."""
    narrowing = flag_narrowing(connection, replace(where, rules=(RANDOM_SAMPLE,)))
    return _answers(connection, [OPEN, *narrowing.own, *narrowing.elsewhere])


def positions(connection: Connection, queue: Queue, answers: Iterable[Matching]) -> dict[int, float]:
    """Return where each answer stands in a queue's order: the lowest comes first."""
    answers = list(answers)
    match queue.sort:
        case QueueOrder.SEVERITY:
            return {one.response_id: -one.severity for one in answers}
        case QueueOrder.OLDEST:
            return {one.response_id: UNDATED if one.asked_day is None else one.asked_day for one in answers}
        case QueueOrder.RANDOM:
            return {one.response_id: draw(f"{queue.seed}:order", one.source, one.external_id) for one in answers}
        case QueueOrder.DISAGREEMENT:
            apart = _between_judges(connection, [one.response_id for one in answers])
        case QueueOrder.INSTABILITY:
            apart = _within_a_judge(connection, [one.response_id for one in answers])
    return {one.response_id: -apart.get(one.response_id, 0.0) for one in answers}


def reviews_needed(queue: Queue, source: str, external_id: str) -> int:
    """Return how many reviews an answer or a pair needs in a queue: the draw of its overlap depends on seed and it."""
    drawn = draw(f"{queue.seed}:overlap", source, external_id) < queue.overlap
    return queue.reviews_needed if drawn else 1


def _answers(connection: Connection, conditions: Collection[ColumnElement[bool]]) -> list[Matching]:
    query = (
        select(
            FLAG.c.id,
            FLAG.c.response_id,
            FLAG.c.severity,
            FLAG.c.asked_day,
            RESPONSE.c.source,
            RESPONSE.c.external_id,
        )
        .join(RESPONSE, RESPONSE.c.id == FLAG.c.response_id)
        .where(*conditions, RESPONSE.c.answer.is_not(None))  # of a forgotten one there is nothing to review
        .order_by(FLAG.c.id)
    )
    found: dict[int, Matching] = {}
    for row in connection.execute(query):
        known = found.get(row.response_id)
        if known is None:
            found[row.response_id] = Matching(
                row.response_id, row.source, row.external_id, row.asked_day, row.severity, (row.id,)
            )
        else:
            severity = max(known.severity, row.severity)
            found[row.response_id] = replace(known, severity=severity, flag_ids=(*known.flag_ids, row.id))
    return list(found.values())


def _between_judges(connection: Connection, response_ids: list[int]) -> dict[int, float]:
    """How far the current groundedness of different judges lies apart."""
    found: dict[int, float] = {}
    score = CURRENT.c.groundedness
    for some in batches(response_ids):
        query = (
            select(CURRENT.c.response_id, func.max(score) - func.min(score))
            .where(CURRENT.c.response_id.in_(some), CURRENT.c.is_current.is_(True), score.is_not(None))
            .group_by(CURRENT.c.response_id)
        )
        found |= dict(tuple(row) for row in connection.execute(query))
    return found


def _within_a_judge(connection: Connection, response_ids: list[int]) -> dict[int, float]:
    """How far the verdicts of one judge version on the answer, asked again or repeated, lie apart at most."""
    found: dict[int, float] = {}
    score = JUDGMENT.c.groundedness
    for some in batches(response_ids):
        query = (
            select(JUDGMENT.c.response_id, func.max(score) - func.min(score))
            .where(JUDGMENT.c.response_id.in_(some), JUDGMENT.c.status == Status.OK.value, score.is_not(None))
            .group_by(JUDGMENT.c.response_id, JUDGMENT.c.judge_version_id)
        )
        for response_id, spread in connection.execute(query):
            found[response_id] = max(spread, found.get(response_id, 0.0))
    return found
