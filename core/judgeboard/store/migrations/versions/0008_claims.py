"""Processes claim tasks of every method, not only answers to judge."""

from alembic import op

from judgeboard.store.tables import CLAIM, METADATA, WORKER

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace both tables: their rows describe running processes, and none runs during an upgrade."""
    op.execute("DROP TABLE IF EXISTS judging_claim")
    op.drop_table("worker")
    METADATA.create_all(op.get_bind(), tables=[CLAIM, WORKER])
