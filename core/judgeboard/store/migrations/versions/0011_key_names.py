"""A new key can have the name of a revoked one."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the name unique among the keys that are not revoked."""
    if op.get_bind().dialect.name == "sqlite":
        _create_keys_again()
    else:
        op.drop_constraint(op.f("uq_api_key_name"), "api_key", type_="unique")
    in_use = sa.text("revoked_at IS NULL")
    op.create_index(
        "uq_api_key_name",
        "api_key",
        ["name"],
        unique=True,
        sqlite_where=in_use,
        postgresql_where=in_use,
    )


def _create_keys_again() -> None:
    """SQLite changes no constraint of a table that exists."""
    op.execute("CREATE TEMPORARY TABLE api_key_before AS SELECT * FROM api_key")
    op.drop_table("api_key")
    made = op.create_table(
        "api_key",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("source", sa.String()),
        sa.Column("requests_per_second", sa.Float()),
        sa.Column("max_body_mb", sa.Float(), nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT),
        sa.Column("revoked_at", _MOMENT),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_key_hash")),
    )
    names = ", ".join(column.name for column in made.columns)
    op.execute(f"INSERT INTO api_key ({names}) SELECT {names} FROM api_key_before")  # noqa: S608 - no input
    op.execute("DROP TABLE api_key_before")
