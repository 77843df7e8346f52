"""Alert rules on both engines, with a real webhook: events open, remind and resolve by a clock of the test's own."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from hook_server import Hook, hook_server
from judgeboard.alerts.events import check
from judgeboard.alerts.rules import WrittenRule, add_alert_rule
from judgeboard.store.alerts import latest_deliveries
from judgeboard.store.engine import Store
from judgeboard.store.jobs import register_worker

START = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TO_HOOK = ("webhook:env:HOOK_URL",)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    with hook_server() as served:
        monkeypatch.setenv("HOOK_URL", served.url)
        monkeypatch.setenv("JUDGEBOARD_ALERT_NETWORKS", "127.0.0.0/8")
        yield served


def add(store: Store, name: str = "workers", when: str = "missing_worker", **fields: object) -> None:
    add_alert_rule(store, WrittenRule(**{"name": name, "when": when, "to": TO_HOOK} | fields), "Mara", START)


def beat(store: Store, now: datetime) -> None:
    with store.writing() as connection:
        register_worker(connection, "w", "host", 1, now)


def deliveries(store: Store) -> list[tuple[str, str, int]]:
    with store.reading() as connection:
        return [(each.kind.value, each.state, each.attempts) for each in reversed(latest_deliveries(connection))]


def test_an_event_sends_one_message_a_reminder_and_a_resolved_message(store: Store, hook: Hook) -> None:
    add(store, remind="2h")
    for minute in range(10):
        check(store, START + minute * MINUTE)
    assert hook.kinds == ["opened"]
    [body] = hook.bodies
    assert (body["title"], body["rule"], body["condition"]) == ("Alert: workers", "workers", "missing_worker")
    assert body["text"] == "0 workers running in the last 1 min (1 expected)."
    assert hook.requests[0]["idempotency-key"] == body["id"]
    check(store, START + 2 * HOUR)
    assert hook.kinds == ["opened", "reminder"]
    later = START + 2 * HOUR + MINUTE
    beat(store, later)
    check(store, later)
    assert hook.kinds == ["opened", "reminder"], "a short recovery is not the end"
    later += 5 * MINUTE
    beat(store, later)
    check(store, later)
    assert hook.kinds == ["opened", "reminder", "resolved"]
    assert hook.bodies[2]["text"].startswith("Over since 2026-11-23 14:06 UTC; it began at 2026-11-23 12:00 UTC.")
    check(store, later + 9 * HOUR)
    assert hook.kinds == ["opened", "reminder", "resolved", "opened"], "the worker is gone again"
    assert len({body["id"] for body in hook.bodies}) == 4
