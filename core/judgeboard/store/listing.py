"""Lists in the order of an index: one statement reads the page at a key, the position and the total."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    CTE,
    ColumnElement,
    Connection,
    FromClause,
    Select,
    func,
    literal,
    null,
    select,
    true,
)

from judgeboard.errors import BadInput
from judgeboard.store.sql_compiler import by_id, by_index

Line = TypeVar("Line")

_MOST_VALUES = 200  # choices of a filter


@dataclass(frozen=True, slots=True)
class Order:
    """An order of a list: by ``value`` (never NULL), then by ``id``; ``index`` is the index with this order, or None.

    The number ``then`` (never NULL, the lowest first) orders rows with the same value, and then the
    lowest ``id`` comes first. Without ``then``, ``id`` has the direction of the value. ``stored``
    converts the value in a key to SQL, for comparison with ``value``; without ``stored``, values
    are numbers.
    """

    name: str
    words: str
    value: ColumnElement[Any]
    id: ColumnElement[int]
    index: str | None
    descending: bool = False
    stored: Callable[[Any], ColumnElement[Any]] | None = None
    then: ColumnElement[int] | None = None

    @property
    def id_descending(self) -> bool:
        """Whether the highest ``id`` comes first."""
        return self.descending and self.then is None


@dataclass(frozen=True, slots=True)
class ListPosition:
    """The position of a row in an order: the value, the number ``then`` if the order has one, and the id."""

    order: str
    value: float | str
    id: int
    then: int | None = None

    def key(self) -> str:
        """Return the position as text for a URL."""
        value = self.value if self.then is None else [self.value, self.then]
        return f"{self.order}:{json.dumps(value)}:{self.id}"


@dataclass(frozen=True, slots=True)
class LinePage(Generic[Line]):
    """A page of the ``total`` lines of a list; ``first`` is the number of the first line, from 1 (0 without lines).

    ``next_key`` and ``previous_key`` are values for ``after`` and ``before``; None at the ends.
    """

    lines: tuple[Line, ...]
    total: int
    first: int
    next_key: str | None
    previous_key: str | None


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The position of a row (1 to ``total``) and the ids of the previous and the next row.

    ``listed`` is False if the row is not in the list; then the row would have this ``position``.
    """

    total: int
    position: int
    previous: int | None
    next: int | None
    listed: bool


@dataclass(frozen=True)
class KeyedList:
    """Rows of a table in an order.

    ``own`` conditions are evaluated on the index in every part of the statement. Conditions
    ``elsewhere`` (text, grades, ...) are evaluated once per statement, in a common table
    expression. ``aside`` selects a few ids that are left out. ``count_index`` is the narrowest
    index with the columns of the own conditions. ``gather_index`` is the index to read if there are
    conditions elsewhere; without this index, rows are looked up by id, which is best for few rows.
    """

    connection: Connection
    table: FromClause
    order: Order
    own: Sequence[ColumnElement[bool]]
    elsewhere: Sequence[ColumnElement[bool]] = ()
    aside: Select[Any] | None = None
    count_index: str | None = None
    gather_index: str | None = None

    def page(
        self,
        after: str | None,
        before: str | None,
        limit: int,
        lines: Callable[[list[int]], tuple[Line, ...]],
    ) -> LinePage[Line]:
        """Return the page after the key ``after``, the page before ``before``, or the first page.

        The list may have changed since the key was created. If fewer than ``limit`` rows are left
        before ``before``, this is the first page; if no row is left after ``after``, the last page.
        A key of another order gives the first page. ``lines`` reads the lines of ids. Raises
        BadInput if a key was not created by `ListPosition.key`.
        """
        start, end = self._position(after), self._position(before)
        if end is not None:
            positions, total, ahead = self._read(end, limit, backwards=True)
            if len(positions) < limit:
                positions, total, ahead = self._read(None, limit, backwards=False)
        else:
            positions, total, ahead = self._read(start, limit, backwards=False)
            if start is not None and not positions:
                positions, total, ahead = self._read(None, limit, backwards=True)
        return LinePage(
            lines=lines([position.id for position in positions]),
            total=total,
            first=ahead + 1 if positions else 0,
            next_key=positions[-1].key() if positions and ahead + len(positions) < total else None,
            previous_key=positions[0].key() if positions and ahead else None,
        )

    def around(self, position: ListPosition) -> Neighbours:
        """Return the neighbours of ``position``, in one statement."""
        row = self.connection.execute(
            select(
                self._counted(),
                self._counted(self._beyond(position, backwards=True)) + 1,
                *self._beside(position),
                self._select([literal(1)], [self._columns[1] == position.id], None).exists(),
            )
        ).one()
        return Neighbours(*row)

    def next_to(self, position: ListPosition) -> int | None:
        """Return the id after ``position``, at the end of the list the id before; rows are not counted."""
        before: int | None
        after: int | None
        before, after = self.connection.execute(select(*self._beside(position))).one()
        return before if after is None else after

    def _position(self, key: str | None) -> ListPosition | None:
        if key is None:
            return None
        name, _, rest = key.partition(":")
        value, _, id_ = rest.rpartition(":")
        try:
            # Days stay integers: PostgreSQL does not search an index of integers for a fraction.
            sort_value = json.loads(value)
            first, then = sort_value if isinstance(sort_value, list) else (sort_value, None)
            position = ListPosition(name, first, int(id_), then)
        except (ValueError, RecursionError):
            position = ListPosition("", math.nan, 0)
        is_number = isinstance(position.value, int | float) and abs(position.value) < 2**63
        is_text = isinstance(position.value, str) and (
            self.order.stored is not None or name != self.order.name
        )
        is_then = position.then is None or (
            isinstance(position.then, int) and abs(position.then) < 2**63
        )
        if not (is_number or is_text) or not is_then or not 0 <= position.id < 2**63:
            raise BadInput(
                "the position in this URL is not valid: go back to the first page of the list"
            )
        # A URL from an earlier version has no ``then``.
        is_of_order = name == self.order.name and (position.then is None) is (
            self.order.then is None
        )
        return position if is_of_order else None

    def _read(
        self, start: ListPosition | None, limit: int, *, backwards: bool
    ) -> tuple[list[ListPosition], int, int]:
        """Return positions in one direction, the total, and the number of rows before the first position.

        Counting the rows before a page is slow only for deep pages, which people rarely read.
        """
        value, id_ = self._columns
        further = [] if start is None else [self._beyond(start, backwards=backwards)]
        then = null() if self._then is None else self._then
        columns = [value.label("value"), id_.label("id"), then.label("then")]
        page = self._sorted(columns, further, backwards=backwards).limit(limit).subquery("page")
        count_columns = [self._counted().label("total")]
        if start is not None:
            ahead_of = self._beyond(start, backwards=True, inclusive=not backwards)
            count_columns.append(self._counted(ahead_of).label("ahead"))
        counts = select(*count_columns).subquery("counts")
        rows = self.connection.execute(
            select(counts, page).select_from(counts.outerjoin(page, true()))
        ).all()
        positions = [
            ListPosition(self.order.name, row.value, row.id, row.then)
            for row in rows
            if row.id is not None
        ]
        # Joining the page to the single row of counts keeps the order of the page.
        in_order = positions[::-1] if backwards else positions
        total = rows[0].total
        ahead = rows[0].ahead if start is not None else total if backwards else 0
        return in_order, total, ahead - len(in_order) if backwards else ahead

    @cached_property
    def _matches(self) -> CTE | None:
        """The rows that match the conditions ``elsewhere``; None if there are no such conditions."""
        if not self.elsewhere:
            return None
        columns = [self.order.value.label("value"), self.order.id.label("id")]
        columns += [] if self.order.then is None else [self.order.then.label("then")]
        query = (
            select(*columns)
            .select_from(self.table)
            .where(*self.own, *self.elsewhere, *self._not_aside())
        )
        query = (
            by_id(query, self.table)
            if self.gather_index is None
            else by_index(query, self.table, self.gather_index)
        )
        return query.cte("found").prefix_with("MATERIALIZED")

    @property
    def _columns(self) -> tuple[ColumnElement[Any], ColumnElement[int]]:
        if self._matches is None:
            return self.order.value, self.order.id
        return self._matches.c.value, self._matches.c.id

    @property
    def _then(self) -> ColumnElement[int] | None:
        return (
            self.order.then
            if self._matches is None or self.order.then is None
            else self._matches.c.then
        )

    def _select(
        self, columns: Sequence[Any], conditions: Sequence[ColumnElement[bool]], index: str | None
    ) -> Select[Any]:
        if self._matches is not None:
            return select(*columns).select_from(self._matches).where(*conditions)
        query = (
            select(*columns)
            .select_from(self.table)
            .where(*self.own, *self._not_aside(), *conditions)
        )
        return query if index is None else by_index(query, self.table, index)

    def _sorted(
        self, columns: Sequence[Any], conditions: Sequence[ColumnElement[bool]], *, backwards: bool
    ) -> Select[Any]:
        value, id_ = self._columns
        in_order = [(value, self.order.descending), (id_, self.order.id_descending)]
        if self._then is not None:
            in_order.insert(1, (self._then, False))
        return self._select(columns, conditions, self.order.index).order_by(
            *(
                column.desc() if descending is not backwards else column.asc()
                for column, descending in in_order
            )
        )

    def _beside(self, position: ListPosition) -> list[ColumnElement[Any]]:
        """Return the ids before and after ``position``."""
        return [
            self._sorted(
                [self._columns[1]],
                [self._beyond(position, backwards=backwards)],
                backwards=backwards,
            )
            .limit(1)
            .scalar_subquery()
            for backwards in (True, False)
        ]

    def _counted(self, *conditions: ColumnElement[bool]) -> ColumnElement[int]:
        index = self.order.index if conditions else self.count_index
        if self._matches is not None or self.aside is None:
            return self._select([func.count()], conditions, index).scalar_subquery()
        # Subtracting the number of the few left-out ids is much faster than excluding them row by
        # row.
        every = select(func.count()).select_from(self.table).where(*self.own, *conditions)
        aside = every.where(self.order.id.in_(self.aside))
        total = every if index is None else by_index(every, self.table, index)
        return total.scalar_subquery() - aside.scalar_subquery()

    def _not_aside(self) -> list[ColumnElement[bool]]:
        return [] if self.aside is None else [self.order.id.not_in(self.aside)]

    def _beyond(
        self, position: ListPosition, *, backwards: bool, inclusive: bool = False
    ) -> ColumnElement[bool]:
        """Return the condition for the rows after or before ``position``, including the row itself if ``inclusive``."""
        value, id_ = self._columns
        id_descends = self.order.id_descending is not backwards
        if inclusive:
            further_id = id_ <= position.id if id_descends else id_ >= position.id
        else:
            further_id = id_ < position.id if id_descends else id_ > position.id
        if self.order.value is self.order.id:
            return further_id
        at = position.value if self.order.stored is None else self.order.stored(position.value)
        # An OR alone gives no range of the index. The first condition gives a range, the second
        # removes ties.
        further = further_id
        if self._then is not None and position.then is not None:
            is_after = self._then < position.then if backwards else self._then > position.then
            further = is_after | ((self._then == position.then) & further_id)
        if self.order.descending is not backwards:
            return (value <= at) & ((value < at) | further)
        return (value >= at) & ((value > at) | further)


def occurring_values(
    connection: Connection, column: ColumnElement[str], *conditions: ColumnElement[bool]
) -> tuple[str, ...]:
    """Return at most 200 values of a column, sorted. A value needs one index seek; DISTINCT would read all."""
    values: list[str] = []
    while len(values) < _MOST_VALUES:
        further = [column > values[-1]] if values else []
        value = connection.scalar(select(func.min(column)).where(*conditions, *further))
        if value is None:
            break
        values.append(value)
    return tuple(sorted(values))
