"""Queues: their rules, the reviewers to whom they are assigned, their progress and their conflicts."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Self, TypedDict

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

from judgeboard.domain import LONGEST_KEY, Decision, ItemState, QueueOrder, QueueState
from judgeboard.errors import BadInput, MissingOption, NotFound
from judgeboard.store.filters import RowFilter, from_dict
from judgeboard.store.label_schemas import LABEL_SCHEMA_TITLE
from judgeboard.store.leases import NOT_UNDONE
from judgeboard.store.responses import QUESTION
from judgeboard.store.reviewers import reviewers_by_id
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
    Reviewer,
)
from judgeboard.text import number_words, unstorable

ANSWERS, PAIRS = "answers", "pairs"
_JSON_KEYS = (  # the columns in the order in which commands have always written them
    *("id", "name", "subject", "state", "filter", "sort", "reviews_needed", "overlap", "seed"),
    *(
        "blind_people",
        "blind_judge",
        "reveal",
        "grades",
        "optional_grades",
        "flagged_only",
        "max_items",
    ),
    *(
        "drawn_from",
        "plan",
        "sampling_rate",
        "repeat_rate",
        "test_rate",
        "training",
        "implied_labels",
    ),
    *("lease_seconds", "guidelines", "created_by", "created_at", "label_schema_id", "label_schema"),
)

ORDER_LABELS: dict[QueueOrder, str] = {
    QueueOrder.SEVERITY: "most doubtful first",
    QueueOrder.OLDEST: "oldest first",
    QueueOrder.DISAGREEMENT: "largest difference between judges first",
    QueueOrder.INSTABILITY: "largest difference between repeats of a judge first",
    QueueOrder.RANDOM: "in random order",
}
FROM_SCORES = (QueueOrder.SEVERITY, QueueOrder.DISAGREEMENT, QueueOrder.INSTABILITY)
MOST_REVIEWS = 20
MOST_ITEMS = 100_000  # largest ``max_items``
LONGEST_NAME = 60  # characters
LONGEST_GUIDELINES = 20_000  # characters


class PlainRuleKeywords(TypedDict, total=False):
    """The rules of a queue that a command hands on as they were typed: fields of `QueueRules`."""

    needed: int
    overlap: float
    blind_people: bool
    blind_judge: bool
    sampling_rate: float
    repeat_rate: float
    test_rate: float
    training: bool
    implied_labels: bool | None
    seed: str
    subject: str
    flagged_only: bool
    max_items: int | None


class RuleKeywords(PlainRuleKeywords, total=False):
    """The rules that a preset or a command chooses for a queue."""

    order: QueueOrder
    reveal: bool
    grades: tuple[str, ...]
    optional_grades: tuple[str, ...]
    guidelines: str | None


@dataclass(frozen=True, slots=True)
class QueueRules:
    """Which items a queue has, and how they are reviewed.

    ``subject`` is ``answers`` (flagged ones that ``where`` matches) or ``pairs``. ``overlap`` (0 to
    1) is the share of items that need ``needed`` reviews; the others need one. ``sampling_rate`` (0
    to below 1) is the share of randomly sampled answers. ``repeat_rate`` (0 to below 1) is the
    probability that reviewers get one of their own items again after a week. ``test_rate`` is the
    probability of a test item: an unannounced answer with a gold label. In a ``training`` queue
    each person gets all answers with gold labels (up to ``max_items``) in random order, and sees
    the gold label after each review. A review that is not unsure must have the ``grades``, and may
    have the ``optional_grades``: label, groundedness, quality, or the name of a rubric's dimension.
    With ``implied_labels``, a review without a label gets one, whatever the rule: hallucinated if
    it confirms, grounded if it dismisses. None means that the settings decide (`implying_rules`).
    ``reveal`` shows the judge after a blind review. A queue of pairs is always blind. A queue with
    ``max_items`` (1 to 100,000) gets the first items of its order when it is created, and no items
    later. Without ``flagged_only``, answers without a flag are included. In random order the items
    are then a simple random sample. Raises BadInput if a value is outside its range, or the order
    of a queue that hides the judge uses scores.
    """

    name: str
    where: RowFilter = field(default_factory=RowFilter)
    order: QueueOrder = QueueOrder.SEVERITY
    needed: int = 1
    overlap: float = 1.0
    blind_people: bool = False
    blind_judge: bool = False
    reveal: bool = True
    grades: tuple[str, ...] = ("label", "groundedness")
    optional_grades: tuple[str, ...] = ("quality",)
    sampling_rate: float = 0.0
    repeat_rate: float = 0.0
    test_rate: float = 0.0
    training: bool = False
    implied_labels: bool | None = None
    guidelines: str | None = None
    seed: str = "judgeboard"
    lease_seconds: int = 600
    subject: str = "answers"
    flagged_only: bool = True
    max_items: int | None = None

    def __post_init__(self) -> None:
        name = " ".join(self.name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise BadInput(f"a queue has a name of 1 to {LONGEST_NAME} printable characters")
        object.__setattr__(self, "name", name)
        try:
            object.__setattr__(self, "order", QueueOrder(self.order))
        except ValueError:
            raise BadInput(
                f"the order must be one of {', '.join(QueueOrder)}, not {self.order!r}"
            ) from None
        if self.subject not in {"answers", "pairs"}:
            raise BadInput(f"the items of a queue must be answers or pairs, not {self.subject!r}")
        if self.subject == "pairs":
            object.__setattr__(self, "blind_judge", True)
            object.__setattr__(self, "blind_people", True)
        if self.training:
            for name, value in (
                ("flagged_only", False),
                ("blind_people", True),
                ("order", QueueOrder.RANDOM),
            ):
                object.__setattr__(self, name, value)
        if not 1 <= self.needed <= MOST_REVIEWS:
            raise BadInput(
                f"the number of reviews per item must be 1 to {MOST_REVIEWS}, not {self.needed}"
            )
        _check_share("overlap", self.overlap, whole=True)
        _check_share("sampling rate", self.sampling_rate)
        _check_share("repeat rate", self.repeat_rate)
        _check_share("test rate", self.test_rate)
        if not 10 <= self.lease_seconds <= 86_400:
            raise BadInput(
                f"a lease lasts from 10 seconds to a day, not {self.lease_seconds} seconds"
            )
        if self.blind_judge and self.order in FROM_SCORES:
            raise BadInput(
                f"the order {self.order.value} ({ORDER_LABELS[self.order]}) uses judges' scores, which this "
                "queue hides: order by oldest or random"
            )
        optional = tuple(
            grade for grade in dict.fromkeys(self.optional_grades) if grade not in self.grades
        )
        object.__setattr__(self, "optional_grades", optional)
        self._check_size()
        self._check_texts()

    def _check_size(self) -> None:
        if self.subject == "pairs" and (self.training or self.test_rate):
            raise BadInput("test items and training are for answers, not for pairs")
        if self.training and (self.test_rate or self.repeat_rate):
            raise BadInput("a training queue has no test items and no repeats: set both rates to 0")
        if self.max_items is not None and not 1 <= self.max_items <= MOST_ITEMS:
            raise BadInput(
                f"the number of items must be 1 to {MOST_ITEMS:,}, not {self.max_items:,}"
            )
        if self.flagged_only:
            return
        if self.subject == "pairs":
            raise BadInput("pairs have no flags: leave out the choice of flagged answers")
        if self.max_items is None and not self.training:
            raise MissingOption(
                "a queue of all answers needs a number of items: give --limit", "--limit", "200"
            )
        if self.sampling_rate:
            raise BadInput(
                "only a queue of flagged answers can have a share of randomly sampled answers"
            )
        if self.order is QueueOrder.SEVERITY:
            raise BadInput(
                "answers without a flag have no severity: choose another order, for example random"
            )

    def _check_texts(self) -> None:
        for grade in (*self.grades, *self.optional_grades):
            if not grade.strip() or len(grade) > LONGEST_KEY or not grade.isprintable():
                raise BadInput(
                    "a grade must be label, groundedness, quality or the name of a rubric's dimension"
                )
        if self.guidelines is not None and len(self.guidelines) > LONGEST_GUIDELINES:
            raise BadInput(f"guidelines have at most {LONGEST_GUIDELINES:,} characters")
        for what, text in (("the guidelines", self.guidelines), ("the seed", self.seed)):
            if text is not None and (reason := unstorable(text)):
                raise BadInput(f"{what} cannot be stored: {reason}")

    @property
    def blind(self) -> bool:
        """Whether the queue hides anything from the reviewer of an item."""
        return self.blind_people or self.blind_judge

    @property
    def asked(self) -> tuple[str, ...]:
        """The grades that a review can give, the required ones first."""
        return (*self.grades, *self.optional_grades)

    def as_row(self) -> dict[str, Any]:
        """Return the rules as columns of the table of queues."""
        row = {column: getattr(self, name) for name, column in _COLUMNS.items()}
        return row | {"filter": self.where.as_dict()}

    @classmethod
    def of_row(cls, row: Row[Any]) -> Self:
        """Return the rules of a stored queue without checks: those of today must not make an older queue unreadable."""
        rules = cls.__new__(cls)
        for name, column in _COLUMNS.items():
            object.__setattr__(rules, name, getattr(row, column))
        object.__setattr__(rules, "where", _stored_filter(json.dumps(row.filter)))
        return rules


@lru_cache(maxsize=256)
def _stored_filter(text: str) -> RowFilter:
    """Return the filter of a queue. Every review reads all open queues, and a queue's filter never changes."""
    return from_dict(json.loads(text))


# The column of each field. Three columns, which exports and JSON show too, have older names.
_COLUMNS = {each.name: each.name for each in fields(QueueRules)}
_COLUMNS |= {"where": "filter", "order": "sort", "needed": "reviews_needed"}


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


def _check_share(name: str, value: float, *, whole: bool = False) -> None:
    most = "1" if whole else "below 1"
    inside = 0 <= value <= 1 and (whole or value < 1)
    if isinstance(value, bool) or not inside:
        raise BadInput(f"the {name} is a share from 0 to {most}, not {number_words(value)}")


class Queue(NamedTuple):
    """A queue as stored. A label schema replaces the grades of its ``rules``.

    ``label_schema`` is the title of the schema that reviewers fill in ("support v2"), or None. A
    queue with ``max_items`` has the first of the ``drawn_from`` answers or pairs that matched at
    its creation. The ``plan`` of a planned queue has its strata (`DrawnStratum`). It is no
    dataclass, because `to_json` writes those field by field.
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


_QUEUES = select(QUEUE, LABEL_SCHEMA_TITLE).outerjoin(
    LABEL_SCHEMA, LABEL_SCHEMA.c.id == QUEUE.c.label_schema_id
)


def insert_queue(connection: Connection, row: dict[str, Any]) -> int | None:
    """Store a queue and return its id, or None if a queue has its name already."""
    return connection.execute(
        insert_or_skip(connection, QUEUE, "name").returning(QUEUE.c.id), row
    ).scalar_one_or_none()


def find_queue(connection: Connection, name: str) -> Queue | None:
    """Return the queue with this name, or None."""
    row = connection.execute(_QUEUES.where(QUEUE.c.name == name)).one_or_none()
    return None if row is None else _queue(row)


def queue_named(connection: Connection, name: str) -> Queue:
    """Return the queue of a name, or raise NotFound with the names of all queues."""
    queue = find_queue(connection, name)
    if queue is None:
        names = connection.execute(select(QUEUE.c.name).order_by(QUEUE.c.name)).scalars().all()
        there = (
            f"the queues are {', '.join(names)}"
            if names
            else "make one with `judgeboard queue create`"
        )
        raise NotFound(f"no queue is called {name!r}: {there}")
    return queue


def queue_by_id(connection: Connection, queue_id: int) -> Queue:
    """Return a queue that is known to exist."""
    return _queue(connection.execute(_QUEUES.where(QUEUE.c.id == queue_id)).one())


def list_queues(
    connection: Connection, *, only_open: bool = False, subject: str | None = None
) -> list[Queue]:
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
        connection.execute(
            insert_or_skip(connection, QUEUE_ASSIGNMENT, "queue_id", "reviewer_id"), rows
        )


def unassign(connection: Connection, queue_id: int, reviewer_ids: Collection[int]) -> None:
    """Remove people from a queue."""
    mine = QUEUE_ASSIGNMENT.c.queue_id == queue_id
    connection.execute(
        delete(QUEUE_ASSIGNMENT).where(mine, QUEUE_ASSIGNMENT.c.reviewer_id.in_(reviewer_ids))
    )


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
    for row in connection.execute(
        query.where(QUEUE.c.state == QueueState.OPEN.value).order_by(QUEUE.c.id)
    ):
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
    return [
        ItemCount(state, bool(more), n, int(needed))
        for state, more, n, needed in connection.execute(query)
    ]


def count_leases(connection: Connection, queue_id: int, now: datetime) -> tuple[int, int]:
    """Return how many items are leased now, and the number of reviews in a queue, both without repeats."""
    leased = case((_is_leased(now), LEASE.c.queue_item_id))
    query = select(func.count(leased.distinct()), func.count(case((LEASE.c.done, 1))))
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
    query = (
        select(ranked.c.reviewer_id, func.avg(ranked.c.seconds))
        .where(middle)
        .group_by(ranked.c.reviewer_id)
    )
    return {reviewer_id: float(value) for reviewer_id, value in connection.execute(query)}


def count_skipped(connection: Connection, queue_id: int) -> dict[int, int]:
    """Return the number of items that each person (by id) skipped in a queue."""
    here = exists().where(
        QUEUE_ITEM.c.id == SKIP.c.queue_item_id, QUEUE_ITEM.c.queue_id == queue_id
    )
    query = select(SKIP.c.reviewer_id, func.count(SKIP.c.queue_item_id.distinct())).where(
        here, NOT_UNDONE
    )
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
    return connection.execute(select(func.count()).select_from(conflicts)).scalar_one()


def _open_conflicts(queue_id: int | None) -> Select[Any]:
    is_open = select(QUEUE.c.id).where(QUEUE.c.state == QueueState.OPEN.value).correlate(None)
    return _CONFLICTS.where(
        QUEUE_ITEM.c.queue_id.in_(is_open)
        if queue_id is None
        else QUEUE_ITEM.c.queue_id == queue_id,
        QUEUE_ITEM.c.state == ItemState.CONFLICT.value,
    )


def own_conflict_rows(connection: Connection, reviewer_id: int, *, limit: int) -> list[ConflictRow]:
    """Return the conflicts on items that a person reviewed, including adjudicated ones, the newest first."""
    reviewed = select(LEASE.c.queue_item_id).where(
        LEASE.c.reviewer_id == reviewer_id, LEASE.c.done.is_(True)
    )
    differed = QUEUE_ITEM.c.state.in_((ItemState.CONFLICT.value, ItemState.ADJUDICATED.value))
    query = (
        _CONFLICTS.where(QUEUE_ITEM.c.id.in_(reviewed), differed)
        .order_by(QUEUE_ITEM.c.id.desc())
        .limit(limit)
    )
    return [record_of(ConflictRow, row) for row in connection.execute(query)]
