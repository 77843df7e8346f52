"""Drafts of agents, which a person confirms."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table. Its triggers are created after the upgrade."""
    kinds = sa.Enum(
        "review",
        "label_schema",
        "failure_modes",
        "run",
        name="kind",
        native_enum=False,
        create_constraint=True,
        length=20,
    )
    states = sa.Enum(
        "open",
        "confirmed",
        "dismissed",
        name="state",
        native_enum=False,
        create_constraint=True,
        length=20,
    )
    op.create_table(
        "machine_draft",
        sa.Column("id", BIG, nullable=False),
        sa.Column("kind", kinds, nullable=False),
        sa.Column("response_id", BIG),
        sa.Column("content", sa.JSON()),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", states, nullable=False),
        sa.Column("decided_by", sa.String()),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("review_id", BIG),
        sa.ForeignKeyConstraint(
            ["response_id"], ["response.id"], name=op.f("fk_machine_draft_response_id_response")
        ),
        sa.ForeignKeyConstraint(
            ["review_id"], ["review.id"], name=op.f("fk_machine_draft_review_id_review")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machine_draft")),
        comment="What an agent proposes; it counts nowhere until a person confirms it and stores it as their own.",
    )
    op.create_index("ix_machine_draft_state", "machine_draft", ["state", "id"])
    op.create_index("ix_machine_draft_response_id", "machine_draft", ["response_id"])
    op.create_index("ix_machine_draft_review_id", "machine_draft", ["review_id"])
