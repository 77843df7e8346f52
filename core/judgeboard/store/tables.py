"""The database tables and their columns; `triggers` defines which rows may change.

Domain objects are validated before they are stored; the CHECK constraints repeat the ranges. A *step* is one
request to a model with all its calls: each row of ``judgment``, ``comparison``, ``sample``, ``generation`` and
``judgment_review`` is a step.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Enum,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeDecorator

from judgeboard.domain import (
    Decision,
    FeedbackKind,
    FlagState,
    IssueState,
    ItemState,
    Label,
    Preference,
    QueueOrder,
    QueueState,
    ResponseKind,
    RuleState,
    RunState,
    Shown,
    Stage,
    Status,
    WhyDiffers,
)

# SQLite sets ids itself only in INTEGER PRIMARY KEY columns; PostgreSQL needs room for more than 2^31 judgments.
BigId = BigInteger().with_variant(Integer, "sqlite")

# Python's None is stored as SQL NULL, never as the JSON text "null".
JsonValue = JSON(none_as_null=True)


class JsonTuple(TypeDecorator[tuple[Any, ...]]):
    """A JSON list that is returned as a tuple."""

    impl = JsonValue
    cache_ok = True

    def process_result_value(self, value: list[Any] | None, dialect: Dialect) -> tuple[Any, ...] | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return None for NULL."""
        return None if value is None else tuple(value)


class Utc(TypeDecorator[datetime]):
    """A moment, stored in UTC and read as an aware value on both engines. A naive value counts as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return UTC for the engine: aware for PostgreSQL, naive for SQLite, which stores no time zone."""
        if value is None:
            return None
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return aware.replace(tzinfo=None) if dialect.name == "sqlite" else aware

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return an aware UTC value."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


METADATA = MetaData(naming_convention=NAMES)


def one_of(choices: type[StrEnum], name: str) -> Enum:
    """The type of a column that stores the value of a choice and returns the choice."""
    values = [choice.value for choice in choices]
    return Enum(
        choices, native_enum=False, create_constraint=True, length=20, name=name, values_callable=lambda _: values
    )


def score_ranges() -> list[CheckConstraint]:
    """A groundedness from 0 to 1, a quality from 1 to 4."""
    return [
        CheckConstraint("groundedness >= 0 AND groundedness <= 1", name="groundedness"),
        CheckConstraint("quality >= 1 AND quality <= 4", name="quality"),
    ]


def partial(condition: str) -> dict[str, Any]:
    """A partial index on both engines."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def required(type_: Any, *names: str, default: object = None) -> list[Column[Any]]:
    """Columns of one type that are never NULL."""
    return [Column(name, type_, nullable=False, default=default) for name in names]


def optional(type_: Any, *names: str) -> list[Column[Any]]:
    """Columns of one type that may be NULL."""
    return [Column(name, type_) for name in names]


def references(*names: str, nullable: bool = False, primary_key: bool = False) -> list[Column[Any]]:
    """Columns that refer to a row of another table; for example, ``response_id`` refers to ``response``."""
    keys = {name: ForeignKey(f"{name.removesuffix('_id')}.id") for name in names}
    return [Column(name, BigId, key, nullable=nullable, primary_key=primary_key) for name, key in keys.items()]


def covering_index(name: str, searched: Sequence[Any], read: Sequence[str], **options: Any) -> Index:
    """An index to search by the columns ``searched``; queries also read the columns ``read`` from it alone."""
    return Index(name, *searched, *read, **options)


def _table(name: str, *parts: SchemaItem, comment: str) -> Table:
    """A table with an ``id`` as its primary key."""
    columns_first = sorted(parts, key=lambda part: not isinstance(part, Column))  # indexes refer to columns
    return Table(name, METADATA, Column("id", BigId, primary_key=True), *columns_first, comment=comment)


def _link(name: str, one: str, other: str, comment: str) -> Table:
    """A table that links rows of two tables, with an index for each direction."""
    index = Index(f"ix_{name}_{other.removesuffix('_id')}", other, one)
    return Table(name, METADATA, *references(one, other, primary_key=True), index, comment=comment)


def _step_table(name: str, *parts: SchemaItem, comment: str) -> Table:
    """A table of steps: after its own columns come status, raw output, calls and cost (exports keep this order)."""
    return _table(
        name,
        *parts,
        *references("run_id", nullable=True),
        Column("status", one_of(Status, "status"), nullable=False),
        *optional(String, "raw", "model_reported", "reply_format", "error"),
        *optional(Integer, "prompt_tokens", "completion_tokens", "latency_ms"),
        Column("cost_micro", BigId, comment="Millionths of the currency of the prices."),
        *optional(JsonValue, "attempts", "dropped_parameters"),
        Column("created_at", Utc, nullable=False),
        Index(f"ix_{name}_run", "run_id", "status"),
        comment=comment,
    )


def _judge_steps(name: str, subject: str, *parts: SchemaItem, comment: str) -> Table:
    """A table of judge versions' steps; the column ``subject`` refers to the row that a step is about."""
    return _step_table(
        name,
        *references(subject, "judge_version_id"),
        Column("ask", Integer, nullable=False, default=0),
        Index(f"ix_{name}_version", "judge_version_id", subject),
        *parts,
        comment=comment,
    )


SETTING = _table(
    "setting",
    Column("key", String, nullable=False, index=True),
    Column("value", JsonValue),
    Column("by", String, nullable=False),
    Column("at", Utc, nullable=False),
    comment="Thresholds and the primary judge; the latest row of a key is in force.",
)

IMPORT_BATCH = _table(
    "import_batch",
    *required(String, "file", "importer", "kind", "actor"),
    Column("sha256", String),
    Column("at", Utc, nullable=False),
    Column("counts", JsonValue),
    Column("finished_at", Utc),
    comment="One import of one file; `counts` and `finished_at` are null while it runs or if it broke off.",
)

RESPONSE = _table(
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
    comment="A question with its passages and answer; texts are null only after `judgeboard forget`.",
)

FEEDBACK = _table(
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

VERSION = _table(
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

RUN = _table(
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
    comment="A batch of judging; `filter` stores the selection, so that a stopped run can continue.",
)

JUDGMENT = _judge_steps(
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

JUDGMENT_SCORE = _table(
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
    comment="The latest usable judgment of each judge version on each response, with columns for filters.",
)

# The queue's indexes contain the columns of its filters, so that table rows are read only for the 50 rows of a page.
# They contain ``state`` too, because SQLite looks up even the columns of an index's own condition.
_OF_OPEN_FLAG = (
    *("rule", "query_type", "source", "judge_name"),
    *("groundedness", "quality", "asked_day", "response_id", "leads", "state"),
)

FLAG = _table(
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
            ("severity", (text("severity DESC"), "id")),
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
    comment="A reason to look at a response; only two columns change: `state`, and `leads` (the worst open flag).",
)

REVIEWER = _table(
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

LABEL_SCHEMA = _table(
    "label_schema",
    *required(String, "name", "hash", "created_by"),
    Column("number", Integer, nullable=False),
    Column("fields", JsonValue, nullable=False),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("hash"),
    UniqueConstraint("name", "number"),
    comment="A version of a label schema; `number` counts within its name (support v2).",
)

REVIEW = _table(
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
    Index("ix_review_bulk", "bulk", "id", **partial("bulk IS NOT NULL")),
    Index("ix_review_gold", "response_id", "id", **partial("stage = 'adjudication'")),
    Index("ix_review_label_schema", "label_schema_id", **partial("label_schema_id IS NOT NULL")),
    Index("ix_review_in_suite", "id", **partial("in_suite IS NOT NULL")),
    # Answers that a reviewer was unsure about, read with every page of the queue.
    Index("ix_review_unsure", "reviewer_id", "id", "decision", **partial("decision = 'unsure'")),
    comment="A review of a response or of a pair; undo, edit and re-grade are new rows that replace one.",
)

REVIEW_FLAG = _link("review_flag", "review_id", "flag_id", "A flag that a review decides, or leaves open as unsure.")

REVIEW_SCORE = _table(
    "review_score",
    Column("review_id", BigId, ForeignKey("review.id"), nullable=False, index=True),
    *required(String, "dimension", "scale"),
    Column("value", Float),
    comment="A reviewer's score on a dimension, with its scale.",
)

FAILURE_MODE = _table(
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

PUSHED = Table(
    "pushed",
    METADATA,
    *(Column(name, String, primary_key=True) for name in ("target", "what")),
    *references("response_id", primary_key=True),
    Column("author", String, primary_key=True, comment="A judge version, a person, or gold."),
    Column("row_id", BigId, nullable=False, comment="The judgment or the review."),
    Column("sent", Boolean, nullable=False),
    Column("error", String, comment="Why the tool refused it."),
    Column("at", Utc, nullable=False),
    Index("ix_pushed_row", "what", "row_id", "target", "sent"),
    comment="What a tool got back about an answer from each author; the latest attempt counts.",
)

ISSUE = _table(
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

ALARM = _table(
    "alarm",
    *required(String, "measure", "direction", "query_type"),
    *references("judge_version_id", nullable=True),
    *required(Integer, "from_day", "seen_day"),  # first days of the periods of the change and of the alarm
    *required(Float, "evidence", "evidence_limit", "rate_before", "rate_after"),
    Column("by", String, nullable=False),
    Column("at", Utc, nullable=False),
    # One change raises one alarm, however often somebody looks.
    UniqueConstraint("measure", "direction", "query_type", "judge_version_id", "from_day"),
    comment="A change that a detector found: `measure` rose or fell (`direction`) for one query type.",
)

ALARM_ACKNOWLEDGEMENT = _table(
    "alarm_acknowledgement",
    Column("alarm_id", BigId, ForeignKey("alarm.id"), nullable=False, unique=True),
    *required(String, "by", "note"),
    Column("at", Utc, nullable=False),
    comment="A lead has seen an alarm. Its detectors then start anew on the day of the change.",
)

JOB = Table(
    "job",
    METADATA,
    Column("id", String, primary_key=True),
    *required(String, "kind", "actor"),
    *required(JsonValue, "filter", "judge", "estimate", default=dict),
    Column("run_id", BigId, ForeignKey("run.id"), index=True),
    Column("created_at", Utc, nullable=False),
    Column("cancelled_at", Utc),
    Column("failed", String, comment="Why the job could not start."),
    comment="Long work that a person requested; a worker takes jobs that have no run. Contains no texts.",
)

JUDGING_RULE = _table(
    "judging_rule",
    *required(String, "name", "by"),
    *references("judge_version_id"),
    *required(JsonValue, "filter", "judge", default=dict),
    Column("rate", Float, nullable=False, default=1.0, comment="Share of the answers that are judged."),
    Column("rates", JsonValue, nullable=False, default=dict, comment="Other shares, by query type."),
    Column("max_cost", Float, comment="Per day (UTC), in the currency of the prices."),
    Column("max_calls", Integer, comment="Per day (UTC)."),
    Column("concurrency", Integer, nullable=False),
    Column("delay_s", Float, nullable=False, default=0.0, comment="Seconds between storing and judging an answer."),
    Column("after_id", BigId, nullable=False, comment="The rule judges answers with higher ids."),
    Column("state", one_of(RuleState, "state"), nullable=False, default="active"),
    Column("problem", String, comment="Why workers cannot judge now."),
    Column("at", Utc, nullable=False),
    CheckConstraint("rate >= 0 AND rate <= 1", name="rate"),
    Index("uq_judging_rule_name", "name", unique=True, **partial("state <> 'removed'")),
    comment="Judges answers as they come; only the state and the problem change. Contains no texts.",
)

JUDGING_CLAIM = Table(
    "judging_claim",
    METADATA,
    *references("judge_version_id", "response_id", primary_key=True),
    *references("run_id"),
    Column("executor_id", String, nullable=False),
    Index("ix_judging_claim_executor", "executor_id"),
    comment="An answer that a worker has taken from a judging rule; the row is deleted with the judgment.",
)

WORKER = Table(
    "worker",
    METADATA,
    Column("executor_id", String, primary_key=True),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    *required(Utc, "started_at", "heartbeat_at"),
    comment="A process that takes jobs; it is alive while its heartbeat is recent.",
)

EVENT = _table(
    "event",
    *required(String, "kind", "actor"),
    Column("at", Utc, nullable=False),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("details", JsonValue, nullable=False, default=dict),
    Index("ix_event_response", "response_id", "kind"),
    Index("ix_event_kind", "kind", "id"),
    Index("ix_event_actor", "actor", "id"),
    comment="A record of who did what, written in the transaction of the change.",
)

PAIR = _table(
    "pair",
    *required(String, "source", "external_id", "query_type", "content_hash"),
    Column("question", String, comment="Null only after `judgeboard forget`."),
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

COMPARISON = _judge_steps(
    "comparison",
    "pair_id",
    Column("condition", String, nullable=False, default="plain"),
    Column("reference", String, comment="The answer shown as correct, in the condition `reference`."),
    Column("shown", one_of(Shown, "shown"), nullable=False),
    Column("reasoning", String),
    UniqueConstraint("pair_id", "judge_version_id", "condition", "shown", "ask"),
    CheckConstraint("condition IN ('plain', 'reference')", name="condition"),
    comment="A judge's comparison of a pair in one order of the answers.",
)

COMPARISON_SCORE = _table(
    "comparison_score",
    Column("comparison_id", BigId, ForeignKey("comparison.id"), nullable=False),
    Column("aspect", String, nullable=False),
    Column("preference", one_of(Preference, "preference"), nullable=False),
    UniqueConstraint("comparison_id", "aspect"),
    comment="A comparison's preference on one aspect; it names a stored answer, not the place where it was shown.",
)

PREFERENCE_SCORE = _table(
    "preference_score",
    Column("review_id", BigId, ForeignKey("review.id"), nullable=False),
    Column("aspect", String, nullable=False),
    Column("preference", one_of(Preference, "preference")),
    Column("value", Float),
    Column("scale", String),
    UniqueConstraint("review_id", "aspect"),
    comment="A reviewer's preference on one aspect of a pair: a side, a grade on its own scale, or both.",
)

SAMPLE = _judge_steps(
    "sample",
    "pair_id",
    Column("number", Integer, nullable=False),
    Column("answer", String),
    Column("correct", Boolean, comment="Whether the answer is right by the imported file; NULL: not known."),
    UniqueConstraint("pair_id", "judge_version_id", "number", "ask"),
    comment="One of several attempts of a model at a question.",
)

GENERATION = _step_table(
    "generation",
    Column("subject", String, nullable=False, comment="Response, prompt or suite case, within the run."),
    Column("number", Integer, nullable=False),
    Column("model", String),
    Column("response_id", BigId, ForeignKey("response.id")),
    UniqueConstraint("run_id", "subject", "number"),
    Index("ix_generation_response", "response_id"),
    comment="A call to a model that answers.",
)

REFINEMENT = _table(
    "refinement",
    Column("run_id", BigId, ForeignKey("run.id"), nullable=False),
    *required(String, "method", "subject", "outcome"),
    Column("number", Integer, nullable=False),
    Column("root_response_id", BigId, ForeignKey("response.id")),
    *references("response_id", "judgment_id", nullable=True),
    Column("judgment_before_id", BigId, ForeignKey("judgment.id")),
    Column("rating", Integer),
    Column("feedback", String),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("run_id", "subject", "number"),
    CheckConstraint("method IN ('reflect', 'refine')", name="method"),
    Index("ix_refinement_root", "root_response_id"),
    Index("ix_refinement_response", "response_id"),
    comment="The result of one attempt at a better answer: its judgment and the outcome.",
)

SELECTED_ATTEMPT = _table(
    "selected_attempt",
    *references("run_id", "reviewer_id"),
    *required(String, "subject", "request_key"),
    Column("number", Integer, nullable=False),
    Column("withdrawn", Boolean, nullable=False, default=False),
    Column("replaces", BigId, ForeignKey("selected_attempt.id")),
    Column("at", Utc, nullable=False),
    UniqueConstraint("request_key"),
    UniqueConstraint("replaces"),
    Index("ix_selected_attempt_run", "run_id", "subject"),
    comment="The attempt that a person selected; undo is a row too.",
)

JUDGMENT_REVIEW = _judge_steps(
    "judgment_review",
    "judgment_id",
    Column("correct", Boolean),
    Column("reasoning", String),
    Column("inclusion_probability", Float, nullable=False, default=1.0),
    UniqueConstraint("judgment_id", "judge_version_id", "ask"),
    comment="A supreme judge's review of a judgment.",
)

ANCHOR_SET = _table(
    "anchor_set",
    *required(String, "seed", "by"),
    Column("at", Utc, nullable=False),
    comment="Answers that a judge version judges again and again, to show whether it drifts; the newest set counts.",
)

ANCHOR = _link("anchor", "anchor_set_id", "response_id", "An answer of an anchor set.")

ANCHOR_JUDGMENT = _judge_steps(
    "anchor_judgment",
    "response_id",
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("label", one_of(Label, "label")),
    UniqueConstraint("run_id", "response_id"),
    *score_ranges(),
    comment="A verdict on an anchor. It never replaces the current judgment of its answer.",
)

SUITE_RUN = _table(
    "suite_run",
    *references("run_id", "judge_version_id"),
    *required(String, "name", "spec_hash", "candidate"),
    Column("spec", JsonValue, nullable=False, default=dict),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("run_id"),
    Index("ix_suite_run_name", "name", "id"),
    comment="A suite as it was run: its cases, candidate and gate; the run row has the state and the end.",
)

SUITE_CASE = _table(
    "suite_case",
    Column("suite_run_id", BigId, ForeignKey("suite_run.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("case_key", String, nullable=False, comment="Hash of the case, equal in every run."),
    *references("response_id", "judgment_id", nullable=True),
    Column("checks", JsonValue),
    Column("score", Float),
    Column("reason", String, comment="Why the score is not available."),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("suite_run_id", "position"),
    Index("ix_suite_case_response", "response_id"),
    comment="The result of one case of a suite run: the candidate's answer, its judgment and its programmatic checks.",
)

# Tables of steps besides ``judgment``.
STEP_TABLES = (COMPARISON, SAMPLE, GENERATION, JUDGMENT_REVIEW, ANCHOR_JUDGMENT)

_UNFINISHED = "repeat_for IS NULL AND state IN ('open', 'conflict')"

QUEUE = _table(
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

QUEUE_ASSIGNMENT = _link(
    "queue_assignment",
    "queue_id",
    "reviewer_id",
    "A person to whom a queue is assigned; a queue without any is open to everybody.",
)

QUEUE_ITEM = _table(
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

QUEUE_ITEM_FLAG = _link(
    "queue_item_flag",
    "queue_item_id",
    "flag_id",
    "A flag for which an answer is in a queue: the item keeps it open and decides it.",
)

LEASE = _table(
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

SKIP = _table(
    "skip",
    *references("queue_item_id", "reviewer_id"),
    Column("reason", String),
    Column("at", Utc, nullable=False),
    Index("ix_skip_item", "queue_item_id", "reviewer_id"),
    comment="An item that somebody skipped, and why; it is leased to them again only if they ask for it.",
)

DRAFT = _table(
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

COMMENT = _table(
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

API_KEY = _table(
    "api_key",
    *required(String, "name", "hash", "created_by"),
    Column("scopes", JsonTuple, nullable=False),
    Column("source", String, comment="The only source that the key may send; NULL: any."),
    Column("requests_per_second", Float, comment="NULL: no limit."),
    Column("max_body_mb", Float, nullable=False),
    Column("created_at", Utc, nullable=False),
    *optional(Utc, "expires_at", "revoked_at"),
    UniqueConstraint("name"),
    UniqueConstraint("hash"),
    comment="A key with which an assistant sends traces; only the SHA-256 of its random token is stored.",
)

TRACE = _table(
    "trace",
    *required(String, "external_id", "owner", "source"),
    Column("state", String, nullable=False, default="waiting"),
    *required(Utc, "first_at", "last_at"),
    Column("root_ended", Boolean, nullable=False, default=False),
    Column("spans", Integer, nullable=False, default=0, comment="Stored spans and log records."),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("reason", String, comment="Why it made no answer, or why later spans did not change the answer."),
    Column("used", JsonTuple, comment="Pairs of a span's id and what the answer took from it."),
    # The owner is the source of the sender's key, "" without one: no key adds spans to a trace of another source.
    UniqueConstraint("external_id", "owner"),
    CheckConstraint("state IN ('waiting', 'made', 'none', 'forgotten')", name="state"),
    Index("ix_trace_waiting", "last_at", **partial("state = 'waiting'")),
    Index("ix_trace_source", "source", "state"),
    Index("ix_trace_response", "response_id"),
    comment="A trace that an assistant sent; it becomes a response when its root has ended and no span follows.",
)

SPAN = _table(
    "span",
    *references("trace_id"),
    *required(String, "external_id", "kind"),
    Column("body", LargeBinary, nullable=False, comment="JSON, compressed with zlib."),
    UniqueConstraint("trace_id", "kind", "external_id"),
    Index("ix_span_external_id", "external_id"),
    CheckConstraint("kind IN ('span', 'log')", name="kind"),
    comment="A span or a log record of a trace, as received; deleted by `judgeboard forget`.",
)

WAITING_FEEDBACK = _table(
    "waiting_feedback",
    Column("owner", String, nullable=False),
    *optional(String, "response_key", "trace_key", "span_key"),
    Column("kind", one_of(FeedbackKind, "kind"), nullable=False),
    Column("value", Float, nullable=False),
    Column("user", String),
    *optional(Utc, "at"),
    Column("received_at", Utc, nullable=False),
    comment="Feedback whose answer has not come yet; moved to user_feedback when it comes.",
)
