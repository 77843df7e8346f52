"""Leases that were taken, the address of a run's endpoint, and imports that are taken back."""

import sqlalchemy as sa
from alembic import op

from judgeboard.store.tables.columns import NAMES, BigId, Utc

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add what a late grade and a rejudge need to know; the leases that somebody has now are taken leases.

    Of earlier runs, only the host stays known.
    """
    tables = sa.MetaData(naming_convention=NAMES)
    for referenced in ("queue_item", "reviewer"):
        sa.Table(referenced, tables, sa.Column("id", BigId, primary_key=True))
    taken_lease = sa.Table(
        "taken_lease",
        tables,
        sa.Column("id", BigId, primary_key=True),
        sa.Column("queue_item_id", BigId, sa.ForeignKey("queue_item.id"), nullable=False),
        sa.Column("reviewer_id", BigId, sa.ForeignKey("reviewer.id"), nullable=False),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("at", Utc, nullable=False),
        sa.Index("ix_taken_lease_item", "queue_item_id", "reviewer_id"),
    )
    taken_lease.create(op.get_bind())
    op.execute(
        "INSERT INTO taken_lease (queue_item_id, reviewer_id, token, at) "
        "SELECT queue_item_id, reviewer_id, token, taken_at FROM lease "
        "WHERE reviewer_id IS NOT NULL AND token IS NOT NULL AND taken_at IS NOT NULL ORDER BY id"
    )
    op.add_column("run", sa.Column("provider", sa.String()))
    comment = "Address of the judge's endpoint, without user, password and query."
    op.add_column("run", sa.Column("base_url", sa.String(), comment=comment))
