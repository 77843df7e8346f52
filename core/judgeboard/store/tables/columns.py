"""Column types, and the builders of tables.

A *step* is one request to a model with all its calls: each row of a step table is a step.
"""

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
    String,
    Table,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex, SchemaItem
from sqlalchemy.types import TypeDecorator

from judgeboard.domain import Status

# SQLite sets ids itself only in INTEGER PRIMARY KEY columns; PostgreSQL needs room for more than 2^31 judgments.
BigId = BigInteger().with_variant(Integer, "sqlite")

# Python's None is stored as SQL NULL, never as the JSON text "null".
JsonValue = JSON(none_as_null=True)


class JsonTuple(TypeDecorator[tuple[Any, ...]]):
    """A JSON list that is returned as a tuple."""

    impl = JsonValue
    cache_ok = True

    def process_result_value(self, value: list[Any] | None, dialect: Dialect) -> tuple[Any, ...] | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return None for NULL."""
        return None if value is None else tuple(value)


class Utc(TypeDecorator[datetime]):
    """A moment, stored in UTC and read as an aware value on both engines. A naive value counts as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return UTC for the engine: aware for PostgreSQL, naive for SQLite, which stores no time zone."""
        if value is None:
            return None
        aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return aware.replace(tzinfo=None) if dialect.name == "sqlite" else aware

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return an aware UTC value."""
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
    return {"sqlite_where": text(condition)}


@compiles(CreateIndex, "postgresql")
def _create_index_on_postgresql(create: CreateIndex, compiler: Any, **options: Any) -> Any:
    # Not `postgresql_where` in `partial`: it imports PostgreSQL's dialect with all its drivers at every start.
    index = create.element
    condition = index.dialect_options["sqlite"]["where"]
    if condition is not None:
        index.dialect_options["postgresql"]["where"] = condition
    return compiler.visit_create_index(create, **options)


def required(type_: Any, *names: str, default: object = None) -> list[Column[Any]]:
    """Columns of one type that are never NULL."""
    return [Column(name, type_, nullable=False, default=default) for name in names]


def optional(type_: Any, *names: str) -> list[Column[Any]]:
    """Columns of one type that may be NULL."""
    return [Column(name, type_) for name in names]


def references(*names: str, nullable: bool = False, primary_key: bool = False) -> list[Column[Any]]:
    """Columns that refer to a row of another table; for example, ``response_id`` refers to ``response``."""
    keys = {name: ForeignKey(f"{name.removesuffix('_id')}.id") for name in names}
    return [Column(name, BigId, key, nullable=nullable, primary_key=primary_key) for name, key in keys.items()]


def covering_index(name: str, searched: Sequence[Any], read: Sequence[str], **options: Any) -> Index:
    """An index to search by the columns ``searched``; queries also read the columns ``read`` from it alone."""
    return Index(name, *searched, *read, **options)


def table(name: str, *parts: SchemaItem, comment: str) -> Table:
    """A table with an ``id`` as its primary key."""
    columns_first = sorted(parts, key=lambda part: not isinstance(part, Column))  # indexes refer to columns
    return Table(name, METADATA, Column("id", BigId, primary_key=True), *columns_first, comment=comment)


def link(name: str, one: str, other: str, comment: str) -> Table:
    """A table that links rows of two tables, with an index for each direction."""
    index = Index(f"ix_{name}_{other.removesuffix('_id')}", other, one)
    return Table(name, METADATA, *references(one, other, primary_key=True), index, comment=comment)


def step_table(name: str, *parts: SchemaItem, comment: str) -> Table:
    """A table of steps: after its own columns come status, raw output, calls and cost (exports keep this order)."""
    return table(
        name,
        *parts,
        *references("run_id", nullable=True),
        Column("status", one_of(Status, "status"), nullable=False),
        *optional(String, "raw", "model_reported", "reply_format", "error"),
        *optional(Integer, "prompt_tokens", "completion_tokens", "latency_ms"),
        Column("cost_micro", BigId, comment="Millionths of the currency of the prices."),
        *optional(JsonValue, "attempts", "dropped_parameters"),
        Column("created_at", Utc, nullable=False),
        Index(f"ix_{name}_run", "run_id", "status"),
        comment=comment,
    )


def judge_steps(name: str, subject: str, *parts: SchemaItem, comment: str) -> Table:
    """A table of judge versions' steps; the column ``subject`` refers to the row that a step is about."""
    return step_table(
        name,
        *references(subject, "judge_version_id"),
        Column("ask", Integer, nullable=False, default=0),
        Index(f"ix_{name}_version", "judge_version_id", subject),
        *parts,
        comment=comment,
    )
