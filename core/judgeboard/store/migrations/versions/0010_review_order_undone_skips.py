"""Open flags of the same severity are in the order of their questions, and a skip can be undone."""

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


def upgrade() -> None:
    """Replace the index of the order "worst first" by one with the day, and add the column."""
    op.drop_index("ix_flag_open_severity", "flag")
    in_order = sa.text("severity DESC"), sa.text("coalesce(asked_day, 9999999)"), "id"
    is_open = sa.text("state = 'open'")
    op.create_index(
        "ix_flag_open_severity", "flag", [*in_order, *_FILTERED], sqlite_where=is_open, postgresql_where=is_open
    )
    comment = "Set when its person undid the skip, which then counts nowhere."
    op.add_column("skip", sa.Column("undone_at", sa.DateTime(timezone=True), comment=comment))
