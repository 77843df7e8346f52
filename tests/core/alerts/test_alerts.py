"""Alert rules on both engines, with a real webhook: events open, remind and resolve by a clock of the test's own."""

import logging
import re
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from alert_checks import check
from engines import on_sqlite
from graded_log import GradedLog, read
from judgeboard.alerts import events
from judgeboard.alerts.conditions import CONDITIONS
from judgeboard.alerts.delivery import deliver, send
from judgeboard.alerts.events import evaluate, follow
from judgeboard.alerts.rules import add_alert_rule, quiet_hours
from judgeboard.cli.app import run
from judgeboard.domain import AlertCondition, MessageKind, RuleState, Status
from judgeboard.errors import BadInput
from judgeboard.runs.judging_rules import add_rule
from judgeboard.runs.rules import change_rule
from judgeboard.runs.worker import Worker
from judgeboard.settings import masking
from judgeboard.settings.sections import AlertSettings
from judgeboard.store.alerts import (
    begin_attempt,
    due_deliveries,
    end_attempt,
    latest_deliveries,
    open_events,
    store_delivery,
)
from judgeboard.store.jobs import register_worker, remove_worker
from judgeboard.store.rules import list_rules, rule_named
from judgeboard.store.tables import (
    ALARM,
    ALERT_DELIVERY,
    ALERT_EVENT,
    ALERT_RULE,
    GENERATION,
    TRACE,
    AlertRule,
)
from judging_log import address, until
from stored_rows import insert_row, rows_of, write_to

START = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
TO_HOOK = ("webhook:env:HOOK_URL",)


def add(store, name="workers", when="missing_worker", **fields):
    settings = AlertSettings(**{"when": when, "to": TO_HOOK} | fields)
    add_alert_rule(store, name, settings, "Mara", START)


def rules(store):
    return read(store, list_rules, AlertRule)


def test_an_event_sends_one_message_a_reminder_and_a_resolved_message(store, hook):
    add(store, remind="2h")
    for minute in (0, 1, 9):
        check(store, START + minute * MINUTE)
    assert hook.kinds == ["opened"]
    [body] = hook.bodies
    shown = {"title": "Alert: workers", "rule": "workers", "condition": "missing_worker"}
    assert body == body | shown | {"threshold": 1}
    assert re.findall(r"\d+", body["text"]) == ["0", "1", "1"]
    assert hook.requests[0]["idempotency-key"] == body["id"]
    check(store, START + 2 * HOUR)
    assert hook.kinds == ["opened", "reminder"]
    later = START + 2 * HOUR + MINUTE
    write_to(store, register_worker, "w")
    check(store, later)
    # A short recovery is not the end.
    assert hook.kinds == ["opened", "reminder"]
    later += 5 * MINUTE
    check(store, later)
    assert hook.kinds == ["opened", "reminder", "resolved"]
    assert re.findall(r"2026-11-23 (\d\d:\d\d)", hook.bodies[2]["text"])[:2] == ["14:00", "12:00"]
    write_to(store, remove_worker, "w")
    check(store, later + 9 * HOUR)
    # The worker is gone again.
    assert hook.kinds == ["opened", "reminder", "resolved", "opened"]
    assert len({body["id"] for body in hook.bodies}) == 4


def test_quiet_hours_hold_messages_back_and_drop_what_began_and_ended_in_them(sqlite_store, hook):
    add(sqlite_store, quiet="13:00-15:00 Europe/Berlin", remind="never")  # 12:00 to 14:00 UTC
    check(sqlite_store, START)
    write_to(sqlite_store, register_worker, "w")
    check(sqlite_store, START + 10 * MINUTE)
    write_to(sqlite_store, remove_worker, "w")
    check(sqlite_store, START + HOUR)
    assert hook.kinds == []
    check(sqlite_store, START + 2 * HOUR)
    assert hook.kinds == ["opened"]
    assert hook.bodies[0]["opened_at"] == "2026-11-23T13:00:00+00:00"
    check(sqlite_store, START + 50 * HOUR)
    assert hook.kinds == ["opened"]
    over_midnight = quiet_hours("22:00-07:00")
    hours = [hour for hour in range(24) if over_midnight.include(START.replace(hour=hour))]
    assert hours == [0, 1, 2, 3, 4, 5, 6, 22, 23]


def test_a_message_is_tried_again_with_back_off_and_fails_in_the_end(sqlite_store, hook):
    add(sqlite_store, remind="never")
    hook.status = 503
    tries = []
    for minute in (0, 1, 2, 6, 7, 21, 22, 81, 82, 321, 400):
        before = len(hook.bodies)
        check(sqlite_store, START + minute * MINUTE)
        tries += [minute] * (len(hook.bodies) - before)
    assert tries == [0, 2, 7, 22, 82]
    assert len({body["id"] for body in hook.bodies}) == 1
    [(_, delivery)] = read(sqlite_store, latest_deliveries)
    assert (delivery.kind, delivery.state, delivery.attempts) == ("opened", "failed", 5)
    assert "503" in delivery.error


@on_sqlite
def test_a_rule_has_a_problem_until_its_latest_message_is_sent(store, hook):
    add(store, remind="never", to=(*TO_HOOK, "slack:env:HOOK_URL"))
    problems = []
    for minute, status in ((0, 503), (1, 503), (2, 200), (3, 200)):
        hook.status = status
        check(store, START + minute * MINUTE)
        problems.append(rules(store)[0].problem)
    assert [problem is not None and "503" in problem for problem in problems] == [
        *(False, True),
        *(True, False),
    ]


def test_figures_are_looked_at_once_an_hour_also_while_a_message_is_not_sent(
    sqlite_store, hook, monkeypatch
):
    looks = []
    monkeypatch.setattr(events, "watch", lambda *_, **__: looks.append(1))
    hook.status = 503
    judge = GradedLog(sqlite_store).version()
    insert_row(
        sqlite_store, ALARM, {"judge_version": judge.id}, measure="unusable", query_type="QA"
    )
    add(sqlite_store, when="alarm", remind="never")
    for minute in range(8):
        check(sqlite_store, START + minute * MINUTE)
    [rule] = rules(sqlite_store)
    assert (rule.problem is not None, len(looks)) == (True, 1)


def test_a_killed_process_sends_again_later_with_the_same_id_and_two_processes_send_once(
    store, hook
):
    add(store, to=(*TO_HOOK, "slack:env:HOOK_URL"))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda now: evaluate(store, now, every=timedelta(0)), [START] * 4))
    due = read(store, due_deliveries, START)
    [(_, event)] = read(store, open_events)
    assert [each.destination for each in due] == [*TO_HOOK, "slack:env:HOOK_URL"]
    assert event.messages == 1
    with store.writing() as connection:  # one process begins an attempt, and is killed
        assert begin_attempt(connection, due[0], START, START + 2 * MINUTE)
        # Another process finds it taken.
        assert not begin_attempt(connection, due[0], START, START + 2 * MINUTE)
    check(store, START + MINUTE)
    # Only the other destination.
    assert [body.get("kind") for body in hook.bodies] == [None]
    check(store, START + 2 * MINUTE)
    check(store, START + 9 * MINUTE)
    assert [body.get("id") for body in hook.bodies] == [None, due[0].message_id]


def test_of_two_processes_that_read_one_message_one_sends_it(store, hook):
    add(store)
    evaluate(store, START, every=timedelta(0))
    [due] = read(store, due_deliveries, START)
    for _ in range(2):
        deliver(store, due, START)
    assert hook.kinds == ["opened"]
    # What is known to be sent stays sent, though another attempt fails later.
    write_to(store, end_attempt, due.id, "timeout", is_last=True, now=START)
    assert read(store, latest_deliveries)[0][1].state == "sent"


def test_a_test_message_is_left_to_the_process_that_stored_it(sqlite_store):
    add(sqlite_store)
    with sqlite_store.writing() as connection:
        rule = rule_named(connection, AlertRule, "workers")
        store_delivery(connection, rule.id, MessageKind.TEST, {}, TO_HOOK[0], START)
        assert due_deliveries(connection, START) == []


def test_what_a_paused_or_removed_rule_would_send_is_not_sent(sqlite_store, hook):
    add(sqlite_store, "paused")
    add(sqlite_store, "removed")
    hook.status = 503
    check(sqlite_store, START)
    hook.status = 200
    change_rule(sqlite_store, AlertRule, "paused", RuleState.PAUSED, "Mara")
    change_rule(sqlite_store, AlertRule, "removed", RuleState.REMOVED, "Mara")
    check(sqlite_store, START + HOUR)
    assert len(hook.bodies) == 2
    change_rule(sqlite_store, AlertRule, "paused", RuleState.ACTIVE, "Mara")
    check(sqlite_store, START + HOUR)
    assert [body["rule"] for body in hook.bodies] == ["paused", "removed", "paused"]


def test_each_condition_finds_its_subjects_and_says_so(store):
    log, now = GradedLog(store), datetime.now(UTC)
    judge, other = log.version("rag"), log.version("other")
    ids = log.answers(30)
    log.say_all(judge, ids[:20], status=Status.ERROR, cost_micro=150_000)
    log.say_all(other, ids[:20], groundedness=1.0)
    add_rule(store, "live", judge={"kind": "lexical"}, existing=True, actor="Mara")
    for name in ("shop", "desk"):
        insert_row(store, TRACE, {}, external_id=name, source=name, last_at=now - 2 * HOUR)
    paid = {"cost_micro": 1_000_000, "created_at": now}
    insert_row(store, GENERATION, {"run": log.run(judge, {})}, **paid)
    ids = {"judge_version": judge.id}
    alarm = insert_row(store, ALARM, ids, measure="unusable", query_type="QA")
    fields = {
        "alarm": {},
        "old_flags": {"after": "1h", "above": 19},
        "open_flags": {"above": 19},
        "waiting_answers": {"above": 29, "only": ("live",)},
        "unusable_verdicts": {},
        "spend": {"above": 3.5},
        "silent_source": {"only": ("shop",)},
        "missing_worker": {},
        "level": {"judge": "other", "above": 0.9},
    }
    assert fields.keys() == CONDITIONS.keys()
    for name, more in fields.items():
        add(store, name, name, **more)
    later = now + 2 * HOUR if (now + 2 * HOUR).date() == now.date() else now
    evaluate(store, later)
    found = dict(read(store, open_events))
    assert {
        name: event.subject
        for name, event in found.items()
        if name not in {"waiting_answers", "old_flags"}
    } == {
        "alarm": f"alarm {alarm}",
        "unusable_verdicts": "rag",
        "open_flags": "",
        "spend": "",
        "silent_source": "shop",
        "missing_worker": "",
        "level": "",
    }
    for name, parts in {
        "alarm": ("unusable", "QA"),
        "waiting_answers": ("30", "live"),
        "unusable_verdicts": ("rag", "100 % [84, 100]", "20"),
        "open_flags": ("20", "19"),
        "spend": ("$ 4.00", "$ 3.50", "20"),
        "silent_source": ("shop", f"{now - 2 * HOUR:%Y-%m-%d %H:%M}", "1 h"),
        "missing_worker": ("0", "1 min"),
        "level": ("other", "20", "1.00", "0.9"),
        **({} if later == now else {"old_flags": ("20", "1 h", "19")}),
    }.items():
        assert all(part in found[name].sentence for part in parts), found[name]


@on_sqlite
def test_each_event_of_a_rule_keeps_its_own_sentence(store):
    for name in ("shop", "desk"):
        insert_row(store, TRACE, {}, external_id=name, source=name, last_at=START)
    add(store, "sources", "silent_source")
    for hours in (2, 3):
        evaluate(store, START + hours * HOUR, every=timedelta(0))
    events = [event for _, event in read(store, open_events)]
    assert sorted(event.subject for event in events) == ["desk", "shop"]
    assert all(event.subject in event.sentence for event in events)


def test_a_rule_that_cannot_be_evaluated_says_so_and_the_others_go_on(
    sqlite_store, hook, monkeypatch
):
    fault = "the setting is not usable"

    def fail(*_arguments):
        raise BadInput(fault)

    add(sqlite_store, "first", "open_flags", above=0)
    add(sqlite_store, "second", remind="never")
    condition = AlertCondition.OPEN_FLAGS
    broken = CONDITIONS | {condition: replace(CONDITIONS[condition], met=fail)}
    with monkeypatch.context() as patched:
        patched.setattr(events, "CONDITIONS", broken)
        check(sqlite_store)
    assert [rule.problem for rule in rules(sqlite_store)] == [fault, None]
    assert [body["rule"] for body in hook.bodies] == ["second"]
    check(sqlite_store)
    assert [rule.problem for rule in rules(sqlite_store)] == [None, None]


def test_no_secret_is_stored_or_logged(sqlite_store, hook, caplog):
    caplog.set_level(logging.DEBUG)
    add(sqlite_store, remind="1h")
    for hours, status in enumerate((200, 404, 302)):
        hook.status = status
        check(sqlite_store, START + hours * HOUR)
    assert hook.requests[0]["path"].endswith("S3CRET")
    rows = [rows_of(sqlite_store, table) for table in (ALERT_RULE, ALERT_EVENT, ALERT_DELIVERY)]
    assert "S3CRET" not in repr(rows) + caplog.text


@on_sqlite
def test_a_worker_follows_the_rules(store, hook, monkeypatch):
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.01)
    add(store, "flags", when="open_flags", above=0)
    log = GradedLog(store)
    log.say_all(log.version(), log.answers(1), status=Status.ERROR)
    worker = Worker(store)
    worker.start()
    until(lambda: hook.kinds == ["opened"], "the message")
    worker.stop()


def test_a_webhook_that_does_not_answer_delays_no_evaluation(sqlite_store, monkeypatch):
    seconds, waits = [0.0], []

    def take(duration):
        seconds.append(seconds[-1] + duration)

    class Closing(threading.Event):
        def wait(self, timeout=None):
            waits.append(timeout)
            return len(waits) == 4

    evaluations = iter([0.1, 1, 60])
    monkeypatch.setattr(events, "time", SimpleNamespace(monotonic=lambda: seconds[-1]))
    monkeypatch.setattr(events, "evaluate", lambda *_arguments, **_options: take(next(evaluations)))
    monkeypatch.setattr(events, "deliver_due", lambda *_arguments: take(10))
    follow(sqlite_store, "rules", "worker", Closing())
    assert waits == pytest.approx([0, 5, 20, 300])


SERVER, SENDER, COMMAND = "JUDGEBOARD_SMTP", "JUDGEBOARD_SMTP_FROM", "JUDGEBOARD_ALERT_COMMAND"
TO_MAIL = "email:ops@example.org"


@pytest.mark.parametrize(
    ("destination", "settings", "missing"),
    [
        ("command", {}, [COMMAND]),
        ("command", {COMMAND: " "}, [COMMAND]),
        (TO_MAIL, {}, [SERVER, SENDER]),
        (TO_MAIL, {SENDER: "jb@example.org"}, [SERVER]),
        (TO_MAIL, {SERVER: "smtp://mail.example.org"}, [SENDER]),
        (TO_MAIL, {SERVER: "smtp://mail.example.org", SENDER: "jb"}, [SENDER]),
    ],
)
def test_a_destination_without_its_setting_is_refused_with_the_command_that_sets_it(
    sqlite_store, capsys, monkeypatch, destination, settings, missing
):
    words = ["rule", "add", "alert", "old flags", "--when", "old_flags", "--to", destination]
    words += ["--db", address(sqlite_store)]
    monkeypatch.setattr(masking, "_forms", ())  # another case has made the example a known secret
    for variable, value in settings.items():
        monkeypatch.setenv(variable, value)
    assert run(words) == 2
    refusal = capsys.readouterr().err
    assert f"to: {destination}: " in refusal
    suggested = shlex.split(refusal.split("`")[1])
    examples = dict(example.split("=") for example in suggested[: len(missing)])
    assert [*examples, *suggested[len(missing) :]] == [*missing, "judgeboard", *words]
    assert rules(sqlite_store) == []
    for variable, example in examples.items():
        monkeypatch.setenv(variable, example)
    assert run(words) == 0


@pytest.mark.parametrize(
    ("destination", "variable", "value", "reason"),
    [
        (TO_MAIL, SERVER, "garbage", "the environment variable JUDGEBOARD_SMTP has no smtp:// or "),
        (
            TO_MAIL,
            SERVER,
            "smtp://mara:S3CRET@mail.example.org",
            "JUDGEBOARD_SMTP has a password: use smtps://",
        ),
        (
            "command",
            COMMAND,
            "tee 'S3CRET",
            "JUDGEBOARD_ALERT_COMMAND is not a command: a quotation mark is missing",
        ),
    ],
)
def test_a_destination_whose_setting_is_not_usable_is_refused_as_sending_to_it_would_be(
    sqlite_store, monkeypatch, destination, variable, value, reason
):
    monkeypatch.setenv(SENDER, "jb@example.org")
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadInput, match=f"^to: {destination}: ") as added:
        add(sqlite_store, to=(destination,))
    with pytest.raises(BadInput) as sent:
        send(destination, {"id": "5d0c"})
    assert str(added.value) == f"to: {destination}: {sent.value}"
    assert reason in str(sent.value)
    assert "S3CRET" not in str(sent.value)
    assert rules(sqlite_store) == []


def test_the_commands_keep_rules_and_check_them(sqlite_store, hook, shell):
    def said(line, code=0):
        return shell(f"rule {line}", "--db", address(sqlite_store), code=code)

    said("list --kind alert")
    other_hour = f"{datetime.now(UTC) + 12 * HOUR:%H}"
    quiet = f"{other_hour}:00-{other_hour}:01"  # not now
    options = f"--when missing_worker --to {TO_HOOK[0]} --quiet {quiet} --remind 2h"
    added = said(f"add alert workers {options}")
    assert all(
        part in added for part in ("alert workers: no worker", TO_HOOK[0], "missing_worker < 1")
    )
    assert "'workers'" in said(f"add alert workers {options}", code=2)
    assert "webhook:env:HOOK_URL: sent" in said("test workers")
    assert hook.kinds == ["test"]
    hook.status = 503
    said("test workers", code=1)
    assert read(sqlite_store, latest_deliveries)[0][1].state == "failed"  # and is not tried again
    hook.status = 200
    check(sqlite_store)
    shown = said("list")
    assert "open since" in shown
    assert "0 workers running" in shown
    for fields, reason in {
        "--when spend --to command": "above: spend",
        "--when alarm --above 3 --to command": "above: ",
        "--when alarm --to slack:https://hooks.slack.com/S3CRET": "slack:env:",
        "--when alarm --to email:nobody": "e-mail",
        "--when alarm --to command --quiet late": "quiet: 'late'",
        "--when alarm --to command --remind soon": "'soon'",
    }.items():
        refusal = said(f"add alert bad {fields}", code=2)
        assert reason in refusal
        assert "S3CRET" not in refusal
    said("pause workers")
    assert "alert workers: paused" in said("list workers")
    sent = list(hook.kinds)
    check(sqlite_store)
    said("resume workers")
    check(sqlite_store)
    assert hook.kinds == sent
    said("remove workers")
    kinds = [(each.kind, each.state) for _, each in read(sqlite_store, latest_deliveries)]
    assert (MessageKind.OPENED, "sent") in kinds
