"""Opens and resolves the events of alert rules, decides which messages are due, and follows the rules in a worker."""

import logging
import threading
import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from judgeboard.alerts.conditions import CONDITIONS, moment_words
from judgeboard.alerts.delivery import deliver, deliver_due
from judgeboard.alerts.rules import quiet_hours
from judgeboard.domain import Action, AlertCondition, MessageKind
from judgeboard.errors import JudgeboardError
from judgeboard.measure.alarms import watch
from judgeboard.people.permissions import Actor, allowed
from judgeboard.runs.work import Duty
from judgeboard.store.alerts import (
    close_event,
    get_delivery,
    latest_error,
    resolve_event,
    store_delivery,
    store_event,
    store_message,
    unclosed_events,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.rules import active_rules, rule_named, take_rule, update_rule
from judgeboard.store.tables import AlertDelivery, AlertEvent, AlertRule

EVERY = timedelta(minutes=1)
"""How often workers evaluate a rule."""
CALM = timedelta(minutes=5)
"""An event is resolved when the condition has not been met for this long, so that a figure at the threshold sends one
message."""
LOOK_SECONDS = 5.0  # between two looks for due rules and messages
FOLLOW_SECONDS = 600.0  # of one entry: the engine keeps a note of each
LOOK_SHARE = 0.05  # of the time may go into evaluations
ACTOR = "alerts"

_log = logging.getLogger("judgeboard.alerts")


def is_resolved(event: AlertEvent, met: Collection[str], now: datetime) -> bool:
    """Return whether an open event is over: the condition is not met now, and has not been for a while."""
    return event.resolved_at is None and event.subject not in met and now - event.seen_at >= CALM


def due_message(rule: AlertRule, event: AlertEvent, now: datetime) -> MessageKind | None:
    """Return which message of an event is due, None during quiet hours or if none is.

    An event that began and ended in quiet hours sends nothing.
    """
    if rule.quiet is not None and quiet_hours(rule.quiet).include(now):
        return None
    if event.resolved_at is not None:
        return MessageKind.RESOLVED if event.messages else None
    if event.notified_at is None:
        return MessageKind.OPENED
    if rule.remind_s is not None and now - event.notified_at >= timedelta(seconds=rule.remind_s):
        return MessageKind.REMINDER
    return None


def message_of(
    rule: AlertRule, kind: MessageKind, now: datetime, event: AlertEvent | None = None
) -> dict[str, Any]:
    """Return a message as JSON. Every destination gets this message, in the form of the destination."""
    text = CONDITIONS[rule.condition].words if event is None else event.sentence
    if event is not None and event.resolved_at is not None:
        text = f"Last met at {moment_words(event.seen_at)}; it began at {moment_words(event.opened_at)}. {text}"
    return {
        "kind": kind.value,
        "title": f"{_TITLES[kind]}: {rule.name}",
        "text": text,
        "rule": rule.name,
        "condition": rule.condition.value,
        "subject": None if event is None else event.subject or None,
        "value": None if event is None else event.value,
        "threshold": rule.threshold,
        "event": None if event is None else event.id,
        "opened_at": None if event is None else event.opened_at.isoformat(),
        "resolved_at": None
        if event is None or event.resolved_at is None
        else event.resolved_at.isoformat(),
        "at": now.isoformat(),
    }


_TITLES = {
    MessageKind.OPENED: "Alert",
    MessageKind.REMINDER: "Still open",
    MessageKind.RESOLVED: "Resolved",
    MessageKind.TEST: "Test message",
}


def evaluate(store: Store, now: datetime, *, every: timedelta = EVERY) -> None:
    """Evaluate the active rules that nobody has evaluated for ``every``, and store events and messages.

    Each rule is evaluated by one process at a time. Any number of evaluations find the same events.
    A rule has a problem while it cannot be evaluated or its latest message was not sent.
    """
    with store.reading() as connection:
        active = active_rules(connection, AlertRule)
    rules_due = [
        rule for rule in active if rule.evaluated_at is None or now - rule.evaluated_at >= every
    ]
    if not rules_due:
        return
    with store.writing() as connection:
        rules = [rule for rule in rules_due if take_rule(connection, rule, "evaluated_at", now)]
    for rule in rules:
        try:
            with store.reading() as connection:
                problem = latest_error(connection, rule.id)
            _evaluate_rule(store, rule, now, again=rule.problem not in {None, problem})
        except Exception as error:  # noqa: BLE001 - whatever the database raises: the other rules go on
            is_expected = isinstance(error, JudgeboardError)
            problem = str(error) if is_expected else f"{type(error).__name__}, see the log"
            name, traceback = type(error).__name__, None if is_expected else error
            _log.warning("alert rule %s: %s; trying again", rule.id, name, exc_info=traceback)
        if problem != rule.problem:
            with store.writing() as connection:
                update_rule(connection, rule, problem=problem)


def _evaluate_rule(store: Store, rule: AlertRule, now: datetime, *, again: bool) -> None:
    hour, now_hour = (
        each and each.astimezone(UTC).isoformat(timespec="hours")
        for each in (rule.evaluated_at, now)
    )
    if rule.condition is AlertCondition.ALARM and (hour != now_hour or again):
        watch(store, by=ACTOR, now=now)
    with store.reading() as connection:
        met = list(CONDITIONS[rule.condition].met(connection, rule, now))
        events = unclosed_events(connection, rule.id)
    if met or events:
        subjects = {each.subject for each in met}
        with store.writing() as connection:
            for each in met:
                store_event(
                    connection,
                    rule.id,
                    each.subject,
                    {"sentence": each.sentence, "value": each.value},
                    now,
                )
            for event in unclosed_events(connection, rule.id):
                if is_resolved(event, subjects, now):
                    resolve_event(connection, event.id, now)
            for event in unclosed_events(connection, rule.id):
                kind = due_message(rule, event, now)
                if kind is not None:
                    store_message(
                        connection,
                        event,
                        kind,
                        message_of(rule, kind, now, event),
                        rule.destinations,
                        now,
                    )
                if event.resolved_at is not None and (kind is not None or not event.messages):
                    close_event(connection, event.id)


def follow(store: Store, _key: str, _executor_id: str, closing: threading.Event) -> None:
    """Evaluate the rules and send messages for ten minutes, or until ``closing`` is set. Errors are logged."""
    start, wait = time.monotonic(), 0.0
    while time.monotonic() - start < FOLLOW_SECONDS and not closing.wait(wait):
        look_start, evaluation_s = time.monotonic(), 0.0
        try:
            evaluate(store, utc_now())
            evaluation_s = (
                time.monotonic() - look_start
            )  # without the sending: a webhook that does not answer delays no rule
            deliver_due(store, utc_now)
        except Exception as error:  # noqa: BLE001 - whatever the database raises: the database comes back
            _log.warning("alerts: %s; trying again", type(error).__name__, exc_info=error)
        wait = max(LOOK_SECONDS, min(evaluation_s / LOOK_SHARE, CALM.total_seconds()))


ALERTS = Duty(
    "alerts",
    lambda connection: ["rules"] if active_rules(connection, AlertRule) else None,
    follow,
)


def send_test(
    store: Store, name: str, actor: Actor, now: datetime | None = None
) -> list[AlertDelivery]:
    """Send a test message to each destination of a rule from this process, and return the deliveries."""
    moment = now or utc_now()
    with allowed(store, actor, Action.KEEP_RULES) as connection:
        rule = rule_named(connection, AlertRule, name)
        message = message_of(rule, MessageKind.TEST, moment)
        ids = [
            store_delivery(connection, rule.id, MessageKind.TEST, message, destination, moment)
            for destination in rule.destinations
        ]
    deliveries = []
    for id_ in ids:
        with store.reading() as connection:
            delivery = get_delivery(connection, id_)
        deliver(store, delivery, moment)
        with store.reading() as connection:
            deliveries.append(get_delivery(connection, id_))
    return deliveries
