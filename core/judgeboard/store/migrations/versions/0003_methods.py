"""The tables of pairs, samples, refinements, audits and suites."""

import sqlalchemy as sa
from alembic import op

from judgeboard.store.schema.column_types import BigId, JsonValue, Utc

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "generation",
        sa.Column("run_id", BigId, nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=True),
        sa.Column("model_reported", sa.String(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("cost_micro", BigId, nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("attempts", JsonValue, nullable=True),
        sa.Column("reply_format", sa.String(), nullable=True),
        sa.Column("dropped_parameters", JsonValue, nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("id", BigId, nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("response_id", BigId, nullable=True),
        sa.CheckConstraint("status IN ('ok', 'unparsable', 'refused', 'error')", name=op.f("ck_generation_status")),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_generation_response_id_response"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_generation_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_generation"),
        sa.UniqueConstraint("run_id", "subject", "number", name="uq_generation_run_id_subject_number"),
    )
    op.create_index("ix_generation_response", "generation", ["response_id"], unique=False)
    op.create_index("ix_generation_run", "generation", ["run_id", "status"], unique=False)
    op.create_table(
        "pair",
        sa.Column("id", BigId, nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("query_type", sa.String(), nullable=False),
        sa.Column("question", sa.String(), nullable=True),
        sa.Column("options", JsonValue, nullable=True),
        sa.Column("reference", sa.String(), nullable=True),
        sa.Column("response_a_id", BigId, nullable=True),
        sa.Column("response_b_id", BigId, nullable=True),
        sa.Column("gold", sa.String(), nullable=True),
        sa.Column("extra", JsonValue, nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("import_batch_id", BigId, nullable=True),
        sa.Column("imported_at", Utc(), nullable=False),
        sa.CheckConstraint("gold IN ('a', 'b', 'tie')", name=op.f("ck_pair_gold")),
        sa.ForeignKeyConstraint(["import_batch_id"], ["import_batch.id"], name="fk_pair_import_batch_id_import_batch"),
        sa.ForeignKeyConstraint(["response_a_id"], ["response.id"], name="fk_pair_response_a_id_response"),
        sa.ForeignKeyConstraint(["response_b_id"], ["response.id"], name="fk_pair_response_b_id_response"),
        sa.PrimaryKeyConstraint("id", name="pk_pair"),
        sa.UniqueConstraint("source", "external_id", name="uq_pair_source_external_id"),
    )
    op.create_index("ix_pair_response_a", "pair", ["response_a_id"], unique=False)
    op.create_index("ix_pair_response_b", "pair", ["response_b_id"], unique=False)
    op.create_table(
        "standing_attempt",
        sa.Column("id", BigId, nullable=False),
        sa.Column("run_id", BigId, nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", BigId, nullable=False),
        sa.Column("withdrawn", sa.Boolean(), nullable=False),
        sa.Column("replaces", BigId, nullable=True),
        sa.Column("request_key", sa.String(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["replaces"], ["standing_attempt.id"], name="fk_standing_attempt_replaces_standing_attempt"
        ),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_standing_attempt_reviewer_id_reviewer"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_standing_attempt_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_standing_attempt"),
        sa.UniqueConstraint("replaces", name="uq_standing_attempt_replaces"),
        sa.UniqueConstraint("request_key", name="uq_standing_attempt_request_key"),
    )
    op.create_index("ix_standing_attempt_run", "standing_attempt", ["run_id", "subject"], unique=False)
    op.create_table(
        "suite_run",
        sa.Column("id", BigId, nullable=False),
        sa.Column("run_id", BigId, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("spec", JsonValue, nullable=False),
        sa.Column("spec_hash", sa.String(), nullable=False),
        sa.Column("candidate", sa.String(), nullable=False),
        sa.Column("judge_version_id", BigId, nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["judge_version_id"], ["judge_version.id"], name="fk_suite_run_judge_version_id_judge_version"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_suite_run_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_suite_run"),
        sa.UniqueConstraint("run_id", name="uq_suite_run_run_id"),
    )
    op.create_index("ix_suite_run_name", "suite_run", ["name", "id"], unique=False)
    op.create_table(
        "comparison",
        sa.Column("run_id", BigId, nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=True),
        sa.Column("model_reported", sa.String(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("cost_micro", BigId, nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("attempts", JsonValue, nullable=True),
        sa.Column("reply_format", sa.String(), nullable=True),
        sa.Column("dropped_parameters", JsonValue, nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("id", BigId, nullable=False),
        sa.Column("pair_id", BigId, nullable=False),
        sa.Column("judge_version_id", BigId, nullable=False),
        sa.Column("condition", sa.String(), nullable=False),
        sa.Column("reference", sa.String(), nullable=True),
        sa.Column("shown", sa.String(), nullable=False),
        sa.Column("ask", sa.Integer(), nullable=False),
        sa.Column("reasoning", sa.String(), nullable=True),
        sa.CheckConstraint("condition IN ('plain', 'reference')", name=op.f("ck_comparison_condition")),
        sa.CheckConstraint("shown IN ('ab', 'ba')", name=op.f("ck_comparison_shown")),
        sa.CheckConstraint("status IN ('ok', 'unparsable', 'refused', 'error')", name=op.f("ck_comparison_status")),
        sa.ForeignKeyConstraint(
            ["judge_version_id"], ["judge_version.id"], name="fk_comparison_judge_version_id_judge_version"
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pair.id"], name="fk_comparison_pair_id_pair"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_comparison_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_comparison"),
        sa.UniqueConstraint(
            "pair_id",
            "judge_version_id",
            "condition",
            "shown",
            "ask",
            name="uq_comparison_pair_id_judge_version_id_condition_shown_ask",
        ),
    )
    op.create_index("ix_comparison_run", "comparison", ["run_id", "status"], unique=False)
    op.create_index("ix_comparison_version", "comparison", ["judge_version_id", "pair_id"], unique=False)
    op.create_table(
        "judgment_review",
        sa.Column("run_id", BigId, nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=True),
        sa.Column("model_reported", sa.String(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("cost_micro", BigId, nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("attempts", JsonValue, nullable=True),
        sa.Column("reply_format", sa.String(), nullable=True),
        sa.Column("dropped_parameters", JsonValue, nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("id", BigId, nullable=False),
        sa.Column("judgment_id", BigId, nullable=False),
        sa.Column("judge_version_id", BigId, nullable=False),
        sa.Column("ask", sa.Integer(), nullable=False),
        sa.Column("correct", sa.Boolean(), nullable=True),
        sa.Column("reasoning", sa.String(), nullable=True),
        sa.Column("inclusion_probability", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "status IN ('ok', 'unparsable', 'refused', 'error')", name=op.f("ck_judgment_review_status")
        ),
        sa.ForeignKeyConstraint(
            ["judge_version_id"], ["judge_version.id"], name="fk_judgment_review_judge_version_id_judge_version"
        ),
        sa.ForeignKeyConstraint(["judgment_id"], ["judgment.id"], name="fk_judgment_review_judgment_id_judgment"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_judgment_review_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_judgment_review"),
        sa.UniqueConstraint(
            "judgment_id", "judge_version_id", "ask", name="uq_judgment_review_judgment_id_judge_version_id_ask"
        ),
    )
    op.create_index("ix_judgment_review_run", "judgment_review", ["run_id", "status"], unique=False)
    op.create_index("ix_judgment_review_version", "judgment_review", ["judge_version_id", "judgment_id"], unique=False)
    op.create_table(
        "refinement",
        sa.Column("id", BigId, nullable=False),
        sa.Column("run_id", BigId, nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("root_response_id", BigId, nullable=True),
        sa.Column("response_id", BigId, nullable=True),
        sa.Column("judgment_id", BigId, nullable=True),
        sa.Column("judgment_before_id", BigId, nullable=True),
        sa.Column("rating", sa.Integer(), nullable=True),
        sa.Column("feedback", sa.String(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.CheckConstraint("method IN ('reflect', 'refine')", name=op.f("ck_refinement_method")),
        sa.ForeignKeyConstraint(
            ["judgment_before_id"], ["judgment.id"], name="fk_refinement_judgment_before_id_judgment"
        ),
        sa.ForeignKeyConstraint(["judgment_id"], ["judgment.id"], name="fk_refinement_judgment_id_judgment"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_refinement_response_id_response"),
        sa.ForeignKeyConstraint(["root_response_id"], ["response.id"], name="fk_refinement_root_response_id_response"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_refinement_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_refinement"),
        sa.UniqueConstraint("run_id", "subject", "number", name="uq_refinement_run_id_subject_number"),
    )
    op.create_index("ix_refinement_response", "refinement", ["response_id"], unique=False)
    op.create_index("ix_refinement_root", "refinement", ["root_response_id"], unique=False)
    op.create_table(
        "sample",
        sa.Column("run_id", BigId, nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("raw", sa.String(), nullable=True),
        sa.Column("model_reported", sa.String(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("cost_micro", BigId, nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("attempts", JsonValue, nullable=True),
        sa.Column("reply_format", sa.String(), nullable=True),
        sa.Column("dropped_parameters", JsonValue, nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("id", BigId, nullable=False),
        sa.Column("pair_id", BigId, nullable=False),
        sa.Column("judge_version_id", BigId, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("ask", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(), nullable=True),
        sa.CheckConstraint("status IN ('ok', 'unparsable', 'refused', 'error')", name=op.f("ck_sample_status")),
        sa.ForeignKeyConstraint(
            ["judge_version_id"], ["judge_version.id"], name="fk_sample_judge_version_id_judge_version"
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pair.id"], name="fk_sample_pair_id_pair"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_sample_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_sample"),
        sa.UniqueConstraint(
            "pair_id", "judge_version_id", "number", "ask", name="uq_sample_pair_id_judge_version_id_number_ask"
        ),
    )
    op.create_index("ix_sample_run", "sample", ["run_id", "status"], unique=False)
    op.create_index("ix_sample_version", "sample", ["judge_version_id", "pair_id"], unique=False)
    op.create_table(
        "suite_case",
        sa.Column("id", BigId, nullable=False),
        sa.Column("suite_run_id", BigId, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("case_key", sa.String(), nullable=False),
        sa.Column("response_id", BigId, nullable=True),
        sa.Column("judgment_id", BigId, nullable=True),
        sa.Column("checks", JsonValue, nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(["judgment_id"], ["judgment.id"], name="fk_suite_case_judgment_id_judgment"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_suite_case_response_id_response"),
        sa.ForeignKeyConstraint(["suite_run_id"], ["suite_run.id"], name="fk_suite_case_suite_run_id_suite_run"),
        sa.PrimaryKeyConstraint("id", name="pk_suite_case"),
        sa.UniqueConstraint("suite_run_id", "position", name="uq_suite_case_suite_run_id_position"),
    )
    op.create_index("ix_suite_case_response", "suite_case", ["response_id"], unique=False)
    op.create_table(
        "comparison_score",
        sa.Column("id", BigId, nullable=False),
        sa.Column("comparison_id", BigId, nullable=False),
        sa.Column("aspect", sa.String(), nullable=False),
        sa.Column("preference", sa.String(), nullable=False),
        sa.CheckConstraint("preference IN ('a', 'b', 'tie')", name=op.f("ck_comparison_score_preference")),
        sa.ForeignKeyConstraint(
            ["comparison_id"], ["comparison.id"], name="fk_comparison_score_comparison_id_comparison"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_comparison_score"),
        sa.UniqueConstraint("comparison_id", "aspect", name="uq_comparison_score_comparison_id_aspect"),
    )
    big = "INTEGER" if op.get_bind().dialect.name == "sqlite" else "BIGINT"
    for column in (
        (
            f"pair_id {big} CONSTRAINT fk_review_pair_id_pair REFERENCES pair (id) "
            "CONSTRAINT ck_review_one_subject CHECK ((response_id IS NULL) <> (pair_id IS NULL))"
        ),
        f"comparison_seen_id {big} CONSTRAINT fk_review_comparison_seen_id_comparison REFERENCES comparison (id)",
        "shown VARCHAR CONSTRAINT ck_review_shown CHECK (shown IN ('ab', 'ba'))",
    ):
        op.execute(f"ALTER TABLE review ADD COLUMN {column}")
    op.create_index(
        "ix_review_pair",
        "review",
        ["pair_id", "reviewer_id"],
        sqlite_where=sa.text("pair_id IS NOT NULL"),
        postgresql_where=sa.text("pair_id IS NOT NULL"),
    )
    op.create_table(
        "preference_score",
        sa.Column("id", BigId, nullable=False),
        sa.Column("review_id", BigId, nullable=False),
        sa.Column("aspect", sa.String(), nullable=False),
        sa.Column("preference", sa.String(), nullable=True),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("scale", sa.String(), nullable=True),
        sa.CheckConstraint("preference IN ('a', 'b', 'tie')", name=op.f("ck_preference_score_preference")),
        sa.ForeignKeyConstraint(["review_id"], ["review.id"], name="fk_preference_score_review_id_review"),
        sa.PrimaryKeyConstraint("id", name="pk_preference_score"),
        sa.UniqueConstraint("review_id", "aspect", name="uq_preference_score_review_id_aspect"),
    )
    op.create_index(
        "ix_response_derived_from",
        "response",
        ["derived_from", "kind"],
        unique=False,
        sqlite_where=sa.text("derived_from IS NOT NULL"),
        postgresql_where=sa.text("derived_from IS NOT NULL"),
    )
