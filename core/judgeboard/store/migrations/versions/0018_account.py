"""Accounts with a password, and their sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "account",
        sa.Column("reviewer_id", BIG, nullable=False),
        sa.Column("password_hash", sa.String()),
        sa.Column("link_hash", sa.String()),
        sa.Column("link_ends_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("reviewer_id", name="pk_account"),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name="fk_account_reviewer_id_reviewer"
        ),
        sa.UniqueConstraint("link_hash", name="uq_account_link_hash"),
        comment="A person who was invited to sign in with a password; deleted when the person is removed.",
    )
    op.create_table(
        "account_session",
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("reviewer_id", BIG, nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name="pk_account_session"),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name="fk_account_session_reviewer_id_reviewer"
        ),
        comment="A sign-in of a browser; it is kept for a while after its end, to know the browser again.",
    )
    op.create_index("ix_account_session_reviewer_id", "account_session", ["reviewer_id"])
