"""How many values are masked in each answer."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "mask_count",
        sa.Column("response_id", BIG, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column(
            "version",
            sa.String(),
            nullable=False,
            comment="Hash of the kinds, patterns, plugins and the key of the masks.",
        ),
        sa.Column("masked", sa.Integer(), nullable=False, comment="Different values."),
        sa.ForeignKeyConstraint(
            ["response_id"], ["response.id"], name="fk_mask_count_response_id_response"
        ),
        sa.PrimaryKeyConstraint("response_id", "kind", name="pk_mask_count"),
        comment="The values of a kind that are masked in the texts of an answer, by one version of the masks.",
    )
