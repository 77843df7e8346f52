"""The tables of the log, its judgments, flags and reviews: what is kept, and which parts of it may change.

Values enter as validated domain objects (a ``table=True`` class validates nothing); the CHECK constraints repeat the
ranges. Append-only tables are guarded by triggers (``guards``), listed in ``APPEND_ONLY``. What the other judging
methods keep is in ``method_tables``, what queues keep in ``queue_tables``.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text
from sqlmodel import Field

from judgeboard.domain import (
    Decision,
    FeedbackKind,
    FlagState,
    ResponseKind,
    Role,
    RunState,
    Shown,
    Stage,
    Status,
    WhyDiffers,
)
from judgeboard.store.schema.column_types import BigId, JsonValue, Utc
from judgeboard.store.schema.method_tables import (
    METHOD_APPEND_ONLY,
    METHOD_FORGETTABLE,
    METHOD_RESPONSES,
)
from judgeboard.store.schema.queue_tables import (
    OF_ANSWER_OR_PAIR,
    QUEUE_APPEND_ONLY,
    QUEUE_CHANGEABLE,
    QUEUE_FORGETTABLE,
    QUEUE_RESPONSES,
)
from judgeboard.store.schema.table_base import Table, groundedness_range, one_of, partial, quality_range

__all__ = ["Table"]


class SettingRow(Table, table=True):
    """A threshold or the primary judge as somebody set it; the latest row of a key counts."""

    __tablename__ = "setting"

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    key: str = Field(index=True)
    value: Any = Field(sa_type=JsonValue, nullable=True)
    by: str
    at: datetime = Field(sa_type=Utc)


class ImportBatchRow(Table, table=True):
    """One import of one file; ``counts`` and ``finished_at`` are set once, at its end."""

    __tablename__ = "import_batch"

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    file: str
    sha256: str | None = None
    importer: str
    kind: str
    actor: str
    at: datetime = Field(sa_type=Utc)
    counts: dict[str, Any] | None = Field(default=None, sa_type=JsonValue)
    finished_at: datetime | None = Field(default=None, sa_type=Utc)


class ResponseRow(Table, table=True):
    """A logged answer. Texts are null only after ``judgeboard forget``; the hash stays."""

    __tablename__ = "response"
    __table_args__: ClassVar[Any] = (
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

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    kind: str = ResponseKind.LOG.value
    derived_from: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    source: str
    external_id: str
    query_type: str
    query: str | None
    passages: list[str] | None = Field(default=None, sa_type=JsonValue)
    answer: str | None
    generator_model: str | None = None
    generator_cost: float | None = None  # as the log gave it, in its own currency
    messages: list[dict[str, Any]] | None = Field(default=None, sa_type=JsonValue)
    reference: str | None = None
    asked_at: datetime | None = Field(default=None, sa_type=Utc)
    asked_day: int | None = None  # days since 1970-01-01, UTC
    extra: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)  # the log's own metadata
    content_hash: str
    # Responses with the same query and passages stand on the same evidence: statistics resample these groups.
    evidence_group: int = Field(sa_type=BigId)
    import_batch_id: int | None = Field(default=None, foreign_key="import_batch.id", sa_type=BigId)
    imported_at: datetime = Field(sa_type=Utc)


class UserFeedbackRow(Table, table=True):
    """What the assistant's user said, on the scale it was said on."""

    __tablename__ = "user_feedback"
    __table_args__: ClassVar[Any] = (
        one_of("kind", FeedbackKind),
        CheckConstraint(
            "(kind = 'thumbs' AND value IN (0, 1)) OR (kind = 'stars' AND value >= 1 AND value <= 5)", name="value"
        ),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    response_id: int = Field(foreign_key="response.id", index=True, sa_type=BigId)
    kind: str
    value: float
    user: str | None = None
    at: datetime | None = Field(default=None, sa_type=Utc)
    import_batch_id: int | None = Field(default=None, foreign_key="import_batch.id", sa_type=BigId)
    imported_at: datetime = Field(sa_type=Utc)


class JudgeVersionRow(Table, table=True):
    """A judge exactly as it judged; ``number`` counts within its name ("rag v3")."""

    __tablename__ = "judge_version"
    __table_args__: ClassVar[Any] = (UniqueConstraint("fingerprint"), UniqueConstraint("name", "number"))

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    name: str
    kind: str
    number: int
    model: str | None = None
    params: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    prompt: str | None = None
    prompt_hash: str | None = None
    scale: str
    fingerprint: str
    created_at: datetime = Field(sa_type=Utc)


class RunRow(Table, table=True):
    """A batch of judging; only its state and its end change. ``filter`` fixes the selection, its frontier included."""

    __tablename__ = "run"
    __table_args__: ClassVar[Any] = (one_of("state", RunState),)

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    kind: str  # judge | rejudge | import
    judge_version_id: int | None = Field(default=None, foreign_key="judge_version.id", index=True, sa_type=BigId)
    filter: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    actor: str
    endpoint_host: str | None = None
    selected: int | None = None
    started_at: datetime = Field(sa_type=Utc)
    finished_at: datetime | None = Field(default=None, sa_type=Utc)
    state: str = RunState.RUNNING.value
    why_stopped: str | None = None


class JudgmentRow(Table, table=True):
    """A verdict of one judge version on one response, as stored: ``ask`` counts rejudges, ``repeat`` repeats of one."""

    __tablename__ = "judgment"
    __table_args__: ClassVar[Any] = (
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

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    response_id: int = Field(foreign_key="response.id", sa_type=BigId)
    judge_version_id: int = Field(foreign_key="judge_version.id", sa_type=BigId)
    run_id: int | None = Field(default=None, foreign_key="run.id", sa_type=BigId)
    ask: int = 0
    repeat: int = 0
    status: str
    groundedness: float | None = None
    quality: int | None = None
    label: str | None = None
    reasoning: str | None = None
    claims: list[dict[str, Any]] | None = Field(default=None, sa_type=JsonValue)
    raw: str | None = None
    model_reported: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_micro: int | None = Field(default=None, sa_type=BigId)
    latency_ms: int | None = None
    attempts: list[dict[str, Any]] | None = Field(default=None, sa_type=JsonValue)
    reply_format: str | None = None
    dropped_parameters: list[str] | None = Field(default=None, sa_type=JsonValue)
    error: str | None = None
    created_at: datetime = Field(sa_type=Utc)


class JudgmentScoreRow(Table, table=True):
    """A judge's score on a dimension of its own (rubrics, expected scores), with its scale."""

    __tablename__ = "judgment_score"

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    judgment_id: int = Field(foreign_key="judgment.id", index=True, sa_type=BigId)
    dimension: str
    value: float | None = None
    scale: str
    reasoning: str | None = None


class CurrentJudgmentRow(Table, table=True):
    """The latest usable judgment of a judge version on a response, with what pages filter and average by.

    ``is_current`` marks the one that is current of the judge's *name*. Kept in the judgment's own transaction and
    rebuilt by ``judgeboard flag``; it holds nothing that is not in judgment, response and user_feedback.
    """

    __tablename__ = "current_judgment"
    __table_args__: ClassVar[Any] = (
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

    judge_version_id: int = Field(foreign_key="judge_version.id", primary_key=True, sa_type=BigId)
    response_id: int = Field(foreign_key="response.id", primary_key=True, sa_type=BigId)
    judgment_id: int = Field(foreign_key="judgment.id", sa_type=BigId)
    judge_kind: str
    judge_name: str
    is_current: bool
    response_kind: str
    query_type: str
    source: str
    asked_day: int | None = None
    evidence_group: int = Field(sa_type=BigId)
    groundedness: float | None = None
    quality: int | None = None
    label: str | None = None
    user_quality: float | None = None  # the latest feedback on the 1-4 scale


class FlagRow(Table, table=True):
    """A rule's reason to look at a response; only its state changes."""

    __tablename__ = "flag"
    __table_args__: ClassVar[Any] = (
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

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    response_id: int = Field(foreign_key="response.id", sa_type=BigId)
    query_type: str
    source: str
    asked_day: int | None = None
    judge_name: str | None = None
    groundedness: float | None = None  # the primary judge's, when the flag was raised
    quality: int | None = None
    judgment_id: int | None = Field(default=None, foreign_key="judgment.id", sa_type=BigId)
    rule: str
    raise_key: str
    auto_score: float | None = None
    params: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    details: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    severity: float
    inclusion_probability: float = 1.0
    decided_before_id: int | None = Field(default=None, foreign_key="flag.id", sa_type=BigId)
    state: str = FlagState.OPEN.value
    created_at: datetime = Field(sa_type=Utc)


class ReviewerRow(Table, table=True):
    """A person, by where the name comes from (desk, cli, import, oidc) and the name."""

    __tablename__ = "reviewer"
    __table_args__: ClassVar[Any] = (UniqueConstraint("origin", "name"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    origin: str
    name: str
    role: str = Role.REVIEWER.value
    created_at: datetime = Field(sa_type=Utc)


class ReviewRow(Table, table=True):
    """A person's review of an answer or of a pair; undo, edit and re-grade are rows that name the one they replace.

    A review of a pair has no decision but a withdrawal: its preferences are rows of ``preference_score``.
    """

    __tablename__ = "review"
    __table_args__: ClassVar[Any] = (
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

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    flag_id: int | None = Field(default=None, foreign_key="flag.id", sa_type=BigId)
    queue_item_id: int | None = Field(default=None, foreign_key="queue_item.id", sa_type=BigId)
    judgment_seen_id: int | None = Field(default=None, foreign_key="judgment.id", sa_type=BigId)
    reviewer_id: int = Field(foreign_key="reviewer.id", sa_type=BigId)
    stage: str | None = None
    decision: str | None = None
    label: str | None = None
    groundedness: float | None = None
    quality: int | None = None
    spans: list[dict[str, Any]] | None = Field(default=None, sa_type=JsonValue)
    note: str | None = None
    corrected_answer: str | None = None
    seconds: float | None = None
    replaces: int | None = Field(default=None, foreign_key="review.id", sa_type=BigId)
    request_key: str
    import_batch_id: int | None = Field(default=None, foreign_key="import_batch.id", sa_type=BigId)
    at: datetime = Field(sa_type=Utc)
    pair_id: int | None = Field(default=None, foreign_key="pair.id", sa_type=BigId)
    comparison_seen_id: int | None = Field(default=None, foreign_key="comparison.id", sa_type=BigId)
    shown: str | None = None  # the order in which the answers of a pair were shown
    seen: list[str] | None = Field(default=None, sa_type=JsonValue)  # what of others was shown: judge, people, ...
    why_differs: str | None = None
    # What the person says of single claims: [{"status", "text", "start", "end", "judgment_id", "number"}].
    claim_marks: list[dict[str, Any]] | None = Field(default=None, sa_type=JsonValue)


class ReviewScoreRow(Table, table=True):
    """A person's score on a dimension of a rubric, with its scale."""

    __tablename__ = "review_score"

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    review_id: int = Field(foreign_key="review.id", index=True, sa_type=BigId)
    dimension: str
    value: float | None = None
    scale: str


class JobRow(Table, table=True):
    """Long work that somebody asked for; its id is the durable workflow's id. Ids and filters only, never texts.

    A worker takes up a row without a run; ``cancelled_at`` asks it to stop, wherever it runs.
    """

    __tablename__ = "job"

    id: str = Field(primary_key=True)
    kind: str
    filter: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    judge: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    run_id: int | None = Field(default=None, foreign_key="run.id", index=True, sa_type=BigId)
    actor: str
    estimate: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    created_at: datetime = Field(sa_type=Utc)
    cancelled_at: datetime | None = Field(default=None, sa_type=Utc)
    failed: str | None = None  # why it could not even begin, in one line


class WorkerRow(Table, table=True):
    """A process that takes jobs, alive while its beat is recent."""

    __tablename__ = "worker"

    executor_id: str = Field(primary_key=True)
    host: str
    pid: int
    started_at: datetime = Field(sa_type=Utc)
    beat_at: datetime = Field(sa_type=Utc)


class EventRow(Table, table=True):
    """Who did what, written in the change's own transaction."""

    __tablename__ = "event"
    __table_args__: ClassVar[Any] = (
        Index("ix_event_response", "response_id", "kind"),
        Index("ix_event_kind", "kind", "id"),
        Index("ix_event_actor", "actor", "id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    kind: str
    actor: str
    at: datetime = Field(sa_type=Utc)
    response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    details: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)


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
