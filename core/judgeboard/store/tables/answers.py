"""Tables of answers and what is known about them before a review: feedback, judgments, flags and pairs."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, UniqueConstraint, text

from judgeboard.domain import FeedbackKind, FlagState, Label, Preference, ResponseKind, RunState
from judgeboard.store.tables.columns import (
    BigId,
    JsonData,
    JsonTuple,
    JsonValue,
    Row,
    Step,
    Stored,
    Utc,
    column,
    covering_index,
    one_of,
    partial,
    score_ranges,
    step_indexes,
    table_of,
)


class ImportBatch(Stored, table=True):
    """One import of one file; `counts` and `finished_at` are null while it runs or if it broke off."""

    has_hidden_rows = False

    file: str
    importer: str
    kind: str
    actor: str
    sha256: str | None = column(changes=True)
    at: datetime = column(Utc)
    counts: dict[str, Any] | None = column(JsonValue, changes=True)
    finished_at: datetime | None = column(Utc, changes=True)
    undone_at: datetime | None = column(Utc, changes=True)


IMPORT_BATCH = table_of(ImportBatch)


class Response(Stored, table=True):
    """A question with its passages and answer; texts are null only after `judgeboard db forget`."""

    of_responses = "OLD.id"

    kind: ResponseKind = column(one_of(ResponseKind, "kind"), default=ResponseKind.LOG)
    derived_from: int | None = column(BigId, refers="response")
    source: str
    external_id: str
    query_type: str = column(completed=True)
    content_hash: str = column(completed=True)
    query: str | None = column(forgotten=True, completed=True)
    answer: str | None = column(forgotten=True, completed=True)
    generator_model: str | None = column(completed=True)
    reference: str | None = column(forgotten=True, completed=True)
    passages: tuple[Any, ...] | None = column(JsonTuple, forgotten=True, completed=True)
    generator_cost: float | None = column(completed=True, comment="In the currency of the log.")
    messages: JsonData | None = column(JsonValue, forgotten=True, completed=True)
    asked_at: datetime | None = column(Utc, completed=True)
    asked_day: int | None = column(completed=True, comment="Days since 1970-01-01, UTC.")
    extra: JsonData = column(
        JsonValue, default_factory=dict, forgotten=True, completed=True, comment="Metadata of the log."
    )
    evidence_group: int = column(BigId, completed=True, comment="Equal for equal query and passages.")
    import_batch_id: int | None = column(BigId, refers="import_batch", exported=False)
    imported_at: datetime = column(Utc)

    __table_args__ = (
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
    )


RESPONSE = table_of(Response)


class AnswerFact(Row, table=True):
    """Facts that depend on the texts of an answer alone, by one version of the rules; null if it is forgotten."""

    is_free = True

    response_id: int = column(BigId, refers="response", primary_key=True)
    rule_version: int
    is_right_refusal: bool | None = column(
        forgotten=True, comment="It only declines, and no passage fits its question."
    )
    length: int | None = column(forgotten=True, comment="In characters.")

    __table_args__ = (Index("ix_answer_fact_right_refusal", "response_id", **partial("is_right_refusal")),)


ANSWER_FACT = table_of(AnswerFact)


class UserFeedback(Stored, table=True):
    """Feedback of the assistant's user on a response, on its original scale."""

    of_responses = "OLD.response_id"

    response_id: int = column(BigId, refers="response", index=True)
    kind: FeedbackKind = column(one_of(FeedbackKind, "kind"))
    value: float
    user: str | None
    at: datetime | None = column(Utc)
    import_batch_id: int | None = column(BigId, refers="import_batch", exported=False)
    imported_at: datetime = column(Utc)
    comment: str | None = column(forgotten=True)

    __table_args__ = (
        CheckConstraint(
            "(kind = 'thumbs' AND value IN (0, 1)) OR (kind = 'stars' AND value >= 1 AND value <= 5)", name="value"
        ),
    )


FEEDBACK = table_of(UserFeedback)


class JudgeVersion(Stored, table=True):
    """A judge with its exact configuration; `number` counts within its name (rag v3)."""

    has_hidden_rows = False

    name: str
    kind: str
    scale: str
    fingerprint: str
    number: int
    model: str | None
    prompt: str | None
    prompt_hash: str | None
    params: JsonData = column(JsonValue, default_factory=dict)
    created_at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("fingerprint"),
        UniqueConstraint("name", "number"),
    )


VERSION = table_of(JudgeVersion)


class Run(Stored, table=True):
    """A batch of judging; `filter` stores the selection, so that a stopped run can continue."""

    has_hidden_rows = False

    kind: str = column(comment="judge, rejudge, import or the name of a method.")
    judge_version_id: int | None = column(BigId, refers="judge_version", index=True)
    filter: JsonData = column(JsonValue, default_factory=dict)
    actor: str
    endpoint_host: str | None = column(changes=True)
    selected: int | None = column(changes=True)
    started_at: datetime = column(Utc)
    finished_at: datetime | None = column(Utc, changes=True)
    state: RunState = column(one_of(RunState, "state"), default=RunState.RUNNING, changes=True)
    why_stopped: str | None = column(changes=True)
    provider: str | None = column(changes=True)
    base_url: str | None = column(
        changes=True, comment="Address of the judge's endpoint, without user, password and query."
    )
    import_batch_id: int | None = column(BigId, refers="import_batch", exported=False)


RUN = table_of(Run)


class Judgment(Step, table=True):
    """A verdict of one judge version on one response."""

    is_recorded = True
    of_responses = "OLD.response_id"

    response_id: int = column(BigId, refers="response", reads=True)
    judge_version_id: int = column(BigId, refers="judge_version")
    ask: int = column(default=0)
    repeat: int = column(default=0)
    groundedness: float | None
    quality: int | None
    label: Label | None = column(one_of(Label, "label"))
    reasoning: str | None = column(forgotten=True)
    claims: JsonData | None = column(JsonValue, forgotten=True)

    __table_args__ = (
        *step_indexes("judgment", "response_id"),
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
    )


JUDGMENT = table_of(Judgment)


class JudgmentScore(Stored, table=True):
    """A score of a judgment on a dimension, with its scale."""

    of_responses = "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id"

    judgment_id: int = column(BigId, refers="judgment", index=True)
    dimension: str
    scale: str
    value: float | None
    reasoning: str | None = column(forgotten=True)


JUDGMENT_SCORE = table_of(JudgmentScore)


class CurrentJudgment(Row, table=True):
    """The latest usable judgment of each judge version on each response, with columns for filters."""

    is_free = True

    judge_version_id: int = column(BigId, refers="judge_version", primary_key=True)
    response_id: int = column(BigId, refers="response", primary_key=True)
    judgment_id: int = column(BigId, refers="judgment")
    judge_kind: str
    judge_name: str
    is_current: bool
    response_kind: str
    query_type: str
    source: str
    asked_day: int | None
    evidence_group: int = column(BigId)
    groundedness: float | None
    quality: int | None
    label: str | None
    user_quality: float | None = column(comment="The latest user feedback on the scale 1 to 4.")

    __table_args__ = (
        Index(
            "uq_current_judgment_name", "response_id", "judge_name", "judge_kind", unique=True, **partial("is_current")
        ),
        # Trends read this index alone. It includes the columns of its condition, because SQLite would otherwise look
        # them up in the table.
        covering_index(
            "ix_current_judgment_trend",
            ("judge_name", "query_type", "asked_day"),
            ("judge_version_id", "groundedness", "quality", "response_id", "is_current", "response_kind"),
            where="is_current AND response_kind = 'log'",
        ),
        # Trends of a version and rates of all its answers read this index alone.
        covering_index(
            "ix_current_judgment_version_trend",
            ("judge_version_id", "query_type", "asked_day"),
            ("groundedness", "quality", "response_kind", "response_id", "evidence_group", "label"),
            where="response_kind = 'log'",
        ),
        # Scatter plots of two scores, and filters by a judge's score.
        covering_index(
            "ix_current_judgment_score",
            ("judge_name", "groundedness", "response_id"),
            ("quality", "user_quality", "label", "query_type", "source", "asked_day", "is_current", "response_kind"),
            where="is_current AND response_kind = 'log'",
        ),
        # Agreement reads all versions' verdicts on graded answers from this index alone.
        covering_index(
            "ix_current_judgment_response",
            ("response_id", "judge_version_id"),
            ("groundedness", "quality", "label", "response_kind", "query_type", "asked_day", "evidence_group"),
        ),
        # Finds the row of a judgment that is withdrawn.
        Index("ix_current_judgment_judgment", "judgment_id"),
    )


CURRENT = table_of(CurrentJudgment)


# The queue's indexes contain the columns of its filters, so that table rows are read only for the 50 rows of a page.
# They contain ``state`` too, because SQLite looks up even the columns of an index's own condition.
_OF_OPEN_FLAG = (
    *("rule", "query_type", "source", "judge_name"),
    *("groundedness", "quality", "asked_day", "response_id", "leads", "state"),
)


class Flag(Stored, table=True):
    """A reason to look at a response; only two columns change: `state`, and `leads` (the worst open flag)."""

    response_id: int = column(BigId, refers="response", reads=True)
    query_type: str
    source: str
    rule: str
    raise_key: str
    asked_day: int | None
    judge_name: str | None
    groundedness: float | None = column(comment="Of the primary judge, when the flag was raised.")
    quality: int | None
    judgment_id: int | None = column(BigId, refers="judgment")
    auto_score: float | None
    params: JsonData = column(JsonValue, default_factory=dict)
    details: JsonData = column(JsonValue, default_factory=dict)
    severity: float
    inclusion_probability: float = column(default=1.0)
    decided_before_id: int | None = column(BigId, refers="flag")
    state: FlagState = column(one_of(FlagState, "state"), default=FlagState.OPEN, changes=True)
    leads: bool = column(default=True, changes=True, comment="The worst open flag of its answer.")
    created_at: datetime = column(Utc)

    __table_args__ = (
        CheckConstraint("severity >= 0 AND severity <= 1", name="severity"),
        Index("uq_flag_raise", "response_id", "raise_key", unique=True, **partial("state <> 'superseded'")),
        # The queue reads open flags in one of these orders. The engines sort NULL differently, so coalesce sorts
        # missing values last in both.
        *(
            covering_index(f"ix_flag_open_{name}", order, _OF_OPEN_FLAG, where="state = 'open'")
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
            where="state <> 'superseded' AND rule <> 'random_sample'",
        ),
        Index("ix_flag_rule_state", "rule", "state", "query_type"),
        Index("ix_flag_response", "response_id", "state"),
        Index("ix_flag_judgment", "judgment_id", **partial("judgment_id IS NOT NULL")),
        Index("ix_flag_decided_before", "decided_before_id", **partial("decided_before_id IS NOT NULL")),
    )


FLAG = table_of(Flag)


class Pair(Stored, table=True):
    """Two answers to one question; a side is null where only samples of answers were recorded."""

    of_responses = "SELECT OLD.response_a_id UNION ALL SELECT OLD.response_b_id"

    source: str
    external_id: str
    query_type: str
    content_hash: str
    question: str | None = column(forgotten=True, comment="Null only after `judgeboard db forget`.")
    options: tuple[Any, ...] | None = column(JsonTuple, forgotten=True)
    reference: str | None = column(forgotten=True)
    response_a_id: int | None = column(BigId, refers="response", reads=True)
    response_b_id: int | None = column(BigId, refers="response", reads=True)
    gold: Preference | None = column(one_of(Preference, "gold"))
    extra: JsonData = column(JsonValue, default_factory=dict, forgotten=True)
    import_batch_id: int | None = column(BigId, refers="import_batch", exported=False)
    imported_at: datetime = column(Utc)

    __table_args__ = (
        UniqueConstraint("source", "external_id"),
        Index("ix_pair_response_a", "response_a_id"),
        Index("ix_pair_response_b", "response_b_id"),
    )


PAIR = table_of(Pair)
