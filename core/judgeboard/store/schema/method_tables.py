"""The tables of the methods beside plain judging: pairs, samples, refinements, audits and suites; all append-only.

A *step* is one request to a model with all its calls: rows of ``comparison``, ``sample``, ``generation`` and
``judgment_review`` are steps, as judgments are, and carry the same account of them.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from judgeboard.domain import Preference, Shown, Status
from judgeboard.store.schema.column_types import BigId, JsonValue, Utc
from judgeboard.store.schema.table_base import Table, one_of


class StepColumns(SQLModel):
    """The account of one step: what came of it, as it came, and what it took."""

    run_id: int | None = Field(default=None, foreign_key="run.id", sa_type=BigId)
    status: str
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


class PairRow(Table, table=True):
    """Two answers to one question; a side is missing where only samples of answers were recorded."""

    __tablename__ = "pair"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("source", "external_id"),
        one_of("gold", Preference),
        Index("ix_pair_response_a", "response_a_id"),
        Index("ix_pair_response_b", "response_b_id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    source: str
    external_id: str
    query_type: str
    question: str | None = None  # null only after forgetting
    options: list[str] | None = Field(default=None, sa_type=JsonValue)
    reference: str | None = None
    response_a_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    response_b_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    gold: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    content_hash: str
    import_batch_id: int | None = Field(default=None, foreign_key="import_batch.id", sa_type=BigId)
    imported_at: datetime = Field(sa_type=Utc)


class ComparisonRow(StepColumns, Table, table=True):
    """What a judge said of a pair when it was shown in one order; ``condition`` is what else it was shown."""

    __tablename__ = "comparison"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("pair_id", "judge_version_id", "condition", "shown", "ask"),
        one_of("status", Status),
        one_of("shown", Shown),
        CheckConstraint("condition IN ('plain', 'reference')", name="condition"),
        Index("ix_comparison_version", "judge_version_id", "pair_id"),
        Index("ix_comparison_run", "run_id", "status"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    pair_id: int = Field(foreign_key="pair.id", sa_type=BigId)
    judge_version_id: int = Field(foreign_key="judge_version.id", sa_type=BigId)
    condition: str = "plain"
    reference: str | None = None  # the answer it was shown as correct, in the condition ``reference``
    shown: str
    ask: int = 0
    reasoning: str | None = None


class ComparisonScoreRow(Table, table=True):
    """A comparison's verdict on one aspect, in terms of the stored answers, whatever the order shown."""

    __tablename__ = "comparison_score"
    __table_args__: ClassVar[Any] = (UniqueConstraint("comparison_id", "aspect"), one_of("preference", Preference))

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    comparison_id: int = Field(foreign_key="comparison.id", sa_type=BigId)
    aspect: str
    preference: str


class PreferenceScoreRow(Table, table=True):
    """A review's preference on one aspect of a pair: a side, a grade on a scale of its own, or both."""

    __tablename__ = "preference_score"
    __table_args__: ClassVar[Any] = (UniqueConstraint("review_id", "aspect"), one_of("preference", Preference))

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    review_id: int = Field(foreign_key="review.id", sa_type=BigId)
    aspect: str
    preference: str | None = None
    value: float | None = None
    scale: str | None = None


class SampleRow(StepColumns, Table, table=True):
    """One of several tries of a model at a question; ``answer`` is null where none could be extracted.

    ``ask`` counts how often this try was asked for before: a call that failed is asked again, and the latest counts.
    """

    __tablename__ = "sample"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("pair_id", "judge_version_id", "number", "ask"),
        one_of("status", Status),
        Index("ix_sample_version", "judge_version_id", "pair_id"),
        Index("ix_sample_run", "run_id", "status"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    pair_id: int = Field(foreign_key="pair.id", sa_type=BigId)
    judge_version_id: int = Field(foreign_key="judge_version.id", sa_type=BigId)
    number: int
    ask: int = 0
    answer: str | None = None


class GenerationRow(StepColumns, Table, table=True):
    """A call to a model that answers; ``response_id`` is the answer it made, null where it made none.

    ``subject`` names within the run what was answered: a logged response, a prompt of a file, a case of a suite.
    """

    __tablename__ = "generation"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("run_id", "subject", "number"),
        one_of("status", Status),
        Index("ix_generation_response", "response_id"),
        Index("ix_generation_run", "run_id", "status"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    subject: str
    number: int
    model: str | None = None
    response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)


class RefinementRow(Table, table=True):
    """What came of one attempt at a better answer: its judgment, and what was decided upon it.

    ``root_response_id`` is the logged answer it began with, null where it began with a prompt.
    """

    __tablename__ = "refinement"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("run_id", "subject", "number"),
        CheckConstraint("method IN ('reflect', 'refine')", name="method"),
        Index("ix_refinement_root", "root_response_id"),
        Index("ix_refinement_response", "response_id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    run_id: int = Field(foreign_key="run.id", sa_type=BigId)
    method: str
    subject: str
    number: int
    root_response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    judgment_id: int | None = Field(default=None, foreign_key="judgment.id", sa_type=BigId)
    judgment_before_id: int | None = Field(default=None, foreign_key="judgment.id", sa_type=BigId)
    rating: int | None = None
    feedback: str | None = None
    outcome: str
    created_at: datetime = Field(sa_type=Utc)


class StandingAttemptRow(Table, table=True):
    """Which attempt a person wants to stand; number 0 is the answer that was there before. Undo is a row too."""

    __tablename__ = "standing_attempt"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("request_key"),
        UniqueConstraint("replaces"),
        Index("ix_standing_attempt_run", "run_id", "subject"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    run_id: int = Field(foreign_key="run.id", sa_type=BigId)
    subject: str
    number: int
    reviewer_id: int = Field(foreign_key="reviewer.id", sa_type=BigId)
    withdrawn: bool = False
    replaces: int | None = Field(default=None, foreign_key="standing_attempt.id", sa_type=BigId)
    request_key: str
    at: datetime = Field(sa_type=Utc)


class JudgmentReviewRow(StepColumns, Table, table=True):
    """What a supreme judge said of a judgment: whether its verdict is correct.

    ``inclusion_probability`` is the share of the draw that it was asked in; a later, larger draw leaves it as it is.
    """

    __tablename__ = "judgment_review"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("judgment_id", "judge_version_id", "ask"),
        one_of("status", Status),
        Index("ix_judgment_review_version", "judge_version_id", "judgment_id"),
        Index("ix_judgment_review_run", "run_id", "status"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    judgment_id: int = Field(foreign_key="judgment.id", sa_type=BigId)
    judge_version_id: int = Field(foreign_key="judge_version.id", sa_type=BigId)
    ask: int = 0
    correct: bool | None = None
    reasoning: str | None = None
    inclusion_probability: float = 1.0


class SuiteRunRow(Table, table=True):
    """A suite as it was run: its cases, its candidate and its gate; the run row holds state and end."""

    __tablename__ = "suite_run"
    __table_args__: ClassVar[Any] = (UniqueConstraint("run_id"), Index("ix_suite_run_name", "name", "id"))

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    run_id: int = Field(foreign_key="run.id", sa_type=BigId)
    name: str
    spec: dict[str, Any] = Field(default_factory=dict, sa_type=JsonValue)
    spec_hash: str
    candidate: str
    judge_version_id: int = Field(foreign_key="judge_version.id", sa_type=BigId)
    created_at: datetime = Field(sa_type=Utc)


class SuiteCaseRow(Table, table=True):
    """What came of one case of a suite run: the candidate's answer, its judgment, its programmatic checks."""

    __tablename__ = "suite_case"
    __table_args__: ClassVar[Any] = (
        UniqueConstraint("suite_run_id", "position"),
        Index("ix_suite_case_response", "response_id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=BigId)
    suite_run_id: int = Field(foreign_key="suite_run.id", sa_type=BigId)
    position: int
    case_key: str  # the content address of the case: the same in every run that has it
    response_id: int | None = Field(default=None, foreign_key="response.id", sa_type=BigId)
    judgment_id: int | None = Field(default=None, foreign_key="judgment.id", sa_type=BigId)
    checks: list[dict[str, Any]] | None = Field(default=None, sa_type=JsonValue)
    score: float | None = None
    reason: str | None = None  # why it could not be measured
    created_at: datetime = Field(sa_type=Utc)


# Tables whose rows are steps: one request to a model each, beside ``judgment``.
STEP_TABLES = (ComparisonRow.__table__, SampleRow.__table__, GenerationRow.__table__, JudgmentReviewRow.__table__)

METHOD_APPEND_ONLY: tuple[str, ...] = (
    "pair",
    "comparison",
    "comparison_score",
    "preference_score",
    "sample",
    "generation",
    "refinement",
    "standing_attempt",
    "judgment_review",
    "suite_run",
    "suite_case",
)

# What `judgeboard forget` may blank in them.
METHOD_FORGETTABLE: dict[str, tuple[str, ...]] = {
    "pair": ("question", "options", "reference", "extra"),
    "comparison": ("reference", "reasoning", "raw", "attempts", "error"),
    "sample": ("answer", "raw", "attempts", "error"),
    "generation": ("raw", "attempts", "error"),
    "refinement": ("feedback",),
    "judgment_review": ("reasoning", "raw", "attempts", "error"),
}

_SIDES = (
    "SELECT response_a_id FROM pair WHERE pair.id = OLD.pair_id "
    "UNION ALL SELECT response_b_id FROM pair WHERE pair.id = OLD.pair_id"
)
METHOD_RESPONSES: dict[str, str] = {
    "pair": "SELECT OLD.response_a_id UNION ALL SELECT OLD.response_b_id",
    "comparison": _SIDES,
    "sample": _SIDES,
    # One that made no answer, or the same one again, belongs to what it was asked about all the same.
    "generation": (
        "SELECT OLD.response_id UNION ALL SELECT root_response_id FROM refinement "
        "WHERE refinement.run_id = OLD.run_id AND refinement.subject = OLD.subject "
        "UNION ALL SELECT other.response_id FROM generation AS other "
        "WHERE other.run_id = OLD.run_id AND other.subject = OLD.subject"
    ),
    "refinement": "OLD.root_response_id, OLD.response_id",
    "judgment_review": "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
}
