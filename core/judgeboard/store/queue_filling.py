"""Which answers and pairs a queue takes in and in which order, and how open queues follow the flags."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from judgeboard.domain import FlagState, ItemState, QueueOrder, Status
from judgeboard.errors import BadInput
from judgeboard.flags.random_sample import NAME as RANDOM_SAMPLE
from judgeboard.flags.random_sample import draw
from judgeboard.store.filter_conditions import flag_conditions
from judgeboard.store.filters import RowFilter
from judgeboard.store.method_tables import PAIR
from judgeboard.store.queue_items import (
    ITEM,
    NewItem,
    QueueItem,
    close_flags,
    finished_flags,
    flags_of,
    insert_items,
    link_flags,
    move_item,
    set_item_state,
    touched_items,
    unfinished_items,
    unlink_flags,
)
from judgeboard.store.queues import ANSWERS, Queue, any_open_queue, list_queues
from judgeboard.store.reviews import hold_responses
from judgeboard.store.statements import LOGGED, OPEN, batches
from judgeboard.store.tables import CURRENT, FLAG, JUDGMENT, JUDGMENT_SCORE, RESPONSE, REVIEW_SCORE


def rules_without_flags(connection: Connection, rules: Collection[str]) -> list[str]:
    """Return the rules that never flagged anything."""
    return [rule for rule in rules if not _any(connection, FLAG.c.rule == rule)]


def types_without_rows(connection: Connection, query_types: Collection[str], *, of_pairs: bool) -> list[str]:
    """Return the query types that no answer of the log, or no pair, has."""
    column, kept = (PAIR.c.query_type, ()) if of_pairs else (RESPONSE.c.query_type, (LOGGED,))
    return [one for one in query_types if not _any(connection, column == one, *kept)]


def sources_without_rows(connection: Connection, sources: Collection[str], *, of_pairs: bool) -> list[str]:
    """Return the sources that no answer of the log, or no pair, has."""
    column, kept = (PAIR.c.source, ()) if of_pairs else (RESPONSE.c.source, (LOGGED,))
    return [one for one in sources if not _any(connection, column == one, *kept)]


def dimensions_without_scores(connection: Connection, dimensions: Collection[str]) -> list[str]:
    """Return the dimensions of a rubric on which neither a judge nor a person scored anything."""
    return [
        one
        for one in dimensions
        if not any(_any(connection, scores.c.dimension == one) for scores in (JUDGMENT_SCORE, REVIEW_SCORE))
    ]


def any_pairs(connection: Connection) -> bool:
    """Whether there is a pair with two answers."""
    return _any(connection, PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None))


def _any(connection: Connection, *conditions: Any) -> bool:
    return connection.execute(select(1).where(*conditions).limit(1)).first() is not None


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
    narrowing = flag_conditions(connection, replace(queue.filter, response_ids=None))
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
    narrowing = flag_conditions(connection, replace(where, rules=(RANDOM_SAMPLE,)))
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


@dataclass(frozen=True, slots=True)
class Sampled:
    """How many answers were drawn now, and how many are still wanting because no more are open."""

    drawn: int
    short: int


def wanted(share: float, others: int) -> int:
    """Return how many drawn answers make up ``share`` (0 to below 1) beside ``others`` that were not drawn."""
    return round(share / (1 - share) * others)


def count_sampled(connection: Connection, queue: Queue) -> Sampled:
    """Return how many drawn answers are in a queue, and how many are wanting."""
    others, drawn = _counts(connection, queue)
    return Sampled(drawn, max(wanted(queue.sampling_rate, others) - drawn, 0))


def top_up(connection: Connection, queue: Queue, now: datetime) -> Sampled:
    """Draw what a queue's random sample is short of from the open flags of the random sample.

    They come from the query types, sources and days of the queue's own answers, in an order that seed and answer
    alone decide; each takes the place of one of those in the queue, so that nothing tells it apart.
    """
    missing = count_sampled(connection, queue).short
    if not missing:
        return Sampled(0, 0)
    known = _there(connection, queue)
    candidates = [one for one in drawn_answers(connection, _alike(connection, queue)) if one.response_id not in known]
    if not candidates:
        return Sampled(0, missing)
    candidates.sort(key=lambda one: draw(f"{queue.seed}:mix", one.source, one.external_id))
    free = hold_responses(connection, [one.response_id for one in candidates[:missing]]) - _there(connection, queue)
    missing = count_sampled(connection, queue).short  # another transaction may have drawn before they were held
    chosen = [one for one in candidates if one.response_id in free][:missing]
    places = _places(connection, queue)
    new = [
        NewItem(
            response_id=one.response_id,
            position=places[int(draw(f"{queue.seed}:place", one.source, one.external_id) * len(places))],
            reviews_needed=reviews_needed(queue, one.source, one.external_id),
            flag_ids=one.flag_ids,
            sampled=True,
        )
        for one in chosen
    ]
    if new:
        insert_items(connection, queue.id, new, now)
    return Sampled(len(new), missing - len(new))


def may_be_drawn(connection: Connection, queue: Queue, response_ids: Collection[int]) -> bool:
    """Whether any of these answers waits for the random sample and never was in the queue."""
    there = exists().where(ITEM.c.response_id == FLAG.c.response_id, ITEM.c.queue_id == queue.id)
    waits = exists().where(
        FLAG.c.response_id.in_(response_ids),
        FLAG.c.state == FlagState.OPEN.value,
        FLAG.c.rule == RANDOM_SAMPLE,
        ~there,
    )
    return connection.execute(select(waits)).scalar_one()


def still_drawn(connection: Connection, flag_ids: Collection[int]) -> set[int]:
    """Return those of these flags that are open and of the random sample: what was sampled for them stays."""
    if not flag_ids:
        return set()
    query = select(FLAG.c.id).where(
        FLAG.c.id.in_(flag_ids), FLAG.c.rule == RANDOM_SAMPLE, FLAG.c.state == FlagState.OPEN.value
    )
    return set(connection.execute(query).scalars())


def _there(connection: Connection, queue: Queue) -> set[int]:
    return set(connection.execute(select(ITEM.c.response_id).where(ITEM.c.queue_id == queue.id)).scalars())


def _counts(connection: Connection, queue: Queue) -> tuple[int, int]:
    query = select(ITEM.c.sampled, func.count()).where(
        ITEM.c.queue_id == queue.id, ITEM.c.state != ItemState.LEFT.value, ITEM.c.again_for.is_(None)
    )
    counts = {bool(sampled): count for sampled, count in connection.execute(query.group_by(ITEM.c.sampled))}
    return counts.get(False, 0), counts.get(True, 0)


def _own(queue: Queue) -> ColumnElement[bool]:
    first_time = and_(ITEM.c.sampled.is_(False), ITEM.c.again_for.is_(None))
    return and_(ITEM.c.queue_id == queue.id, first_time, ITEM.c.state != ItemState.LEFT.value)


def _alike(connection: Connection, queue: Queue) -> RowFilter:
    """The filter of answers like those in the queue: of the same query types, sources and days."""
    answers = select(RESPONSE).join(ITEM, ITEM.c.response_id == RESPONSE.c.id).where(_own(queue)).subquery()
    types = connection.execute(select(answers.c.query_type).distinct()).scalars().all()
    sources = connection.execute(select(answers.c.source).distinct()).scalars().all()
    first, last = connection.execute(select(func.min(answers.c.asked_day), func.max(answers.c.asked_day))).one()
    return RowFilter(query_types=tuple(types), sources=tuple(sources), day_from=first, day_to=last)


def _places(connection: Connection, queue: Queue) -> list[float]:
    query = select(ITEM.c.position).where(_own(queue)).order_by(ITEM.c.position)
    return list(connection.execute(query).scalars())


@dataclass(frozen=True, slots=True)
class Joined:
    """How many answers a queue took in, and how many of its random sample could not be drawn."""

    joined: int
    sampled: int
    short: int


def fill_queue(connection: Connection, queue: Queue, now: datetime) -> Joined:
    """Take in everything that a new queue is for, its random sample included."""
    joined = _join(connection, queue, matching_answers(connection, queue), now)
    drawn = top_up(connection, queue, now)
    return Joined(joined, drawn.drawn, drawn.short)


def follow_queues(connection: Connection, response_ids: Collection[int], now: datetime) -> None:
    """Bring every open queue in line with the open flags of these answers.

    An answer that stops matching leaves, unless somebody holds it or has reviewed it there. The sample is drawn again
    only where that changes what it is made of: it reads the whole queue, and most reviews change nothing of it.
    """
    if not response_ids or not any_open_queue(connection):
        return
    for queue in list_queues(connection, only_open=True, subject=ANSWERS):
        changed = False
        for some in batches(sorted(response_ids)):
            changed |= _follow(connection, queue, some, now)
            changed |= queue.sampling_rate > 0 and may_be_drawn(connection, queue, some)
        if queue.sampling_rate and changed:
            top_up(connection, queue, now)


def _follow(connection: Connection, queue: Queue, response_ids: Sequence[int], now: datetime) -> bool:
    """Bring a queue in line with these answers; return whether any joined or left."""
    matching = matching_answers(connection, queue, response_ids)
    answers = {one.response_id: one for one in _not_done(connection, queue, response_ids, matching)}
    items = unfinished_items(connection, queue.id, response_ids)
    new = [one for response_id, one in answers.items() if response_id not in items]
    changed = _join(connection, queue, new, now) > 0
    known = {response_id: one for response_id, one in answers.items() if response_id in items}
    if not items:
        return changed
    flags = flags_of(connection, [item.id for item in items.values()])
    link_flags(connection, {items[id_].id: one.flag_ids for id_, one in known.items()})
    places = positions(connection, queue, known.values())
    for response_id in known:
        item = items[response_id]
        if item.state is ItemState.LEFT:
            set_item_state(connection, item, ItemState.OPEN, now, places=item.reviews_needed)
            changed = True
        if not item.sampled and places[response_id] < item.position:
            move_item(connection, item.id, places[response_id])
    return _leave(connection, list(items.values()), known, flags, now) or changed


def _not_done(
    connection: Connection, queue: Queue, response_ids: Sequence[int], answers: Sequence[Matching]
) -> list[Matching]:
    """Leave out flags that a finished item of the queue stands for: another queue may keep them open."""
    done = finished_flags(connection, queue.id, response_ids)
    left = [replace(one, flag_ids=tuple(flag for flag in one.flag_ids if flag not in done)) for one in answers]
    return [one for one in left if one.flag_ids]


def _leave(
    connection: Connection,
    items: Sequence[QueueItem],
    known: dict[int, Matching],
    flags: dict[int, set[int]],
    now: datetime,
) -> bool:
    """Let items leave that nothing keeps; return whether any left."""
    waiting = [item for item in items if item.state is not ItemState.LEFT]
    stale: dict[int, set[int]] = {}
    for item in waiting:
        matching = known.get(item.response_id or 0)
        stale[item.id] = flags[item.id] - set(() if matching is None else matching.flag_ids)
    drawn = still_drawn(connection, {flag for item in waiting if item.sampled for flag in stale[item.id]})
    suspects = [item for item in waiting if stale[item.id] - drawn]
    touched = touched_items(connection, [item.id for item in suspects], now) if suspects else set()
    left = False
    for item in suspects:
        if item.id in touched:
            continue
        unlink_flags(connection, item.id, stale[item.id] - drawn)
        if not flags[item.id] - (stale[item.id] - drawn) and (item.response_id or 0) not in known:
            set_item_state(connection, item, ItemState.LEFT, now)
            close_flags(connection, stale[item.id] - drawn)
            left = True
    return left


def _join(connection: Connection, queue: Queue, answers: Sequence[Matching], now: datetime) -> int:
    if not answers:
        return 0
    places = positions(connection, queue, answers)
    new = [
        NewItem(
            response_id=one.response_id,
            position=places[one.response_id],
            reviews_needed=reviews_needed(queue, one.source, one.external_id),
            flag_ids=one.flag_ids,
        )
        for one in answers
    ]
    return len(insert_items(connection, queue.id, new, now))


ORDERS = (QueueOrder.OLDEST, QueueOrder.RANDOM)


def fill_with_pairs(connection: Connection, queue: Queue, now: datetime) -> Joined:
    """Take in every pair with two answers that the queue's filter matches: by query type, source and outside id.

    Raises:
        BadInput: The filter asks for what a pair has not, or the order is not oldest or random.
    """
    where = queue.filter
    if where != RowFilter(query_types=where.query_types, sources=where.sources, ids=where.ids):
        raise BadInput("pairs are chosen by query_type, source and id")
    if queue.sort not in ORDERS:
        raise BadInput(f"pairs are ordered by oldest or random, not {queue.sort.value}")
    query = select(PAIR.c.id, PAIR.c.source, PAIR.c.external_id).where(
        PAIR.c.response_a_id.is_not(None), PAIR.c.response_b_id.is_not(None)
    )
    for given, column in (
        (where.query_types, PAIR.c.query_type),
        (where.sources, PAIR.c.source),
        (where.ids, PAIR.c.external_id),
    ):
        if given:
            query = query.where(column.in_(given))
    new = [
        NewItem(
            pair_id=row.id,
            position=_position(queue, row.id, row.source, row.external_id),
            reviews_needed=reviews_needed(queue, row.source, row.external_id),
        )
        for row in connection.execute(query.order_by(PAIR.c.id))
    ]
    insert_items(connection, queue.id, new, now)
    return Joined(len(new), 0, 0)


def _position(queue: Queue, pair_id: int, source: str, external_id: str) -> float:
    return float(pair_id) if queue.sort is QueueOrder.OLDEST else draw(f"{queue.seed}:order", source, external_id)
