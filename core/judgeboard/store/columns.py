"""Column types and constraints that the tables share."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Enum,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

# SQLite gives only INTEGER PRIMARY KEY columns their rowid; PostgreSQL needs room for more than 2^31 judgments.
BigId = BigInteger().with_variant(Integer, "sqlite")

# Python's None is SQL NULL, never the JSON text "null": absent passages are not a list.
JsonValue = JSON(none_as_null=True)


class JsonTuple(TypeDecorator[tuple[Any, ...]]):
    """A JSON list that is returned as a tuple."""

    impl = JsonValue
    cache_ok = True

    def process_result_value(self, value: list[Any] | None, dialect: Dialect) -> tuple[Any, ...] | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return None for NULL."""
        return None if value is None else tuple(value)


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


NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


METADATA = MetaData(naming_convention=NAMES)


def one_of(choices: type[StrEnum], name: str) -> Enum:
    """The type of a column that stores the value of a choice and returns the choice."""
    values = [choice.value for choice in choices]
    return Enum(
        choices, native_enum=False, create_constraint=True, length=20, name=name, values_callable=lambda _: values
    )


def score_ranges() -> list[CheckConstraint]:
    """A groundedness from 0 to 1, a quality from 1 to 4."""
    return [
        CheckConstraint("groundedness >= 0 AND groundedness <= 1", name="groundedness"),
        CheckConstraint("quality >= 1 AND quality <= 4", name="quality"),
    ]


def partial(condition: str) -> dict[str, Any]:
    """A partial index on both engines."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def required(type_: Any, *names: str, default: object = None) -> list[Column[Any]]:
    """Columns of one type that are never NULL."""
    return [Column(name, type_, nullable=False, default=default) for name in names]


def optional(type_: Any, *names: str) -> list[Column[Any]]:
    """Columns of one type that may be NULL."""
    return [Column(name, type_) for name in names]


def references(*names: str, nullable: bool = False, primary_key: bool = False) -> list[Column[Any]]:
    """Columns that refer to a row of another table: ``response_id`` to one of ``response``."""
    keys = {name: ForeignKey(f"{name.removesuffix('_id')}.id") for name in names}
    return [Column(name, BigId, key, nullable=nullable, primary_key=primary_key) for name, key in keys.items()]


def covering_index(name: str, searched: Sequence[Any], read: Sequence[str], **options: Any) -> Index:
    """An index that is searched by some columns; its queries read the others from it too, without the table."""
    return Index(name, *searched, *read, **options)
