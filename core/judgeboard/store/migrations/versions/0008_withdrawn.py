"""Leases that were taken, the address of a run's endpoint, and rows that are withdrawn with their import."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENT = sa.DateTime(timezone=True)
# Columns that refer to another row, and are mostly null.
_REFERRING = (
    ("ix_flag_judgment", "flag", "judgment_id"),
    ("ix_flag_decided_before", "flag", "decided_before_id"),
    ("ix_review_judgment_seen", "review", "judgment_seen_id"),
)


def upgrade() -> None:
    """Add the tables, columns and indexes.

    The leases that somebody has now are taken leases. Of earlier runs, only the host stays known.
    """
    op.create_table(
        "taken_lease",
        sa.Column("id", ID, nullable=False),
        sa.Column("queue_item_id", ID, nullable=False),
        sa.Column("reviewer_id", ID, nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(
            ["queue_item_id"],
            ["queue_item.id"],
            name=op.f("fk_taken_lease_queue_item_id_queue_item"),
        ),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["reviewer.id"], name=op.f("fk_taken_lease_reviewer_id_reviewer")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_taken_lease")),
        comment="Who took which lease, and when: a lease that ended, or went to somebody else, forgets its reviewer.",
    )
    op.create_index("ix_taken_lease_item", "taken_lease", ["queue_item_id", "reviewer_id"])
    op.execute(
        "INSERT INTO taken_lease (queue_item_id, reviewer_id, token, at) "
        "SELECT queue_item_id, reviewer_id, token, taken_at FROM lease "
        "WHERE reviewer_id IS NOT NULL AND token IS NOT NULL AND taken_at IS NOT NULL ORDER BY id"
    )
    op.add_column("run", sa.Column("provider", sa.String()))
    comment = "Address of the judge's endpoint, without user, password and query."
    op.add_column("run", sa.Column("base_url", sa.String(), comment=comment))
    op.create_table(
        "withdrawn_row",
        sa.Column("id", ID, nullable=False),
        sa.Column("import_batch_id", ID, nullable=False),
        sa.Column("table_name", sa.String(), nullable=False),
        sa.Column("row_key", sa.String(), nullable=False),
        sa.Column("response_id", ID, comment="The answer that the row is about."),
        sa.Column("pair_id", ID, comment="The pair that the row is about."),
        sa.Column(
            "content", sa.JSON(), comment="Values by column; null only after `judgeboard forget`."
        ),
        sa.Column("at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_withdrawn_row"),
        sa.ForeignKeyConstraint(
            ["import_batch_id"],
            ["import_batch.id"],
            name="fk_withdrawn_row_import_batch_id_import_batch",
        ),
        comment="A copy of a row that was withdrawn with its import; only a row with a copy can be deleted.",
    )
    op.create_index("ix_withdrawn_row_response_id", "withdrawn_row", ["response_id"])
    op.create_index("ix_withdrawn_row_pair_id", "withdrawn_row", ["pair_id"])
    op.create_index("ix_withdrawn_row_key", "withdrawn_row", ["table_name", "row_key"])
    op.add_column("import_batch", sa.Column("undone_at", MOMENT))
    # In one statement: SQLite adds no constraint to a table that exists.
    id_type = "INTEGER" if op.get_bind().dialect.name == "sqlite" else "BIGINT"
    key = "CONSTRAINT fk_run_import_batch_id_import_batch REFERENCES import_batch (id)"
    op.execute(f"ALTER TABLE run ADD COLUMN import_batch_id {id_type} {key}")
    op.create_index("ix_current_judgment_judgment", "current_judgment", ["judgment_id"])
    for name, table, column in _REFERRING:
        condition = sa.text(f"{column} IS NOT NULL")
        op.create_index(name, table, [column], sqlite_where=condition, postgresql_where=condition)
