"""Names the index that SQLite is to read, which SQLAlchemy leaves to the dialect.

Without statistics SQLite takes any equality for a narrow one; a page must be read in its own order whatever else is
asked for. PostgreSQL keeps statistics and takes no hints.
"""

from typing import Any

from sqlalchemy import Engine, FromClause, Select
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler


class _HintingCompiler(SQLiteCompiler):
    def get_from_hint_text(self, table: FromClause, text: str | None) -> str | None:  # noqa: ARG002 - SQLAlchemy's signature
        """Place the hint behind the table's name."""
        return text


def allow_hints(engine: Engine) -> None:
    """Let the statements of a SQLite engine carry `by_index`."""
    engine.dialect.statement_compiler = _HintingCompiler


def by_index(query: Select[Any], table: FromClause, index: str) -> Select[Any]:
    """Return ``query`` reading ``table`` by ``index`` on SQLite; it fails there if the index cannot serve it."""
    return query.with_hint(table, f"INDEXED BY {index}", "sqlite")


def by_id(query: Select[Any], table: FromClause) -> Select[Any]:
    """Return ``query`` looking rows of ``table`` up by their id on SQLite, by no other index."""
    return query.with_hint(table, "NOT INDEXED", "sqlite")
