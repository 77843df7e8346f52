"""Runs store the provider and the address of the judge's endpoint."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns. Of earlier runs, only the host stays known."""
    op.add_column("run", sa.Column("provider", sa.String()))
    comment = "Address of the judge's endpoint, without user, password and query."
    op.add_column("run", sa.Column("base_url", sa.String(), comment=comment))
