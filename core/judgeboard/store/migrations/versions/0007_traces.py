"""The latest traces of a source and the feedback of a new answer are read from indexes; an answer can be read."""

import sqlalchemy as sa
from alembic import op

from judgeboard.store.tables.columns import Utc

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change the indexes, and add the column."""
    op.drop_index("ix_trace_source", "trace")
    op.create_index("ix_trace_source", "trace", ["source", "state", "last_at"])
    op.add_column("trace", sa.Column("read_at", Utc))
    for name in ("response_key", "trace_key", "span_key", "received_at"):
        op.create_index(f"ix_waiting_feedback_{name}", "waiting_feedback", [name])
