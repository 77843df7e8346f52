"""The answers of which figures may change."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table. Its triggers are created after the upgrade."""
    op.create_table(
        "change",
        sa.Column("id", BIG, nullable=False),
        sa.Column(
            "response_id", BIG, comment="0: what figures read beside answers; null: all answers."
        ),
        sa.Column("writer", BIG, comment="The transaction, on PostgreSQL."),
        sa.PrimaryKeyConstraint("id", name="pk_change"),
        comment="An answer of which figures may change; triggers write the row in the transaction of the change.",
    )
    written = sa.text("writer IS NOT NULL")
    op.create_index(
        "ix_change_writer", "change", ["writer"], sqlite_where=written, postgresql_where=written
    )
