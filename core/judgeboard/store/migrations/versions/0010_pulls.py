"""How far the history of other tools was pulled."""

from alembic import op

from judgeboard.store.tables import PULL

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    PULL.create(op.get_bind())
