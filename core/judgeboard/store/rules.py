"""Rules of every kind by name: stored, listed, paused, resumed, removed, and taken by a worker."""

from datetime import datetime
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, select, update

from judgeboard.domain import RuleState
from judgeboard.errors import BadInput, NotFound
from judgeboard.store.columns import table_of
from judgeboard.store.events import record_event
from judgeboard.store.jobs import wake_workers
from judgeboard.store.statements import get_row, insert_or_skip, rows_of
from judgeboard.store.tables import Rule

R = TypeVar("R", bound=Rule)


def list_rules(connection: Connection, rules: type[R]) -> list[R]:
    """Return the rules of a class that are not removed, oldest first."""
    table = table_of(rules)
    # Another judge gives a judging rule a new id, and keeps the time when the rule was added: so
    # the time comes first.
    query = select(rules).where(table.c.state != RuleState.REMOVED)
    return rows_of(connection, query.order_by(table.c.at, table.c.id))


def active_rules(connection: Connection, rules: type[R]) -> list[R]:
    """Return the rules of a class that workers follow, oldest first."""
    return [rule for rule in list_rules(connection, rules) if rule.is_active]


def get_rule(connection: Connection, rules: type[R], rule_id: int) -> R:
    """Return a rule by id, also a removed rule. Raises NotFound if there is none."""
    return get_row(connection, rules, rule_id, rules.noun)


def rule_named(connection: Connection, rules: type[R], name: str) -> R:
    """Return the rule with a name. Raises NotFound, with the names of all rules."""
    by_name = {rule.name: rule for rule in list_rules(connection, rules)}
    if name not in by_name:
        raise NotFound(f"no {rules.noun} {name!r}; known: {', '.join(by_name) or 'none'}")
    return by_name[name]


def insert_rule(connection: Connection, row: R) -> R:
    """Store a rule and return the rule with an id. Raises BadInput if another rule has this name."""
    table = table_of(type(row))
    statement = insert_or_skip(connection, table).returning(table.c.id)
    rule_id = connection.scalar(statement, row.new_values())
    if rule_id is None:
        raise BadInput(
            f"another {row.noun} has the name {row.name!r} already: choose another name, or remove "
            "that one first"
        )
    details = {row.event: rule_id}
    record_event(connection, f"add_{row.event}", row.by, details=details, now=row.at)
    wake_workers(connection)
    return row.changed(id=rule_id)


def set_rule_state(
    connection: Connection, rule: Rule, state: RuleState, by: str, now: datetime
) -> None:
    """Pause, resume or remove a rule, whose problem counts as solved. Workers notice within a second."""
    columns = table_of(type(rule)).c
    unlike = columns.state != RuleState.REMOVED, columns.state != state.value
    values: dict[str, object] = {"state": state.value, "problem": None}
    if "next_at" in columns:  # workers follow a resumed rule at once
        values["next_at"] = now
    if update_rule(connection, rule, *unlike, **values):
        details = {rule.event: rule.id, "state": state.value}
        record_event(connection, f"set_{rule.event}_state", by, details=details, now=now)
        wake_workers(connection)


def take_rule(
    connection: Connection, row: Rule, column: str, now: datetime, **values: object
) -> bool:
    """Store in ``column`` that a worker takes a rule now; return False if another worker was faster."""
    table = table_of(type(row))
    is_unchanged = table.c[column].is_not_distinct_from(getattr(row, column))
    is_active = table.c.state == RuleState.ACTIVE
    return update_rule(connection, row, is_active, is_unchanged, **{column: now}, **values)


def update_rule(
    connection: Connection, row: Rule, *conditions: ColumnElement[bool], **values: object
) -> bool:
    """Change columns of a rule if the row meets the conditions; return whether the row changed."""
    table = table_of(type(row))
    statement = update(table).where(table.c.id == row.id, *conditions).values(values)
    return connection.execute(statement).rowcount == 1
