"""Lists that are read by key: a page, the total and the place of the page in one statement, from an index's order."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import CTE, ColumnElement, Connection, FromClause, Select, UnaryExpression, func, literal, select, true

from judgeboard.errors import BadInput
from judgeboard.store.row_filter import by_id, by_index

Line = TypeVar("Line")

_MOST_VALUES = 200  # that a filter offers


@dataclass(frozen=True, slots=True)
class Order:
    """An order of a list: by ``value`` (never NULL), equal ones by ``id``; ``index`` holds it, None where none does."""

    name: str
    words: str
    value: ColumnElement[Any]
    id: ColumnElement[int]
    index: str | None
    descending: bool = False
    id_descending: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands in an order: the value it is sorted by, then its id."""

    order: str
    value: float
    id: int

    def key(self) -> str:
        """Return the place as a text for an address."""
        return f"{self.order}:{self.value!r}:{self.id}"


@dataclass(frozen=True, slots=True)
class LinePage(Generic[Line]):
    """Some lines of ``total``; ``first`` is the place of the first line, from 1 (0 where there is none).

    ``next_key`` and ``previous_key`` are what ``after`` and ``before`` take; None at the ends.
    """

    lines: tuple[Line, ...]
    total: int
    first: int
    next_key: str | None
    previous_key: str | None


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a place of a list of ``total``: how many ``before`` it, the ids beside it, itself or not."""

    total: int
    before: int
    previous: int | None
    next: int | None
    listed: bool


@dataclass(frozen=True, slots=True)
class KeyedList:
    """Rows of a table in an order.

    ``own`` conditions are read from the index again for every question, which costs a range of it; those decided
    ``elsewhere`` (text, grades, ...) are worked out once a statement, in a table of its own. ``aside`` selects a few
    ids that are left out. ``count_index`` is the narrowest index that holds the own conditions; ``gather_index`` the
    one to walk where something is decided elsewhere, None to look up the few that are.
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
        self, after: str | None, before: str | None, limit: int, lines: Callable[[list[int]], tuple[Line, ...]]
    ) -> LinePage[Line]:
        """Return the page behind the key ``after``, the one ahead of ``before``, or the first.

        The list may have changed since a key was given: a page that would be cut short at the front is the first
        page, one behind the end is the last. A key of another order means the first page.

        Args:
            after: A key, or None.
            before: A key, or None.
            limit: The most lines.
            lines: Reads the lines of these ids, in their order.

        Raises:
            BadInput: A key is none that `Place.key` wrote.
        """
        start, end = self._place(after), self._place(before)
        if end is not None:
            places, total, ahead = self._read(end, limit, backwards=True)
            if len(places) < limit:
                places, total, ahead = self._read(None, limit, backwards=False)
        else:
            places, total, ahead = self._read(start, limit, backwards=False)
            if start is not None and not places:
                places, total, ahead = self._read(None, limit, backwards=True)
        return LinePage(
            lines=lines([place.id for place in places]),
            total=total,
            first=ahead + 1 if places else 0,
            next_key=places[-1].key() if places and ahead + len(places) < total else None,
            previous_key=places[0].key() if places and ahead else None,
        )

    def around(self, place: Place) -> Around:
        """Return what stands around ``place``, in one statement."""
        found = self._gathered()
        ahead, behind = (self._beyond(found, place, backwards=backwards) for backwards in (True, False))
        _, id_ = self._columns(found)
        row = self.connection.execute(
            select(
                self._counted(found, []),
                self._counted(found, [ahead]),
                self._sorted(found, [id_], [ahead], backwards=True).limit(1).scalar_subquery(),
                self._sorted(found, [id_], [behind], backwards=False).limit(1).scalar_subquery(),
                self._select(found, [literal(1)], [id_ == place.id], None).exists(),
            )
        ).one()
        return Around(*row)

    def _place(self, key: str | None) -> Place | None:
        if key is None:
            return None
        name, _, rest = key.partition(":")
        value, _, id_ = rest.partition(":")
        try:
            # Days stay whole numbers: PostgreSQL seeks no fraction in an index of integers.
            place = Place(name, int(value) if value.removeprefix("-").isdecimal() else float(value), int(id_))
        except ValueError:
            place = Place("", math.nan, 0)
        if not abs(place.value) < 2**63 or not 0 <= place.id < 2**63:
            raise BadInput("this address names no page of the list: go back to its first page")
        return place if name == self.order.name else None

    def _read(self, place: Place | None, limit: int, *, backwards: bool) -> tuple[tuple[Place, ...], int, int]:
        """Places in one direction, the total, and how many are ahead of the first of them, in one statement.

        Counting what is ahead costs as much as the page is deep: little where people look.
        """
        found = self._gathered()
        value, id_ = self._columns(found)
        further = [] if place is None else [self._beyond(found, place, backwards=backwards)]
        page = (
            self._sorted(found, [value.label("value"), id_.label("id")], further, backwards=backwards)
            .limit(limit)
            .subquery("page")
        )
        counted = [self._counted(found, []).label("total")]
        if place is not None:
            ahead_of = self._beyond(found, place, backwards=True, inclusive=not backwards)
            counted.append(self._counted(found, [ahead_of]).label("ahead"))
        counts = select(*counted).subquery("counts")
        rows = self.connection.execute(select(counts, page).select_from(counts.outerjoin(page, true()))).all()
        places = [Place(self.order.name, row.value, row.id) for row in rows if row.id is not None]
        in_order = tuple(sorted(places, key=self._rank))
        total = rows[0].total
        ahead = rows[0].ahead if place is not None else total if backwards else 0
        return in_order, total, ahead - len(in_order) if backwards else ahead

    def _rank(self, place: Place) -> tuple[float, int]:
        value, id_ = place.value, place.id
        return (-value if self.order.descending else value, -id_ if self.order.id_descending else id_)

    def _gathered(self) -> CTE | None:
        if not self.elsewhere:
            return None
        columns = (self.order.value.label("value"), self.order.id.label("id"))
        found = select(*columns).select_from(self.table).where(*self.own, *self.elsewhere, *self._not_aside())
        found = (
            by_id(found, self.table) if self.gather_index is None else by_index(found, self.table, self.gather_index)
        )
        return found.cte("found").prefix_with("MATERIALIZED")

    def _columns(self, found: CTE | None) -> tuple[ColumnElement[Any], ColumnElement[int]]:
        return (self.order.value, self.order.id) if found is None else (found.c.value, found.c.id)

    def _select(
        self, found: CTE | None, columns: Sequence[Any], conditions: Sequence[ColumnElement[bool]], index: str | None
    ) -> Select[Any]:
        if found is not None:
            return select(*columns).select_from(found).where(*conditions)
        query = select(*columns).select_from(self.table).where(*self.own, *self._not_aside(), *conditions)
        return query if index is None else by_index(query, self.table, index)

    def _sorted(
        self, found: CTE | None, columns: Sequence[Any], conditions: Sequence[ColumnElement[bool]], *, backwards: bool
    ) -> Select[Any]:
        value, id_ = self._columns(found)
        query = self._select(found, columns, conditions, self.order.index)
        return query.order_by(
            _by(value, descending=self.order.descending is not backwards),
            _by(id_, descending=self.order.id_descending is not backwards),
        )

    def _counted(self, found: CTE | None, conditions: Sequence[ColumnElement[bool]]) -> ColumnElement[int]:
        index = self.order.index if conditions else self.count_index
        if found is not None or self.aside is None:
            return self._select(found, [func.count()], conditions, index).scalar_subquery()
        # Taking the few that are put aside from the rest is much faster than looking for every row among them.
        every = select(func.count()).select_from(self.table).where(*self.own, *conditions)
        aside = every.where(self.order.id.in_(self.aside))
        counted = every if index is None else by_index(every, self.table, index)
        return counted.scalar_subquery() - aside.scalar_subquery()

    def _not_aside(self) -> list[ColumnElement[bool]]:
        return [] if self.aside is None else [self.order.id.not_in(self.aside)]

    def _beyond(
        self, found: CTE | None, place: Place, *, backwards: bool, inclusive: bool = False
    ) -> ColumnElement[bool]:
        """The condition of what comes after ``place``, or before it; with the place itself where ``inclusive``."""
        value, id_ = self._columns(found)
        id_descends = self.order.id_descending is not backwards
        if inclusive:
            further_id = id_ <= place.id if id_descends else id_ >= place.id
        else:
            further_id = id_ < place.id if id_descends else id_ > place.id
        if self.order.value is self.order.id:
            return further_id
        # The first half is a range of the index, which an OR alone is not; the second drops what ties with the place.
        if self.order.descending is not backwards:
            return (value <= place.value) & ((value < place.value) | further_id)
        return (value >= place.value) & ((value > place.value) | further_id)


def _by(value: ColumnElement[Any], *, descending: bool) -> UnaryExpression[Any]:
    return value.desc() if descending else value.asc()


def occurring_values(
    connection: Connection, column: ColumnElement[str], *conditions: ColumnElement[bool]
) -> tuple[str, ...]:
    """Return the values of a column, sorted, at most 200: one seek in an index each.

    DISTINCT would walk the whole index.
    """
    found: list[str] = []
    while len(found) < _MOST_VALUES:
        further = [column > found[-1]] if found else []
        value = connection.execute(select(func.min(column)).where(*conditions, *further)).scalar()
        if value is None:
            break
        found.append(value)
    return tuple(sorted(found))
