"""Which rows may change; triggers that refuse other changes and note changes; the index for the text search."""

from sqlalchemy import Connection, Table, text

from judgeboard.store import tables
from judgeboard.store.columns import columns_that, row_of

_WITHDRAWN = "EXISTS (SELECT 1 FROM withdrawn_row WHERE table_name = '{table}' AND row_key = {key})"
_REFUSAL = "{table} is append-only: add a row that replaces, never change or delete one"


def guarded_tables() -> tuple[Table, ...]:
    """Return the tables whose triggers refuse deletions and most changes."""
    return tuple(table for table in tables.METADATA.sorted_tables if not row_of(table).is_free)


_NOTED = {
    tables.RESPONSE: "id",
    **dict.fromkeys(
        (tables.JUDGMENT, tables.CURRENT, tables.FLAG, tables.REVIEW, tables.QUEUE_ITEM),
        "response_id",
    ),
    **dict.fromkeys((tables.QUEUE, tables.SKIP, tables.SETTING, tables.EVENT), None),
}
"""The tables that figures of answers read, each with the column of the answer (None: no single answer)."""
MOST_CHANGES = 100_000


def install_guards(connection: Connection) -> None:
    """Create every trigger in the caller's transaction, replacing existing ones."""
    dialect = connection.dialect.name
    statements = [
        each
        for table in guarded_tables()
        for each in _guard(table, _allowed_update(table, dialect), dialect)
    ]
    statements += [
        each for table, column in _NOTED.items() for each in _note(table.name, column, dialect)
    ]
    for statement in (*statements, *(_TRIM_SQLITE if dialect == "sqlite" else _TRIM_POSTGRESQL)):
        connection.execute(text(statement))


def _guard(table: Table, condition: str, dialect: str) -> list[str]:
    refusal = _REFUSAL.format(table=table.name)
    # The condition under which a DELETE is allowed: there is a copy of the row. Copies are never
    # deleted.
    has_copy = (
        "1 = 0"
        if table is tables.WITHDRAWN_ROW
        else _WITHDRAWN.format(table=table.name, key=row_key(table))
    )
    if dialect == "sqlite":
        return [
            f"DROP TRIGGER IF EXISTS guard_{table.name}_update",
            f"DROP TRIGGER IF EXISTS guard_{table.name}_delete",
            (
                f'CREATE TRIGGER guard_{table.name}_update BEFORE UPDATE ON "{table.name}" WHEN NOT ({condition}) '
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            ),
            (
                f'CREATE TRIGGER guard_{table.name}_delete BEFORE DELETE ON "{table.name}" WHEN NOT ({has_copy}) '
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            ),
        ]
    return [
        (
            f"CREATE OR REPLACE FUNCTION guard_{table.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF TG_OP = 'UPDATE' THEN IF {condition} THEN RETURN NEW; END IF; "
            f"ELSIF {has_copy} THEN RETURN OLD; END IF; "
            f"RAISE EXCEPTION '{refusal}'; END $$"
        ),
        (
            f"CREATE OR REPLACE FUNCTION guard_{table.name}_truncate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"RAISE EXCEPTION '{refusal}'; END $$"
        ),
        f'DROP TRIGGER IF EXISTS guard_{table.name} ON "{table.name}"',
        f'DROP TRIGGER IF EXISTS guard_{table.name}_truncate ON "{table.name}"',
        (
            f'CREATE TRIGGER guard_{table.name} BEFORE UPDATE OR DELETE ON "{table.name}" '
            f"FOR EACH ROW EXECUTE FUNCTION guard_{table.name}()"
        ),
        (
            f'CREATE TRIGGER guard_{table.name}_truncate BEFORE TRUNCATE ON "{table.name}" '
            f"FOR EACH STATEMENT EXECUTE FUNCTION guard_{table.name}_truncate()"
        ),
    ]


def _note(table: str, column: str | None, dialect: str) -> list[str]:
    """Return the statements that create the triggers of a table. The triggers write rows of `change`."""
    if dialect == "sqlite":
        row_names = {"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"}
        answers = {
            each: "0" if column is None else f"coalesce({row}.{column}, 0)"
            for each, row in row_names.items()
        }
        return [f"DROP TRIGGER IF EXISTS note_{table}_{each}" for each in row_names] + [
            f'CREATE TRIGGER note_{table}_{each} AFTER {each} ON "{table}" '  # noqa: S608 - fixed names only
            f"BEGIN INSERT INTO change(response_id) VALUES ({answer}); END"
            for each, answer in answers.items()
        ]
    answer = "0" if column is None else f"coalesce(NEW.{column}, OLD.{column}, 0)"
    return [
        (
            f"CREATE OR REPLACE FUNCTION note_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "  # noqa: S608
            "INSERT INTO change(response_id, writer) "
            f"VALUES ({answer}, pg_current_xact_id()::text::bigint); RETURN NULL; END $$"
        ),
        f'DROP TRIGGER IF EXISTS note_{table} ON "{table}"',
        (
            f'CREATE TRIGGER note_{table} AFTER INSERT OR UPDATE OR DELETE ON "{table}" '
            f"FOR EACH ROW EXECUTE FUNCTION note_{table}()"
        ),
    ]


# A process that has not read the deleted rows reads the row that says that all answers may have
# changed.
_TRIM_SQLITE = (
    "DROP TRIGGER IF EXISTS trim_change",
    (
        f"CREATE TRIGGER trim_change AFTER INSERT ON change WHEN NEW.id % {MOST_CHANGES} = 0 BEGIN "  # noqa: S608
        "DELETE FROM change WHERE id < NEW.id; UPDATE change SET response_id = NULL WHERE id = NEW.id; END"
    ),
)
_TRIM_POSTGRESQL = (
    (
        "CREATE OR REPLACE FUNCTION trim_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "DELETE FROM change WHERE id IN (SELECT id FROM change WHERE id < NEW.id FOR UPDATE SKIP LOCKED); "
        "NEW.response_id := NULL; RETURN NEW; END $$"
    ),
    "DROP TRIGGER IF EXISTS trim_change ON change",
    (
        "CREATE TRIGGER trim_change BEFORE INSERT ON change "
        f"FOR EACH ROW WHEN (NEW.id % {MOST_CHANGES} = 0) EXECUTE FUNCTION trim_change()"
    ),
)


def row_key(table: Table, row: str = "OLD") -> str:
    """Return the SQL for the key of a row, as in `withdrawn_row`: the primary key, joined by commas."""
    return " || ',' || ".join(
        f'CAST({row}."{column.name}" AS TEXT)' for column in table.primary_key.columns
    )


def _allowed_update(table: Table, dialect: str) -> str:
    """Return the condition under which an UPDATE is allowed, as SQL."""
    columns = [column.name for column in table.columns]
    changeable, forgettable = columns_that("changes", table), columns_that("forgotten", table)
    fixed_names = [name for name in columns if name not in changeable and name not in forgettable]
    same = " AND ".join(_same(name, dialect) for name in fixed_names)
    if (
        table is tables.WITHDRAWN_ROW
    ):  # only forgetting blanks a copy; no event can name an answer that is withdrawn
        return f"{same} AND {_blank('content', dialect)}"
    if not forgettable:
        return same if changeable else "1 = 0"
    is_blanked = " AND ".join(
        f"({_same(name, dialect)} OR {_blank(name, dialect)})" for name in forgettable
    )
    about = row_of(table).of_responses
    if table is tables.GENERATION:
        about += "".join(
            f" UNION ALL SELECT {column} FROM {each.name} "  # noqa: S608 - fixed names only
            f"WHERE {each.name}.run_id = OLD.run_id AND {each.name}.subject = OLD.subject"
            for each, column in tables.BEGINNINGS
        )
    of_forgotten = f"event.kind = 'forget' AND event.response_id IN ({about})"
    is_forgotten = f"EXISTS (SELECT 1 FROM event WHERE {of_forgotten})"  # noqa: S608 - fixed names only
    condition = f"{is_forgotten} AND {same} AND {is_blanked}"
    if changeable:
        keeps_texts = " AND ".join(_same(name, dialect) for name in forgettable)
        condition = f"{same} AND (({keeps_texts}) OR ({is_forgotten} AND {is_blanked}))"
    if table is not tables.RESPONSE:
        return condition
    completed_columns = columns_that("completed", table)
    identity = " AND ".join(
        _same(name, dialect) for name in columns if name not in completed_columns
    )
    return f"({condition}) OR ({identity} AND {unread('OLD.id')})"


def unread(response_id: str) -> str:
    """Return the SQL condition that nothing refers to the content of a response yet; ``response_id`` is SQL."""
    conditions = [
        f"NOT EXISTS (SELECT 1 FROM {table.name} WHERE {table.name}.{column} = {response_id})"  # noqa: S608 - fixed names only
        for table in tables.METADATA.sorted_tables
        for column in columns_that("reads", table)
    ]
    conditions += [
        f"NOT EXISTS (SELECT 1 FROM response AS derived WHERE derived.derived_from = {response_id})",  # noqa: S608
        f"NOT EXISTS (SELECT 1 FROM event WHERE event.kind = 'forget' AND event.response_id = {response_id})",  # noqa: S608
        f"EXISTS (SELECT 1 FROM trace WHERE trace.response_id = {response_id})",  # noqa: S608
        # Every judge marks the trace before the judge reads the response.
        f"NOT EXISTS (SELECT 1 FROM trace WHERE trace.response_id = {response_id} AND trace.read_at IS NOT NULL)",  # noqa: S608
    ]
    return " AND ".join(conditions)


def _same(name: str, dialect: str) -> str:
    if dialect == "sqlite":
        return f'NEW."{name}" IS OLD."{name}"'
    return f'NEW."{name}"::text IS NOT DISTINCT FROM OLD."{name}"::text'


def _blank(name: str, dialect: str) -> str:
    cast = "" if dialect == "sqlite" else "::text"
    return f'(NEW."{name}" IS NULL OR NEW."{name}"{cast} = \'{{}}\')'


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
    # A forgotten response is removed from the index, and so is a withdrawn response.
    (
        "CREATE TRIGGER search_response_update AFTER UPDATE ON response BEGIN "
        "INSERT INTO response_search(response_search, rowid, query, answer, external_id) "
        "VALUES ('delete', OLD.id, OLD.query, OLD.answer, OLD.external_id); "
        "INSERT INTO response_search(rowid, query, answer, external_id) "
        "VALUES (NEW.id, NEW.query, NEW.answer, NEW.external_id); END"
    ),
    "INSERT INTO response_search(response_search) VALUES ('rebuild')",
)
_SQLITE_DELETE = (
    "CREATE TRIGGER IF NOT EXISTS search_response_delete AFTER DELETE ON response BEGIN "
    "INSERT INTO response_search(response_search, rowid, query, answer, external_id) "
    "VALUES ('delete', OLD.id, OLD.query, OLD.answer, OLD.external_id); END"
)


def install_search(connection: Connection) -> bool:
    """Create a missing search index; return whether text search has an index."""
    if connection.dialect.name == "sqlite":
        if not connection.scalar(
            text("SELECT 1 FROM sqlite_master WHERE name = 'response_search'")
        ):
            for statement in _SQLITE:
                connection.execute(text(statement))
        connection.execute(text(_SQLITE_DELETE))
        return True
    available = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'"
    if not connection.scalar(text(available)):
        return False
    connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
    columns = ", ".join(f"{name} gin_trgm_ops" for name in COLUMNS)
    connection.execute(
        text(f"CREATE INDEX IF NOT EXISTS ix_response_search ON response USING gin ({columns})")
    )
    return True
