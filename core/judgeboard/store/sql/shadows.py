"""Lets the statements of a reading connection see views in place of tables, whatever they ask and however.

Before a statement stands a common table expression with the name of each such table that it reads: on both engines
that is what the name means from there on, in joins, subqueries and conditions written as text alike.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.sql.base import Executable

Asked = TypeVar("Asked", bound=Executable)

_SHADOWS = "judgeboard_shadows"
_WHOLE = "judgeboard_whole"
_HINT = re.compile(r" (?:INDEXED BY \w+|NOT INDEXED)\b")  # SQLite takes none on what is no table
_BEGINNING = re.compile(r"\s*(?:(WITH RECURSIVE|WITH)\s+|(?=SELECT\b|\())", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shadows:
    """What stands in place of tables: the text of a query by the name of the table.

    ``sets`` are queries that the views, and those behind them, may name; each is worked out once a statement.
    """

    views: Mapping[str, str]
    sets: Mapping[str, str]

    def cast_on(self, statement: str) -> str:
        """Return a statement as it is to be sent.

        Raises:
            ValueError: It reads such a table and is no query.
        """
        views = {name: view for name, view in self.views.items() if re.search(rf"\b{name}\b", statement)}
        if not views:
            return statement
        begins = _BEGINNING.match(statement)
        if begins is None:
            raise ValueError("a connection on which rows are hidden answers queries alone")
        texts = " ".join(views.values())
        named = any(re.search(rf"\b{name}\b", texts) for name in self.sets)
        sets = [f"{name} AS MATERIALIZED ({query})" for name, query in self.sets.items()] if named else []
        before = ", ".join([*sets, *(f"{name} AS NOT MATERIALIZED ({view})" for name, view in views.items())])
        asked = _HINT.sub("", statement[begins.end() :])
        return f"{begins[1] or 'WITH'} {before}{',' if begins[1] else ''} {asked}"


def allow_shadows(engine: Engine) -> None:
    """Let the connections of an engine `cast` shadows."""
    event.listen(engine, "before_cursor_execute", _sent, retval=True)


def cast(connection: Connection, shadows: Shadows) -> None:
    """Let every statement of a connection from here on read these views in place of the tables."""
    connection.execution_options(**{_SHADOWS: shadows})


def shadowed(connection: Connection) -> bool:
    """Whether a connection reads views in place of any table."""
    return _SHADOWS in connection.get_execution_options()


def whole(query: Asked) -> Asked:
    """Return a query that reads the tables themselves on such a connection: its caller leaves out what is hidden."""
    return query.execution_options(**{_WHOLE: True})


def _sent(
    connection: Connection, _cursor: Any, statement: str, parameters: Any, context: Any, _executemany: bool
) -> tuple[str, Any]:
    shadows: Shadows | None = connection.get_execution_options().get(_SHADOWS)
    if shadows is None or (context is not None and context.execution_options.get(_WHOLE)):
        return statement, parameters
    return shadows.cast_on(statement), parameters
