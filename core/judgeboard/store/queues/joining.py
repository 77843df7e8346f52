"""Keeps queues live: what matches joins in the transaction that made it match, what stops matching leaves."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from judgeboard.domain import ItemState
from judgeboard.store.queues.flag_states import close_flags
from judgeboard.store.queues.item_rows import (
    NewItem,
    QueueItem,
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
from judgeboard.store.queues.matching import Matching, matching_answers, positions, reviews_needed
from judgeboard.store.queues.mixing import may_be_drawn, still_drawn, top_up
from judgeboard.store.queues.queue_rows import ANSWERS, Queue, any_open_queue, list_queues
from judgeboard.store.sql.batches import batches


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
