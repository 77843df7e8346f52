"""The index of text search."""

from alembic import op

from judgeboard.store.schema.search_index import install_search

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    install_search(op.get_bind())
