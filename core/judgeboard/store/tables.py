"""The tables of the log, its judgments, flags and reviews, and which of their rows and columns may change.

``method_tables`` has the tables of the other methods, ``queue_tables`` those of queues. Domain objects are validated
before they are stored; the CHECK constraints repeat the ranges. Triggers guard the append-only tables.
"""

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
    text,
)

from judgeboard.domain import (
    Decision,
    FeedbackKind,
    FlagState,
    ResponseKind,
    RunState,
    Shown,
    Stage,
    Status,
    WhyDiffers,
)
from judgeboard.store.columns import METADATA, BigId, JsonValue, Utc, groundedness_range, one_of, partial, quality_range
from judgeboard.store.method_tables import METHOD_APPEND_ONLY, METHOD_FORGETTABLE, METHOD_RESPONSES
from judgeboard.store.queue_tables import (
    OF_ANSWER_OR_PAIR,
    QUEUE_APPEND_ONLY,
    QUEUE_CHANGEABLE,
    QUEUE_FORGETTABLE,
    QUEUE_RESPONSES,
)

SETTING = Table(
    "setting",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("key", String, nullable=False, index=True),
    Column("value", JsonValue),
    Column("by", String, nullable=False),
    Column("at", Utc, nullable=False),
    comment="Thresholds and the primary judge; the latest row of a key is in force.",
)

IMPORT_BATCH = Table(
    "import_batch",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("file", String, nullable=False),
    Column("sha256", String),
    Column("importer", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("actor", String, nullable=False),
    Column("at", Utc, nullable=False),
    Column("counts", JsonValue),
    Column("finished_at", Utc),
    comment="One import of one file; `counts` and `finished_at` are null while it runs or if it broke off.",
)

RESPONSE = Table(
    "response",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("kind", String, nullable=False, default="log"),
    Column("derived_from", BigId, ForeignKey("response.id")),
    Column("source", String, nullable=False),
    Column("external_id", String, nullable=False),
    Column("query_type", String, nullable=False),
    Column("query", String),
    Column("passages", JsonValue),
    Column("answer", String),
    Column("generator_model", String),
    Column("generator_cost", Float, comment="In the currency of the log."),
    Column("messages", JsonValue),
    Column("reference", String),
    Column("asked_at", Utc),
    Column("asked_day", Integer, comment="Days since 1970-01-01, UTC."),
    Column("extra", JsonValue, nullable=False, default=dict, comment="Metadata of the log."),
    Column("content_hash", String, nullable=False),
    Column("evidence_group", BigId, nullable=False, comment="Equal for equal query and passages."),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("imported_at", Utc, nullable=False),
    UniqueConstraint("source", "external_id"),
    one_of("kind", ResponseKind),
    Index("ix_response_external_id", "external_id"),
    # A run reads the log by id: without this index SQLite sorts all responses of a kind for every page.
    Index("ix_response_kind", "kind", "id"),
    # The order and the filters of the Responses page: a page is found from the index alone.
    # Responses without a time come first here and last on the page, which reads the index backwards.
    Index(
        "ix_response_asked",
        "kind",
        text("coalesce(asked_day, -1)"),
        "id",
        "query_type",
        "source",
        "generator_model",
        "asked_day",
    ),
    Index("ix_response_model", "generator_model"),
    # Most responses are not derived from another.
    Index("ix_response_derived_from", "derived_from", "kind", **partial("derived_from IS NOT NULL")),
    # The share flagged of a day divides by all its answers, which are counted from this index alone.
    Index("ix_response_share", "kind", "query_type", "asked_day"),
    comment="A question with its passages and answer; texts are null only after `judgeboard forget`.",
)

FEEDBACK = Table(
    "user_feedback",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("response_id", BigId, ForeignKey("response.id"), nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("value", Float, nullable=False),
    Column("user", String),
    Column("at", Utc),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("imported_at", Utc, nullable=False),
    one_of("kind", FeedbackKind),
    CheckConstraint(
        "(kind = 'thumbs' AND value IN (0, 1)) OR (kind = 'stars' AND value >= 1 AND value <= 5)", name="value"
    ),
    comment="Feedback of the assistant's user on a response, on its original scale.",
)

VERSION = Table(
    "judge_version",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("model", String),
    Column("params", JsonValue, nullable=False, default=dict),
    Column("prompt", String),
    Column("prompt_hash", String),
    Column("scale", String, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("fingerprint"),
    UniqueConstraint("name", "number"),
    comment="A judge with its exact configuration; `number` counts within its name (rag v3).",
)

RUN = Table(
    "run",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("kind", String, nullable=False, comment="judge, rejudge, import or the name of a method."),
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), index=True),
    Column("filter", JsonValue, nullable=False, default=dict),
    Column("actor", String, nullable=False),
    Column("endpoint_host", String),
    Column("selected", Integer),
    Column("started_at", Utc, nullable=False),
    Column("finished_at", Utc),
    Column("state", String, nullable=False, default="running"),
    Column("why_stopped", String),
    one_of("state", RunState),
    comment="A batch of judging; `filter` stores the selection, so that a stopped run can continue.",
)

JUDGMENT = Table(
    "judgment",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("response_id", BigId, ForeignKey("response.id"), nullable=False),
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), nullable=False),
    Column("run_id", BigId, ForeignKey("run.id")),
    Column("ask", Integer, nullable=False, default=0),
    Column("repeat", Integer, nullable=False, default=0),
    Column("status", String, nullable=False),
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("label", String),
    Column("reasoning", String),
    Column("claims", JsonValue),
    Column("raw", String),
    Column("model_reported", String),
    Column("prompt_tokens", Integer),
    Column("completion_tokens", Integer),
    Column("cost_micro", BigId, comment="Millionths of the currency of the prices."),
    Column("latency_ms", Integer),
    Column("attempts", JsonValue),
    Column("reply_format", String),
    Column("dropped_parameters", JsonValue),
    Column("error", String),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("response_id", "judge_version_id", "ask", "repeat"),
    one_of("status", Status),
    CheckConstraint("label IN ('grounded', 'hallucinated')", name="label"),
    groundedness_range(),
    quality_range(),
    CheckConstraint(
        "status = 'ok' OR (groundedness IS NULL AND quality IS NULL AND label IS NULL)", name="only_ok_has_verdict"
    ),
    Index("ix_judgment_version", "judge_version_id", "response_id"),
    Index("ix_judgment_run", "run_id", "status"),
    # Recent judgments of a judge and their cost.
    Index("ix_judgment_created", "judge_version_id", "created_at", "status", "cost_micro"),
    Index("ix_judgment_not_ok", "judge_version_id", "status", "id", **partial("status <> 'ok'")),
    comment="A verdict of one judge version on one response.",
)

JUDGMENT_SCORE = Table(
    "judgment_score",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("judgment_id", BigId, ForeignKey("judgment.id"), nullable=False, index=True),
    Column("dimension", String, nullable=False),
    Column("value", Float),
    Column("scale", String, nullable=False),
    Column("reasoning", String),
    comment="A score of a judgment on a dimension, with its scale.",
)

CURRENT = Table(
    "current_judgment",
    METADATA,
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), primary_key=True),
    Column("response_id", BigId, ForeignKey("response.id"), primary_key=True),
    Column("judgment_id", BigId, ForeignKey("judgment.id"), nullable=False),
    Column("judge_kind", String, nullable=False),
    Column("judge_name", String, nullable=False),
    Column("is_current", Boolean, nullable=False),
    Column("response_kind", String, nullable=False),
    Column("query_type", String, nullable=False),
    Column("source", String, nullable=False),
    Column("asked_day", Integer),
    Column("evidence_group", BigId, nullable=False),
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("label", String),
    Column("user_quality", Float, comment="The latest user feedback on the scale 1 to 4."),
    Index("uq_current_judgment_name", "response_id", "judge_name", "judge_kind", unique=True, **partial("is_current")),
    # Trends read this index alone. The columns of its condition are among its columns, or SQLite would look them up
    # in the table.
    Index(
        "ix_current_judgment_trend",
        "judge_name",
        "query_type",
        "asked_day",
        "judge_version_id",
        "groundedness",
        "quality",
        "response_id",
        "is_current",
        "response_kind",
        **partial("is_current AND response_kind = 'log'"),
    ),
    Index(
        "ix_current_judgment_version_trend",
        "judge_version_id",
        "query_type",
        "asked_day",
        "groundedness",
        "quality",
        "response_kind",
        **partial("response_kind = 'log'"),
    ),
    # Scatter plots of two scores, and filters by a judge's score.
    Index(
        "ix_current_judgment_score",
        "judge_name",
        "groundedness",
        "response_id",
        "quality",
        "user_quality",
        "label",
        "query_type",
        "source",
        "asked_day",
        "is_current",
        "response_kind",
        **partial("is_current AND response_kind = 'log'"),
    ),
    # Agreement reads all versions' verdicts on graded answers from this index alone.
    Index(
        "ix_current_judgment_response",
        "response_id",
        "judge_version_id",
        "groundedness",
        "quality",
        "label",
        "response_kind",
        "query_type",
        "asked_day",
        "evidence_group",
    ),
    comment="The latest usable judgment of each judge version on each response, with columns for filters.",
)

FLAG = Table(
    "flag",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("response_id", BigId, ForeignKey("response.id"), nullable=False),
    Column("query_type", String, nullable=False),
    Column("source", String, nullable=False),
    Column("asked_day", Integer),
    Column("judge_name", String),
    Column("groundedness", Float, comment="Of the primary judge, when the flag was raised."),
    Column("quality", Integer),
    Column("judgment_id", BigId, ForeignKey("judgment.id")),
    Column("rule", String, nullable=False),
    Column("raise_key", String, nullable=False),
    Column("auto_score", Float),
    Column("params", JsonValue, nullable=False, default=dict),
    Column("details", JsonValue, nullable=False, default=dict),
    Column("severity", Float, nullable=False),
    Column("inclusion_probability", Float, nullable=False, default=1.0),
    Column("decided_before_id", BigId, ForeignKey("flag.id")),
    Column("state", String, nullable=False, default="open"),
    Column("created_at", Utc, nullable=False),
    one_of("state", FlagState),
    CheckConstraint("severity >= 0 AND severity <= 1", name="severity"),
    Index("uq_flag_raise", "response_id", "raise_key", unique=True, **partial("state <> 'superseded'")),
    # The queue reads open flags in one of these orders. All filter columns are in the index, so that no table row is
    # read before the 50 rows of the page are known. ``state`` is included because SQLite looks up even the columns of
    # an index's own condition. The engines sort NULL differently, so coalesce sorts missing values last in both.
    *(
        Index(
            f"ix_flag_open_{name}",
            *order,
            "rule",
            "query_type",
            "source",
            "judge_name",
            "groundedness",
            "quality",
            "asked_day",
            "response_id",
            "state",
            **partial("state = 'open'"),
        )
        for name, order in (
            ("severity", (text("severity DESC"), "id")),
            ("groundedness", (text("coalesce(groundedness, 2)"), "id")),
            ("asked", (text("coalesce(asked_day, 9999999)"), "id")),
            ("newest", (text("id DESC"),)),
        )
    ),
    Index("ix_flag_open_rule", "rule", "query_type", "state", **partial("state = 'open'")),
    Index("ix_flag_created", "created_at", "state"),
    Index(
        "ix_flag_share",
        "query_type",
        "asked_day",
        "response_id",
        "state",
        "rule",
        **partial("state <> 'superseded' AND rule <> 'random_sample'"),
    ),
    Index("ix_flag_rule_state", "rule", "state", "query_type"),
    Index("ix_flag_response", "response_id", "state"),
    comment="A reason to look at a response; only its state changes.",
)

REVIEWER = Table(
    "reviewer",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("origin", String, nullable=False),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False, default="reviewer"),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("origin", "name"),
    comment="A person, identified by the name and its origin, such as cli, import or oidc.",
)

REVIEW = Table(
    "review",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("flag_id", BigId, ForeignKey("flag.id")),
    Column("queue_item_id", BigId, ForeignKey("queue_item.id")),
    Column("judgment_seen_id", BigId, ForeignKey("judgment.id")),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), nullable=False),
    Column("stage", String),
    Column("decision", String),
    Column("label", String),
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("spans", JsonValue),
    Column("note", String),
    Column("corrected_answer", String),
    Column("seconds", Float),
    Column("replaces", BigId, ForeignKey("review.id")),
    Column("request_key", String, nullable=False),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("at", Utc, nullable=False),
    Column("pair_id", BigId, ForeignKey("pair.id")),
    Column("comparison_seen_id", BigId, ForeignKey("comparison.id")),
    Column("shown", String, comment="Order in which the answers of a pair were shown."),
    Column("seen", JsonValue, comment="What the reviewer saw of others: judge, people, ..."),
    Column("why_differs", String),
    Column("claim_marks", JsonValue, comment="List of {status, text, start, end, judgment_id, number}."),
    UniqueConstraint("request_key"),
    CheckConstraint("(response_id IS NULL) <> (pair_id IS NULL)", name="one_subject"),
    one_of("decision", Decision),
    one_of("shown", Shown),
    one_of("stage", Stage),
    one_of("why_differs", WhyDiffers),
    CheckConstraint("label IN ('grounded', 'hallucinated')", name="label"),
    groundedness_range(),
    quality_range(),
    Index("ix_review_response", "response_id", "reviewer_id"),
    Index("ix_review_pair", "pair_id", "reviewer_id", **partial("pair_id IS NOT NULL")),
    Index("ix_review_flag", "flag_id"),
    Index("ix_review_reviewer", "reviewer_id", "id"),
    Index("ix_review_queue_item", "queue_item_id", **partial("queue_item_id IS NOT NULL")),
    Index("uq_review_replaces", "replaces", unique=True, **partial("replaces IS NOT NULL")),
    Index("ix_review_at", "at"),
    # Flags that a reviewer was unsure about, read with every page of the queue.
    Index("ix_review_unsure", "reviewer_id", "flag_id", "decision", **partial("decision = 'unsure'")),
    comment="A review of a response or of a pair; undo, edit and re-grade are new rows that replace one.",
)

REVIEW_SCORE = Table(
    "review_score",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("review_id", BigId, ForeignKey("review.id"), nullable=False, index=True),
    Column("dimension", String, nullable=False),
    Column("value", Float),
    Column("scale", String, nullable=False),
    comment="A reviewer's score on a dimension, with its scale.",
)

JOB = Table(
    "job",
    METADATA,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("filter", JsonValue, nullable=False, default=dict),
    Column("judge", JsonValue, nullable=False, default=dict),
    Column("run_id", BigId, ForeignKey("run.id"), index=True),
    Column("actor", String, nullable=False),
    Column("estimate", JsonValue, nullable=False, default=dict),
    Column("created_at", Utc, nullable=False),
    Column("cancelled_at", Utc),
    Column("failed", String, comment="Why the job could not start."),
    comment="Long work that a person requested; a worker takes jobs that have no run. Contains no texts.",
)

WORKER = Table(
    "worker",
    METADATA,
    Column("executor_id", String, primary_key=True),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Utc, nullable=False),
    Column("heartbeat_at", Utc, nullable=False),
    comment="A process that takes jobs; it is alive while its heartbeat is recent.",
)

EVENT = Table(
    "event",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("kind", String, nullable=False),
    Column("actor", String, nullable=False),
    Column("at", Utc, nullable=False),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("details", JsonValue, nullable=False, default=dict),
    Index("ix_event_response", "response_id", "kind"),
    Index("ix_event_kind", "kind", "id"),
    Index("ix_event_actor", "actor", "id"),
    comment="A record of who did what, written in the transaction of the change.",
)


# Columns that `judgeboard forget` may blank; no other column of an append-only table changes.
FORGETTABLE: dict[str, tuple[str, ...]] = {
    "response": ("query", "passages", "answer", "messages", "reference", "extra"),
    "judgment": ("reasoning", "claims", "raw", "attempts", "error"),
    "judgment_score": ("reasoning",),
    "review": ("spans", "note", "corrected_answer", "claim_marks"),
    **METHOD_FORGETTABLE,
    **QUEUE_FORGETTABLE,
}

# SQL for the responses that a row (OLD) is about: forgetting one of them may blank the row.
RESPONSES: dict[str, str] = {
    "response": "OLD.id",
    "judgment": "OLD.response_id",
    "judgment_score": "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
    "review": OF_ANSWER_OR_PAIR,
    **METHOD_RESPONSES,
    **QUEUE_RESPONSES,
}

# Tables whose rows are written once; triggers refuse changes.
APPEND_ONLY: tuple[str, ...] = (
    "setting",
    "response",
    "user_feedback",
    "judge_version",
    "judgment",
    "judgment_score",
    "review",
    "review_score",
    "event",
    *METHOD_APPEND_ONLY,
    *QUEUE_APPEND_ONLY,
)

# Tables in which only the named columns change and no row is deleted.
CHANGEABLE: dict[str, tuple[str, ...]] = {
    "import_batch": ("counts", "finished_at", "sha256"),
    "run": ("state", "finished_at", "why_stopped", "selected"),
    "flag": ("state",),
    "job": ("run_id", "cancelled_at", "failed"),
    **QUEUE_CHANGEABLE,
}
