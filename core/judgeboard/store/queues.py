"""Queues, the reviewers to whom they are assigned, their progress and their conflicts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    case,
    delete,
    exists,
    func,
    select,
    update,
)

from judgeboard.domain import Decision, ItemState, QueueState
from judgeboard.errors import NotFound
from judgeboard.store.label_schemas import LABEL_SCHEMA_TITLE
from judgeboard.store.leases import NOT_UNDONE
from judgeboard.store.queue_rules import QueueRules
from judgeboard.store.responses import QUESTION
from judgeboard.store.reviewers import Reviewer, reviewers_by_id
from judgeboard.store.statements import insert_or_skip, record_of
from judgeboard.store.tables import (
    LABEL_SCHEMA,
    LEASE,
    PAIR,
    QUEUE,
    QUEUE_ASSIGNMENT,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    REVIEWER,
    SKIP,
)

ANSWERS, PAIRS = "answers", "pairs"
_JSON_KEYS = (  # the columns in the order in which commands have always written them
    *("id", "name", "subject", "state", "filter", "sort", "reviews_needed", "overlap", "seed"),
    *("blind_people", "blind_judge", "reveal", "grades", "optional_grades", "flagged_only", "max_items"),
    *("drawn_from", "plan", "sampling_rate", "repeat_rate", "test_rate", "training", "implied_labels"),
    *("lease_seconds", "guidelines", "created_by", "created_at", "label_schema_id", "label_schema"),
)


class Queue(NamedTuple):
    """A queue as stored. A label schema replaces the grades of its ``rules``.

    ``label_schema`` is the title of the schema that reviewers fill in ("support v2"), or None. A queue with
    ``max_items`` has the first of the ``drawn_from`` answers or pairs that matched at its creation. The ``plan`` of a
    planned queue has its strata (`DrawnStratum`). It is no dataclass, because `to_json` writes those field by field.
    """

    id: int
    rules: QueueRules
    state: QueueState
    drawn_from: int | None
    plan: dict[str, Any] | None
    created_by: str
    created_at: datetime
    label_schema_id: int | None = None
    label_schema: str | None = None

    @property
    def name(self) -> str:
        """The name by which commands, pages and sentences call it."""
        return self.rules.name

    @property
    def of_difference(self) -> bool:
        """Whether a plan filled it with answers on which two judge versions differ, which are no sample of all."""
        return bool(self.plan and self.plan.get("other_judge"))

    @property
    def of_rate(self) -> bool:
        """Whether a plan for the share of bad answers filled it."""
        return self.plan is not None and not self.of_difference

    def as_json(self) -> dict[str, Any]:
        """Return the columns of the queue in the order of its JSON, with every field of the filter."""
        columns = self.rules.as_row() | self._asdict() | {"filter": self.rules.where}
        return {key: columns[key] for key in _JSON_KEYS}


_QUEUES = select(QUEUE, LABEL_SCHEMA_TITLE).outerjoin(LABEL_SCHEMA, LABEL_SCHEMA.c.id == QUEUE.c.label_schema_id)


def insert_queue(connection: Connection, row: dict[str, Any]) -> int | None:
    """Store a queue and return its id, or None if a queue has its name already."""
    return connection.execute(insert_or_skip(connection, QUEUE, "name").returning(QUEUE.c.id), row).scalar_one_or_none()


def find_queue(connection: Connection, name: str) -> Queue | None:
    """Return the queue with this name, or None."""
    row = connection.execute(_QUEUES.where(QUEUE.c.name == name)).one_or_none()
    return None if row is None else _queue(row)


def queue_named(connection: Connection, name: str) -> Queue:
    """Return the queue of a name, or raise NotFound with the names of all queues."""
    queue = find_queue(connection, name)
    if queue is None:
        names = connection.execute(select(QUEUE.c.name).order_by(QUEUE.c.name)).scalars().all()
        there = f"the queues are {', '.join(names)}" if names else "make one with `judgeboard queue create`"
        raise NotFound(f"no queue is called {name!r}: {there}")
    return queue


def queue_by_id(connection: Connection, queue_id: int) -> Queue:
    """Return a queue that is known to exist."""
    return _queue(connection.execute(_QUEUES.where(QUEUE.c.id == queue_id)).one())


def list_queues(connection: Connection, *, only_open: bool = False, subject: str | None = None) -> list[Queue]:
    """Return the queues: open ones first, then the newest first."""
    query = _QUEUES.order_by(QUEUE.c.state.desc(), QUEUE.c.id.desc())
    if only_open:
        query = query.where(QUEUE.c.state == QueueState.OPEN.value)
    if subject is not None:
        query = query.where(QUEUE.c.subject == subject)
    return [_queue(row) for row in connection.execute(query)]


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
    """Return the people to whom a queue is assigned, by name. An unassigned queue is open to everybody."""
    ids = select(QUEUE_ASSIGNMENT.c.reviewer_id).where(QUEUE_ASSIGNMENT.c.queue_id == queue_id)
    people = reviewers_by_id(connection, connection.execute(ids).scalars().all())
    return sorted(people, key=lambda each: (each.name, each.origin))


def queues_by_person(connection: Connection) -> dict[int, list[Queue]]:
    """Return the open queues that are assigned to each person (by id), the oldest first."""
    queues: dict[int, list[Queue]] = {}
    query = _QUEUES.add_columns(QUEUE_ASSIGNMENT.c.reviewer_id.label("assignee")).join(
        QUEUE_ASSIGNMENT, QUEUE_ASSIGNMENT.c.queue_id == QUEUE.c.id
    )
    for row in connection.execute(query.where(QUEUE.c.state == QueueState.OPEN.value).order_by(QUEUE.c.id)):
        queues.setdefault(row.assignee, []).append(_queue(row))
    return queues


def may_take_from(connection: Connection, queue_id: int, reviewer_id: int) -> bool:
    """Return whether a person may take items from a queue: it is open to everybody, or assigned to them."""
    query = select(QUEUE_ASSIGNMENT.c.reviewer_id).where(QUEUE_ASSIGNMENT.c.queue_id == queue_id)
    people = set(connection.execute(query).scalars())
    return not people or reviewer_id in people


def _queue(row: Row[Any]) -> Queue:
    return record_of(Queue, row, rules=QueueRules.of_row(row))


class ItemCount(NamedTuple):
    """How many items of one kind a queue has; ``several`` need more than one review."""

    state: ItemState
    several: bool
    items: int
    reviews_needed: int


def count_items(connection: Connection, queue_id: int) -> list[ItemCount]:
    """Return the number of items of a queue by state, without repeats."""
    several = QUEUE_ITEM.c.reviews_needed > 1
    query = (
        select(QUEUE_ITEM.c.state, several, func.count(), func.sum(QUEUE_ITEM.c.reviews_needed))
        .where(QUEUE_ITEM.c.queue_id == queue_id, QUEUE_ITEM.c.repeat_for.is_(None))
        .group_by(QUEUE_ITEM.c.state, several)
    )
    return [ItemCount(state, bool(more), n, int(needed)) for state, more, n, needed in connection.execute(query)]


def open_items(connection: Connection, queue_id: int) -> int:
    """Return the number of items of a queue that still need reviews, without repeats."""
    return sum(each.items for each in count_items(connection, queue_id) if each.state is ItemState.OPEN)


def count_leases(connection: Connection, queue_id: int, now: datetime) -> tuple[int, int]:
    """Return how many items are leased now, and the number of reviews in a queue, both without repeats."""
    leased = case((_is_leased(now), LEASE.c.queue_item_id))
    query = select(func.count(leased.distinct()), func.count(case((LEASE.c.done, 1))))
    items, reviews = connection.execute(query.where(_of_people(queue_id), LEASE.c.repeat_for.is_(None))).one()
    return items, reviews


def count_work(connection: Connection, queue_id: int, now: datetime) -> dict[int, dict[str, Any]]:
    """Return, by person, the counts of reviews (``done``, ``unsure``) and current ``leases``, and the ``last`` time."""
    query = (
        select(
            LEASE.c.reviewer_id,
            func.count(case((LEASE.c.done, 1))).label("done"),
            func.count(case((REVIEW.c.decision == Decision.UNSURE.value, 1))).label("unsure"),
            func.max(REVIEW.c.at).label("last"),
            func.count(case((_is_leased(now), 1))).label("leases"),
        )
        .outerjoin(REVIEW, REVIEW.c.id == LEASE.c.review_id)
        .where(_of_people(queue_id), LEASE.c.done | _is_leased(now))
        .group_by(LEASE.c.reviewer_id)
    )
    work = [row._asdict() for row in connection.execute(query)]
    return {columns.pop("reviewer_id"): columns for columns in work}


def median_seconds(connection: Connection, queue_id: int) -> dict[int, float]:
    """Return the median time that each person (by id) spent on an item, in seconds, without unmeasured times."""
    person = LEASE.c.reviewer_id
    ranked = (
        select(
            person,
            REVIEW.c.seconds,
            func.row_number().over(partition_by=person, order_by=REVIEW.c.seconds).label("rank"),
            func.count().over(partition_by=person).label("count"),
        )
        .join(REVIEW, REVIEW.c.id == LEASE.c.review_id)
        .where(_of_people(queue_id), LEASE.c.done.is_(True), REVIEW.c.seconds.is_not(None))
        .subquery()
    )
    # The middle value, or the two middle values.
    middle = and_(2 * ranked.c.rank >= ranked.c.count, 2 * ranked.c.rank <= ranked.c.count + 2)
    query = select(ranked.c.reviewer_id, func.avg(ranked.c.seconds)).where(middle).group_by(ranked.c.reviewer_id)
    return {reviewer_id: float(value) for reviewer_id, value in connection.execute(query)}


def count_skipped(connection: Connection, queue_id: int) -> dict[int, int]:
    """Return the number of items that each person (by id) skipped in a queue."""
    here = exists().where(QUEUE_ITEM.c.id == SKIP.c.queue_item_id, QUEUE_ITEM.c.queue_id == queue_id)
    query = select(SKIP.c.reviewer_id, func.count(SKIP.c.queue_item_id.distinct())).where(here, NOT_UNDONE)
    return dict(connection.execute(query.group_by(SKIP.c.reviewer_id)).all())


def _of_people(queue_id: int) -> ColumnElement[bool]:
    """The leases of a queue that somebody took; selected by person, so that free leases are not read."""
    return and_(LEASE.c.reviewer_id.in_(select(REVIEWER.c.id)), LEASE.c.queue_id == queue_id)


def _is_leased(now: datetime) -> ColumnElement[bool]:
    return and_(LEASE.c.done.is_(False), LEASE.c.until > now)


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A conflict with the name of its queue and the start of its question; ``external_id`` is None for a pair."""

    item_id: int
    queue: str
    response_id: int | None
    pair_id: int | None
    external_id: str | None
    query_type: str | None
    question: str | None
    state: ItemState
    reviews_needed: int
    joined_at: datetime


_CONFLICT_ID = func.coalesce(RESPONSE.c.external_id, PAIR.c.external_id)
_CONFLICTS: Select[Any] = (
    select(
        QUEUE_ITEM.c.id.label("item_id"),
        QUEUE.c.name.label("queue"),
        *(QUEUE_ITEM.c[name] for name in ("response_id", "pair_id", "state", "reviews_needed", "joined_at")),
        _CONFLICT_ID.label("external_id"),
        func.coalesce(RESPONSE.c.query_type, PAIR.c.query_type).label("query_type"),
        case((QUEUE_ITEM.c.pair_id.is_(None), QUESTION), else_=PAIR.c.question).label("question"),
    )
    .join(QUEUE, QUEUE.c.id == QUEUE_ITEM.c.queue_id)
    .join(RESPONSE, RESPONSE.c.id == QUEUE_ITEM.c.response_id, isouter=True)
    .join(PAIR, PAIR.c.id == QUEUE_ITEM.c.pair_id, isouter=True)
    .where(_CONFLICT_ID.is_not(None))  # leaves out conflicts whose answer or pair is hidden
)


def conflict_rows(
    connection: Connection, queue_id: int | None = None, *, after: int = 0, limit: int = 50
) -> list[ConflictRow]:
    """Return the open conflicts of a queue, or of all open queues, by id, with ids above ``after``."""
    query = _open_conflicts(queue_id).where(QUEUE_ITEM.c.id > after).order_by(QUEUE_ITEM.c.id).limit(limit)
    return [record_of(ConflictRow, row) for row in connection.execute(query)]


def count_conflicts(connection: Connection, queue_id: int | None = None) -> int:
    """Return the number of open conflicts of a queue, or of all open queues."""
    conflicts = _open_conflicts(queue_id).subquery()
    return connection.execute(select(func.count()).select_from(conflicts)).scalar_one()


def _open_conflicts(queue_id: int | None) -> Select[Any]:
    is_open = select(QUEUE.c.id).where(QUEUE.c.state == QueueState.OPEN.value).correlate(None)
    return _CONFLICTS.where(
        QUEUE_ITEM.c.queue_id.in_(is_open) if queue_id is None else QUEUE_ITEM.c.queue_id == queue_id,
        QUEUE_ITEM.c.state == ItemState.CONFLICT.value,
    )


def own_conflict_rows(connection: Connection, reviewer_id: int, *, limit: int) -> list[ConflictRow]:
    """Return the conflicts on items that a person reviewed, including adjudicated ones, the newest first."""
    reviewed = select(LEASE.c.queue_item_id).where(LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True))
    differed = QUEUE_ITEM.c.state.in_((ItemState.CONFLICT.value, ItemState.ADJUDICATED.value))
    query = _CONFLICTS.where(QUEUE_ITEM.c.id.in_(reviewed), differed).order_by(QUEUE_ITEM.c.id.desc()).limit(limit)
    return [record_of(ConflictRow, row) for row in connection.execute(query)]
