"""The tables of the first release."""

import sqlalchemy as sa
from alembic import op

from judgeboard.store.schema.column_types import BigId, JsonValue, Utc

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "import_batch",
        sa.Column("id", BigId, nullable=False),
        sa.Column("file", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=True),
        sa.Column("importer", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("counts", JsonValue, nullable=True),
        sa.Column("finished_at", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_import_batch"),
    )
    op.create_table(
        "judge_version",
        sa.Column("id", BigId, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("params", JsonValue, nullable=False),
        sa.Column("prompt", sa.String(), nullable=True),
        sa.Column("prompt_hash", sa.String(), nullable=True),
        sa.Column("scale", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_judge_version"),
        sa.UniqueConstraint("fingerprint", name="uq_judge_version_fingerprint"),
        sa.UniqueConstraint("name", "number", name="uq_judge_version_name_number"),
    )
    op.create_table(
        "queue",
        sa.Column("id", BigId, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_queue"),
        sa.UniqueConstraint("name", name="uq_queue_name"),
    )
    op.create_table(
        "reviewer",
        sa.Column("id", BigId, nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_reviewer"),
        sa.UniqueConstraint("origin", "name", name="uq_reviewer_origin_name"),
    )
    op.create_table(
        "setting",
        sa.Column("id", BigId, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", JsonValue, nullable=True),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_setting"),
    )
    op.create_index("ix_setting_key", "setting", ["key"], unique=False)

    op.create_table(
        "worker",
        sa.Column("executor_id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", Utc(), nullable=False),
        sa.Column("beat_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("executor_id", name="pk_worker"),
    )
    op.create_table(
        "response",
        sa.Column("id", BigId, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("derived_from", BigId, nullable=True),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("external_id", sa.String(), nullable=False),
        sa.Column("query_type", sa.String(), nullable=False),
        sa.Column("query", sa.String(), nullable=True),
        sa.Column("passages", JsonValue, nullable=True),
        sa.Column("answer", sa.String(), nullable=True),
        sa.Column("generator_model", sa.String(), nullable=True),
        sa.Column("generator_cost", sa.Float(), nullable=True),
        sa.Column("messages", JsonValue, nullable=True),
        sa.Column("reference", sa.String(), nullable=True),
        sa.Column("asked_at", Utc(), nullable=True),
        sa.Column("asked_day", sa.Integer(), nullable=True),
        sa.Column("extra", JsonValue, nullable=False),
        sa.Column("content_hash", sa.String(), nullable=False),
        sa.Column("evidence_group", BigId, nullable=False),
        sa.Column("import_batch_id", BigId, nullable=True),
        sa.Column("imported_at", Utc(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('log', 'control', 'regenerated', 'candidate', 'pair_side')", name=op.f("ck_response_kind")
        ),
        sa.ForeignKeyConstraint(["derived_from"], ["response.id"], name="fk_response_derived_from_response"),
        sa.ForeignKeyConstraint(
            ["import_batch_id"], ["import_batch.id"], name="fk_response_import_batch_id_import_batch"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_response"),
        sa.UniqueConstraint("source", "external_id", name="uq_response_source_external_id"),
    )
    op.create_index(
        "ix_response_asked",
        "response",
        ["kind", sa.text("coalesce(asked_day, -1)"), "id", "query_type", "source", "generator_model", "asked_day"],
        unique=False,
    )
    op.create_index("ix_response_external_id", "response", ["external_id"], unique=False)
    op.create_index("ix_response_kind", "response", ["kind", "id"], unique=False)
    op.create_index("ix_response_model", "response", ["generator_model"], unique=False)
    op.create_index(
        "ix_response_share",
        "response",
        ["kind", "query_type", "asked_day"],
        unique=False,
    )

    op.create_table(
        "run",
        sa.Column("id", BigId, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("judge_version_id", BigId, nullable=True),
        sa.Column("filter", JsonValue, nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("endpoint_host", sa.String(), nullable=True),
        sa.Column("selected", sa.Integer(), nullable=True),
        sa.Column("started_at", Utc(), nullable=False),
        sa.Column("finished_at", Utc(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("why_stopped", sa.String(), nullable=True),
        sa.CheckConstraint("state IN ('running', 'done', 'stopped', 'interrupted')", name=op.f("ck_run_state")),
        sa.ForeignKeyConstraint(
            ["judge_version_id"], ["judge_version.id"], name="fk_run_judge_version_id_judge_version"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
    )
    op.create_index("ix_run_judge_version_id", "run", ["judge_version_id"], unique=False)

    op.create_table(
        "event",
        sa.Column("id", BigId, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("at", Utc(), nullable=False),
        sa.Column("response_id", BigId, nullable=True),
        sa.Column("details", JsonValue, nullable=False),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_event_response_id_response"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
    )
    op.create_index("ix_event_response", "event", ["response_id", "kind"], unique=False)

    op.create_table(
        "job",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("filter", JsonValue, nullable=False),
        sa.Column("judge", JsonValue, nullable=False),
        sa.Column("run_id", BigId, nullable=True),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("estimate", JsonValue, nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("cancelled_at", Utc(), nullable=True),
        sa.Column("failed", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_job_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    op.create_index("ix_job_run_id", "job", ["run_id"], unique=False)

    op.create_table(
        "judgment",
        sa.Column("id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=False),
        sa.Column("judge_version_id", BigId, nullable=False),
        sa.Column("run_id", BigId, nullable=True),
        sa.Column("ask", sa.Integer(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("groundedness", sa.Float(), nullable=True),
        sa.Column("quality", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(), nullable=True),
        sa.Column("reasoning", sa.String(), nullable=True),
        sa.Column("claims", JsonValue, nullable=True),
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
        sa.CheckConstraint("label IN ('grounded', 'hallucinated')", name=op.f("ck_judgment_label")),
        sa.CheckConstraint(
            "status = 'ok' OR (groundedness IS NULL AND quality IS NULL AND label IS NULL)",
            name=op.f("ck_judgment_only_ok_has_verdict"),
        ),
        sa.CheckConstraint("status IN ('ok', 'unparsable', 'refused', 'error')", name=op.f("ck_judgment_status")),
        sa.CheckConstraint("groundedness >= 0 AND groundedness <= 1", name=op.f("ck_judgment_groundedness")),
        sa.CheckConstraint("quality >= 1 AND quality <= 4", name=op.f("ck_judgment_quality")),
        sa.ForeignKeyConstraint(
            ["judge_version_id"], ["judge_version.id"], name="fk_judgment_judge_version_id_judge_version"
        ),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_judgment_response_id_response"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_judgment_run_id_run"),
        sa.PrimaryKeyConstraint("id", name="pk_judgment"),
        sa.UniqueConstraint(
            "response_id",
            "judge_version_id",
            "ask",
            "repeat",
            name="uq_judgment_response_id_judge_version_id_ask_repeat",
        ),
    )
    op.create_index(
        "ix_judgment_created",
        "judgment",
        ["judge_version_id", "created_at", "status", "cost_micro"],
        unique=False,
    )
    op.create_index(
        "ix_judgment_not_ok",
        "judgment",
        ["judge_version_id", "status", "id"],
        unique=False,
        sqlite_where=sa.text("status <> 'ok'"),
        postgresql_where=sa.text("status <> 'ok'"),
    )
    op.create_index("ix_judgment_run", "judgment", ["run_id", "status"], unique=False)
    op.create_index("ix_judgment_version", "judgment", ["judge_version_id", "response_id"], unique=False)

    op.create_table(
        "user_feedback",
        sa.Column("id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("user", sa.String(), nullable=True),
        sa.Column("at", Utc(), nullable=True),
        sa.Column("import_batch_id", BigId, nullable=True),
        sa.Column("imported_at", Utc(), nullable=False),
        sa.CheckConstraint(
            "(kind = 'thumbs' AND value IN (0, 1)) OR (kind = 'stars' AND value >= 1 AND value <= 5)",
            name=op.f("ck_user_feedback_value"),
        ),
        sa.CheckConstraint("kind IN ('thumbs', 'stars')", name=op.f("ck_user_feedback_kind")),
        sa.ForeignKeyConstraint(
            ["import_batch_id"], ["import_batch.id"], name="fk_user_feedback_import_batch_id_import_batch"
        ),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_user_feedback_response_id_response"),
        sa.PrimaryKeyConstraint("id", name="pk_user_feedback"),
    )
    op.create_index("ix_user_feedback_response_id", "user_feedback", ["response_id"], unique=False)

    op.create_table(
        "current_judgment",
        sa.Column("judge_version_id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=False),
        sa.Column("judgment_id", BigId, nullable=False),
        sa.Column("judge_kind", sa.String(), nullable=False),
        sa.Column("judge_name", sa.String(), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.Column("response_kind", sa.String(), nullable=False),
        sa.Column("query_type", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("asked_day", sa.Integer(), nullable=True),
        sa.Column("evidence_group", BigId, nullable=False),
        sa.Column("groundedness", sa.Float(), nullable=True),
        sa.Column("quality", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(), nullable=True),
        sa.Column("user_quality", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["judge_version_id"], ["judge_version.id"], name="fk_current_judgment_judge_version_id_judge_version"
        ),
        sa.ForeignKeyConstraint(["judgment_id"], ["judgment.id"], name="fk_current_judgment_judgment_id_judgment"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_current_judgment_response_id_response"),
        sa.PrimaryKeyConstraint("judge_version_id", "response_id", name="pk_current_judgment"),
    )
    op.create_index(
        "ix_current_judgment_response",
        "current_judgment",
        [
            "response_id",
            "judge_version_id",
            "groundedness",
            "quality",
            "label",
            "response_kind",
            "query_type",
            "asked_day",
            "evidence_group",
        ],
        unique=False,
    )
    op.create_index(
        "ix_current_judgment_score",
        "current_judgment",
        [
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
        ],
        unique=False,
        sqlite_where=sa.text("is_current AND response_kind = 'log'"),
        postgresql_where=sa.text("is_current AND response_kind = 'log'"),
    )
    op.create_index(
        "ix_current_judgment_trend",
        "current_judgment",
        [
            "judge_name",
            "query_type",
            "asked_day",
            "judge_version_id",
            "groundedness",
            "quality",
            "response_id",
            "is_current",
            "response_kind",
        ],
        unique=False,
        sqlite_where=sa.text("is_current AND response_kind = 'log'"),
        postgresql_where=sa.text("is_current AND response_kind = 'log'"),
    )
    op.create_index(
        "ix_current_judgment_version_trend",
        "current_judgment",
        ["judge_version_id", "query_type", "asked_day", "groundedness", "quality", "response_kind"],
        unique=False,
        sqlite_where=sa.text("response_kind = 'log'"),
        postgresql_where=sa.text("response_kind = 'log'"),
    )
    op.create_index(
        "uq_current_judgment_name",
        "current_judgment",
        ["response_id", "judge_name", "judge_kind"],
        unique=True,
        sqlite_where=sa.text("is_current"),
        postgresql_where=sa.text("is_current"),
    )

    op.create_table(
        "flag",
        sa.Column("id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=False),
        sa.Column("query_type", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("asked_day", sa.Integer(), nullable=True),
        sa.Column("judge_name", sa.String(), nullable=True),
        sa.Column("groundedness", sa.Float(), nullable=True),
        sa.Column("quality", sa.Integer(), nullable=True),
        sa.Column("judgment_id", BigId, nullable=True),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("raise_key", sa.String(), nullable=False),
        sa.Column("auto_score", sa.Float(), nullable=True),
        sa.Column("params", JsonValue, nullable=False),
        sa.Column("details", JsonValue, nullable=False),
        sa.Column("severity", sa.Float(), nullable=False),
        sa.Column("inclusion_probability", sa.Float(), nullable=False),
        sa.Column("decided_before_id", BigId, nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'confirmed', 'dismissed', 'superseded')", name=op.f("ck_flag_state")),
        sa.CheckConstraint("severity >= 0 AND severity <= 1", name=op.f("ck_flag_severity")),
        sa.ForeignKeyConstraint(["decided_before_id"], ["flag.id"], name="fk_flag_decided_before_id_flag"),
        sa.ForeignKeyConstraint(["judgment_id"], ["judgment.id"], name="fk_flag_judgment_id_judgment"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_flag_response_id_response"),
        sa.PrimaryKeyConstraint("id", name="pk_flag"),
    )
    op.create_index("ix_flag_created", "flag", ["created_at", "state"], unique=False)
    op.create_index("ix_flag_response", "flag", ["response_id", "state"], unique=False)
    op.create_index("ix_flag_rule_state", "flag", ["rule", "state", "query_type"], unique=False)
    op.create_index(
        "ix_flag_share",
        "flag",
        ["query_type", "asked_day", "response_id", "state", "rule"],
        unique=False,
        sqlite_where=sa.text("state <> 'superseded' AND rule <> 'random_sample'"),
        postgresql_where=sa.text("state <> 'superseded' AND rule <> 'random_sample'"),
    )
    op.create_index(
        "uq_flag_raise",
        "flag",
        ["response_id", "raise_key"],
        unique=True,
        sqlite_where=sa.text("state <> 'superseded'"),
        postgresql_where=sa.text("state <> 'superseded'"),
    )

    op.create_table(
        "judgment_score",
        sa.Column("id", BigId, nullable=False),
        sa.Column("judgment_id", BigId, nullable=False),
        sa.Column("dimension", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("scale", sa.String(), nullable=False),
        sa.Column("reasoning", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["judgment_id"], ["judgment.id"], name="fk_judgment_score_judgment_id_judgment"),
        sa.PrimaryKeyConstraint("id", name="pk_judgment_score"),
    )
    op.create_index("ix_judgment_score_judgment_id", "judgment_score", ["judgment_id"], unique=False)

    op.create_table(
        "queue_item",
        sa.Column("id", BigId, nullable=False),
        sa.Column("queue_id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=False),
        sa.Column("flag_id", BigId, nullable=True),
        sa.Column("reviews_needed", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["flag_id"], ["flag.id"], name="fk_queue_item_flag_id_flag"),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name="fk_queue_item_queue_id_queue"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_queue_item_response_id_response"),
        sa.PrimaryKeyConstraint("id", name="pk_queue_item"),
    )
    op.create_index(
        "uq_queue_item_flag",
        "queue_item",
        ["queue_id", "response_id", "flag_id"],
        unique=True,
        sqlite_where=sa.text("flag_id IS NOT NULL"),
        postgresql_where=sa.text("flag_id IS NOT NULL"),
    )
    op.create_index(
        "uq_queue_item_response",
        "queue_item",
        ["queue_id", "response_id"],
        unique=True,
        sqlite_where=sa.text("flag_id IS NULL"),
        postgresql_where=sa.text("flag_id IS NULL"),
    )

    op.create_table(
        "lease",
        sa.Column("id", BigId, nullable=False),
        sa.Column("queue_item_id", BigId, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("reviewer_id", BigId, nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("until", Utc(), nullable=False),
        sa.ForeignKeyConstraint(["queue_item_id"], ["queue_item.id"], name="fk_lease_queue_item_id_queue_item"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_lease_reviewer_id_reviewer"),
        sa.PrimaryKeyConstraint("id", name="pk_lease"),
        sa.UniqueConstraint("queue_item_id", "reviewer_id", name="uq_lease_queue_item_id_reviewer_id"),
        sa.UniqueConstraint("queue_item_id", "slot", name="uq_lease_queue_item_id_slot"),
    )
    op.create_table(
        "review",
        sa.Column("id", BigId, nullable=False),
        sa.Column("response_id", BigId, nullable=True),
        sa.Column("flag_id", BigId, nullable=True),
        sa.Column("queue_item_id", BigId, nullable=True),
        sa.Column("judgment_seen_id", BigId, nullable=True),
        sa.Column("reviewer_id", BigId, nullable=False),
        sa.Column("stage", sa.String(), nullable=True),
        sa.Column("decision", sa.String(), nullable=True),
        sa.Column("label", sa.String(), nullable=True),
        sa.Column("groundedness", sa.Float(), nullable=True),
        sa.Column("quality", sa.Integer(), nullable=True),
        sa.Column("spans", JsonValue, nullable=True),
        sa.Column("note", sa.String(), nullable=True),
        sa.Column("corrected_answer", sa.String(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("replaces", BigId, nullable=True),
        sa.Column("request_key", sa.String(), nullable=False),
        sa.Column("import_batch_id", BigId, nullable=True),
        sa.Column("at", Utc(), nullable=False),
        sa.CheckConstraint(
            "decision IN ('confirm', 'dismiss', 'unsure', 'withdrawn')", name=op.f("ck_review_decision")
        ),
        sa.CheckConstraint("label IN ('grounded', 'hallucinated')", name=op.f("ck_review_label")),
        sa.CheckConstraint("stage IN ('blind', 'revealed', 'adjudication')", name=op.f("ck_review_stage")),
        sa.CheckConstraint("groundedness >= 0 AND groundedness <= 1", name=op.f("ck_review_groundedness")),
        sa.CheckConstraint("quality >= 1 AND quality <= 4", name=op.f("ck_review_quality")),
        sa.ForeignKeyConstraint(["flag_id"], ["flag.id"], name="fk_review_flag_id_flag"),
        sa.ForeignKeyConstraint(
            ["import_batch_id"], ["import_batch.id"], name="fk_review_import_batch_id_import_batch"
        ),
        sa.ForeignKeyConstraint(["judgment_seen_id"], ["judgment.id"], name="fk_review_judgment_seen_id_judgment"),
        sa.ForeignKeyConstraint(["queue_item_id"], ["queue_item.id"], name="fk_review_queue_item_id_queue_item"),
        sa.ForeignKeyConstraint(["replaces"], ["review.id"], name="fk_review_replaces_review"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"], name="fk_review_response_id_response"),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name="fk_review_reviewer_id_reviewer"),
        sa.PrimaryKeyConstraint("id", name="pk_review"),
        sa.UniqueConstraint("request_key", name="uq_review_request_key"),
    )
    op.create_index("ix_review_at", "review", ["at"], unique=False)
    op.create_index("ix_review_flag", "review", ["flag_id"], unique=False)
    op.create_index("ix_review_response", "review", ["response_id", "reviewer_id"], unique=False)
    op.create_index("ix_review_reviewer", "review", ["reviewer_id", "id"], unique=False)
    op.create_index(
        "ix_review_unsure",
        "review",
        ["reviewer_id", "flag_id", "decision"],
        unique=False,
        sqlite_where=sa.text("decision = 'unsure'"),
        postgresql_where=sa.text("decision = 'unsure'"),
    )
    op.create_index(
        "uq_review_replaces",
        "review",
        ["replaces"],
        unique=True,
        sqlite_where=sa.text("replaces IS NOT NULL"),
        postgresql_where=sa.text("replaces IS NOT NULL"),
    )

    op.create_table(
        "review_score",
        sa.Column("id", BigId, nullable=False),
        sa.Column("review_id", BigId, nullable=False),
        sa.Column("dimension", sa.String(), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("scale", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["review_id"], ["review.id"], name="fk_review_score_review_id_review"),
        sa.PrimaryKeyConstraint("id", name="pk_review_score"),
    )
    op.create_index("ix_review_score_review_id", "review_score", ["review_id"], unique=False)
    is_open = sa.text("state = 'open'")
    filters = ["rule", "query_type", "source", "judge_name", "groundedness", "quality", "asked_day", "response_id"]
    indexes: tuple[tuple[str, list[str | sa.TextClause]], ...] = (
        ("severity", [sa.text("severity DESC"), "id", *filters, "state"]),
        ("groundedness", [sa.text("coalesce(groundedness, 2)"), "id", *filters, "state"]),
        ("asked", [sa.text("coalesce(asked_day, 9999999)"), "id", *filters, "state"]),
        ("newest", [sa.text("id DESC"), *filters, "state"]),
        ("rule", ["rule", "query_type", "state"]),
    )
    for name, columns in indexes:
        op.create_index(f"ix_flag_open_{name}", "flag", columns, sqlite_where=is_open, postgresql_where=is_open)
