"""What is hidden from a person: answers and pairs that they are to review blind and have not.

Blind means: they hold the item, or the queue is given to them by name, and they have said nothing there yet.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, exists, or_, select

from judgeboard.domain import ItemState, QueueState
from judgeboard.store.queues.item_rows import ITEM
from judgeboard.store.queues.leases import LEASE
from judgeboard.store.queues.queue_rows import ASSIGNMENT, QUEUE


@dataclass(frozen=True, slots=True)
class Hidden:
    """What of an answer is hidden: everything that judges made of it, what other people said, or both.

    ``own``: what they said themselves too, since who is served an item again must not be reminded of it. ``queues``
    names those in which it waits for them.
    """

    judge: bool = False
    people: bool = False
    own: bool = False
    queues: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.judge or self.people


NOTHING_HIDDEN = Hidden()


def hidden_of_response(connection: Connection, reviewer_id: int | None, response_id: int) -> Hidden:
    """Return what of an answer is hidden from a reviewer; nothing from a reader without a name."""
    return _hidden(connection, reviewer_id, ITEM.c.response_id == response_id)


def hidden_of_pair(connection: Connection, reviewer_id: int | None, pair_id: int) -> Hidden:
    """Return what of a pair is hidden from a reviewer."""
    return _hidden(connection, reviewer_id, ITEM.c.pair_id == pair_id)


def hides_anything(connection: Connection, viewer: int) -> bool:
    """Whether any answer is hidden from a reviewer at this moment."""
    return connection.execute(blind_items(viewer).limit(1)).first() is not None


def _hidden(connection: Connection, reviewer_id: int | None, of: ColumnElement[bool]) -> Hidden:
    if reviewer_id is None:
        return NOTHING_HIDDEN
    columns = (QUEUE.c.name, QUEUE.c.blind_judge, QUEUE.c.blind_people, ITEM.c.again_for)
    rows = connection.execute(blind_items(reviewer_id).with_only_columns(*columns).where(of)).all()
    return Hidden(
        judge=any(row.blind_judge for row in rows),
        people=any(row.blind_people or row.again_for is not None for row in rows),
        own=any(row.again_for is not None for row in rows),
        queues=tuple(sorted({row.name for row in rows})),
    )


def blind_items(reviewer_id: int) -> Select[Any]:
    """Return the query of the waiting items of open blind queues that a reviewer holds or is given and said nothing on.

    An item on which the others split is handed to nobody any more: a lead looks at all of it.
    """
    # Sets, not conditions on each item: what others hold or are given is then not even looked at.
    holds = select(LEASE.c.queue_item_id).where(LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(False))
    given = select(ASSIGNMENT.c.queue_id).where(ASSIGNMENT.c.reviewer_id == reviewer_id)
    spoken = exists().where(
        LEASE.c.queue_item_id == ITEM.c.id, LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    return (
        select(ITEM.c.id)
        .join(QUEUE, QUEUE.c.id == ITEM.c.queue_id)
        .where(
            QUEUE.c.state == QueueState.OPEN.value,
            or_(QUEUE.c.blind_judge.is_(True), QUEUE.c.blind_people.is_(True), ITEM.c.again_for.is_not(None)),
            ITEM.c.state == ItemState.OPEN.value,
            or_(ITEM.c.again_for.is_(None), ITEM.c.again_for == reviewer_id),
            or_(ITEM.c.id.in_(holds), ITEM.c.queue_id.in_(given)),
            ~spoken,
        )
    )
