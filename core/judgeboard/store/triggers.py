"""Which rows may change, the triggers that refuse all other changes, and the index for the text search."""

from sqlalchemy import Connection, Table, text

from judgeboard.store import tables

# Columns that `judgeboard db forget` may blank; no other column of an append-only table changes.
FORGETTABLE: dict[str, tuple[str, ...]] = {
    "response": ("query", "passages", "answer", "messages", "reference", "extra"),
    "judgment": ("reasoning", "claims", "raw", "attempts", "error"),
    "judgment_score": ("reasoning",),
    "review": ("spans", "note", "corrected_answer", "claim_marks", "texts"),
    "pair": ("question", "options", "reference", "extra"),
    "comparison": ("reference", "reasoning", "raw", "attempts", "error"),
    "sample": ("answer", "raw", "attempts", "error"),
    "generation": ("raw", "attempts", "error"),
    "refinement": ("feedback",),
    "judgment_review": ("reasoning", "raw", "attempts", "error"),
    "anchor_judgment": ("raw", "attempts", "error"),
    "comment": ("text",),
}

_OF_PAIR = (
    "SELECT response_a_id FROM pair WHERE pair.id = OLD.pair_id "
    "UNION ALL SELECT response_b_id FROM pair WHERE pair.id = OLD.pair_id"
)
_OF_ANSWER_OR_PAIR = f"SELECT OLD.response_id UNION ALL {_OF_PAIR}"

# SQL for the responses that a row (OLD) is about. If one of them is forgotten, the row may be blanked.
RESPONSES: dict[str, str] = {
    "response": "OLD.id",
    "judgment": "OLD.response_id",
    "judgment_score": "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
    "review": _OF_ANSWER_OR_PAIR,
    "pair": "SELECT OLD.response_a_id UNION ALL SELECT OLD.response_b_id",
    "comparison": _OF_PAIR,
    "sample": _OF_PAIR,
    # A call that made no answer, or the same answer again, is still about the answer that it began with.
    "generation": (
        "SELECT OLD.response_id UNION ALL SELECT root_response_id FROM refinement "
        "WHERE refinement.run_id = OLD.run_id AND refinement.subject = OLD.subject "
        "UNION ALL SELECT other.response_id FROM generation AS other "
        "WHERE other.run_id = OLD.run_id AND other.subject = OLD.subject"
    ),
    "refinement": "OLD.root_response_id, OLD.response_id",
    "judgment_review": "SELECT response_id FROM judgment WHERE judgment.id = OLD.judgment_id",
    "anchor_judgment": "OLD.response_id",
    "comment": _OF_ANSWER_OR_PAIR,
}

# A response that came by a trace is completed by late spans, but only before anything refers to its content.
COMPLETED = (
    *("query_type", "content_hash", "query", "answer", "generator_model", "reference", "passages", "generator_cost"),
    *("messages", "asked_at", "asked_day", "extra", "evidence_group"),
)
# Tables in which only the named columns change and no row is deleted.
CHANGEABLE: dict[Table, tuple[str, ...]] = {
    tables.IMPORT_BATCH: ("counts", "finished_at", "sha256", "undone_at"),
    tables.RUN: (
        *("state", "finished_at", "why_stopped", "selected"),
        *("endpoint_host", "provider", "base_url"),  # a run can continue at another address
    ),
    tables.FLAG: ("state", "leads"),
    tables.JOB: ("run_id", "cancelled_at", "failed"),
    tables.JUDGING_RULE: ("state", "problem"),
    tables.ALERT_RULE: ("state", "evaluated_at", "problem"),
    tables.ALERT_EVENT: ("sentence", "value", "seen_at", "resolved_at", "notified_at", "messages", "closed"),
    tables.ALERT_DELIVERY: ("state", "attempts", "next_at", "sent_at", "error"),
    tables.QUEUE: ("state",),
    tables.QUEUE_ITEM: ("state", "position", "reviews_needed"),
    tables.SKIP: ("undone_at",),
    tables.PUSHED: ("row_id", "sent", "error", "at"),
    tables.PUSH_TARGET: (
        *("state", "executor_id", "next_at", "tried_at", "succeeded_at"),
        *("pushed", "refused", "waiting", "reason", "problem"),
    ),
    tables.API_KEY: ("revoked_at",),
    tables.WITHDRAWN_ROW: ("content",),
    tables.TRACE: ("source", "state", "last_at", "root_ended", "spans", "response_id", "reason", "used", "read_at"),
}

# Tables whose rows may change and be deleted.
_FREE = frozenset(
    {
        *(tables.CURRENT, tables.REVIEWER, tables.WORKER, tables.QUEUE_ASSIGNMENT, tables.QUEUE_ITEM_FLAG),
        *(tables.LEASE, tables.DRAFT, tables.CLAIM, tables.RATE_LIMIT, tables.SPAN),
        *(tables.RUN_SHARE, tables.WAITING_FEEDBACK, tables.PULL),
    }
)

# All other tables: their rows are written once, and triggers refuse changes.
APPEND_ONLY = tuple(table for table in tables.METADATA.sorted_tables if table not in _FREE and table not in CHANGEABLE)

_WITHDRAWN = "EXISTS (SELECT 1 FROM withdrawn_row WHERE table_name = '{table}' AND row_key = {key})"
_REFUSAL = "{table} is append-only: add a row that replaces, never change or delete one"


def install_guards(connection: Connection) -> None:
    """Create every trigger in the caller's transaction, replacing existing ones."""
    dialect = connection.dialect.name
    for table in (*APPEND_ONLY, *CHANGEABLE):
        for statement in _guard(table, _allowed_update(table, dialect), dialect):
            connection.execute(text(statement))


def _guard(table: Table, allowed: str, dialect: str) -> list[str]:
    refusal = _REFUSAL.format(table=table.name)
    withdrawn = _may_be_deleted(table)
    if dialect == "sqlite":
        return [
            f"DROP TRIGGER IF EXISTS guard_{table.name}_update",
            f"DROP TRIGGER IF EXISTS guard_{table.name}_delete",
            (
                f'CREATE TRIGGER guard_{table.name}_update BEFORE UPDATE ON "{table.name}" WHEN NOT ({allowed}) '
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            ),
            (
                f'CREATE TRIGGER guard_{table.name}_delete BEFORE DELETE ON "{table.name}" WHEN NOT ({withdrawn}) '
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            ),
        ]
    return [
        (
            f"CREATE OR REPLACE FUNCTION guard_{table.name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF TG_OP = 'UPDATE' THEN IF {allowed} THEN RETURN NEW; END IF; "
            f"ELSIF {withdrawn} THEN RETURN OLD; END IF; "
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


def row_key(table: Table, row: str = "OLD") -> str:
    """Return the SQL for the key of a row, as `withdrawn_row` has it: its primary key, joined by commas."""
    return " || ',' || ".join(f'CAST({row}."{column.name}" AS TEXT)' for column in table.primary_key.columns)


def _may_be_deleted(table: Table) -> str:
    """The condition under which a DELETE is allowed: there is a copy of the row. Copies are never deleted."""
    if table is tables.WITHDRAWN_ROW:
        return "1 = 0"
    return _WITHDRAWN.format(table=table.name, key=row_key(table))


def _allowed_update(table: Table, dialect: str) -> str:
    """The condition under which an UPDATE is allowed."""
    columns = [column.name for column in table.columns]
    changeable = CHANGEABLE.get(table, ())
    forgettable = FORGETTABLE.get(table.name, ())
    kept = [name for name in columns if name not in changeable and name not in forgettable]
    same = " AND ".join(_same(name, dialect) for name in kept)
    if table is tables.WITHDRAWN_ROW:  # only forgetting blanks a copy; no event can name an answer that is withdrawn
        return f"{same} AND {_blank('content', dialect)}"
    if changeable:
        return same
    if not forgettable:
        return "1 = 0"
    blanked = " AND ".join(f"({_same(name, dialect)} OR {_blank(name, dialect)})" for name in forgettable)
    forgotten = (
        f"EXISTS (SELECT 1 FROM event WHERE event.kind = 'forget' AND event.response_id IN ({RESPONSES[table.name]}))"  # noqa: S608 - fixed names only
    )
    allowed = f"{forgotten} AND {same} AND {blanked}"
    if table is not tables.RESPONSE:
        return allowed
    identity = " AND ".join(_same(name, dialect) for name in columns if name not in COMPLETED)
    return f"({allowed}) OR ({identity} AND {unread('OLD.id')})"


def unread(response_id: str) -> str:
    """Return the SQL condition that nothing refers to the content of a response yet; ``response_id`` is SQL."""
    readers = (
        *("judgment.response_id", "review.response_id", "flag.response_id", "queue_item.response_id"),
        *("anchor.response_id", "pair.response_a_id", "pair.response_b_id", "refinement.root_response_id"),
    )
    conditions = [f"NOT EXISTS (SELECT 1 FROM {of.partition('.')[0]} WHERE {of} = {response_id})" for of in readers]  # noqa: S608 - fixed names only
    conditions += [
        f"NOT EXISTS (SELECT 1 FROM response AS derived WHERE derived.derived_from = {response_id})",  # noqa: S608
        f"NOT EXISTS (SELECT 1 FROM event WHERE event.kind = 'forget' AND event.response_id = {response_id})",  # noqa: S608
        f"EXISTS (SELECT 1 FROM trace WHERE trace.response_id = {response_id})",  # noqa: S608
        # Every judge marks what it reads, before it reads.
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
    # A forgotten response is removed from the index, as is a withdrawn one.
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
    """Create the search index if it is missing; return whether text search has an index."""
    if connection.dialect.name == "sqlite":
        if not connection.execute(text("SELECT 1 FROM sqlite_master WHERE name = 'response_search'")).scalar():
            for statement in _SQLITE:
                connection.execute(text(statement))
        connection.execute(text(_SQLITE_DELETE))
        return True
    available = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'"
    if not connection.execute(text(available)).scalar():
        return False
    connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
    columns = ", ".join(f"{name} gin_trgm_ops" for name in COLUMNS)
    connection.execute(text(f"CREATE INDEX IF NOT EXISTS ix_response_search ON response USING gin ({columns})"))
    return True
