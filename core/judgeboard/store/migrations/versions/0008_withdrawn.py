"""Copies of the rows that `judgeboard import undo` withdraws, and the import of each run of imported verdicts."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.DateTime(timezone=True)
# Columns that refer to another row, and are mostly null.
_REFERRING = (
    ("ix_flag_judgment", "flag", "judgment_id"),
    ("ix_flag_decided_before", "flag", "decided_before_id"),
    ("ix_review_judgment_seen", "review", "judgment_seen_id"),
)


def upgrade() -> None:
    """Add the table, two columns, and the indexes that find what refers to a row."""
    op.create_table(
        "withdrawn_row",
        sa.Column("id", _ID, nullable=False),
        sa.Column("import_batch_id", _ID, nullable=False),
        sa.Column("table_name", sa.String(), nullable=False),
        sa.Column("row_key", sa.String(), nullable=False),
        sa.Column("response_id", _ID, comment="The answer that the row is about."),
        sa.Column("pair_id", _ID, comment="The pair that the row is about."),
        sa.Column("content", sa.JSON(), comment="Values by column; null only after `judgeboard forget`."),
        sa.Column("at", _TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_withdrawn_row"),
        sa.ForeignKeyConstraint(
            ["import_batch_id"], ["import_batch.id"], name="fk_withdrawn_row_import_batch_id_import_batch"
        ),
        comment="A copy of a row that was withdrawn with its import; only a row with a copy can be deleted.",
    )
    op.create_index("ix_withdrawn_row_response_id", "withdrawn_row", ["response_id"])
    op.create_index("ix_withdrawn_row_pair_id", "withdrawn_row", ["pair_id"])
    op.create_index("ix_withdrawn_row_key", "withdrawn_row", ["table_name", "row_key"])
    op.add_column("import_batch", sa.Column("undone_at", _TIME))
    # In one statement: SQLite adds no constraint to a table that exists.
    id_type = "INTEGER" if op.get_bind().dialect.name == "sqlite" else "BIGINT"
    key = "CONSTRAINT fk_run_import_batch_id_import_batch REFERENCES import_batch (id)"
    op.execute(f"ALTER TABLE run ADD COLUMN import_batch_id {id_type} {key}")
    op.create_index("ix_current_judgment_judgment", "current_judgment", ["judgment_id"])
    for name, table, column in _REFERRING:
        condition = sa.text(f"{column} IS NOT NULL")
        op.create_index(name, table, [column], sqlite_where=condition, postgresql_where=condition)
