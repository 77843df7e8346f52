"""The tables of named queues: what a queue holds, who holds an item, what was put aside, what was commented."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlmodel import Field

from judgeboard.domain import ItemState, QueueOrder, QueueState
from judgeboard.store.schema.column_types import BigId, JsonValue, Utc
from judgeboard.store.schema.table_base import Table, one_of, partial

_UNFINISHED = "again_for IS NULL AND state IN ('open', 'split')"


class QueueRow(Table, table=True):
    """A named queue and its rules; only its state changes. What waits outside any queue needs no row here.

    ``overlap`` is the share of its items that need ``reviews_needed`` reviews, the others need one. ``sampling_rate``
    is the share of its items that are sampled at random. ``again_share`` is the probability that a person is
    silently served an earlier item of theirs. ``subject`` says whether it holds flagged answers or pairs.
    """

    __tablename__ = "queue"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("name"),
        one_of("state", QueueState),
        one_of("sort", QueueOrder),
        CheckConstraint("subject IN ('answers', 'pairs')", name="subject"),
        CheckConstraint("reviews_needed >= 1", name="reviews_needed"),
        CheckConstraint("overlap >= 0 AND overlap <= 1", name="overlap"),
        CheckConstraint("sampling_rate >= 0 AND sampling_rate < 1", name="sampling_rate"),
        CheckConstraint("again_share >= 0 AND again_share < 1", name="again_share"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    name: str
    subject: str = "answers"
    state: str = QueueState.OPEN.value
    filter: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    sort: str = QueueOrder.SEVERITY.value
    reviews_needed: int = 1
    overlap: float = 1.0
    seed: str = "judgeboard"
    blind_people: bool = False
    blind_judge: bool = False
    reveal: bool = True
    grades: list[str] = Field(default_factory=list, sa_type=JsonValue)
    sampling_rate: float = 0.0
    again_share: float = 0.0
    lease_seconds: int = 600
    guidelines: str | None = None
    made_by: str
    created_at: datetime = Field(sa_type=Utc)


class QueueAssignmentRow(Table, table=True):
    """A person to whom a queue is given; a queue without any is everybody's."""

    __tablename__ = "queue_assignment"
    __table_args__: ClassVar[Any] = (Index("ix_queue_assignment_reviewer", "reviewer_id", "queue_id"),)

    queue_id: int = Field(foreign_key="queue.id", primary_key=True, sa_type=BigId)
    reviewer_id: int = Field(foreign_key="reviewer.id", primary_key=True, sa_type=BigId)


class QueueItemRow(Table, table=True):
    """An answer or a pair in a queue; ``position`` orders it (lower first), ``sampled`` was drawn at random.

    It is there once while anything waits for it; a flag raised after it was settled brings it in anew.
    ``again_for`` is set where one person is served an item of theirs again: it decides nothing.
    """

    __tablename__ = "queue_item"
    __table_args__: ClassVar[Any] = (
        one_of("state", ItemState),
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
        # What is hidden from a person, and what holds a flag open, is asked by the answer.
        Index("ix_queue_item_of_response", "response_id", "state"),
        Index("ix_queue_item_of_pair", "pair_id", "state"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    queue_id: int = Field(foreign_key="queue.id", sa_type=BigId)
    response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    pair_id: int | None = Field(default=None, foreign_key="pair.id", sa_type=BigId)
    reviews_needed: int = 1
    position: float
    sampled: bool = False
    again_for: int | None = Field(default=None, foreign_key="reviewer.id", sa_type=BigId)
    state: str = ItemState.OPEN.value
    joined_at: datetime = Field(sa_type=Utc)


class QueueItemFlagRow(Table, table=True):
    """A flag for which an answer is in a queue: the item keeps it open, and what comes of the item decides it."""

    __tablename__ = "queue_item_flag"
    __table_args__: ClassVar[Any] = (Index("ix_queue_item_flag_flag", "flag_id", "queue_item_id"),)

    queue_item_id: int = Field(foreign_key="queue_item.id", primary_key=True, sa_type=BigId)
    flag_id: int = Field(foreign_key="flag.id", primary_key=True, sa_type=BigId)


class LeaseRow(Table, table=True):
    """The place for one review of an item: free, held by a reviewer until a moment, or ``done``.

    An item has as many as it needs reviews, laid when it joins, so that taking one is one statement on one row.
    ``position`` and ``again_for`` are the item's. ``review_id`` is the review given from here;
    ``revealed_at`` is when its author saw what had been hidden.
    """

    __tablename__ = "lease"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("queue_item_id", "slot"),
        UniqueConstraint("queue_item_id", "reviewer_id"),
        UniqueConstraint("token"),
        Index("ix_lease_waiting", "queue_id", "position", "queue_item_id", "slot", **partial("NOT done")),
        Index("ix_lease_reviewer", "reviewer_id", "queue_id", "done"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    queue_id: int = Field(foreign_key="queue.id", sa_type=BigId)
    queue_item_id: int = Field(foreign_key="queue_item.id", sa_type=BigId)
    slot: int
    position: float
    again_for: int | None = Field(default=None, foreign_key="reviewer.id", sa_type=BigId)
    reviewer_id: int | None = Field(default=None, foreign_key="reviewer.id", sa_type=BigId)
    token: str | None = None
    taken_at: datetime | None = Field(default=None, sa_type=Utc)
    until: datetime | None = Field(default=None, sa_type=Utc)
    done: bool = False
    review_id: int | None = Field(default=None, foreign_key="review.id", sa_type=BigId)
    revealed_at: datetime | None = Field(default=None, sa_type=Utc)


class SkipRow(Table, table=True):
    """An item that somebody put aside, and why; it is not handed to them again unless they ask for it."""

    __tablename__ = "skip"
    __table_args__: ClassVar[Any] = (Index("ix_skip_item", "queue_item_id", "reviewer_id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    queue_item_id: int = Field(foreign_key="queue_item.id", sa_type=BigId)
    reviewer_id: int = Field(foreign_key="reviewer.id", sa_type=BigId)
    reason: str | None = None
    at: datetime = Field(sa_type=Utc)


class CommentRow(Table, table=True):
    """A comment on an answer or a pair, for the others; an edit names the comment it replaces."""

    __tablename__ = "comment"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("request_key"),
        UniqueConstraint("replaces"),
        CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
        Index("ix_comment_response", "response_id"),
        Index("ix_comment_pair", "pair_id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    pair_id: int | None = Field(default=None, foreign_key="pair.id", sa_type=BigId)
    reviewer_id: int = Field(foreign_key="reviewer.id", sa_type=BigId)
    text: str | None = None  # null only after forgetting, or where it withdraws the one it replaces
    replaces: int | None = Field(default=None, foreign_key="comment.id", sa_type=BigId)
    request_key: str
    at: datetime = Field(sa_type=Utc)


QUEUE_APPEND_ONLY: tuple[str, ...] = ("skip", "comment")

# A queue is what its lead made it; people are given to it and taken off by rows of queue_assignment.
QUEUE_CHANGEABLE: dict[str, tuple[str, ...]] = {
    "queue": ("state",),
    "queue_item": ("state", "position", "reviews_needed"),
}

QUEUE_FORGETTABLE: dict[str, tuple[str, ...]] = {"comment": ("text",)}

OF_ANSWER_OR_PAIR = (
    "SELECT OLD.response_id UNION ALL SELECT response_a_id FROM pair WHERE pair.id = OLD.pair_id "
    "UNION ALL SELECT response_b_id FROM pair WHERE pair.id = OLD.pair_id"
)
QUEUE_RESPONSES: dict[str, str] = {"comment": OF_ANSWER_OR_PAIR}
