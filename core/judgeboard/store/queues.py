"""Queues as stored, and the people to whom they are assigned."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, exists, insert, select, update

from judgeboard.domain import QueueOrder, QueueState
from judgeboard.errors import NotFound
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.queue_tables import QUEUE, QUEUE_ASSIGNMENT
from judgeboard.store.reviewers import Reviewer, reviewers_by_id
from judgeboard.store.statements import insert_or_skip

ANSWERS, PAIRS = "answers", "pairs"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue as stored: what it holds (``subject`` answers or pairs, ``filter``) and how it is reviewed.

    ``overlap`` is the share of its items that need ``reviews_needed`` reviews; the others need one. ``sampling_rate``
    is the share of items drawn at random, ``repeat_rate`` the chance to be served an earlier item of one's own.
    """

    id: int
    name: str
    subject: str
    state: QueueState
    filter: RowFilter
    sort: QueueOrder
    reviews_needed: int
    overlap: float
    seed: str
    blind_people: bool
    blind_judge: bool
    reveal: bool
    grades: tuple[str, ...]
    sampling_rate: float
    repeat_rate: float
    lease_seconds: int
    guidelines: str | None
    created_by: str
    created_at: datetime

    @property
    def blind(self) -> bool:
        """Whether anything is hidden from whoever holds an item of it."""
        return self.blind_people or self.blind_judge


def insert_queue(connection: Connection, row: dict[str, Any]) -> int:
    """Store a queue and return its id."""
    return int(connection.execute(insert(QUEUE).returning(QUEUE.c.id), row).scalar_one())


def find_queue(connection: Connection, name: str) -> Queue | None:
    """Return the queue of a name, None where there is none."""
    row = connection.execute(select(QUEUE).where(QUEUE.c.name == name)).one_or_none()
    return None if row is None else _queue(row)


def queue_named(connection: Connection, name: str) -> Queue:
    """Return the queue of a name.

    Raises:
        NotFound: There is none; the message lists those there are.
    """
    found = find_queue(connection, name)
    if found is None:
        names = connection.execute(select(QUEUE.c.name).order_by(QUEUE.c.name)).scalars().all()
        there = f"the queues are {', '.join(names)}" if names else "make one with `judgeboard queue create`"
        raise NotFound(f"no queue is called {name!r}: {there}")
    return found


def queue_by_id(connection: Connection, queue_id: int) -> Queue:
    """Return a queue that is known to be there."""
    return _queue(connection.execute(select(QUEUE).where(QUEUE.c.id == queue_id)).one())


def list_queues(connection: Connection, *, only_open: bool = False, subject: str | None = None) -> list[Queue]:
    """Return the queues, the open ones first, the newest first."""
    query = select(QUEUE).order_by(QUEUE.c.state.desc(), QUEUE.c.id.desc())
    if only_open:
        query = query.where(QUEUE.c.state == QueueState.OPEN.value)
    if subject is not None:
        query = query.where(QUEUE.c.subject == subject)
    return [_queue(row) for row in connection.execute(query)]


def any_open_queue(connection: Connection) -> bool:
    """Whether any queue is open; most databases have none, which saves further queries."""
    return bool(connection.execute(select(exists().where(QUEUE.c.state == QueueState.OPEN.value))).scalar())


def set_queue_state(connection: Connection, queue_id: int, state: QueueState) -> None:
    """Open or close a queue."""
    connection.execute(update(QUEUE).where(QUEUE.c.id == queue_id).values(state=state.value))


def assign(connection: Connection, queue_id: int, reviewer_ids: Sequence[int]) -> None:
    """Assign a queue to people."""
    if reviewer_ids:
        rows = [{"queue_id": queue_id, "reviewer_id": each} for each in reviewer_ids]
        connection.execute(insert_or_skip(connection, QUEUE_ASSIGNMENT, "queue_id", "reviewer_id"), rows)


def unassign(connection: Connection, queue_id: int, reviewer_ids: Collection[int]) -> None:
    """Remove people from a queue."""
    mine = QUEUE_ASSIGNMENT.c.queue_id == queue_id
    connection.execute(delete(QUEUE_ASSIGNMENT).where(mine, QUEUE_ASSIGNMENT.c.reviewer_id.in_(reviewer_ids)))


def assignees(connection: Connection, queue_id: int) -> list[Reviewer]:
    """Return the people to whom a queue is assigned, by name; none: it is open to everybody."""
    ids = select(QUEUE_ASSIGNMENT.c.reviewer_id).where(QUEUE_ASSIGNMENT.c.queue_id == queue_id)
    people = reviewers_by_id(connection, connection.execute(ids).scalars().all())
    return sorted(people, key=lambda each: (each.name, each.origin))


def may_take_from(connection: Connection, queue_id: int, reviewer_id: int) -> bool:
    """Whether a person may take items from a queue: it is open to everybody, or assigned to them."""
    given = select(QUEUE_ASSIGNMENT.c.reviewer_id).where(QUEUE_ASSIGNMENT.c.queue_id == queue_id)
    people = set(connection.execute(given).scalars())
    return not people or reviewer_id in people


def _queue(row: Row[Any]) -> Queue:
    values = dict(zip(row._fields, row, strict=True))
    values |= {
        "state": QueueState(values["state"]),
        "sort": QueueOrder(values["sort"]),
        "filter": from_dict(values["filter"]),
        "grades": tuple(values["grades"]),
    }
    return Queue(**values)
