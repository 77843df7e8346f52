"""Tables of methods beside the judgment of one answer: comparisons, samples, refinements, audits, anchors, suites."""

from sqlalchemy import Boolean, CheckConstraint, Column, Float, ForeignKey, Index, Integer, String, UniqueConstraint

from judgeboard.domain import Label, Preference, Shown
from judgeboard.store.tables.columns import (
    BigId,
    JsonValue,
    Utc,
    judge_steps,
    link,
    one_of,
    references,
    required,
    score_ranges,
    step_table,
    table,
)

COMPARISON = judge_steps(
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

COMPARISON_SCORE = table(
    "comparison_score",
    Column("comparison_id", BigId, ForeignKey("comparison.id"), nullable=False),
    Column("aspect", String, nullable=False),
    Column("preference", one_of(Preference, "preference"), nullable=False),
    UniqueConstraint("comparison_id", "aspect"),
    comment="A comparison's preference on one aspect; it names a stored answer, not the place where it was shown.",
)

SAMPLE = judge_steps(
    "sample",
    "pair_id",
    Column("number", Integer, nullable=False),
    Column("answer", String),
    Column("correct", Boolean, comment="Whether the answer is right by the imported file; NULL: not known."),
    UniqueConstraint("pair_id", "judge_version_id", "number", "ask"),
    comment="One of several attempts of a model at a question.",
)

GENERATION = step_table(
    "generation",
    Column("subject", String, nullable=False, comment="Response, prompt or suite case, within the run."),
    Column("number", Integer, nullable=False),
    Column("model", String),
    Column("response_id", BigId, ForeignKey("response.id")),
    UniqueConstraint("run_id", "subject", "number"),
    Index("ix_generation_response", "response_id"),
    comment="A call to a model that answers.",
)

REFINEMENT = table(
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

SELECTED_ATTEMPT = table(
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

JUDGMENT_REVIEW = judge_steps(
    "judgment_review",
    "judgment_id",
    Column("correct", Boolean),
    Column("reasoning", String),
    Column("inclusion_probability", Float, nullable=False, default=1.0),
    UniqueConstraint("judgment_id", "judge_version_id", "ask"),
    comment="A supreme judge's review of a judgment.",
)

ANCHOR_SET = table(
    "anchor_set",
    *required(String, "seed", "by"),
    Column("at", Utc, nullable=False),
    comment="Answers that a judge version judges again and again, to show whether it drifts; the newest set counts.",
)

ANCHOR = link("anchor", "anchor_set_id", "response_id", "An answer of an anchor set.")

ANCHOR_JUDGMENT = judge_steps(
    "anchor_judgment",
    "response_id",
    Column("groundedness", Float),
    Column("quality", Integer),
    Column("label", one_of(Label, "label")),
    UniqueConstraint("run_id", "response_id"),
    *score_ranges(),
    comment="A verdict on an anchor. It never replaces the current judgment of its answer.",
)

SUITE_RUN = table(
    "suite_run",
    *references("run_id", "judge_version_id"),
    *required(String, "name", "spec_hash", "candidate"),
    Column("spec", JsonValue, nullable=False, default=dict),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("run_id"),
    Index("ix_suite_run_name", "name", "id"),
    comment="A suite as it was run: its cases, candidate and gate; the run row has the state and the end.",
)

SUITE_CASE = table(
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
