"""Adds randomly sampled answers to a queue, so that what no rule flags is looked at by the same eyes."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, exists, func, select

from judgeboard.domain import FlagState, ItemState
from judgeboard.filters import RowFilter
from judgeboard.flags.random_sample import NAME as RANDOM_SAMPLE
from judgeboard.flags.random_sample import draw
from judgeboard.store.queues.item_rows import ITEM, NewItem, insert_items
from judgeboard.store.queues.matching import drawn_answers, reviews_needed
from judgeboard.store.queues.queue_rows import Queue
from judgeboard.store.reviews.reviews import hold_responses
from judgeboard.store.schema.tables import FLAG, RESPONSE


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
