"""Tables of answers and what is known about them before a review: feedback, judgments, flags and pairs."""

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

from judgeboard.domain import FeedbackKind, FlagState, Label, Preference, ResponseKind, RunState
from judgeboard.store.tables.columns import (
    METADATA,
    BigId,
    JsonTuple,
    JsonValue,
    Utc,
    covering_index,
    judge_steps,
    one_of,
    optional,
    partial,
    references,
    required,
    score_ranges,
    table,
)

IMPORT_BATCH = table(
    "import_batch",
    *required(String, "file", "importer", "kind", "actor"),
    Column("sha256", String),
    Column("at", Utc, nullable=False),
    Column("counts", JsonValue),
    Column("finished_at", Utc),
    Column("undone_at", Utc),
    comment="One import of one file; `counts` and `finished_at` are null while it runs or if it broke off.",
)

RESPONSE = table(
    "response",
    Column("kind", one_of(ResponseKind, "kind"), nullable=False, default="log"),
    Column("derived_from", BigId, ForeignKey("response.id")),
    *required(String, "source", "external_id", "query_type", "content_hash"),
    *optional(String, "query", "answer", "generator_model", "reference"),
    Column("passages", JsonTuple),
    Column("generator_cost", Float, comment="In the currency of the log."),
    Column("messages", JsonValue),
    Column("asked_at", Utc),
    Column("asked_day", Integer, comment="Days since 1970-01-01, UTC."),
    Column("extra", JsonValue, nullable=False, default=dict, comment="Metadata of the log."),
    Column("evidence_group", BigId, nullable=False, comment="Equal for equal query and passages."),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("imported_at", Utc, nullable=False),
    UniqueConstraint("source", "external_id"),
    Index("ix_response_external_id", "external_id"),
    # A run reads the log by id: without this index SQLite sorts all responses of a kind for every page.
    Index("ix_response_kind", "kind", "id"),
    # For the orders and the filters of the Responses page: a page is found from the index alone.
    # Responses without a time come first here, and last on the page, because it reads the index backwards.
    covering_index(
        "ix_response_asked",
        ("kind", text("coalesce(asked_day, -1)"), "id"),
        ("query_type", "source", "generator_model", "asked_day"),
    ),
    Index("ix_response_model", "generator_model"),
    # Most responses are not derived from another.
    Index("ix_response_derived_from", "derived_from", "kind", **partial("derived_from IS NOT NULL")),
    # The daily share of flagged answers needs the number of all answers, which is counted from this index alone.
    Index("ix_response_share", "kind", "query_type", "asked_day"),
    comment="A question with its passages and answer; texts are null only after `judgeboard db forget`.",
)

FEEDBACK = table(
    "user_feedback",
    Column("response_id", BigId, ForeignKey("response.id"), nullable=False, index=True),
    Column("kind", one_of(FeedbackKind, "kind"), nullable=False),
    Column("value", Float, nullable=False),
    Column("user", String),
    Column("at", Utc),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("imported_at", Utc, nullable=False),
    CheckConstraint(
        "(kind = 'thumbs' AND value IN (0, 1)) OR (kind = 'stars' AND value >= 1 AND value <= 5)", name="value"
    ),
    comment="Feedback of the assistant's user on a response, on its original scale.",
)

VERSION = table(
    "judge_version",
    *required(String, "name", "kind", "scale", "fingerprint"),
    Column("number", Integer, nullable=False),
    *optional(String, "model", "prompt", "prompt_hash"),
    Column("params", JsonValue, nullable=False, default=dict),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("fingerprint"),
    UniqueConstraint("name", "number"),
    comment="A judge with its exact configuration; `number` counts within its name (rag v3).",
)

RUN = table(
    "run",
    Column("kind", String, nullable=False, comment="judge, rejudge, import or the name of a method."),
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), index=True),
    Column("filter", JsonValue, nullable=False, default=dict),
    Column("actor", String, nullable=False),
    Column("endpoint_host", String),
    Column("selected", Integer),
    Column("started_at", Utc, nullable=False),
    Column("finished_at", Utc),
    Column("state", one_of(RunState, "state"), nullable=False, default="running"),
    Column("why_stopped", String),
    Column("provider", String),
    Column("base_url", String, comment="Address of the judge's endpoint, without user, password and query."),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    comment="A batch of judging; `filter` stores the selection, so that a stopped run can continue.",
)

JUDGMENT = judge_steps(
    "judgment",
    "response_id",
    Column("repeat", Integer, nullable=False, default=0),
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("label", one_of(Label, "label")),
    Column("reasoning", String),
    Column("claims", JsonValue),
    UniqueConstraint("response_id", "judge_version_id", "ask", "repeat"),
    *score_ranges(),
    CheckConstraint(
        "status = 'ok' OR (groundedness IS NULL AND quality IS NULL AND label IS NULL)", name="only_ok_has_verdict"
    ),
    # Recent judgments of a judge and their cost.
    Index("ix_judgment_created", "judge_version_id", "created_at", "status", "cost_micro"),
    Index("ix_judgment_not_ok", "judge_version_id", "status", "id", **partial("status <> 'ok'")),
    # The models that a provider reported, with their first and last judgments.
    Index(
        "ix_judgment_model",
        *("judge_version_id", "model_reported", "created_at"),
        **partial("model_reported IS NOT NULL"),
    ),
    comment="A verdict of one judge version on one response.",
)

JUDGMENT_SCORE = table(
    "judgment_score",
    Column("judgment_id", BigId, ForeignKey("judgment.id"), nullable=False, index=True),
    *required(String, "dimension", "scale"),
    Column("value", Float),
    Column("reasoning", String),
    comment="A score of a judgment on a dimension, with its scale.",
)

CURRENT = Table(
    "current_judgment",
    METADATA,
    *references("judge_version_id", "response_id", primary_key=True),
    Column("judgment_id", BigId, ForeignKey("judgment.id"), nullable=False),
    *required(String, "judge_kind", "judge_name"),
    Column("is_current", Boolean, nullable=False),
    *required(String, "response_kind", "query_type", "source"),
    Column("asked_day", Integer),
    Column("evidence_group", BigId, nullable=False),
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("label", String),
    Column("user_quality", Float, comment="The latest user feedback on the scale 1 to 4."),
    Index("uq_current_judgment_name", "response_id", "judge_name", "judge_kind", unique=True, **partial("is_current")),
    # Trends read this index alone. It includes the columns of its condition, because SQLite would otherwise look them
    # up in the table.
    covering_index(
        "ix_current_judgment_trend",
        ("judge_name", "query_type", "asked_day"),
        ("judge_version_id", "groundedness", "quality", "response_id", "is_current", "response_kind"),
        **partial("is_current AND response_kind = 'log'"),
    ),
    # Trends of a version and rates of all its answers read this index alone.
    covering_index(
        "ix_current_judgment_version_trend",
        ("judge_version_id", "query_type", "asked_day"),
        ("groundedness", "quality", "response_kind", "response_id", "evidence_group", "label"),
        **partial("response_kind = 'log'"),
    ),
    # Scatter plots of two scores, and filters by a judge's score.
    covering_index(
        "ix_current_judgment_score",
        ("judge_name", "groundedness", "response_id"),
        ("quality", "user_quality", "label", "query_type", "source", "asked_day", "is_current", "response_kind"),
        **partial("is_current AND response_kind = 'log'"),
    ),
    # Agreement reads all versions' verdicts on graded answers from this index alone.
    covering_index(
        "ix_current_judgment_response",
        ("response_id", "judge_version_id"),
        ("groundedness", "quality", "label", "response_kind", "query_type", "asked_day", "evidence_group"),
    ),
    # Finds the row of a judgment that is withdrawn.
    Index("ix_current_judgment_judgment", "judgment_id"),
    comment="The latest usable judgment of each judge version on each response, with columns for filters.",
)

# The queue's indexes contain the columns of its filters, so that table rows are read only for the 50 rows of a page.
# They contain ``state`` too, because SQLite looks up even the columns of an index's own condition.
_OF_OPEN_FLAG = (
    *("rule", "query_type", "source", "judge_name"),
    *("groundedness", "quality", "asked_day", "response_id", "leads", "state"),
)

FLAG = table(
    "flag",
    Column("response_id", BigId, ForeignKey("response.id"), nullable=False),
    *required(String, "query_type", "source", "rule", "raise_key"),
    Column("asked_day", Integer),
    Column("judge_name", String),
    Column("groundedness", Float, comment="Of the primary judge, when the flag was raised."),
    Column("quality", Integer),
    Column("judgment_id", BigId, ForeignKey("judgment.id")),
    Column("auto_score", Float),
    *required(JsonValue, "params", "details", default=dict),
    Column("severity", Float, nullable=False),
    Column("inclusion_probability", Float, nullable=False, default=1.0),
    Column("decided_before_id", BigId, ForeignKey("flag.id")),
    Column("state", one_of(FlagState, "state"), nullable=False, default="open"),
    Column("leads", Boolean, nullable=False, default=True, comment="The worst open flag of its answer."),
    Column("created_at", Utc, nullable=False),
    CheckConstraint("severity >= 0 AND severity <= 1", name="severity"),
    Index("uq_flag_raise", "response_id", "raise_key", unique=True, **partial("state <> 'superseded'")),
    # The queue reads open flags in one of these orders. The engines sort NULL differently, so coalesce sorts missing
    # values last in both.
    *(
        covering_index(f"ix_flag_open_{name}", order, _OF_OPEN_FLAG, **partial("state = 'open'"))
        for name, order in (
            ("severity", (text("severity DESC"), text("coalesce(asked_day, 9999999)"), "id")),
            ("groundedness", (text("coalesce(groundedness, 2)"), "id", "severity")),
            ("asked", (text("coalesce(asked_day, 9999999)"), "id", "severity")),
            ("newest", (text("id DESC"), "severity")),
        )
    ),
    Index("ix_flag_open_rule", "rule", "query_type", "leads", "state", **partial("state = 'open'")),
    Index("ix_flag_created", "created_at", "state"),
    covering_index(
        "ix_flag_share",
        ("query_type", "asked_day"),
        ("response_id", "state", "rule"),
        **partial("state <> 'superseded' AND rule <> 'random_sample'"),
    ),
    Index("ix_flag_rule_state", "rule", "state", "query_type"),
    Index("ix_flag_response", "response_id", "state"),
    Index("ix_flag_judgment", "judgment_id", **partial("judgment_id IS NOT NULL")),
    Index("ix_flag_decided_before", "decided_before_id", **partial("decided_before_id IS NOT NULL")),
    comment="A reason to look at a response; only two columns change: `state`, and `leads` (the worst open flag).",
)

PAIR = table(
    "pair",
    *required(String, "source", "external_id", "query_type", "content_hash"),
    Column("question", String, comment="Null only after `judgeboard db forget`."),
    Column("options", JsonTuple),
    Column("reference", String),
    Column("response_a_id", BigId, ForeignKey("response.id")),
    Column("response_b_id", BigId, ForeignKey("response.id")),
    Column("gold", one_of(Preference, "gold")),
    Column("extra", JsonValue, nullable=False, default=dict),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("imported_at", Utc, nullable=False),
    UniqueConstraint("source", "external_id"),
    Index("ix_pair_response_a", "response_a_id"),
    Index("ix_pair_response_b", "response_b_id"),
    comment="Two answers to one question; a side is null where only samples of answers were recorded.",
)
