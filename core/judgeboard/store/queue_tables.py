"""The tables of queues: items, leases, skips, comments."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
)

from judgeboard.domain import ItemState, QueueOrder, QueueState
from judgeboard.store.columns import METADATA, BigId, JsonValue, Utc, one_of, partial

_UNFINISHED = "again_for IS NULL AND state IN ('open', 'split')"


QUEUE = Table(
    "queue",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("name", String, nullable=False),
    Column("subject", String, nullable=False, default="answers"),
    Column("state", String, nullable=False, default="open"),
    Column("filter", JsonValue, nullable=False, default=dict),
    Column("sort", String, nullable=False, default="severity"),
    Column("reviews_needed", Integer, nullable=False, default=1),
    Column("overlap", Float, nullable=False, default=1.0),
    Column("seed", String, nullable=False, default="judgeboard"),
    Column("blind_people", Boolean, nullable=False, default=False),
    Column("blind_judge", Boolean, nullable=False, default=False),
    Column("reveal", Boolean, nullable=False, default=True),
    Column("grades", JsonValue, nullable=False, default=list),
    Column("sampling_rate", Float, nullable=False, default=0.0),
    Column("again_share", Float, nullable=False, default=0.0),
    Column("lease_seconds", Integer, nullable=False, default=600),
    Column("guidelines", String),
    Column("made_by", String, nullable=False),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("name"),
    one_of("state", QueueState),
    one_of("sort", QueueOrder),
    CheckConstraint("subject IN ('answers', 'pairs')", name="subject"),
    CheckConstraint("reviews_needed >= 1", name="reviews_needed"),
    CheckConstraint("overlap >= 0 AND overlap <= 1", name="overlap"),
    CheckConstraint("sampling_rate >= 0 AND sampling_rate < 1", name="sampling_rate"),
    CheckConstraint("again_share >= 0 AND again_share < 1", name="again_share"),
)
"""A named queue and its rules; only its state changes. What waits outside any queue needs no row here.

    ``overlap`` is the share of its items that need ``reviews_needed`` reviews, the others need one. ``sampling_rate``
    is the share of its items that are sampled at random. ``again_share`` is the probability that a person is
    silently served an earlier item of theirs. ``subject`` says whether it holds flagged answers or pairs.
    """


QUEUE_ASSIGNMENT = Table(
    "queue_assignment",
    METADATA,
    Column("queue_id", BigId, ForeignKey("queue.id"), primary_key=True),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), primary_key=True),
    Index("ix_queue_assignment_reviewer", "reviewer_id", "queue_id"),
)
"""A person to whom a queue is given; a queue without any is everybody's."""


QUEUE_ITEM = Table(
    "queue_item",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("queue_id", BigId, ForeignKey("queue.id"), nullable=False),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("pair_id", BigId, ForeignKey("pair.id")),
    Column("reviews_needed", Integer, nullable=False, default=1),
    Column("position", Float, nullable=False),
    Column("sampled", Boolean, nullable=False, default=False),
    Column("again_for", BigId, ForeignKey("reviewer.id")),
    Column("state", String, nullable=False, default="open"),
    Column("joined_at", Utc, nullable=False),
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
"""An answer or a pair in a queue; ``position`` orders it (lower first), ``sampled`` was drawn at random.

    It is there once while anything waits for it; a flag raised after it was settled brings it in anew.
    ``again_for`` is set where one person is served an item of theirs again: it decides nothing.
    """


QUEUE_ITEM_FLAG = Table(
    "queue_item_flag",
    METADATA,
    Column("queue_item_id", BigId, ForeignKey("queue_item.id"), primary_key=True),
    Column("flag_id", BigId, ForeignKey("flag.id"), primary_key=True),
    Index("ix_queue_item_flag_flag", "flag_id", "queue_item_id"),
)
"""A flag for which an answer is in a queue: the item keeps it open, and what comes of the item decides it."""


LEASE = Table(
    "lease",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("queue_id", BigId, ForeignKey("queue.id"), nullable=False),
    Column("queue_item_id", BigId, ForeignKey("queue_item.id"), nullable=False),
    Column("slot", Integer, nullable=False),
    Column("position", Float, nullable=False),
    Column("again_for", BigId, ForeignKey("reviewer.id")),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id")),
    Column("token", String),
    Column("taken_at", Utc),
    Column("until", Utc),
    Column("done", Boolean, nullable=False, default=False),
    Column("review_id", BigId, ForeignKey("review.id")),
    Column("revealed_at", Utc),
    UniqueConstraint("queue_item_id", "slot"),
    UniqueConstraint("queue_item_id", "reviewer_id"),
    UniqueConstraint("token"),
    Index("ix_lease_waiting", "queue_id", "position", "queue_item_id", "slot", **partial("NOT done")),
    Index("ix_lease_reviewer", "reviewer_id", "queue_id", "done"),
)
"""The place for one review of an item: free, held by a reviewer until a moment, or ``done``.

    An item has as many as it needs reviews, laid when it joins, so that taking one is one statement on one row.
    ``position`` and ``again_for`` are the item's. ``review_id`` is the review given from here;
    ``revealed_at`` is when its author saw what had been hidden.
    """


SKIP = Table(
    "skip",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("queue_item_id", BigId, ForeignKey("queue_item.id"), nullable=False),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), nullable=False),
    Column("reason", String),
    Column("at", Utc, nullable=False),
    Index("ix_skip_item", "queue_item_id", "reviewer_id"),
)
"""An item that somebody put aside, and why; it is not handed to them again unless they ask for it."""


COMMENT = Table(
    "comment",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("pair_id", BigId, ForeignKey("pair.id")),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), nullable=False),
    Column("text", String),  # null only after forgetting, or where it withdraws the one it replaces
    Column("replaces", BigId, ForeignKey("comment.id")),
    Column("request_key", String, nullable=False),
    Column("at", Utc, nullable=False),
    UniqueConstraint("request_key"),
    UniqueConstraint("replaces"),
    CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
    Index("ix_comment_response", "response_id"),
    Index("ix_comment_pair", "pair_id"),
)
"""A comment on an answer or a pair, for the others; an edit names the comment it replaces."""


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
