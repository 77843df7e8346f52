"""The append-only tables of pairs, samples, refinements, audits and suites.

A *step* is one request to a model with all its calls. Each row of ``judgment``, ``comparison``, ``sample``,
``generation`` and ``judgment_review`` is a step and has the columns of ``step_columns``.
"""

from typing import Any

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

from judgeboard.domain import Preference, Shown, Status
from judgeboard.store.columns import METADATA, BigId, JsonValue, Utc, one_of


def step_columns() -> list[Column[Any]]:
    """Return the columns for the status, raw output, calls and cost of a step."""
    return [
        Column("run_id", BigId, ForeignKey("run.id")),
        Column("status", String, nullable=False),
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
    ]


PAIR = Table(
    "pair",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("source", String, nullable=False),
    Column("external_id", String, nullable=False),
    Column("query_type", String, nullable=False),
    Column("question", String, comment="Null only after `judgeboard forget`."),
    Column("options", JsonValue),
    Column("reference", String),
    Column("response_a_id", BigId, ForeignKey("response.id")),
    Column("response_b_id", BigId, ForeignKey("response.id")),
    Column("gold", String),
    Column("extra", JsonValue, nullable=False, default=dict),
    Column("content_hash", String, nullable=False),
    Column("import_batch_id", BigId, ForeignKey("import_batch.id")),
    Column("imported_at", Utc, nullable=False),
    UniqueConstraint("source", "external_id"),
    one_of("gold", Preference),
    Index("ix_pair_response_a", "response_a_id"),
    Index("ix_pair_response_b", "response_b_id"),
    comment="Two answers to one question; a side is null where only samples of answers were recorded.",
)

COMPARISON = Table(
    "comparison",
    METADATA,
    *step_columns(),
    Column("id", BigId, primary_key=True),
    Column("pair_id", BigId, ForeignKey("pair.id"), nullable=False),
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), nullable=False),
    Column("condition", String, nullable=False, default="plain"),
    Column("reference", String, comment="The answer shown as correct, in the condition `reference`."),
    Column("shown", String, nullable=False),
    Column("ask", Integer, nullable=False, default=0),
    Column("reasoning", String),
    UniqueConstraint("pair_id", "judge_version_id", "condition", "shown", "ask"),
    one_of("status", Status),
    one_of("shown", Shown),
    CheckConstraint("condition IN ('plain', 'reference')", name="condition"),
    Index("ix_comparison_version", "judge_version_id", "pair_id"),
    Index("ix_comparison_run", "run_id", "status"),
    comment="A judge's comparison of a pair in one order of the answers.",
)

COMPARISON_SCORE = Table(
    "comparison_score",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("comparison_id", BigId, ForeignKey("comparison.id"), nullable=False),
    Column("aspect", String, nullable=False),
    Column("preference", String, nullable=False),
    UniqueConstraint("comparison_id", "aspect"),
    one_of("preference", Preference),
    comment="A comparison's preference on one aspect, in terms of the stored answers whatever the order shown.",
)

PREFERENCE_SCORE = Table(
    "preference_score",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("review_id", BigId, ForeignKey("review.id"), nullable=False),
    Column("aspect", String, nullable=False),
    Column("preference", String),
    Column("value", Float),
    Column("scale", String),
    UniqueConstraint("review_id", "aspect"),
    one_of("preference", Preference),
    comment="A reviewer's preference on one aspect of a pair: a side, a grade on its own scale, or both.",
)

SAMPLE = Table(
    "sample",
    METADATA,
    *step_columns(),
    Column("id", BigId, primary_key=True),
    Column("pair_id", BigId, ForeignKey("pair.id"), nullable=False),
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("ask", Integer, nullable=False, default=0),
    Column("answer", String),
    UniqueConstraint("pair_id", "judge_version_id", "number", "ask"),
    one_of("status", Status),
    Index("ix_sample_version", "judge_version_id", "pair_id"),
    Index("ix_sample_run", "run_id", "status"),
    comment="One of several attempts of a model at a question.",
)

GENERATION = Table(
    "generation",
    METADATA,
    *step_columns(),
    Column("id", BigId, primary_key=True),
    Column("subject", String, nullable=False, comment="Response, prompt or suite case, within the run."),
    Column("number", Integer, nullable=False),
    Column("model", String),
    Column("response_id", BigId, ForeignKey("response.id")),
    UniqueConstraint("run_id", "subject", "number"),
    one_of("status", Status),
    Index("ix_generation_response", "response_id"),
    Index("ix_generation_run", "run_id", "status"),
    comment="A call to a model that answers.",
)

REFINEMENT = Table(
    "refinement",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("run_id", BigId, ForeignKey("run.id"), nullable=False),
    Column("method", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("root_response_id", BigId, ForeignKey("response.id")),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("judgment_id", BigId, ForeignKey("judgment.id")),
    Column("judgment_before_id", BigId, ForeignKey("judgment.id")),
    Column("rating", Integer),
    Column("feedback", String),
    Column("outcome", String, nullable=False),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("run_id", "subject", "number"),
    CheckConstraint("method IN ('reflect', 'refine')", name="method"),
    Index("ix_refinement_root", "root_response_id"),
    Index("ix_refinement_response", "response_id"),
    comment="The result of one attempt at a better answer: its judgment and the outcome.",
)

SELECTED_ATTEMPT = Table(
    "selected_attempt",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("run_id", BigId, ForeignKey("run.id"), nullable=False),
    Column("subject", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("reviewer_id", BigId, ForeignKey("reviewer.id"), nullable=False),
    Column("withdrawn", Boolean, nullable=False, default=False),
    Column("replaces", BigId, ForeignKey("selected_attempt.id")),
    Column("request_key", String, nullable=False),
    Column("at", Utc, nullable=False),
    UniqueConstraint("request_key"),
    UniqueConstraint("replaces"),
    Index("ix_selected_attempt_run", "run_id", "subject"),
    comment="The attempt that a person selected; undo is a row too.",
)

JUDGMENT_REVIEW = Table(
    "judgment_review",
    METADATA,
    *step_columns(),
    Column("id", BigId, primary_key=True),
    Column("judgment_id", BigId, ForeignKey("judgment.id"), nullable=False),
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), nullable=False),
    Column("ask", Integer, nullable=False, default=0),
    Column("correct", Boolean),
    Column("reasoning", String),
    Column("inclusion_probability", Float, nullable=False, default=1.0),
    UniqueConstraint("judgment_id", "judge_version_id", "ask"),
    one_of("status", Status),
    Index("ix_judgment_review_version", "judge_version_id", "judgment_id"),
    Index("ix_judgment_review_run", "run_id", "status"),
    comment="A supreme judge's review of a judgment.",
)

SUITE_RUN = Table(
    "suite_run",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("run_id", BigId, ForeignKey("run.id"), nullable=False),
    Column("name", String, nullable=False),
    Column("spec", JsonValue, nullable=False, default=dict),
    Column("spec_hash", String, nullable=False),
    Column("candidate", String, nullable=False),
    Column("judge_version_id", BigId, ForeignKey("judge_version.id"), nullable=False),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("run_id"),
    Index("ix_suite_run_name", "name", "id"),
    comment="A suite as it was run: its cases, candidate and gate; the run row has the state and the end.",
)

SUITE_CASE = Table(
    "suite_case",
    METADATA,
    Column("id", BigId, primary_key=True),
    Column("suite_run_id", BigId, ForeignKey("suite_run.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("case_key", String, nullable=False, comment="Hash of the case, equal in every run."),
    Column("response_id", BigId, ForeignKey("response.id")),
    Column("judgment_id", BigId, ForeignKey("judgment.id")),
    Column("checks", JsonValue),
    Column("score", Float),
    Column("reason", String, comment="Why the score is not available."),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("suite_run_id", "position"),
    Index("ix_suite_case_response", "response_id"),
    comment="The result of one case of a suite run: the candidate's answer, its judgment and its programmatic checks.",
)


# Tables of steps besides ``judgment``.
STEP_TABLES = (COMPARISON, SAMPLE, GENERATION, JUDGMENT_REVIEW)

METHOD_APPEND_ONLY: tuple[str, ...] = (
    "pair",
    "comparison",
    "comparison_score",
    "preference_score",
    "sample",
    "generation",
    "refinement",
    "selected_attempt",
    "judgment_review",
    "suite_run",
    "suite_case",
)

# Columns that `judgeboard forget` may blank.
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
    # A call that made no answer, or the same answer again, is still about the answer that it began with.
    "generation": (
        "SELECT OLD.response_id UNION ALL SELECT root_response_id FROM refinement "
        "WHERE refinement.run_id = OLD.run_id AND refinement.subject = OLD.subject "
        "UNION ALL SELECT other.response_id FROM generation AS other "
        "WHERE other.run_id = OLD.run_id AND other.subject = OLD.subject"
    ),
    "refinement": "OLD.root_response_id, OLD.response_id",
    "judgment_review": "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
}
