"""What a user writes beside thumbs or stars."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Earlier feedback has no comment."""
    for table in ("user_feedback", "waiting_feedback"):
        op.add_column(table, sa.Column("comment", sa.String()))
