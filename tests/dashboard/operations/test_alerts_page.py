"""The page Alerts: a rule is added, tested, paused and removed; open events and messages are shown."""

from datetime import UTC, datetime

import pytest

from app_pages import OpenPage, press, shown, table_rows
from judgeboard.alerts.events import check
from judgeboard.store.alerts import list_alert_rules
from judgeboard.store.engine import Store


def test_a_rule_is_added_tested_paused_and_removed(
    open_page: OpenPage, page_rows, page_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_page("alerts")
    assert "There is no alert rule yet." in shown(app)
    app.text_input(key="alert_name").set_value("flags")
    app = app.selectbox(key="alert_when").set_value("open_flags").run()
    app.number_input(key="alert_above_open_flags").set_value(0.0)
    app.text_area(key="alert_to").set_value("webhook:https://example.org/S3CRET")
    app = press(app.run(), "alert_add")
    assert "the address of a webhook is a secret" in shown(app)
    app.text_area(key="alert_to").set_value("slack:env:SLACK_URL")
    app = press(app.run(), "alert_add")
    with page_store.reading() as connection:
        [rule] = list_alert_rules(connection)
    assert (rule.name, rule.condition, rule.destinations, rule.by) == ("flags", "open_flags", rule.destinations, "Mara")
    app = press(open_page("alerts"), "alert_test")
    [[_, name, kind, state, why, to, attempts]] = table_rows(open_page("alerts"), "Message")
    assert (name, kind, to, state, attempts) == ("flags", "test", "slack:env:SLACK_URL", "failed", 1)
    assert why == "the environment variable SLACK_URL is not set where the worker runs"
    check(page_store, datetime.now(UTC))
    [event] = table_rows(open_page("alerts"), "Since")
    assert event[1:] == ["flags", event[2], 1]
    assert "open flags (threshold: 0)." in event[2]
    press(open_page("alerts"), "alert_paused")
    [[_, state, *_]] = table_rows(open_page("alerts"), "Condition")
    assert state == "paused"
    press(open_page("alerts"), "alert_active")
    press(open_page("alerts"), "alert_removed")
    assert "There is no alert rule yet." in shown(open_page("alerts"))
