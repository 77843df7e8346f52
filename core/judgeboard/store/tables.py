"""The tables of the log, its judgments, flags and reviews: what is kept, and which parts of it may change.

Values enter as validated domain objects (a table validates nothing); the CHECK constraints repeat the
ranges. Append-only tables are guarded by triggers (``guards``), listed in ``APPEND_ONLY``. What the other judging
methods keep is in ``method_tables``, what queues keep in ``queue_tables``.
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
)
"""A threshold or the primary judge as somebody set it; the latest row of a key counts."""


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
)
"""One import of one file; ``counts`` and ``finished_at`` are set once, at its end."""


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
    Column("generator_cost", Float),  # as the log gave it, in its own currency
    Column("messages", JsonValue),
    Column("reference", String),
    Column("asked_at", Utc),
    Column("asked_day", Integer),  # days since 1970-01-01, UTC
    Column("extra", JsonValue, nullable=False, default=dict),  # the log's own metadata
    Column("content_hash", String, nullable=False),
    # Responses with the same query and passages stand on the same evidence: statistics resample these groups.
    Column("evidence_group", BigId, nullable=False),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("imported_at", Utc, nullable=False),
    UniqueConstraint("source", "external_id"),
    one_of("kind", ResponseKind),
    Index("ix_response_external_id", "external_id"),
    # A run walks the log by id: without it SQLite reads and sorts all of a kind for every page.
    Index("ix_response_kind", "kind", "id"),
    # The order of the Responses page, with the columns it filters by: a page is found without touching a row.
    # Those without a time come first here, so last in the page, which reads it backwards.
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
    # What was made from an answer; most of the log was made from none.
    Index("ix_response_derived_from", "derived_from", "kind", **partial("derived_from IS NOT NULL")),
    # The share flagged of a day is a share of all its answers: counted from this index alone.
    Index("ix_response_share", "kind", "query_type", "asked_day"),
)
"""A logged answer. Texts are null only after ``judgeboard forget``; the hash stays."""


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
)
"""What the assistant's user said, on the scale it was said on."""


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
)
"""A judge exactly as it judged; ``number`` counts within its name ("rag v3")."""


RUN = Table(
    "run",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("kind", String, nullable=False),  # judge | rejudge | import
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
)
"""A batch of judging; only its state and its end change. ``filter`` fixes the selection, its frontier included."""


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
    Column("cost_micro", BigId),
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
    # What a judge did of late, and what it cost.
    Index("ix_judgment_created", "judge_version_id", "created_at", "status", "cost_micro"),
    Index("ix_judgment_not_ok", "judge_version_id", "status", "id", **partial("status <> 'ok'")),
)
"""A verdict of one judge version on one response, as stored: ``ask`` counts rejudges, ``repeat`` repeats of one."""


JUDGMENT_SCORE = Table(
    "judgment_score",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("judgment_id", BigId, ForeignKey("judgment.id"), nullable=False, index=True),
    Column("dimension", String, nullable=False),
    Column("value", Float),
    Column("scale", String, nullable=False),
    Column("reasoning", String),
)
"""A judge's score on a dimension of its own (rubrics, expected scores), with its scale."""


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
    Column("user_quality", Float),  # the latest feedback on the 1-4 scale
    Index(
        "uq_current_judgment_name",
        "response_id",
        "judge_name",
        "judge_kind",
        unique=True,
        **partial("is_current"),
    ),
    # Trends: read in index order, nothing else of the row is needed. Its own condition is among the columns:
    # SQLite would look it up in the table row otherwise.
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
    # Two signals, and "scored by judge X between a and b".
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
    # Agreement: all versions' verdicts on the answers that people graded, from this index alone.
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
)
"""The latest usable judgment of a judge version on a response, with what pages filter and average by.

    ``is_current`` marks the one that is current of the judge's *name*. Kept in the judgment's own transaction and
    rebuilt by ``judgeboard flag``; it holds nothing that is not in judgment, response and user_feedback.
    """


FLAG = Table(
    "flag",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("response_id", BigId, ForeignKey("response.id"), nullable=False),
    Column("query_type", String, nullable=False),
    Column("source", String, nullable=False),
    Column("asked_day", Integer),
    Column("judge_name", String),
    Column("groundedness", Float),  # the primary judge's, when the flag was raised
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
    Index(
        "uq_flag_raise",
        "response_id",
        "raise_key",
        unique=True,
        **partial("state <> 'superseded'"),
    ),
    # The queue reads open flags in one of its orders; every filter column is in the index, so a filter is a scan
    # of the index alone and no table row is touched before the page's 50 are known. ``state`` is there because
    # SQLite looks up even what the index's own condition says. A missing score or time sorts last in both
    # engines, which place NULLs differently: hence coalesce.
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
)
"""A rule's reason to look at a response; only its state changes."""


REVIEWER = Table(
    "reviewer",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("origin", String, nullable=False),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False, default="reviewer"),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("origin", "name"),
)
"""A person, by where the name comes from (desk, cli, import, oidc) and the name."""


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
    Column("shown", String),  # the order in which the answers of a pair were shown
    Column("seen", JsonValue),  # what of others was shown: judge, people, ...
    Column("why_differs", String),
    # What the person says of single claims: [{"status", "text", "start", "end", "judgment_id", "number"}].
    Column("claim_marks", JsonValue),
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
    # What a reviewer put aside, read with every page of the queue.
    Index("ix_review_unsure", "reviewer_id", "flag_id", "decision", **partial("decision = 'unsure'")),
)
"""A person's review of an answer or of a pair; undo, edit and re-grade are rows that name the one they replace.

    A review of a pair has no decision but a withdrawal: its preferences are rows of ``preference_score``.
    """


REVIEW_SCORE = Table(
    "review_score",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("review_id", BigId, ForeignKey("review.id"), nullable=False, index=True),
    Column("dimension", String, nullable=False),
    Column("value", Float),
    Column("scale", String, nullable=False),
)
"""A person's score on a dimension of a rubric, with its scale."""


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
    Column("failed", String),  # why it could not even begin, in one line
)
"""Long work that somebody asked for; its id is the durable workflow's id. Ids and filters only, never texts.

    A worker takes up a row without a run; ``cancelled_at`` asks it to stop, wherever it runs.
    """


WORKER = Table(
    "worker",
    METADATA,
    Column("executor_id", String, primary_key=True),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("started_at", Utc, nullable=False),
    Column("beat_at", Utc, nullable=False),
)
"""A process that takes jobs, alive while its beat is recent."""


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
)
"""Who did what, written in the change's own transaction."""


# What `judgeboard forget` may blank, per table; no other column of an append-only table ever changes.
FORGETTABLE: dict[str, tuple[str, ...]] = {
    "response": ("query", "passages", "answer", "messages", "reference", "extra"),
    "judgment": ("reasoning", "claims", "raw", "attempts", "error"),
    "judgment_score": ("reasoning",),
    "review": ("spans", "note", "corrected_answer", "claim_marks"),
    **METHOD_FORGETTABLE,
    **QUEUE_FORGETTABLE,
}

# The responses that a row says something of, in SQL over the row as it was: forgetting one of them blanks it.
RESPONSES: dict[str, str] = {
    "response": "OLD.id",
    "judgment": "OLD.response_id",
    "judgment_score": "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
    "review": OF_ANSWER_OR_PAIR,
    **METHOD_RESPONSES,
    **QUEUE_RESPONSES,
}

# Tables whose rows are written once; the triggers of ``guards`` hold it.
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

# Tables where only the named columns change; rows are never deleted.
CHANGEABLE: dict[str, tuple[str, ...]] = {
    "import_batch": ("counts", "finished_at", "sha256"),
    "run": ("state", "finished_at", "why_stopped", "selected"),
    "flag": ("state",),
    "job": ("run_id", "cancelled_at", "failed"),
    **QUEUE_CHANGEABLE,
}
