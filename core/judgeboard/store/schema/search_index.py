"""The index behind text search: FTS5 with trigrams on SQLite, pg_trgm where PostgreSQL offers it.

Both find any substring of three characters or more in a query, an answer or an outside id, whatever its case.
Without pg_trgm PostgreSQL still answers, by reading the rows.
"""

from sqlalchemy import Connection, text

COLUMNS = ("query", "answer", "external_id")

_SQLITE = (
    (
        "CREATE VIRTUAL TABLE response_search USING fts5("
        "query, answer, external_id, content='response', content_rowid='id', tokenize='trigram')"
    ),
    (
        "CREATE TRIGGER search_response_insert AFTER INSERT ON response BEGIN "
        "INSERT INTO response_search(rowid, query, answer, external_id) "
        "VALUES (NEW.id, NEW.query, NEW.answer, NEW.external_id); END"
    ),
    # A forgotten response leaves the index with its texts.
    (
        "CREATE TRIGGER search_response_update AFTER UPDATE ON response BEGIN "
        "INSERT INTO response_search(response_search, rowid, query, answer, external_id) "
        "VALUES ('delete', OLD.id, OLD.query, OLD.answer, OLD.external_id); "
        "INSERT INTO response_search(rowid, query, answer, external_id) "
        "VALUES (NEW.id, NEW.query, NEW.answer, NEW.external_id); END"
    ),
    "INSERT INTO response_search(response_search) VALUES ('rebuild')",
)


def install_search(connection: Connection) -> bool:
    """Lay the index where it is missing; return whether text search is indexed now."""
    if connection.dialect.name == "sqlite":
        if not connection.execute(text("SELECT 1 FROM sqlite_master WHERE name = 'response_search'")).scalar():
            for statement in _SQLITE:
                connection.execute(text(statement))
        return True
    offered = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'"
    if not connection.execute(text(offered)).scalar():
        return False
    connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
    columns = ", ".join(f"{name} gin_trgm_ops" for name in COLUMNS)
    connection.execute(text(f"CREATE INDEX IF NOT EXISTS ix_response_search ON response USING gin ({columns})"))
    return True
