"""An engine has the queue of jobs and rules: no process claims tasks any more, and only workers have a row."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Drop the claims, and the processes of commands."""
    op.drop_table("claim")
    op.drop_table("worker")  # each living worker stores its row again
    op.create_table(
        "worker",
        sa.Column("executor_id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("executor_id", name=op.f("pk_worker")),
        comment="A process that does the work of jobs and rules; it is alive while its heartbeat is recent.",
    )
