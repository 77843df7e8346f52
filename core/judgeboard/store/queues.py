"""Queues: options, assigned reviewers, progress and conflicts."""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    delete,
    exists,
    func,
    select,
    update,
)

from judgeboard.domain import Decision, ItemState, QueueOrder, QueueState
from judgeboard.errors import BadInput, MissingOption, NotFound
from judgeboard.settings.option_words import checked
from judgeboard.settings.sections import QueueOptions
from judgeboard.store.filters import RowFilter
from judgeboard.store.leases import NOT_UNDONE
from judgeboard.store.responses import QUESTION
from judgeboard.store.reviewers import reviewers_by_id
from judgeboard.store.statements import (
    count_rows,
    first_row,
    get_row,
    grouped,
    insert_or_skip,
    record_of,
    rows_of,
)
from judgeboard.store.tables import (
    LEASE,
    PAIR,
    QUEUE,
    QUEUE_ASSIGNMENT,
    QUEUE_ITEM,
    RESPONSE,
    REVIEW,
    REVIEWER,
    SKIP,
    Queue,
    Reviewer,
)

ANSWERS, PAIRS = "answers", "pairs"

ORDER_LABELS: dict[QueueOrder, str] = {
    QueueOrder.SEVERITY: "most doubtful first",
    QueueOrder.OLDEST: "oldest first",
    QueueOrder.DISAGREEMENT: "largest difference between judges first",
    QueueOrder.INSTABILITY: "largest difference between repeats of a judge first",
    QueueOrder.RANDOM: "in random order",
}
FROM_SCORES = (QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY)
LONGEST_NAME = 60  # characters


def new_queue(name: str, where: RowFilter | None = None, **options: object) -> Queue:
    """Return a queue that is not stored yet.

    A queue of pairs is always blind. In a training queue each person gets all answers with gold
    labels, up to the limit, in random order. A queue with a limit gets the first items of the order
    at creation, and no items later.

    Args:
        name: The name in commands, pages and sentences.
        where: The answers or pairs of the queue (default: all).
        options: Fields of `QueueOptions`, by the names of columns or of options.

    Raises:
        BadInput: An option is unknown or outside the range, or options do not fit each other.
    """
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadInput(f"a queue has a name of 1 to {LONGEST_NAME} printable characters")
    checked_options = checked(QueueOptions, options)
    values = dict(checked_options)
    of_pairs = checked_options.subject == PAIRS
    if of_pairs:
        values |= {"blind_judge": True, "blind_people": True}
    if checked_options.training:
        values |= {"flagged_only": False, "blind_people": True, "sort": QueueOrder.RANDOM}
    elif "sort" not in checked_options.model_fields_set:
        blind = of_pairs or checked_options.blind_judge
        values["sort"] = orders_of(blind=blind, flagged_only=checked_options.flagged_only)[0]
    values["optional_grades"] = tuple(
        grade
        for grade in dict.fromkeys(checked_options.optional_grades)
        if grade not in checked_options.grades
    )
    queue = Queue(name=name, filter=where or RowFilter(), **values)
    if queue.blind_judge and queue.sort in FROM_SCORES:
        raise BadInput(
            f"the order {queue.sort.value} ({ORDER_LABELS[queue.sort]}) uses judges' scores, which this "
            "queue hides: order by oldest or random"
        )
    if of_pairs and (queue.training or queue.test_rate):
        raise BadInput("test items and training are for answers, not for pairs")
    if queue.training and (queue.test_rate or queue.repeat_rate):
        raise BadInput("a training queue has no test items and no repeats: set both rates to 0")
    if not queue.flagged_only:
        if of_pairs:
            raise BadInput("pairs have no flags: leave out the choice of flagged answers")
        if queue.max_items is None and not queue.training:
            raise MissingOption(
                "a queue of all answers needs a number of items: give --limit", "--limit", "200"
            )
        if queue.sampling_rate:
            raise BadInput(
                "only a queue of flagged answers can have a share of randomly sampled answers"
            )
        if queue.sort is QueueOrder.SEVERITY:
            raise BadInput(
                "answers without a flag have no severity: choose another order, for example random"
            )
    return queue


def orders_of(*, blind: bool, flagged_only: bool = True) -> tuple[QueueOrder, ...]:
    """Return the orders that a queue can have, the default first. A queue ``blind`` to the judge uses no scores."""
    if not blind and not flagged_only:
        return (
            QueueOrder.RANDOM,
            QueueOrder.OLDEST,
            QueueOrder.DISAGREEMENT,
            QueueOrder.INSTABILITY,
        )
    if not blind:
        return tuple(QueueOrder)
    return (
        QueueOrder.RANDOM,
        *(order for order in QueueOrder if order not in (*FROM_SCORES, QueueOrder.RANDOM)),
    )


def insert_queue(connection: Connection, queue: Queue) -> Queue | None:
    """Store a queue and return the queue with an id; None if another queue already has this name."""
    statement = insert_or_skip(connection, QUEUE, "name").returning(QUEUE.c.id)
    queue_id = connection.scalar(statement, queue.new_values())
    return None if queue_id is None else queue_by_id(connection, queue_id)


def find_queue(connection: Connection, name: str) -> Queue | None:
    """Return the queue with this name, or None."""
    return first_row(connection, select(Queue).where(QUEUE.c.name == name))


def free_name(connection: Connection, name: str, own_names: Collection[str] = ()) -> str:
    """Return a name that no queue has, except those of ``own_names``: the name, or the name with a number."""
    base = name[: LONGEST_NAME - 4].rstrip()  # leaves room for the number
    names = itertools.chain([base], (f"{base}-{number}" for number in itertools.count(2)))
    return next(each for each in names if each in own_names or not find_queue(connection, each))


def queue_named(connection: Connection, name: str) -> Queue:
    """Return the queue of a name. Raises NotFound, with the names of all queues."""
    queue = find_queue(connection, name)
    if queue is None:
        names = connection.scalars(select(QUEUE.c.name).order_by(QUEUE.c.name)).all()
        hint = (
            f"the queues are {', '.join(names)}"
            if names
            else "make one with `judgeboard queue create`"
        )
        raise NotFound(f"no queue is called {name!r}: {hint}")
    return queue


def queue_by_id(connection: Connection, queue_id: int) -> Queue:
    """Return a queue that is known to exist."""
    return get_row(connection, Queue, queue_id, "queue")


def list_queues(
    connection: Connection, *, only_open: bool = False, subject: str | None = None
) -> list[Queue]:
    """Return the queues: open queues first, then the newest first."""
    query = select(Queue).order_by(QUEUE.c.state.desc(), QUEUE.c.id.desc())
    if only_open:
        query = query.where(QUEUE.c.state == QueueState.OPEN)
    if subject is not None:
        query = query.where(QUEUE.c.subject == subject)
    return rows_of(connection, query)


def set_queue_state(connection: Connection, queue_id: int, state: QueueState) -> None:
    """Open or close a queue."""
    connection.execute(update(QUEUE).where(QUEUE.c.id == queue_id).values(state=state))


def assign(connection: Connection, queue_id: int, reviewer_ids: Sequence[int]) -> None:
    """Assign a queue to people."""
    if reviewer_ids:
        rows = [{"queue_id": queue_id, "reviewer_id": each} for each in reviewer_ids]
        connection.execute(
            insert_or_skip(connection, QUEUE_ASSIGNMENT, "queue_id", "reviewer_id"), rows
        )


def unassign(connection: Connection, queue_id: int, reviewer_ids: Collection[int]) -> None:
    """Remove people from a queue."""
    in_queue = QUEUE_ASSIGNMENT.c.queue_id == queue_id
    connection.execute(
        delete(QUEUE_ASSIGNMENT).where(in_queue, QUEUE_ASSIGNMENT.c.reviewer_id.in_(reviewer_ids))
    )


def assignees(connection: Connection, queue_id: int) -> list[Reviewer]:
    """Return the people to whom a queue is assigned, by name. An unassigned queue is open to everybody."""
    ids = select(QUEUE_ASSIGNMENT.c.reviewer_id).where(QUEUE_ASSIGNMENT.c.queue_id == queue_id)
    people = reviewers_by_id(connection, connection.scalars(ids).all())
    return sorted(people, key=lambda each: (each.name, each.origin))


def queues_by_person(connection: Connection) -> dict[int, list[Queue]]:
    """Return the open queues that are assigned to each person (by id), the oldest first."""
    is_open = QUEUE.c.state == QueueState.OPEN
    queues = {queue.id: queue for queue in rows_of(connection, select(Queue).where(is_open))}
    query = select(QUEUE_ASSIGNMENT.c.reviewer_id, QUEUE_ASSIGNMENT.c.queue_id).where(
        QUEUE_ASSIGNMENT.c.queue_id.in_(queues)
    )
    rows = connection.execute(query.order_by(QUEUE_ASSIGNMENT.c.queue_id))
    return grouped((reviewer_id, queues[queue_id]) for reviewer_id, queue_id in rows)


def may_take_from(connection: Connection, queue_id: int, reviewer_id: int) -> bool:
    """Return whether a queue is open to everybody or assigned to this person."""
    query = select(QUEUE_ASSIGNMENT.c.reviewer_id).where(QUEUE_ASSIGNMENT.c.queue_id == queue_id)
    people = set(connection.scalars(query))
    return not people or reviewer_id in people


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
    return [
        ItemCount(state, bool(more), n, int(reviews_needed))
        for state, more, n, reviews_needed in connection.execute(query)
    ]


def count_leases(connection: Connection, queue_id: int, now: datetime) -> tuple[int, int]:
    """Return how many items are leased now, and the number of reviews in a queue, both without repeats."""
    leased_items = case((_is_leased(now), LEASE.c.queue_item_id))
    query = select(func.count(leased_items.distinct()), func.count(case((LEASE.c.done, 1))))
    items, reviews = connection.execute(
        query.where(_of_people(queue_id), LEASE.c.repeat_for.is_(None))
    ).one()
    return items, reviews


def count_work(connection: Connection, queue_id: int, now: datetime) -> dict[int, dict[str, Any]]:
    """Return, by person, the counts of reviews (``done``, ``unsure``) and current ``leases``, and the ``last`` time."""
    query = (
        select(
            LEASE.c.reviewer_id,
            func.count(case((LEASE.c.done, 1))).label("done"),
            func.count(case((REVIEW.c.decision == Decision.UNSURE, 1))).label("unsure"),
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
    ranks = (
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
    middle = and_(2 * ranks.c.rank >= ranks.c.count, 2 * ranks.c.rank <= ranks.c.count + 2)
    query = (
        select(ranks.c.reviewer_id, func.avg(ranks.c.seconds))
        .where(middle)
        .group_by(ranks.c.reviewer_id)
    )
    return {reviewer_id: float(value) for reviewer_id, value in connection.execute(query)}


def count_skipped(connection: Connection, queue_id: int) -> dict[int, int]:
    """Return the number of items that each person (by id) skipped in a queue."""
    in_queue = exists().where(
        QUEUE_ITEM.c.id == SKIP.c.queue_item_id, QUEUE_ITEM.c.queue_id == queue_id
    )
    query = select(SKIP.c.reviewer_id, func.count(SKIP.c.queue_item_id.distinct())).where(
        in_queue, NOT_UNDONE
    )
    return dict(connection.execute(query.group_by(SKIP.c.reviewer_id)).all())


def _of_people(queue_id: int) -> ColumnElement[bool]:
    """Return the condition of a taken lease of a queue. The condition names people: free leases are not read."""
    return and_(LEASE.c.reviewer_id.in_(select(REVIEWER.c.id)), LEASE.c.queue_id == queue_id)


def _is_leased(now: datetime) -> ColumnElement[bool]:
    return and_(LEASE.c.done.is_(False), LEASE.c.until > now)


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A conflict with the name of the queue and the start of the question; ``external_id`` is None for a pair."""

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
        *(
            QUEUE_ITEM.c[name]
            for name in ("response_id", "pair_id", "state", "reviews_needed", "joined_at")
        ),
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
    query = (
        _open_conflicts(queue_id)
        .where(QUEUE_ITEM.c.id > after)
        .order_by(QUEUE_ITEM.c.id)
        .limit(limit)
    )
    return [record_of(ConflictRow, row) for row in connection.execute(query)]


def count_conflicts(connection: Connection, queue_id: int | None = None) -> int:
    """Return the number of open conflicts of a queue, or of all open queues."""
    conflicts = _open_conflicts(queue_id).subquery()
    return count_rows(connection, conflicts)


def _open_conflicts(queue_id: int | None) -> Select[Any]:
    is_open = select(QUEUE.c.id).where(QUEUE.c.state == QueueState.OPEN).correlate(None)
    return _CONFLICTS.where(
        QUEUE_ITEM.c.queue_id.in_(is_open)
        if queue_id is None
        else QUEUE_ITEM.c.queue_id == queue_id,
        QUEUE_ITEM.c.state == ItemState.CONFLICT,
    )


def own_conflict_rows(connection: Connection, reviewer_id: int, *, limit: int) -> list[ConflictRow]:
    """Return the conflicts on items that a person reviewed, including adjudicated ones, the newest first."""
    reviewed_items = select(LEASE.c.queue_item_id).where(
        LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    is_conflict = QUEUE_ITEM.c.state.in_((ItemState.CONFLICT, ItemState.ADJUDICATED))
    query = (
        _CONFLICTS.where(QUEUE_ITEM.c.id.in_(reviewed_items), is_conflict)
        .order_by(QUEUE_ITEM.c.id.desc())
        .limit(limit)
    )
    return [record_of(ConflictRow, row) for row in connection.execute(query)]
