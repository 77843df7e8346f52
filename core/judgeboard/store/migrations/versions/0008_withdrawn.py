"""Leases that were taken, the address of a run's endpoint, and imports that are taken back."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add what a late grade and a rejudge need to know; the leases that somebody has now are taken leases.

    Of earlier runs, only the host stays known.
    """
    op.create_table(
        "taken_lease",
        sa.Column("id", ID, nullable=False),
        sa.Column("queue_item_id", ID, nullable=False),
        sa.Column("reviewer_id", ID, nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["queue_item_id"], ["queue_item.id"], name=op.f("fk_taken_lease_queue_item_id_queue_item")
        ),
        sa.ForeignKeyConstraint(["reviewer_id"], ["reviewer.id"], name=op.f("fk_taken_lease_reviewer_id_reviewer")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_taken_lease")),
        comment="Who took which lease, and when: a lease that ended, or went to somebody else, forgets its reviewer.",
    )
    op.create_index("ix_taken_lease_item", "taken_lease", ["queue_item_id", "reviewer_id"])
    op.execute(
        "INSERT INTO taken_lease (queue_item_id, reviewer_id, token, at) "
        "SELECT queue_item_id, reviewer_id, token, taken_at FROM lease "
        "WHERE reviewer_id IS NOT NULL AND token IS NOT NULL AND taken_at IS NOT NULL ORDER BY id"
    )
    op.add_column("run", sa.Column("provider", sa.String()))
    comment = "Address of the judge's endpoint, without user, password and query."
    op.add_column("run", sa.Column("base_url", sa.String(), comment=comment))
