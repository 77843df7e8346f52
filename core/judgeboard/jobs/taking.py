"""The right to take jobs: one process at a time on SQLite, every process on PostgreSQL."""

import os
import secrets
import socket
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from judgeboard.store.engine import Store


@dataclass(frozen=True, slots=True)
class TakingRight:
    """Held while a process takes jobs; ``executor_id`` is what its durable work is filed under."""

    executor_id: str
    lock: sqlite3.Connection | None = None

    def release(self) -> None:
        """Let another process take jobs."""
        if self.lock is not None:
            self.lock.close()


def taking_right(store: Store) -> TakingRight | None:
    """Return the right to take jobs, None while another process on this SQLite file has it.

    The lock is a transaction on a small file beside the database: the system ends it with the process, however that
    ends. The one holder always has the same executor id, so what a killed one left is taken up at once.
    """
    if not store.is_sqlite:
        return TakingRight(f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}")
    lock = sqlite3.connect(f"{store.engine.url.database}.jobs-lock", timeout=0, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        return None
    return TakingRight("server", lock)


def workflow_database(store: Store) -> str:
    """Return where the durable workflows are kept: a file of their own beside SQLite, a schema in PostgreSQL.

    A file of its own, so that the writes of the workflows never lock the store's.
    """
    if store.is_sqlite:
        return f"sqlite:///{Path(str(store.engine.url.database)).resolve()}.jobs"
    return store.engine.url.render_as_string(hide_password=False)
