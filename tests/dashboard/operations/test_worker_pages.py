"""The pages Sources, Judging and Alerts: what assistants sent, and what workers judge, push and watch."""

import threading
from datetime import UTC, datetime

import pytest

from alert_checks import check
from app_pages import click, enter, labels, press, shown, table, table_rows, text_with
from graded_log import GradedLog
from judgeboard.alerts.conditions import CONDITIONS
from judgeboard.alerts.levels import LEVEL_MEASURES
from judgeboard.alerts.rules import add_alert_rule
from judgeboard.domain import AlertCondition, DimensionScore, MessageKind, RuleState
from judgeboard.measure.notes import note
from judgeboard.measure.trend_figures import MEASURES
from judgeboard.runs.judging_rules import add_rule, rule_progress
from judgeboard.runs.rules import change_rule
from judgeboard.settings.sections import AlertSettings
from judgeboard.store.alerts import begin_attempt, end_attempt, get_delivery, store_delivery
from judgeboard.store.jobs import register_worker
from judgeboard.store.judge_versions import get_version
from judgeboard.store.rules import list_rules
from judgeboard.store.tables import AlertRule, JudgingRule, PushTarget
from judgeboard.tools import push
from judgeboard.tools.push import add_target, push_due
from judgeboard_dashboard.evidence import as_label
from stored_rows import read

CHAT = {
    "kind": "rag",
    "name": "chat",
    "model": "qwen3-4b",
    "provider": "openai",
    "base_url": "http://gpu:8000/v1",
}


def test_sources_shows_push_targets_with_their_problems_and_changes_their_state(
    page_store, open_page, monkeypatch
):
    assert "add push" in shown(open_page("sources", part="Push"))
    add_target(page_store, "phoenix", address="http://tool:6006", source="shop", actor="test")
    page = open_page("sources", part="Push")
    [[name, state, *counts, _, _, sends, source, address]] = table_rows(page, "Target")
    assert (name, state, counts) == ("phoenix", "no worker", [0, 0, 0])
    assert sends == "judgments, reviews, gold"
    assert source == "shop"
    assert address == "http://tool:6006"
    assert "judgeboard worker" in shown(page)

    def fails(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr(push, "push", fails)
    with page_store.writing() as connection:
        register_worker(connection, "one")
        (target,) = list_rules(connection, PushTarget)
    push_due(page_store, str(target.id), "one", threading.Event())
    page = open_page("sources", part="Push")
    assert table_rows(page, "Target")[0][1] == "problem"
    assert text_with(page, "phoenix", "(ZeroDivisionError)", cls="jb-wrong")
    click(page, "push_paused_phoenix")
    assert read(page_store, list_rules, PushTarget)[0].state == "paused"


def test_a_judging_rule_is_added_paused_and_removed(open_page, page_rows, page_store):
    app = open_page("judging")
    assert not app.dataframe
    [source, *_] = app.multiselect(key="judging_sources").options
    for key, value in (
        ("name", " live "),
        ("judge", "New judge: lexical (word overlap, offline)"),
        ("calls", 5),
        ("flags", ["poor_rating"]),
        ("sources", [source]),
        ("existing", True),
    ):
        enter(app, f"judging_{key}", value)
    press(app, "judging_add")
    # The form is ready for the next rule.
    assert not app.text_input(key="judging_name").value
    what = f"lexical v1, 100 % of poor rating, source {source}"
    assert text_with(app, "live", what, "judgeboard worker", cls="jb-say")
    # It is said once.
    assert what not in shown(app.run())
    [rule] = [each.rule for each in rule_progress(page_store)]
    assert (rule.name, rule.max_calls, rule.by) == ("live", 5, "Mara")
    assert rule.filter.rules == ("poor_rating",)
    assert rule.filter.sources == (source,)
    [line] = table(open_page("judging"), "State").to_dict("records")
    assert line["State"] == "no worker"
    assert line["Calls today"] == "0 of 5"
    assert line["Cost today"].startswith("$ 0")
    press(open_page("judging"), "judge_paused")
    assert rule_progress(page_store)[0].state == "paused"
    press(open_page("judging"), "judge_active")
    press(open_page("judging"), "judge_removed")
    assert rule_progress(page_store) == []


def test_a_rule_takes_another_model_and_keeps_its_name_and_its_judgments(
    open_page, page_rows, page_store
):
    add_rule(page_store, "live", judge=CHAT, existing=True, max_calls=9, actor="Mara")
    [before] = rule_progress(page_store)
    add_rule(page_store, "later", judge={"kind": "lexical"}, actor="Mara")
    app = open_page("judging")
    assert app.dataframe[0].value["Model"][0] == "qwen3-4b"
    assert text_with(app, f"{before.waiting} waiting", "chat v1")
    assert text_with(app, "gpu:8000")
    enter(app, "judging_of_live_chat v1_model", "qwen3-8b")
    press(app, "judging_set_live")
    line = rule_progress(page_store)[0]
    assert line.version.title == "chat v2"
    assert line.rule.name == "live"
    assert line.rule.max_calls == 9
    assert line.rule.at == before.rule.at
    assert text_with(app, "live", "chat v2", "judgeboard worker", cls="jb-say")
    assert read(page_store, get_version, "chat v2").model == "qwen3-8b"
    assert text_with(app, "before chat v2", "chat v1 until")
    # The rule keeps its place.
    assert list(app.dataframe[0].value["Judge"]) == ["chat v2", "lexical v1"]
    assert app.dataframe[0].value["Model"][0] == "qwen3-8b"
    press(app, "judging_set_live")
    assert text_with(app, "already", "chat v2", cls="jb-note")
    app.text_input(key="judging_name").set_value("second")
    enter(app, "judging_judge", "New judge: rag (groundedness and quality)")
    # No model is named.
    assert app.button(key="judging_add").disabled
    enter(app, "judging_model", "another-model")
    press(app, "judging_add")
    # The next rule does not get this model unnoticed.
    assert not app.text_input(key="judging_model").value
    judges = [each.version.title for each in rule_progress(page_store)]
    assert judges == ["chat v2", "lexical v1", "rag v2"]


def test_a_press_changes_no_other_rule_than_the_one_that_was_shown(
    open_page, page_rows, page_store
):
    names = "first", "**second** ![](http://example.org/x.png)"
    for name in names:
        add_rule(page_store, name, judge={"kind": "lexical"}, actor="Mara")
    app = open_page("judging")
    change_rule(page_store, JudgingRule, "first", RuleState.REMOVED, "Jon")
    add_rule(page_store, "third", judge={"kind": "lexical"}, actor="Jon")
    press(app, "judge_removed")
    assert [each.rule.name for each in rule_progress(page_store)] == [names[1], "third"]
    assert [each.rule.name for each in rule_progress(page_store, name="third")] == ["third"]
    # The name is text, not markdown.
    assert as_label("**second**") in labels(app)[1]


def test_only_the_level_of_the_chosen_rule_is_computed(open_page, page_store, monkeypatch):
    written = {"when": "level", "to": ("slack:env:SLACK_URL",), "below": 0.7}
    for name in ("first", "second", "third"):
        add_alert_rule(page_store, name, AlertSettings(**written), "Mara")
    computed = []

    def recorded(_connection, rule):
        computed.append(rule.name)
        return [f"Figure of {rule.name}."]

    monkeypatch.setattr("judgeboard.alerts.levels.levels_now", recorded)
    assert text_with(open_page("alerts"), "Figure of first.")
    assert {*computed} == {"first"}


def alert_form(open_page, name, to, condition):
    """Open the page Alerts, and fill in the fields that each rule needs."""
    app = open_page("alerts")
    enter(app, "alert_name", name)
    enter(app, "alert_to", to)
    return enter(app, "alert_when", condition)


def alert_rules(store):
    return read(store, list_rules, AlertRule)


@pytest.mark.parametrize(
    ("to", "why"),
    [("webhook:https://example.org/S3CRET", "webhook"), ("command", "JUDGEBOARD_ALERT_COMMAND")],
)
def test_a_destination_that_cannot_be_used_is_said_without_its_secret_and_not_stored(
    open_page, page_rows, page_store, to, why
):
    app = alert_form(open_page, "flags", to, "open_flags")
    app.number_input(key="alert_above_open_flags").set_value(0.0)
    press(app.run(), "alert_add")
    assert text_with(app, why, cls="jb-note")
    assert "S3CRET" not in shown(app)
    assert not alert_rules(page_store)


def test_an_alert_rule_is_added_tested_paused_and_removed(open_page, page_rows, page_store):
    app = alert_form(open_page, "`flags`", "slack:env:SLACK_URL", "open_flags")
    app.number_input(key="alert_above_open_flags").set_value(0.0)
    press(app.run(), "alert_add")
    assert text_with(app, "Added: `flags`.", "judgeboard worker", cls="jb-say")
    assert text_with(app, note("unset_webhooks", variables=["SLACK_URL"]).text, cls="jb-wrong")
    # The form is ready for the next rule.
    assert not app.text_input(key="alert_name").value
    [rule] = alert_rules(page_store)
    assert (rule.name, rule.condition, rule.by) == ("`flags`", "open_flags", "Mara")
    press(open_page("alerts"), "alert_test")
    [[_, name, kind, state, why, to, attempts]] = table_rows(open_page("alerts"), "Message")
    assert (name, kind, to, state) == ("`flags`", "test", "slack:env:SLACK_URL", "failed")
    assert attempts == 1
    assert "SLACK_URL" in why
    later = datetime.now(UTC)
    with page_store.writing() as connection:
        id_ = store_delivery(connection, rule.id, MessageKind.TEST, {}, rule.destinations[0], later)
        begin_attempt(connection, get_delivery(connection, id_), later, later)
        end_attempt(connection, id_, None, is_last=False, now=later)
        register_worker(connection, "w")
    check(page_store, later)
    app = open_page("alerts")
    [event] = table_rows(app, "Since")
    assert event[1:] == ["`flags`", event[2], 1]
    press(app, "alert_removed")
    assert not [each for each in open_page("alerts").dataframe if "Condition" in each.value]


def test_a_level_of_a_criterion_is_added_and_shows_its_figure_now(
    open_page, page_store, monkeypatch
):
    monkeypatch.setenv("TEAMS_URL", "https://example.org/S3CRET")
    log = GradedLog(page_store)
    ids = log.answers(12, day=20_000)
    log.say_all(log.version(), ids, groundedness=1.0)
    log.say_all(log.version("rubric"), ids, scores=(DimensionScore("completeness", 2, "1-5"),))
    app = alert_form(open_page, "complete", "slack:env:TEAMS_URL", "level")
    # The address itself is a secret.
    assert text_with(app, "TEAMS_URL", cls="jb-cap")
    assert "S3CRET" not in shown(app)
    assert text_with(app, CONDITIONS[AlertCondition.LEVEL].words)
    *measures, of_rubric = app.selectbox(key="alert_measure").options
    assert [words.lower() for words in measures] == [
        MEASURES[each].words.lower() for each in LEVEL_MEASURES
    ]
    enter(app, "alert_measure", of_rubric)
    # A level has no threshold of its own.
    assert app.button(key="alert_add").disabled
    app.text_input(key="alert_last").set_value("1d")
    app.number_input(key="alert_level").set_value(3.5)
    press(app.run(), "alert_add")
    [rule] = alert_rules(page_store)
    level = rule.level
    assert level.criterion == "completeness"
    assert level.direction == "below"
    assert level.days == 1
    assert rule.threshold == 3.5
    app = open_page("alerts")
    assert text_with(app, "Now: ", "completeness", "rubric")


def test_the_addresses_that_are_set_are_named_to_leads_alone(open_page, page_rows, monkeypatch):
    monkeypatch.setenv("TEAMS_URL", "https://example.org/S3CRET")
    assert "TEAMS_URL" not in shown(open_page("alerts", reviewer=""))
