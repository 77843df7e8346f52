"""Tables of review queues, their items, and what reviewers hold of them."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, UniqueConstraint

from judgeboard.domain import ItemState, QueueOrder, QueueState
from judgeboard.store.tables.columns import (
    BigId,
    JsonData,
    JsonTuple,
    JsonValue,
    Row,
    Stored,
    Utc,
    column,
    one_of,
    partial,
    table_of,
)

_UNFINISHED = "repeat_for IS NULL AND state IN ('open', 'conflict')"


class Queue(Stored, table=True):
    """A named queue and its rules; only its state changes. Open flags outside queues have no row here."""

    has_hidden_rows = False

    name: str
    created_by: str
    subject: str = column(default="answers")
    state: QueueState = column(one_of(QueueState, "state"), default=QueueState.OPEN, changes=True)
    filter: JsonData = column(JsonValue, default_factory=dict)
    sort: QueueOrder = column(one_of(QueueOrder, "sort"), default=QueueOrder.SEVERITY)
    reviews_needed: int = column(default=1)
    overlap: float = column(default=1.0)
    seed: str = column(default="judgeboard")
    blind_people: bool = column(default=False)
    blind_judge: bool = column(default=False)
    training: bool = column(default=False)
    reveal: bool = column(default=True)
    flagged_only: bool = column(default=True)
    grades: tuple[Any, ...] = column(JsonTuple, default_factory=list, comment="A review must give them.")
    optional_grades: tuple[Any, ...] = column(JsonTuple, default_factory=list)
    max_items: int | None = column(comment="If set, nothing joins the queue after its creation.")
    drawn_from: int | None = column(comment="Number of answers or pairs that matched.")
    plan: JsonData | None = column(
        JsonValue, comment="The strata of a planned queue: answers, labelled, drawn, inclusion probability."
    )
    sampling_rate: float = column(default=0.0)
    repeat_rate: float = column(default=0.0)
    test_rate: float = column(default=0.0)
    implied_labels: bool | None = column(comment="Whether decisions imply labels; NULL: the setting applies.")
    lease_seconds: int = column(default=600)
    guidelines: str | None
    label_schema_id: int | None = column(BigId, refers="label_schema")
    created_at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("name"),
        CheckConstraint("subject IN ('answers', 'pairs')", name="subject"),
        CheckConstraint("reviews_needed >= 1", name="reviews_needed"),
        CheckConstraint("max_items IS NULL OR max_items >= 1", name="max_items"),
        CheckConstraint("flagged_only OR training OR max_items IS NOT NULL", name="flagged_only"),
        CheckConstraint("overlap >= 0 AND overlap <= 1", name="overlap"),
        CheckConstraint("sampling_rate >= 0 AND sampling_rate < 1", name="sampling_rate"),
        CheckConstraint("repeat_rate >= 0 AND repeat_rate < 1", name="repeat_rate"),
        CheckConstraint("test_rate >= 0 AND test_rate < 1", name="test_rate"),
    )


QUEUE = table_of(Queue)


class QueueAssignment(Row, table=True):
    """A person to whom a queue is assigned; a queue without any is open to everybody."""

    is_free = True
    has_hidden_rows = False

    queue_id: int = column(BigId, refers="queue", primary_key=True)
    reviewer_id: int = column(BigId, refers="reviewer", primary_key=True)

    __table_args__ = (Index("ix_queue_assignment_reviewer", "reviewer_id", "queue_id"),)


QUEUE_ASSIGNMENT = table_of(QueueAssignment)


class QueueItem(Stored, table=True):
    """An answer or a pair in a queue; a flag raised after its item is finished adds another item."""

    has_hidden_rows = False

    queue_id: int = column(BigId, refers="queue")
    response_id: int | None = column(BigId, refers="response", reads=True)
    pair_id: int | None = column(BigId, refers="pair")
    reviews_needed: int = column(default=1, changes=True)
    position: float = column(changes=True, comment="Lower comes first.")
    sampled: bool = column(default=False, comment="Drawn at random.")
    stratum: int | None = column(comment="Position of its stratum in the plan of the queue.")
    repeat_for: int | None = column(BigId, refers="reviewer", comment="A repeat for one person; it decides nothing.")
    test: bool = column(default=False, comment="The item of `repeat_for` has a gold label.")
    state: ItemState = column(one_of(ItemState, "state"), default=ItemState.OPEN, changes=True)
    joined_at: datetime = column(Utc)
    bulk: str | None = column(
        exported=False, comment="The bulk action that added the item, whatever the filter of the queue."
    )

    __table_args__ = (
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
        CheckConstraint("reviews_needed >= 1", name="reviews_needed"),
        Index(
            "uq_queue_item_response",
            "queue_id",
            "response_id",
            unique=True,
            **partial(f"response_id IS NOT NULL AND {_UNFINISHED}"),
        ),
        Index(
            "uq_queue_item_pair",
            "queue_id",
            "pair_id",
            unique=True,
            **partial(f"pair_id IS NOT NULL AND {_UNFINISHED}"),
        ),
        Index("ix_queue_item_state", "queue_id", "state", "sampled"),
        Index("ix_queue_item_place", "queue_id", "position", "id"),
        # Finds by answer what is hidden from a person, and which items keep a flag open.
        Index("ix_queue_item_of_response", "response_id", "state"),
        Index("ix_queue_item_of_pair", "pair_id", "state"),
        Index("ix_queue_item_bulk", "bulk", "id", **partial("bulk IS NOT NULL")),
    )


QUEUE_ITEM = table_of(QueueItem)


class QueueItemFlag(Row, table=True):
    """A flag for which an answer is in a queue: the item keeps it open and decides it."""

    is_free = True
    has_hidden_rows = False

    queue_item_id: int = column(BigId, refers="queue_item", primary_key=True, exported=False)
    flag_id: int = column(BigId, refers="flag", primary_key=True)

    __table_args__ = (Index("ix_queue_item_flag_flag", "flag_id", "queue_item_id"),)


QUEUE_ITEM_FLAG = table_of(QueueItemFlag)


class Lease(Stored, table=True):
    """A slot for one review of an item: free, leased until a time, or done; added with the item."""

    is_free = True
    has_hidden_rows = False

    queue_id: int = column(BigId, refers="queue")
    queue_item_id: int = column(BigId, refers="queue_item", exported=False)
    slot: int
    position: float
    repeat_for: int | None = column(BigId, refers="reviewer")
    reviewer_id: int | None = column(BigId, refers="reviewer")
    review_id: int | None = column(BigId, refers="review")
    token: str | None
    taken_at: datetime | None = column(Utc)
    until: datetime | None = column(Utc)
    done: bool = column(default=False)
    revealed_at: datetime | None = column(Utc, comment="When the reviewer saw what had been hidden.")

    __table_args__ = (
        UniqueConstraint("queue_item_id", "slot"),
        UniqueConstraint("queue_item_id", "reviewer_id"),
        UniqueConstraint("token"),
        Index("ix_lease_waiting", "queue_id", "position", "queue_item_id", "slot", **partial("NOT done")),
        Index("ix_lease_reviewer", "reviewer_id", "queue_id", "done"),
    )


LEASE = table_of(Lease)


class TakenLease(Stored, table=True):
    """Who took which lease, and when: a lease that ended, or went to somebody else, forgets its reviewer."""

    has_hidden_rows = False

    queue_item_id: int = column(BigId, refers="queue_item", exported=False)
    reviewer_id: int = column(BigId, refers="reviewer")
    token: str
    at: datetime = column(Utc)

    __table_args__ = (Index("ix_taken_lease_item", "queue_item_id", "reviewer_id"),)


TAKEN_LEASE = table_of(TakenLease)


class Skip(Stored, table=True):
    """An item that somebody skipped, and why; it is leased to them again only if they ask for it."""

    has_hidden_rows = False

    queue_item_id: int = column(BigId, refers="queue_item", exported=False)
    reviewer_id: int = column(BigId, refers="reviewer")
    reason: str | None
    at: datetime = column(Utc)
    undone_at: datetime | None = column(
        Utc, changes=True, comment="Set when its person undid the skip, which then counts nowhere."
    )

    __table_args__ = (Index("ix_skip_item", "queue_item_id", "reviewer_id"),)


SKIP = table_of(Skip)


class Draft(Stored, table=True):
    """Grades and texts that somebody has not stored yet; deleted with their review, never exported."""

    is_free = True
    has_hidden_rows = False

    reviewer_id: int = column(BigId, refers="reviewer")
    response_id: int | None = column(BigId, refers="response")
    pair_id: int | None = column(BigId, refers="pair")
    content: JsonData = column(JsonValue)
    at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("response_id", "reviewer_id"),
        UniqueConstraint("pair_id", "reviewer_id"),
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
    )


DRAFT = table_of(Draft)
