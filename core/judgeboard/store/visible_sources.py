"""The rows that a reader with limited sources may see: rows of answers and pairs of these sources.

A row belongs to the answers and pairs that the foreign keys name, directly or through a judgment, a
review or an item of a queue. A table with a column ``source`` copies the source of the answer. A
queue belongs to the sources in the filter of the queue. All rows of a table that ``is_shared`` are
visible. Any other row may count or name all answers, so a reader with limited sources sees none.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    bindparam,
    exists,
    false,
    literal_column,
    or_,
    select,
)

from judgeboard.errors import BadInput
from judgeboard.store.columns import row_of
from judgeboard.store.tables import METADATA, QUEUE, REVIEWER
from judgeboard.text import MAX_NAME

SOURCES, QUEUES = "visible_sources", "visible_queues"  # parameters
SUBJECTS = frozenset({"response", "pair"})


@dataclass(frozen=True, slots=True)
class VisibleSources:
    """The sources that a reader may see, and the queues of these sources alone.

    ``changes`` limits a transaction that changes an answer. For this transaction, rows of answers
    of other sources do not exist, but everything that a change has to keep up to date does.
    """

    sources: tuple[str, ...]
    queues: tuple[int, ...] = ()
    is_sqlite: bool = True
    changes: bool = False

    @property
    def parameters(self) -> dict[str, tuple[str, ...] | tuple[int, ...]]:
        """The values of the parameters of all conditions."""
        return {SOURCES: self.sources, QUEUES: self.queues}

    def conditions(self, name: str, row: FromClause) -> list[ColumnElement[bool]]:
        """Return the conditions on a row of a table that is visible."""
        row_class = row_of(METADATA.tables[name])
        if row_class.is_shared:
            return []
        if name == "queue":
            return [] if self.changes else [self._is_among(row.c.id, QUEUES)]
        subjects = [each for each in references(name) if each.whole in SUBJECTS]
        if "source" in row.c and row_class.has_hidden_rows:
            of_source = self._is_among(row.c.source, SOURCES)
            sides = subjects if name == "pair" else ()
            return [of_source, *(self._is_visible(row, side) for side in sides)]
        if subjects:
            has_subject = or_(*(row.c[each.column].is_not(None) for each in subjects))
            return [has_subject, *(self._is_visible(row, each) for each in subjects)]
        if parts := _parts(name):
            return [self._is_visible(row, each) for each in parts]
        return [] if self.changes else [false()]

    def _is_visible(self, row: FromClause, reference: "Reference") -> ColumnElement[bool]:
        """Return the condition that a row refers to a visible row, or to no row."""
        column, whole = row.c[reference.column], _named(reference.whole)
        is_visible = exists().where(whole.c.id == column, *self.conditions(reference.whole, whole))
        return or_(column.is_(None), is_visible) if reference.is_optional else is_visible

    def _is_among(self, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        values = bindparam(name, self.parameters[name], type_=column.type, expanding=True)
        # Otherwise, SQLite would read and sort all answers of the sources. Now, SQLite reads only
        # some answers, in the order of an index that has the source too.
        in_place = (
            column.concat(literal_column("''")) if self.is_sqlite and name == SOURCES else column
        )
        return in_place.in_(values)


def check_source(source: str) -> None:
    """Raise BadInput if a text cannot be the source of answers."""
    if not source.strip() or len(source) > MAX_NAME or not source.isprintable():
        raise BadInput(f"a source has 1 to {MAX_NAME} characters")


def visible_sources(
    connection: Connection, reviewer_id: int | None, source: str | None
) -> tuple[str, ...] | None:
    """Return the sources that a reviewer may see, limited to one ``source`` if there is one; None for all."""
    query = select(REVIEWER.c.sources).where(REVIEWER.c.id == reviewer_id)
    of_person = None if reviewer_id is None else connection.scalar(query)
    if source is None:
        return of_person
    return (source,) if of_person is None or source in of_person else ()


def visible_queues(connection: Connection, sources: Collection[str]) -> tuple[int, ...]:
    """Return the queues whose filters name some of these sources and no other."""
    filters = connection.execute(select(QUEUE.c.id, QUEUE.c.filter))
    return tuple(
        row.id for row in filters if row.filter.sources and set(row.filter.sources) <= set(sources)
    )


class Reference(NamedTuple):
    """A column that refers to another table, ``whole``."""

    column: str
    whole: str
    is_optional: bool


@cache
def references(name: str) -> list[Reference]:
    """Return the columns with which rows of a table refer to rows of other tables."""
    return [
        Reference(column.name, key.column.table.name, bool(column.nullable))
        for column in METADATA.tables[name].c
        for key in column.foreign_keys
    ]


@cache
def _parts(name: str) -> list[Reference]:
    """Return the columns with which each row of a table refers to a part of an answer or a pair, or to a queue."""
    return [
        each
        for each in references(name)
        if not each.is_optional
        and not row_of(METADATA.tables[each.whole]).is_shared
        and (each.whole == "queue" or SUBJECTS & {of.whole for of in references(each.whole)})
    ]


@cache
def _named(name: str) -> FromClause:
    """Return the table under a separate alias, so that SQLAlchemy does not correlate the table with the statement."""
    return METADATA.tables[name].alias(f"named_{name}")
