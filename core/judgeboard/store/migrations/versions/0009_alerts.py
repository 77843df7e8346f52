"""Alert rules, their events and the delivery of their messages; the shares of workers in runs."""

import sqlalchemy as sa
from alembic import op

from judgeboard.store.tables.columns import BigId, JsonTuple, JsonValue, Utc, partial

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def _one_of(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, native_enum=False, create_constraint=True, length=20, name=name)


def upgrade() -> None:
    """Create the tables."""
    conditions = ("alarm", "old_flags", "open_flags", "waiting_answers", "unusable_verdicts", "spend")
    op.create_table(
        "alert_rule",
        sa.Column("id", BigId, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("by", sa.String, nullable=False),
        sa.Column("condition", _one_of("condition", *conditions, "silent_source", "missing_worker"), nullable=False),
        sa.Column("threshold", sa.Float),
        sa.Column("period_s", sa.Float),
        sa.Column("subjects", JsonTuple, nullable=False),
        sa.Column("destinations", JsonTuple, nullable=False),
        sa.Column("remind_s", sa.Float),
        sa.Column("quiet", sa.String),
        sa.Column("state", _one_of("state", "active", "paused", "removed"), nullable=False),
        sa.Column("evaluated_at", Utc),
        sa.Column("problem", sa.String),
        sa.Column("at", Utc, nullable=False),
    )
    op.create_index("uq_alert_rule_name", "alert_rule", ["name"], unique=True, **partial("state <> 'removed'"))
    op.create_table(
        "alert_event",
        sa.Column("id", BigId, primary_key=True),
        sa.Column("alert_rule_id", BigId, sa.ForeignKey("alert_rule.id"), nullable=False),
        sa.Column("subject", sa.String, nullable=False),
        sa.Column("sentence", sa.String, nullable=False),
        sa.Column("value", sa.Float),
        sa.Column("opened_at", Utc, nullable=False),
        sa.Column("seen_at", Utc, nullable=False),
        sa.Column("resolved_at", Utc),
        sa.Column("notified_at", Utc),
        sa.Column("messages", sa.Integer, nullable=False),
        sa.Column("closed", sa.Boolean, nullable=False),
    )
    event_of_rule = ["alert_rule_id", "subject"]
    op.create_index("uq_alert_event_open", "alert_event", event_of_rule, unique=True, **partial("resolved_at IS NULL"))
    op.create_index("ix_alert_event_unclosed", "alert_event", ["alert_rule_id"], **partial("NOT closed"))
    op.create_table(
        "alert_delivery",
        sa.Column("id", BigId, primary_key=True),
        sa.Column("alert_rule_id", BigId, sa.ForeignKey("alert_rule.id"), nullable=False),
        sa.Column("alert_event_id", BigId, sa.ForeignKey("alert_event.id")),
        sa.Column("kind", _one_of("kind", "opened", "reminder", "resolved", "test"), nullable=False),
        sa.Column("destination", sa.String, nullable=False),
        sa.Column("message_id", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("message", JsonValue, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", Utc, nullable=False),
        sa.Column("at", Utc, nullable=False),
        sa.Column("sent_at", Utc),
        sa.Column("error", sa.String),
        sa.UniqueConstraint("alert_event_id", "number", "destination"),
        sa.UniqueConstraint("message_id"),
        sa.CheckConstraint("state IN ('waiting', 'sent', 'failed')", name="state"),
    )
    op.create_index("ix_alert_delivery_waiting", "alert_delivery", ["next_at"], **partial("state = 'waiting'"))
    counts = ("ok", "unparsable", "refused", "error", "unpriced")
    op.create_table(
        "run_share",
        sa.Column("run_id", BigId, sa.ForeignKey("run.id"), primary_key=True),
        sa.Column("executor_id", sa.String, primary_key=True),
        *(sa.Column(name, sa.Integer, nullable=False) for name in counts),
        sa.Column("cost_micro", BigId, nullable=False),
        sa.Column("last_at", Utc, nullable=False),
    )
    op.create_index("ix_judging_claim_run", "judging_claim", ["run_id"])
