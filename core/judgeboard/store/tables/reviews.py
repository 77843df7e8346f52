"""Tables of reviewers and their reviews, and of what leads collect from reviews: failure modes, issues, comments."""

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

from judgeboard.domain import Decision, IssueState, Label, Preference, Shown, Stage, WhyDiffers
from judgeboard.store.tables.columns import (
    METADATA,
    BigId,
    JsonValue,
    Utc,
    link,
    one_of,
    optional,
    partial,
    references,
    required,
    score_ranges,
    table,
)

REVIEWER = table(
    "reviewer",
    *required(String, "origin", "name"),
    Column("role", String, nullable=False, default="reviewer"),
    Column("created_at", Utc, nullable=False),
    Column(
        "same_as",
        BigId,
        ForeignKey("reviewer.id"),
        comment="The person under whom later reviews of this user or annotator are stored.",
    ),
    Column("notified_until", BigId, comment="The id of the last event that the person has read."),
    Column("implied_labels", Boolean, comment="Whether their decisions imply labels; NULL: not asked yet."),
    UniqueConstraint("origin", "name"),
    comment="A person, identified by the name and its origin, such as cli, import or oidc.",
)

LABEL_SCHEMA = table(
    "label_schema",
    *required(String, "name", "hash", "created_by"),
    Column("number", Integer, nullable=False),
    Column("fields", JsonValue, nullable=False),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("hash"),
    UniqueConstraint("name", "number"),
    comment="A version of a label schema; `number` counts within its name (support v2).",
)

REVIEW = table(
    "review",
    *references("response_id", "queue_item_id", "import_batch_id", "pair_id", "label_schema_id", nullable=True),
    Column("judgment_seen_id", BigId, ForeignKey("judgment.id")),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), nullable=False),
    Column("stage", one_of(Stage, "stage")),
    Column("decision", one_of(Decision, "decision")),
    Column("label", one_of(Label, "label")),
    Column("label_implied", Boolean, nullable=False, default=False, comment="The decision implies the label."),
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("spans", JsonValue),
    *optional(String, "note", "corrected_answer"),
    Column("seconds", Float),
    Column("replaces", BigId, ForeignKey("review.id")),
    Column("request_key", String, nullable=False),
    Column("bulk", String, comment="The bulk action of which the review is a part."),
    Column("at", Utc, nullable=False),
    Column("comparison_seen_id", BigId, ForeignKey("comparison.id")),
    Column("shown", one_of(Shown, "shown"), comment="Order in which the answers of a pair were shown."),
    Column("seen", JsonValue, comment="What the reviewer saw of others: judge, people, ..."),
    Column("why_differs", one_of(WhyDiffers, "why_differs")),
    Column("claim_marks", JsonValue, comment="List of {status, text, start, end, judgment_id, number}."),
    Column("choices", JsonValue, comment="Values of a label schema by field, without scales, spans and texts."),
    Column("texts", JsonValue, comment="Texts of a label schema by field."),
    Column("in_suite", Boolean, comment="Whether the corrected answer becomes a case of a suite."),
    UniqueConstraint("request_key"),
    CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
    *score_ranges(),
    Index("ix_review_response", "response_id", "reviewer_id"),
    Index("ix_review_pair", "pair_id", "reviewer_id", **partial("pair_id IS NOT NULL")),
    Index("ix_review_reviewer", "reviewer_id", "id"),
    Index("ix_review_queue_item", "queue_item_id", **partial("queue_item_id IS NOT NULL")),
    Index("uq_review_replaces", "replaces", unique=True, **partial("replaces IS NOT NULL")),
    Index("ix_review_at", "at"),
    Index("ix_review_judgment_seen", "judgment_seen_id", **partial("judgment_seen_id IS NOT NULL")),
    Index("ix_review_bulk", "bulk", "id", **partial("bulk IS NOT NULL")),
    Index("ix_review_gold", "response_id", "id", **partial("stage = 'adjudication'")),
    Index("ix_review_label_schema", "label_schema_id", **partial("label_schema_id IS NOT NULL")),
    Index("ix_review_in_suite", "id", **partial("in_suite IS NOT NULL")),
    # Answers that a reviewer was unsure about, read with every page of the queue.
    Index("ix_review_unsure", "reviewer_id", "id", "decision", **partial("decision = 'unsure'")),
    comment="A review of a response or of a pair; undo, edit and re-grade are new rows that replace one.",
)

REVIEW_FLAG = link("review_flag", "review_id", "flag_id", "A flag that a review decides, or leaves open as unsure.")

REVIEW_SCORE = table(
    "review_score",
    Column("review_id", BigId, ForeignKey("review.id"), nullable=False, index=True),
    *required(String, "dimension", "scale"),
    Column("value", Float),
    comment="A reviewer's score on a dimension, with its scale.",
)

PREFERENCE_SCORE = table(
    "preference_score",
    Column("review_id", BigId, ForeignKey("review.id"), nullable=False),
    Column("aspect", String, nullable=False),
    Column("preference", one_of(Preference, "preference")),
    Column("value", Float),
    Column("scale", String),
    UniqueConstraint("review_id", "aspect"),
    comment="A reviewer's preference on one aspect of a pair: a side, a grade on its own scale, or both.",
)

FAILURE_MODE = table(
    "failure_mode",
    *required(String, "name", "by"),
    Column("description", String),
    Column("key", String, comment="The letter that chooses it, together with Shift."),
    Column("retired", Boolean, nullable=False, default=False),
    Column("at", Utc, nullable=False),
    Index("ix_failure_mode_name", "name", "id"),
    comment="A kind of failure that reviewers tag answers with; the latest row of a name counts.",
)

REVIEW_FAILURE_MODE = Table(
    "review_failure_mode",
    METADATA,
    Column("review_id", BigId, ForeignKey("review.id"), primary_key=True),
    Column("mode", String, primary_key=True),
    Index("ix_review_failure_mode_mode", "mode", "review_id"),
    comment="A failure mode that a review tags its answer with, by name.",
)

ISSUE = table(
    "issue",
    Column("number", Integer, nullable=False),
    Column("version", Integer, nullable=False, comment="1 for a new issue, then one more per change."),
    *required(String, "title", "by"),
    Column("description", String),
    Column("owner", String, comment="Name of a person."),
    Column("state", one_of(IssueState, "state"), nullable=False),
    Column("fixed_day", Integer, comment="Days since 1970-01-01, UTC."),
    Column("filter", JsonValue, nullable=False),
    Column("at", Utc, nullable=False),
    UniqueConstraint("number", "version"),
    comment="A systemic problem: a filter of answers with a title; the latest version of a number counts.",
)

COMMENT = table(
    "comment",
    *references("response_id", "pair_id", nullable=True),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), nullable=False),
    Column("text", String),  # null only if forgotten or if the row withdraws a comment
    Column("replaces", BigId, ForeignKey("comment.id")),
    Column("request_key", String, nullable=False),
    Column("at", Utc, nullable=False),
    UniqueConstraint("request_key"),
    UniqueConstraint("replaces"),
    CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
    Index("ix_comment_response", "response_id"),
    Index("ix_comment_pair", "pair_id"),
    comment="A comment on an answer or a pair, for the others; an edit names the comment it replaces.",
)
