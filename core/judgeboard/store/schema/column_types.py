"""Column types that mean the same on SQLite and on PostgreSQL."""

from datetime import UTC, datetime

from sqlalchemy import JSON, BigInteger, DateTime, Integer
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

# SQLite gives only INTEGER PRIMARY KEY columns their rowid; PostgreSQL needs room for more than 2^31 judgments.
BigId = BigInteger().with_variant(Integer, "sqlite")

# Python's None is SQL NULL, never the JSON text "null": absent passages are not a list.
JsonValue = JSON(none_as_null=True)


class Utc(TypeDecorator[datetime]):
    """A moment, stored in UTC; comes back aware on both engines. A naive value is taken as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the engine UTC: aware on PostgreSQL, naive on SQLite, which keeps no zone."""
        if value is None:
            return None
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return aware.replace(tzinfo=None) if dialect.name == "sqlite" else aware

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Give Python an aware UTC value."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
