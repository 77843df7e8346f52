"""Changes SQL during compilation: leaves out hidden rows, and adds the index hints for SQLite.

SQLAlchemy compiles every statement through one compiler. On a connection with a row filter, the
compiler replaces each table in a FROM clause by a subquery of the visible rows, also in joins,
aliases, subqueries and common table expressions. SQL given as text and statements that write cannot
be filtered, so the connection refuses both. A transaction that changes answers reads only visible
rows, also within statements that write.

The engine keeps compiled statements by form and names of parameters. A filter adds parameters, so
statements with different filters, or without a filter, are never mixed up. The values of these
parameters decide which rows are visible.

SQLite has no statistics here and assumes that every equality selects few rows. With a hint, SQLite
reads the rows of a page in the order of an index. PostgreSQL keeps statistics and takes no index
hints.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import (
    Alias,
    ColumnClause,
    Connection,
    Engine,
    FromClause,
    Select,
    SelectBase,
    TableClause,
    TextClause,
    event,
)
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.selectable import AliasedReturnsRows

Query = TypeVar("Query", bound=Executable)

HiddenRowsFilter = Callable[[str], Select[Any] | None]
"""Returns the query of the visible rows of a table, by name; None if all rows are visible.

Raises ValueError for an unknown table.
"""

_KEYWORDS = frozenset({"MATERIALIZED", "NOT MATERIALIZED"})  # prefixes of a common table expression
_FILTER = "judgeboard_row_filter"
_ALWAYS = "judgeboard_always_filter"
_CHANGES = "judgeboard_limited_changes"
_HIDDEN_TOO = "judgeboard_hidden_too"


class _RowFilterCompiler(SQLCompiler):
    _in_filter = False

    def _rows_left(self, table: FromClause) -> Select[Any] | None:
        row_filter: HiddenRowsFilter | None = self.execution_options.get(_FILTER)
        if row_filter is None or self._in_filter or not hasattr(table, "name"):
            return None
        return row_filter(table.name)

    # The further arguments of the visit_… methods come from SQLAlchemy and are passed on unchanged.
    def visit_table(self, table: TableClause, *args: object, **kwargs: object) -> str:
        compiler: Any = super()
        sql: str = compiler.visit_table(table, *args, **kwargs)
        is_read = kwargs.get("asfrom") and not kwargs.get("iscrud")
        rows_left = self._rows_left(table) if is_read else None
        if rows_left is None:
            return sql
        self._in_filter = True
        try:
            subquery = f"({self.process(rows_left, asfrom=True)})"
        finally:
            self._in_filter = False
        alias = kwargs.get("enclosing_alias")
        if isinstance(alias, AliasedReturnsRows) and alias.element is table:
            return subquery  # the alias adds a name
        return f"{subquery} AS {self.preparer.quote(table.name)}"

    def visit_textclause(self, textclause: TextClause, *args: object, **kwargs: object) -> str:
        if textclause.text not in _KEYWORDS:
            self._refuse_text()
        compiler: Any = super()
        sql: str = compiler.visit_textclause(textclause, *args, **kwargs)
        return sql

    def visit_column(self, column: ColumnClause[Any], *args: object, **kwargs: object) -> str:
        if column.is_literal and "select" in column.name.casefold():
            self._refuse_text()
        compiler: Any = super()
        sql: str = compiler.visit_column(column, *args, **kwargs)
        return sql

    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:
        stored_table = table.element if isinstance(table, Alias) else table
        return text if self._rows_left(stored_table) is None else None  # a subquery has no indexes

    def _refuse_text(self) -> None:
        options = self.execution_options
        if _FILTER in options and _CHANGES not in options and not self._in_filter:
            raise ValueError("a connection with hidden rows takes no SQL as text")


def prepare_compiler(engine: Engine) -> None:
    """Enable index hints and row filters for an engine."""
    compiler = engine.dialect.statement_compiler
    engine.dialect.statement_compiler = type(compiler.__name__, (_RowFilterCompiler, compiler), {})


@dataclass(frozen=True, slots=True)
class _Filter:
    """A filter of rows with the parameters of the queries."""

    row_filter: HiddenRowsFilter
    parameters: Mapping[str, Any]


def filter_rows(
    connection: Connection,
    row_filter: HiddenRowsFilter,
    parameters: Mapping[str, Any],
    *,
    always: bool = False,
) -> None:
    """Limit a connection to the rows that the filter leaves of each table; refuse statements other than queries.

    ``parameters`` are the parameters of the filter's queries. Filters with other queries must have
    parameters with other names. A filter with ``always`` also applies to queries
    `with_hidden_rows`, and to all queries until another filter is set.
    """
    options = connection.get_execution_options()
    if _ALWAYS not in options and _FILTER not in options:
        event.listen(connection, "before_execute", _with_filter, retval=True)
        event.listen(connection, "before_cursor_execute", _refuse_text)
    connection.execution_options(
        **{_ALWAYS if always else _FILTER: _Filter(row_filter, parameters)}
    )


def _with_filter(
    connection: Connection, statement: Executable, multiparams: Any, params: Any, _options: Any
) -> Any:
    if multiparams or not isinstance(statement, SelectBase):
        raise ValueError("a connection with hidden rows answers only queries")
    options = connection.get_execution_options()
    always: _Filter | None = options.get(_ALWAYS)
    hidden_too = statement.get_execution_options().get(_HIDDEN_TOO)
    active_filter = always if hidden_too else options.get(_FILTER, always)
    if active_filter is None:
        return statement, multiparams, params
    if any(params.get(name, value) != value for name, value in active_filter.parameters.items()):
        raise ValueError("a connection with hidden rows reads only as its own viewer")
    filtered_query = statement.execution_options(**{_FILTER: active_filter.row_filter})
    return filtered_query, (), {**params, **active_filter.parameters}


def _refuse_text(
    _connection: Connection,
    _cursor: Any,
    _statement: str,
    _parameters: Any,
    context: Any,
    _many: bool,
) -> None:
    if context.compiled is None:
        raise ValueError("a connection with hidden rows takes no SQL as text")


def limit_changes(connection: Connection, row_filter: HiddenRowsFilter) -> None:
    """Limit what the statements of a transaction that writes read to the rows that the filter leaves of each table.

    The rows that a statement itself inserts, updates or deletes are not limited. The queries of the
    filter contain the values of the parameters.
    """

    def limited(
        _on: Connection, statement: Executable, multiparams: Any, params: Any, _options: Any
    ) -> Any:
        options: dict[str, Any] = {_FILTER: row_filter, _CHANGES: True}
        return statement.execution_options(**options), multiparams, params

    # The values in the filter are no part of the form by which compiled statements are kept.
    connection.execution_options(compiled_cache=None)
    event.listen(connection, "before_execute", limited, retval=True)


def hides_blind_rows(connection: Connection) -> bool:
    """Return whether a connection hides blind rows from the viewer, and not only rows of other sources."""
    return _FILTER in connection.get_execution_options()


def row_limits(connection: Connection) -> tuple[Hashable, ...] | None:
    """Return the values that limit the rows of a connection: () without a limit, None if one is not known.

    Readers with equal values read the same rows.
    """
    options = connection.get_execution_options()
    active_filter: _Filter | None = options.get(_FILTER, options.get(_ALWAYS))
    limits = {} if active_filter is None else active_filter.parameters
    return None if None in limits.values() else tuple(limits.items())


def with_hidden_rows(query: Query) -> Query:
    """Return a query that reads hidden rows too. The caller must exclude what the viewer may not see."""
    return query.execution_options(**{_HIDDEN_TOO: True})


def by_index(query: Select[Any], table: FromClause, index: str) -> Select[Any]:
    """Return a query that reads ``table`` by ``index`` on SQLite. SQLite fails if the index cannot be used."""
    return query.with_hint(table, f"INDEXED BY {index}", "sqlite")


def by_id(query: Select[Any], table: FromClause) -> Select[Any]:
    """Return a query that finds rows of ``table`` only by id on SQLite, not by another index."""
    return query.with_hint(table, "NOT INDEXED", "sqlite")
