"""The statements that are sent to a database, and the steps of their plans."""

from contextlib import contextmanager

from sqlalchemy import event

QUERIES = ("SELECT", "WITH")


@contextmanager
def each_statement(store, look):
    """All that ``look(cursor, statement, parameters)`` returns for the statements that are sent in the block."""
    values = []

    def note(_connection, cursor, statement, parameters, _context, _many):
        values.extend(
            look(cursor, statement, parameters[0] if isinstance(parameters, list) else parameters)
        )

    event.listen(store.engine, "before_cursor_execute", note)
    try:
        yield values
    finally:
        event.remove(store.engine, "before_cursor_execute", note)


def statements_of(store):
    """Every statement that is sent while the block runs."""
    return each_statement(store, lambda _cursor, statement, _parameters: [statement])


def plans_of(store):
    """The steps of every query while the block runs, one text a statement; on either engine."""

    def plan(cursor, statement, parameters):
        return (
            ["\n".join(_steps(store, cursor, statement, parameters))]
            if statement.startswith(QUERIES)
            else []
        )

    return each_statement(store, plan)


def steps_of(store, *starts):
    """Every statement with such a start while the block runs, with each step of its plan."""

    def steps(cursor, statement, parameters):
        if statement.startswith(starts):
            yield from ((statement, step) for step in _steps(store, cursor, statement, parameters))

    return each_statement(store, steps)


def _steps(store, cursor, statement, parameters):
    explain = "EXPLAIN QUERY PLAN" if store.is_sqlite else "EXPLAIN"
    return [str(row[-1]) for row in cursor.execute(f"{explain} {statement}", parameters).fetchall()]


def whole_tables(plans):
    """Steps that read a table of pairs from end to end, or all that one judge version said."""
    steps = [step for plan in plans for step in plan.splitlines()]
    tables = ("pair", "comparison", "preference_score", "review", "sample", "event", "response")
    return [
        step
        for step in steps
        if any(
            step == f"SCAN {table}" or step.startswith((f"SCAN {table} ", f"SCAN {table}_score"))
            for table in tables
        )
        or step.endswith("(judge_version_id=?)")
    ]
