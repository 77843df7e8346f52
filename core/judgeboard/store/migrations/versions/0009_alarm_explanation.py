"""What an alarm about the judge's error says about the judge's rates."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Earlier alarms have no explanation."""
    comment = "Which of the judge's rates moved with its error."
    op.add_column("alarm", sa.Column("explanation", sa.String(), comment=comment))
