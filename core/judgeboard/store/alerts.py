"""Stores alarms with acknowledgements, and the events of alert rules with the deliveries of messages."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, exists, func, insert, select, update

from judgeboard.domain import MessageKind, RuleState
from judgeboard.store.rules import active_rules
from judgeboard.store.statements import get_row, insert_or_skip, rows_of
from judgeboard.store.tables import (
    ALARM,
    ALARM_ACKNOWLEDGEMENT,
    ALERT_DELIVERY,
    ALERT_EVENT,
    ALERT_RULE,
    Alarm,
    AlarmAcknowledgement,
    AlertDelivery,
    AlertEvent,
    AlertRule,
)

_EVENTS = select(AlertEvent)


def _read_events(connection: Connection, query: Select[AlertEvent]) -> list[AlertEvent]:
    return rows_of(connection, query.order_by(ALERT_EVENT.c.id))


def unclosed_events(connection: Connection, rule_id: int) -> list[AlertEvent]:
    """Return the open events of a rule, and resolved events without a message about the end, oldest first."""
    return _read_events(
        connection, _EVENTS.where(ALERT_EVENT.c.alert_rule_id == rule_id, ~ALERT_EVENT.c.closed)
    )


def open_events(connection: Connection) -> list[tuple[str, AlertEvent]]:
    """Return the open events of active rules with the names of the rules, oldest first."""
    names = {rule.id: rule.name for rule in active_rules(connection, AlertRule)}
    events = _read_events(
        connection, _EVENTS.where(~ALERT_EVENT.c.closed, ALERT_EVENT.c.resolved_at.is_(None))
    )
    return [(names[event.alert_rule_id], event) for event in events if event.alert_rule_id in names]


def store_event(
    connection: Connection, rule_id: int, subject: str, values: Mapping[str, Any], now: datetime
) -> None:
    """Store that a condition is met now: a new event, or the ``sentence`` and ``value`` of the open event."""
    row = {"alert_rule_id": rule_id, "subject": subject, "opened_at": now, "seen_at": now, **values}
    if (
        connection.scalar(insert_or_skip(connection, ALERT_EVENT).returning(ALERT_EVENT.c.id), row)
        is None
    ):
        of_event = ALERT_EVENT.c.alert_rule_id == rule_id, ALERT_EVENT.c.subject == subject
        unresolved = ALERT_EVENT.c.resolved_at.is_(None)
        connection.execute(
            update(ALERT_EVENT).where(*of_event, unresolved).values(seen_at=now, **values)
        )


def resolve_event(connection: Connection, event_id: int, now: datetime) -> None:
    """Store that the condition of an event is no longer met."""
    unresolved = ALERT_EVENT.c.id == event_id, ALERT_EVENT.c.resolved_at.is_(None)
    connection.execute(update(ALERT_EVENT).where(*unresolved).values(resolved_at=now))


def close_event(connection: Connection, event_id: int) -> None:
    """Store that no message about a resolved event is left to send."""
    connection.execute(update(ALERT_EVENT).where(ALERT_EVENT.c.id == event_id).values(closed=True))


def store_message(
    connection: Connection,
    event: AlertEvent,
    kind: MessageKind,
    message: Mapping[str, Any],
    destinations: Iterable[str],
    now: datetime,
) -> bool:
    """Store the next message of an event, once for each destination; return False if another worker did so."""
    next_message = ALERT_EVENT.c.id == event.id, ALERT_EVENT.c.messages == event.messages
    statement = (
        update(ALERT_EVENT)
        .where(*next_message)
        .values(messages=event.messages + 1, notified_at=now)
    )
    if not connection.execute(statement).rowcount:
        return False
    for destination in destinations:
        store_delivery(
            connection,
            event.alert_rule_id,
            kind,
            message,
            destination,
            now,
            event_id=event.id,
            number=event.messages,
        )
    return True


def store_delivery(
    connection: Connection,
    rule_id: int,
    kind: MessageKind,
    message: Mapping[str, Any],
    destination: str,
    now: datetime,
    *,
    event_id: int | None = None,
    number: int = 0,
) -> int:
    """Store a message to a destination that waits to be sent, with an id of its own; return the id of the row."""
    message_id = str(uuid.uuid4())
    row = {
        "alert_rule_id": rule_id,
        "alert_event_id": event_id,
        "kind": kind.value,
        "destination": destination,
        "message_id": message_id,
        "number": number,
        "message": {"id": message_id, **message},
        "next_at": now,
        "at": now,
    }
    return int(connection.scalar(insert(ALERT_DELIVERY).returning(ALERT_DELIVERY.c.id), row))


_DELIVERIES = select(AlertDelivery).join(
    ALERT_RULE, ALERT_RULE.c.id == ALERT_DELIVERY.c.alert_rule_id
)
_IS_ACTIVE = ALERT_RULE.c.state == RuleState.ACTIVE
_WAITING = ALERT_DELIVERY.c.state == "waiting"
_EARLIER = ALERT_DELIVERY.alias("earlier_delivery")
# The messages of an event reach a destination in the order of the numbers.
_NEXT = ~exists().where(
    _EARLIER.c.alert_event_id == ALERT_DELIVERY.c.alert_event_id,
    _EARLIER.c.destination == ALERT_DELIVERY.c.destination,
    _EARLIER.c.number < ALERT_DELIVERY.c.number,
    _EARLIER.c.state == "waiting",
)


def due_deliveries(connection: Connection, now: datetime) -> list[AlertDelivery]:
    """Return the messages of active rules that may be sent now, oldest first.

    Test messages are left out: the process that stores a test message also sends the message.
    """
    is_test = ALERT_DELIVERY.c.kind == MessageKind.TEST
    query = _DELIVERIES.where(
        _WAITING, _NEXT, _IS_ACTIVE, ~is_test, ALERT_DELIVERY.c.next_at <= now
    )
    return rows_of(connection, query.order_by(ALERT_DELIVERY.c.id))


def get_delivery(connection: Connection, delivery_id: int) -> AlertDelivery:
    """Return a delivery by id, or raise NotFound."""
    return get_row(connection, AlertDelivery, delivery_id, "delivery")


def begin_attempt(
    connection: Connection, delivery: AlertDelivery, now: datetime, next_at: datetime
) -> bool:
    """Store that an attempt begins; return False if another worker made an attempt since the delivery was read.

    If the process ends during the attempt, the message counts as not sent, and is sent again at
    ``next_at``.
    """
    conditions = (
        ALERT_DELIVERY.c.id == delivery.id,
        _WAITING,
        ALERT_DELIVERY.c.attempts == delivery.attempts,
    )
    statement = update(ALERT_DELIVERY).where(*conditions, ALERT_DELIVERY.c.next_at <= now)
    return bool(
        connection.execute(
            statement.values(attempts=delivery.attempts + 1, next_at=next_at)
        ).rowcount
    )


def end_attempt(
    connection: Connection, delivery_id: int, error: str | None, *, is_last: bool, now: datetime
) -> None:
    """Store that a message was sent, or why not; after the last attempt, the message has failed.

    Does nothing if another attempt has sent the message since, or was the last attempt.
    """
    if error is None:
        values: dict[str, Any] = {"state": "sent", "sent_at": now, "error": None}
    else:
        values = {"state": "failed" if is_last else "waiting", "error": error}
    connection.execute(
        update(ALERT_DELIVERY).where(ALERT_DELIVERY.c.id == delivery_id, _WAITING).values(values)
    )


def latest_error(connection: Connection, rule_id: int) -> str | None:
    """Return why the latest message of a rule to one of the destinations was not sent; None if each was sent."""
    has_outcome = ~_WAITING | ALERT_DELIVERY.c.error.is_not(None)
    latest = (
        select(func.max(ALERT_DELIVERY.c.id))
        .where(ALERT_DELIVERY.c.alert_rule_id == rule_id, has_outcome)
        .group_by(ALERT_DELIVERY.c.destination)
    )
    errors = select(ALERT_DELIVERY.c.error).where(
        ALERT_DELIVERY.c.id.in_(latest), ALERT_DELIVERY.c.error.is_not(None)
    )
    return connection.scalar(errors.order_by(ALERT_DELIVERY.c.id.desc()).limit(1))


def latest_deliveries(
    connection: Connection, *, limit: int = 50
) -> list[tuple[str, AlertDelivery]]:
    """Return the latest messages with the names of the rules, newest first."""
    messages = rows_of(connection, _DELIVERIES.order_by(ALERT_DELIVERY.c.id.desc()).limit(limit))
    names = dict(connection.execute(select(ALERT_RULE.c.id, ALERT_RULE.c.name)).all())
    return [(names[each.alert_rule_id], each) for each in messages]


@dataclass(frozen=True, slots=True)
class SeenAlarm:
    """An alarm with the acknowledgement, None until a lead acknowledges the alarm.

    If the model of a judge changed again while such an alarm is open, ``later_model`` is the model
    since ``later_day``.
    """

    alarm: Alarm
    acknowledgement: AlarmAcknowledgement | None
    later_model: str | None = None
    later_day: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether nobody has acknowledged the alarm."""
        return self.acknowledgement is None

    def as_json(self) -> dict[str, Any]:
        """Return the columns of the alarm, and by whom, when and why it was acknowledged."""
        acknowledgement = self.acknowledgement
        return self.alarm.as_json() | {
            "acknowledged_by": acknowledgement and acknowledgement.by,
            "acknowledged_at": acknowledgement and acknowledgement.at,
            "note": acknowledgement and acknowledgement.note,
            "later_model": self.later_model,
            "later_day": self.later_day,
        }


def list_alarms(connection: Connection) -> list[SeenAlarm]:
    """Return all alarms, the newest first."""
    acknowledgements = {
        each.alarm_id: each for each in rows_of(connection, select(AlarmAcknowledgement))
    }
    alarms = rows_of(connection, select(Alarm).order_by(ALARM.c.id.desc()))
    return [SeenAlarm(alarm, acknowledgements.get(alarm.id)) for alarm in alarms]


def insert_alarm(connection: Connection, row: Alarm) -> int | None:
    """Store an alarm and return its id; None if the alarm is stored already."""
    statement = insert_or_skip(connection, ALARM).returning(ALARM.c.id)
    alarm_id: int | None = connection.scalar(statement, row.new_values())
    return alarm_id


def insert_acknowledgement(connection: Connection, row: AlarmAcknowledgement) -> None:
    """Store the acknowledgement of an alarm."""
    connection.execute(insert(ALARM_ACKNOWLEDGEMENT), row.new_values())
