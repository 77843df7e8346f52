"""Open flags of equal severity are in the order of their questions; skips can be undone; alerts watch a level."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_FILTERED = (
    *("rule", "query_type", "source", "judge_name"),
    *("groundedness", "quality", "asked_day", "response_id", "leads", "state"),
)


_MOMENT = sa.DateTime(timezone=True)
_CONDITIONS = (
    "condition IN ('alarm', 'old_flags', 'open_flags', 'waiting_answers', 'unusable_verdicts', 'spend', "
    "'silent_source', 'missing_worker', 'level')"
)
_HAS_LEVEL = "(condition = 'level') = (level IS NOT NULL)"
_LEVEL = "What a level rule compares with its threshold."
_SUBJECTS = "Only these sources, judges, rules or slices."


def upgrade() -> None:
    """Replace the index of the order "worst first" by one with the day, and add the columns and the condition."""
    op.drop_index("ix_flag_open_severity", "flag")
    in_order = sa.text("severity DESC"), sa.text("coalesce(asked_day, 9999999)"), "id"
    is_open = sa.text("state = 'open'")
    op.create_index(
        "ix_flag_open_severity",
        "flag",
        [*in_order, *_FILTERED],
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
    comment = "Set when its person undid the skip, which then counts nowhere."
    op.add_column("skip", sa.Column("undone_at", sa.DateTime(timezone=True), comment=comment))
    if op.get_bind().dialect.name == "sqlite":
        _create_alert_rules_again()
    else:
        op.drop_constraint(op.f("ck_alert_rule_condition"), "alert_rule", type_="check")
        op.create_check_constraint(op.f("ck_alert_rule_condition"), "alert_rule", _CONDITIONS)
        op.add_column("alert_rule", sa.Column("level", sa.JSON(), comment=_LEVEL))
        op.create_check_constraint(op.f("ck_alert_rule_level"), "alert_rule", _HAS_LEVEL)
        op.alter_column("alert_rule", "subjects", comment=_SUBJECTS)


def _create_alert_rules_again() -> None:
    """SQLite changes no constraint of a table that exists. Events and deliveries refer to the rules meanwhile."""
    kept = (
        *(
            "id",
            "name",
            '"by"',
            '"condition"',
            "threshold",
            "period_s",
            "subjects",
            "destinations",
            "remind_s",
            "quiet",
        ),
        *("state", "evaluated_at", "problem", '"at"'),
    )
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TEMPORARY TABLE alert_rule_before AS SELECT * FROM alert_rule")
    op.drop_table("alert_rule")
    op.create_table(
        "alert_rule",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("condition", sa.String(20), nullable=False),
        sa.Column("threshold", sa.Float()),
        sa.Column("period_s", sa.Float()),
        sa.Column("subjects", sa.JSON(), nullable=False),
        sa.Column("level", sa.JSON()),
        sa.Column("destinations", sa.JSON(), nullable=False),
        sa.Column("remind_s", sa.Float()),
        sa.Column("quiet", sa.String()),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("evaluated_at", _MOMENT),
        sa.Column("problem", sa.String()),
        sa.Column("at", _MOMENT, nullable=False),
        sa.CheckConstraint(_CONDITIONS, name=op.f("ck_alert_rule_condition")),
        sa.CheckConstraint(
            "state IN ('active', 'paused', 'removed')", name=op.f("ck_alert_rule_state")
        ),
        sa.CheckConstraint(_HAS_LEVEL, name=op.f("ck_alert_rule_level")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rule")),
    )
    named = ", ".join(kept)
    op.execute(f"INSERT INTO alert_rule ({named}) SELECT {named} FROM alert_rule_before")  # noqa: S608 - no input
    op.execute("DROP TABLE alert_rule_before")
    op.create_index(
        "uq_alert_rule_name",
        "alert_rule",
        ["name"],
        unique=True,
        sqlite_where=sa.text("state <> 'removed'"),
    )
