"""What all tables share: the metadata, the base classes, and the types of columns.

Each table is one class. The docstring of the class says what a row is and becomes the comment of
the table. The properties of a column stand at the column: see `Known`.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, Self, TypedDict, Unpack, dataclass_transform

from pydantic_core import PydanticUndefined
from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    DateTime,
    Enum,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    TextClause,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import declared_attr, registry
from sqlalchemy.schema import CreateIndex
from sqlalchemy.types import TypeDecorator
from sqlmodel import AutoString, Field, SQLModel
from sqlmodel._compat import SQLModelConfig, get_sa_type_from_field
from sqlmodel.main import FieldInfoMetadata, SQLModelMetaclass

from judgeboard.domain import Role, Status
from judgeboard.store.filters import RowFilter, from_dict

# SQLite sets ids itself only in INTEGER PRIMARY KEY columns; PostgreSQL needs room for more than
# 2^31 judgments.
BigId = BigInteger().with_variant(Integer, "sqlite")

# Python's None is stored as SQL NULL, never as the JSON text "null".
JsonValue = JSON(none_as_null=True)
JsonData = dict[str, Any] | list[Any]


class JsonTuple(TypeDecorator[tuple[Any, ...]]):
    """A JSON list that is returned as a tuple."""

    impl = JsonValue
    cache_ok = True

    def process_result_value(
        self,
        value: list[Any] | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> tuple[Any, ...] | None:
        """Return None for NULL."""
        return None if value is None else tuple(value)


class RoleText(TypeDecorator[Role]):
    """A role, stored by its name."""

    impl = String
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Role | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return None for NULL."""
        return None if value is None else Role(value)


class JsonFilter(TypeDecorator[RowFilter]):
    """A filter of answers, stored as JSON."""

    impl = JsonValue
    cache_ok = True

    def process_bind_param(self, value: RowFilter | None, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """Return the fields of the filter that are set."""
        return None if value is None else value.as_dict()

    def process_result_value(self, value: Any, dialect: Dialect) -> RowFilter | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return None for NULL."""
        return None if value is None else from_dict(value)


class JsonRecord(TypeDecorator[Any]):
    """The fields of a dataclass, stored as JSON and returned as an instance of the dataclass."""

    impl = JsonValue
    cache_ok = True

    def __init__(self, record: type[Any]) -> None:
        super().__init__()
        self.record = record

    def process_bind_param(self, value: Any, dialect: Dialect) -> dict[str, Any] | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Return None for None."""
        return None if value is None else asdict(value)

    def process_result_value(self, value: dict[str, Any] | None, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's signature
        """Return None for NULL."""
        return None if value is None else self.record(**value)


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


def one_of(choices: type[StrEnum], name: str) -> Enum:
    """The type of a column that stores the value of a choice and returns the choice."""
    values = [choice.value for choice in choices]
    return Enum(
        choices,
        native_enum=False,
        create_constraint=True,
        length=20,
        name=name,
        values_callable=lambda _: values,
    )


OF_PAIR = (
    "SELECT response_a_id FROM pair WHERE pair.id = OLD.pair_id "
    "UNION ALL SELECT response_b_id FROM pair WHERE pair.id = OLD.pair_id"
)
OF_ANSWER_OR_PAIR = f"SELECT OLD.response_id UNION ALL {OF_PAIR}"


METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


_TYPES: dict[Any, Any] = {
    datetime: Utc,
    dict: JsonValue,
    tuple: JsonTuple,
    Literal: AutoString,
    Role: RoleText,
    RowFilter: JsonFilter,
}
"""The type of a column by the type of the values, where SQLModel would choose another type."""


class Known(TypedDict, total=False):
    """The properties of a column.

    ``changes``: values change, in a table whose rows otherwise stay as written. ``forgotten``:
    `judgeboard db forget` blanks the column. ``completed``: late spans complete the column, until
    something has read the value. ``reads``: the maker of the row has read the content of the answer
    to which the column refers. ``exported``: exports have the column (default: yes).
    """

    changes: bool
    forgotten: bool
    completed: bool
    reads: bool
    exported: bool


def column(
    type_: Any = None,
    *,
    refers: str | None = None,
    primary_key: bool = False,
    index: bool = False,
    unique: bool = False,
    default: object = ...,
    default_factory: Callable[[], object] | None = None,
    comment: str | None = None,
    **properties: Unpack[Known],
) -> Any:
    """A column of a table. Without ``type_``, the values decide. ``refers`` is the table of a foreign key."""
    options: dict[str, Any] = {"primary_key": primary_key, "index": index, "unique": unique}
    if refers is not None:
        options |= {"foreign_key": f"{refers}.id", "sa_type": BigId}
    if type_ is not None:
        options["sa_type"] = type_
    if default_factory is not None:
        options["default_factory"] = default_factory
    elif default is not ...:
        options["default"] = default
    return Field(**options, sa_column_kwargs={"comment": comment, "info": properties})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(column,))
class RowClass(SQLModelMetaclass):
    """The class of the classes of rows, which tells type checkers that the columns of a row are set once.

    The properties of a table stand beside ``table=True`` at the head of the class; subclasses
    inherit the properties.

    ``is_free``: rows change and are deleted. In all other tables, triggers refuse deletions and
    each change of a column that does not change. ``has_hidden_rows``: a row may belong to a verdict
    or a review, which blind reviewers do not see. ``is_shared``: no row tells anything of an
    answer, so readers with limited sources see all rows (`visible_sources`). ``keeps_run``: a run
    with such a row is not empty, so the run stays when an import is undone. ``of_responses``: SQL
    for the responses that a row (OLD) is about. If such a response is forgotten, columns of the row
    may be blanked. ``is_recorded``: an import of verdicts stores such rows, in a run of its own.
    ``in_record``: a request to a judge version counts in the health record of the version.
    ``began_with``: the column with the answer from which a run made other answers for a subject.
    The calls to generators for the subject are about this answer too. ``of_process``: rows tell
    what processes do now, so a copy of the database has none.
    """

    is_free: bool = False
    has_hidden_rows: bool = True
    is_shared: bool = False
    keeps_run: bool = False
    is_recorded: bool = False
    in_record: bool = False
    of_responses: str = ""
    began_with: str | None = None
    of_process: bool = False

    def __init__(
        cls,  # noqa: N805 - an instance is a class
        name: str,
        bases: tuple[type, ...],
        values: dict[str, Any],
        **properties: Any,
    ) -> None:
        """Keep the properties of the table. Raises TypeError for an unknown property."""
        super().__init__(name, bases, values, **properties)
        for fact in properties.keys() - {"table", "registry"}:
            if fact not in RowClass.__annotations__:
                raise TypeError(f"{name}: tables have no {fact}")
            type.__setattr__(cls, fact, properties[fact])


class Row(SQLModel, metaclass=RowClass, registry=registry(metadata=METADATA)):
    """A row of a table. The columns of a row are set once; statements change stored rows.

    Many rows are read as columns of `table_of` a class, which costs less.
    """

    # Pydantic does not validate rows of tables, so no start needs the validators.
    model_config = SQLModelConfig(defer_build=True)

    def __setattr__(self, name: str, value: object) -> None:
        """Set a column of a new row; raise AttributeError if the column has a value."""
        if name in self.__dict__ and not name.startswith("_"):
            raise AttributeError(f"{type(self).__name__}.{name} has a value already")
        super().__setattr__(name, value)

    def changed(self, **values: object) -> Self:
        """Return a new row with other values; the stored row does not change."""
        return type(self)(
            **{name: getattr(self, name) for name in type(self).model_fields} | values
        )

    def new_values(self) -> dict[str, Any]:
        """Return the columns for an INSERT, without the id if the database sets it."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if name != "id" or value is not None}

    def as_json(self) -> dict[str, Any]:
        """Return the columns in the order of the class."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    @classmethod
    def __pydantic_init_subclass__(cls, **options: object) -> None:
        """Give each column the type for the Python type, before the table is made.

        The fields that a table inherits from a model of options stand behind the columns of the
        table alone. The help of such a field is the comment of the column.
        """
        super().__pydantic_init_subclass__(**options)
        fields = cls.__pydantic_fields__
        for name, field in list(fields.items()):
            field_metadata = next(
                (each for each in field.metadata if isinstance(each, FieldInfoMetadata)), None
            )
            if field_metadata is None:
                field_metadata = FieldInfoMetadata()
                field.metadata = [*field.metadata, field_metadata]
            if field.description is not None:
                fields[name] = fields.pop(name)
                field_metadata.sa_column_kwargs = {"comment": field.description}
            if field_metadata.sa_type is PydanticUndefined:
                kind = get_sa_type_from_field(field)
                if kind in _TYPES:
                    field_metadata.sa_type = _TYPES[kind]
                elif issubclass(kind, StrEnum):
                    field_metadata.sa_type = one_of(kind, name)

    @declared_attr.directive
    @classmethod
    def __tablename__(cls) -> str:
        """The name of the class in words: ``JudgmentScore`` is the table ``judgment_score``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class Stored(Row):
    """A row with an id that the database sets."""

    id: int = column(BigId, primary_key=True, default=None)

    def __hash__(self) -> int:
        """Equal rows have equal ids."""
        return hash((type(self), self.id))


class Step(Stored, keeps_run=True, in_record=True):
    """One request to a model with all calls. These columns are the last of a table."""

    run_id: int | None = column(refers="run")
    status: Status
    raw: str | None = column(forgotten=True)
    model_reported: str | None
    reply_format: str | None = column(exported=False)
    error: str | None = column(forgotten=True)
    prompt_tokens: int | None
    completion_tokens: int | None
    latency_ms: int | None
    cost_micro: int | None = column(BigId, comment="Millionths of the currency of the prices.")
    attempts: JsonData | None = column(JsonValue, forgotten=True)
    dropped_parameters: JsonData | None = column(JsonValue, exported=False)
    created_at: datetime

    @classmethod
    def __pydantic_init_subclass__(cls, **options: object) -> None:
        """Move the columns of every step behind the columns of one kind of steps, before the table is made."""
        super().__pydantic_init_subclass__(**options)
        for name in Step.__annotations__:
            cls.__pydantic_fields__[name] = cls.__pydantic_fields__.pop(name)


def table_of(row: type[Row]) -> Table:
    """Return the table of a class."""
    table = METADATA.tables[str(row.__tablename__)]
    table.comment = row.__doc__
    table.info["row"] = row
    return table


def row_of(table: Table) -> type[Row]:
    """Return the class of a table."""
    row: type[Row] = table.info["row"]
    return row


def columns_that(
    fact: Literal["changes", "forgotten", "completed", "reads"], table: Table
) -> tuple[str, ...]:
    """Return the names of the columns with a property."""
    return tuple(each.name for each in table.c if each.info.get(fact))


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
def _create_index_on_postgresql(create: CreateIndex, compiler: Any, **options: object) -> Any:
    # Not `postgresql_where` in `partial`, which imports PostgreSQL's dialect with all drivers at
    # every start.
    index = create.element
    condition = index.dialect_options["sqlite"]["where"]
    if condition is not None:
        index.dialect_options["postgresql"]["where"] = condition
    return compiler.visit_create_index(create, **options)


def covering_index(
    name: str, searched: Sequence[str | TextClause], read: Sequence[str], where: str | None = None
) -> Index:
    """An index to search by the columns ``searched``; queries read the columns ``read`` from the index alone.

    With ``where``, the index is partial.
    """
    return Index(name, *searched, *read, **({} if where is None else partial(where)))


def step_indexes(table: str, subject: str | None = None) -> Iterator[Index]:
    """Indexes of a table of steps. For a judge version, ``subject`` is the column of the subject of a step."""
    yield Index(f"ix_{table}_run", "run_id", "status")
    if subject is not None:
        yield Index(f"ix_{table}_version", "judge_version_id", subject)
