"""What a block of code asks of a database, and how SQLite reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from judgeboard.store.engine import Store


@contextmanager
def statements_of(store: Store) -> Iterator[list[str]]:
    """Every statement that is sent while the block runs."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        sent.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(store.engine, "before_cursor_execute", note)


@contextmanager
def plans_of(store: Store) -> Iterator[list[str]]:
    """The steps of every statement while the block runs, one text a statement."""
    plans: list[str] = []

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, _context: Any, _many: Any) -> None:
        if statement.startswith(("SELECT", "WITH")):
            steps = cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            plans.append("\n".join(row[3] for row in steps))

    event.listen(store.engine, "before_cursor_execute", explain)
    try:
        yield plans
    finally:
        event.remove(store.engine, "before_cursor_execute", explain)


def whole_tables(plans: list[str]) -> list[str]:
    """Steps that read a table of pairs from end to end, or all that one judge version said."""
    steps = [step for plan in plans for step in plan.splitlines()]
    tables = ("pair", "comparison", "preference_score", "review", "sample", "event", "response")
    return [
        step
        for step in steps
        if any(
            step == f"SCAN {table}" or step.startswith((f"SCAN {table} ", f"SCAN {table}_score")) for table in tables
        )
        or step.endswith("(judge_version_id=?)")
    ]
