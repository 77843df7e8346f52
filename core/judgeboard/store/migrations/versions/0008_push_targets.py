"""Tools to which workers push again and again; limits of requests and tokens."""

from alembic import op

from judgeboard.store.tables import PUSH_TARGET, RATE_LIMIT

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    PUSH_TARGET.create(op.get_bind())
    RATE_LIMIT.create(op.get_bind(), checkfirst=True)
