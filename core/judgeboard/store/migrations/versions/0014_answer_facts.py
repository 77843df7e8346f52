"""Facts that depend on the texts of an answer alone have a table; `db migrate` fills it after this revision."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the empty table."""
    op.create_table(
        "answer_fact",
        sa.Column("response_id", _ID, nullable=False),
        sa.Column("rule_version", sa.Integer(), nullable=False),
        sa.Column(
            "is_right_refusal",
            sa.Boolean(),
            comment="It only declines, and no passage fits its question.",
        ),
        sa.Column("length", sa.Integer(), comment="In characters."),
        sa.ForeignKeyConstraint(
            ["response_id"], ["response.id"], name=op.f("fk_answer_fact_response_id_response")
        ),
        sa.PrimaryKeyConstraint("response_id", name=op.f("pk_answer_fact")),
        comment=(
            "Facts that depend on the texts of an answer alone, by one version of the rules; null if it is forgotten."
        ),
    )
    refusals = sa.text("is_right_refusal")
    op.create_index(
        "ix_answer_fact_right_refusal",
        "answer_fact",
        ["response_id"],
        sqlite_where=refusals,
        postgresql_where=refusals,
    )
