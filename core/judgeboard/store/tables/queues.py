"""Tables of review queues, their items, and what reviewers hold of them."""

from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, String, UniqueConstraint

from judgeboard.domain import ItemState, QueueOrder, QueueState
from judgeboard.store.tables.columns import (
    BigId,
    JsonTuple,
    JsonValue,
    Utc,
    link,
    one_of,
    optional,
    partial,
    references,
    required,
    table,
)

_UNFINISHED = "repeat_for IS NULL AND state IN ('open', 'conflict')"

QUEUE = table(
    "queue",
    *required(String, "name", "created_by"),
    Column("subject", String, nullable=False, default="answers"),
    Column("state", one_of(QueueState, "state"), nullable=False, default="open"),
    Column("filter", JsonValue, nullable=False, default=dict),
    Column("sort", one_of(QueueOrder, "sort"), nullable=False, default="severity"),
    Column("reviews_needed", Integer, nullable=False, default=1),
    Column("overlap", Float, nullable=False, default=1.0),
    Column("seed", String, nullable=False, default="judgeboard"),
    *required(Boolean, "blind_people", "blind_judge", "training", default=False),
    *required(Boolean, "reveal", "flagged_only", default=True),
    Column("grades", JsonTuple, nullable=False, default=list, comment="A review must give them."),
    Column("optional_grades", JsonTuple, nullable=False, default=list),
    Column("max_items", Integer, comment="If set, nothing joins the queue after its creation."),
    Column("drawn_from", Integer, comment="Number of answers or pairs that matched."),
    Column(
        "plan", JsonValue, comment="The strata of a planned queue: answers, labelled, drawn, inclusion probability."
    ),
    *required(Float, "sampling_rate", "repeat_rate", "test_rate", default=0.0),
    Column("implied_labels", Boolean, comment="Whether decisions imply labels; NULL: the setting applies."),
    Column("lease_seconds", Integer, nullable=False, default=600),
    Column("guidelines", String),
    Column("label_schema_id", BigId, ForeignKey("label_schema.id")),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("name"),
    CheckConstraint("subject IN ('answers', 'pairs')", name="subject"),
    CheckConstraint("reviews_needed >= 1", name="reviews_needed"),
    CheckConstraint("max_items IS NULL OR max_items >= 1", name="max_items"),
    CheckConstraint("flagged_only OR training OR max_items IS NOT NULL", name="flagged_only"),
    CheckConstraint("overlap >= 0 AND overlap <= 1", name="overlap"),
    CheckConstraint("sampling_rate >= 0 AND sampling_rate < 1", name="sampling_rate"),
    CheckConstraint("repeat_rate >= 0 AND repeat_rate < 1", name="repeat_rate"),
    CheckConstraint("test_rate >= 0 AND test_rate < 1", name="test_rate"),
    comment="A named queue and its rules; only its state changes. Open flags outside queues have no row here.",
)

QUEUE_ASSIGNMENT = link(
    "queue_assignment",
    "queue_id",
    "reviewer_id",
    "A person to whom a queue is assigned; a queue without any is open to everybody.",
)

QUEUE_ITEM = table(
    "queue_item",
    Column("queue_id", BigId, ForeignKey("queue.id"), nullable=False),
    *references("response_id", "pair_id", nullable=True),
    Column("reviews_needed", Integer, nullable=False, default=1),
    Column("position", Float, nullable=False, comment="Lower comes first."),
    Column("sampled", Boolean, nullable=False, default=False, comment="Drawn at random."),
    Column("stratum", Integer, comment="Position of its stratum in the plan of the queue."),
    Column("repeat_for", BigId, ForeignKey("reviewer.id"), comment="A repeat for one person; it decides nothing."),
    Column("test", Boolean, nullable=False, default=False, comment="The item of `repeat_for` has a gold label."),
    Column("state", one_of(ItemState, "state"), nullable=False, default="open"),
    Column("joined_at", Utc, nullable=False),
    Column("bulk", String, comment="The bulk action that added the item, whatever the filter of the queue."),
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
        "uq_queue_item_pair", "queue_id", "pair_id", unique=True, **partial(f"pair_id IS NOT NULL AND {_UNFINISHED}")
    ),
    Index("ix_queue_item_state", "queue_id", "state", "sampled"),
    Index("ix_queue_item_place", "queue_id", "position", "id"),
    # Finds by answer what is hidden from a person, and which items keep a flag open.
    Index("ix_queue_item_of_response", "response_id", "state"),
    Index("ix_queue_item_of_pair", "pair_id", "state"),
    Index("ix_queue_item_bulk", "bulk", "id", **partial("bulk IS NOT NULL")),
    comment="An answer or a pair in a queue; a flag raised after its item is finished adds another item.",
)

QUEUE_ITEM_FLAG = link(
    "queue_item_flag",
    "queue_item_id",
    "flag_id",
    "A flag for which an answer is in a queue: the item keeps it open and decides it.",
)

LEASE = table(
    "lease",
    *references("queue_id", "queue_item_id"),
    Column("slot", Integer, nullable=False),
    Column("position", Float, nullable=False),
    Column("repeat_for", BigId, ForeignKey("reviewer.id")),
    *references("reviewer_id", "review_id", nullable=True),
    Column("token", String),
    *optional(Utc, "taken_at", "until"),
    Column("done", Boolean, nullable=False, default=False),
    Column("revealed_at", Utc, comment="When the reviewer saw what had been hidden."),
    UniqueConstraint("queue_item_id", "slot"),
    UniqueConstraint("queue_item_id", "reviewer_id"),
    UniqueConstraint("token"),
    Index("ix_lease_waiting", "queue_id", "position", "queue_item_id", "slot", **partial("NOT done")),
    Index("ix_lease_reviewer", "reviewer_id", "queue_id", "done"),
    comment="A slot for one review of an item: free, leased until a time, or done; added with the item.",
)

TAKEN_LEASE = table(
    "taken_lease",
    *references("queue_item_id", "reviewer_id"),
    Column("token", String, nullable=False),
    Column("at", Utc, nullable=False),
    Index("ix_taken_lease_item", "queue_item_id", "reviewer_id"),
    comment="Who took which lease, and when: a lease that ended, or went to somebody else, forgets its reviewer.",
)

SKIP = table(
    "skip",
    *references("queue_item_id", "reviewer_id"),
    Column("reason", String),
    Column("at", Utc, nullable=False),
    Column("undone_at", Utc, comment="Set when its person undid the skip, which then counts nowhere."),
    Index("ix_skip_item", "queue_item_id", "reviewer_id"),
    comment="An item that somebody skipped, and why; it is leased to them again only if they ask for it.",
)

DRAFT = table(
    "draft",
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), nullable=False),
    *references("response_id", "pair_id", nullable=True),
    Column("content", JsonValue, nullable=False),
    Column("at", Utc, nullable=False),
    UniqueConstraint("response_id", "reviewer_id"),
    UniqueConstraint("pair_id", "reviewer_id"),
    CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
    comment="Grades and texts that somebody has not stored yet; deleted with their review, never exported.",
)
