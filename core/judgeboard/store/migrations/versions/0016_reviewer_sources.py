"""The sources that a person may see."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column: until now, everybody sees all sources."""
    sources = sa.Column(
        "sources",
        sa.JSON(none_as_null=True),
        comment="The only sources that the person may see; NULL: all.",
    )
    op.add_column("reviewer", sources)
