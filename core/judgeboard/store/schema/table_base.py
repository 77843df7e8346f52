"""What all tables are made of: their base, their naming and the constraints they share."""

from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, MetaData, text

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


METADATA = MetaData(naming_convention=NAMES)


def one_of(column: str, choices: type[StrEnum], name: str | None = None) -> CheckConstraint:
    """A column that holds one of these names."""
    listed = ", ".join(f"'{choice.value}'" for choice in choices)
    return CheckConstraint(f"{column} IN ({listed})", name=name or column)


def groundedness_range() -> CheckConstraint:
    """A groundedness from 0 to 1."""
    return CheckConstraint("groundedness >= 0 AND groundedness <= 1", name="groundedness")


def quality_range() -> CheckConstraint:
    """A quality from 1 to 4."""
    return CheckConstraint("quality >= 1 AND quality <= 4", name="quality")


def partial(condition: str) -> dict[str, Any]:
    """A partial index on both engines."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}
