"""Watches what the transactions of a database write, for tests that say what a change leaves behind."""

import re
from contextlib import contextmanager

from sqlalchemy import event

_WRITES = re.compile(
    r'\s*(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|UPDATE|DELETE\s+FROM)\s+"?(\w+)"?', re.IGNORECASE
)


@contextmanager
def written_tables(store):
    """Give a list that fills with the tables that each committed transaction wrote to."""
    committed = []
    open_ = {}

    def executed(connection, _cursor, statement, *_):
        if found := _WRITES.match(statement):
            open_.setdefault(id(connection.connection.dbapi_connection), set()).add(found[1])

    def commit(connection):
        if tables := open_.pop(id(connection.connection.dbapi_connection), None):
            committed.append(tables)

    def rollback(connection):
        open_.pop(id(connection.connection.dbapi_connection), None)

    listeners = {"after_cursor_execute": executed, "commit": commit, "rollback": rollback}
    for name, listener in listeners.items():
        event.listen(store.engine, name, listener)
    try:
        yield committed
    finally:
        for name, listener in listeners.items():
            event.remove(store.engine, name, listener)
