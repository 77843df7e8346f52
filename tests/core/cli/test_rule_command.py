"""`judgeboard rule`: add, list, pause, resume and remove rules of every kind."""

import csv
import io
import json

from alert_checks import check
from command_lines import run_line
from judgeboard.cli.app import run
from judgeboard.store.rules import list_rules
from judgeboard.store.tables import RULES
from judging_log import address, store_answers

JUDGE = "add judge live --judge lexical"
ALERT = "add alert old --when old_flags --after 2d --to webhook:env:HOOK"
PUSH = "add push phoenix --url http://localhost:6006"


def said(shell, store, line, code=0):
    return shell(f"rule {line} --db {address(store)}", code=code)


def listed(shell, store, line=""):
    return json.loads(said(shell, store, f"list --json {line}"))["rules"]


def stored(store):
    """Return the state of each stored rule, as the workers read it, by kind and name."""
    with store.reading() as connection:
        return {
            f"{kind} {rule.name}": rule.state.value
            for kind, rules in RULES.items()
            for rule in list_rules(connection, rules)
        }


def test_a_rule_of_each_kind_is_paused_resumed_and_removed_by_its_name(store, shell):
    store_answers(store, 1)
    for line in (JUDGE, ALERT, PUSH):
        said(shell, store, line)
    names = {"live": "judge live", "old": "alert old", "phoenix": "push phoenix"}
    states = dict.fromkeys(names.values(), "active")
    assert stored(store) == states
    for word, state in (("pause", "paused"), ("resume", "active"), ("remove", "removed")):
        for name, rule in names.items():
            assert said(shell, store, f"{word} {name}") == f"{rule}: {state}\n"
            states[rule] = state
            assert stored(store) == {each: now for each, now in states.items() if now != "removed"}
    assert listed(shell, store) == []
    for line in (JUDGE, ALERT, PUSH):
        said(shell, store, line)  # the names are free again


def test_a_name_of_two_kinds_is_changed_only_with_the_kind(sqlite_store, shell):
    store_answers(sqlite_store, 1)
    for line in (JUDGE, ALERT.replace("old ", "live "), PUSH):
        said(shell, sqlite_store, line)
    refusal = said(shell, sqlite_store, "pause live", code=2)
    assert "'live': judge and alert" in refusal
    commands = refusal.split("`")[1::2]
    db = f"--db {address(sqlite_store)}"
    assert [command.partition(" live ")[2] for command in commands] == [
        f"{db} --kind judge",
        f"{db} --kind alert",
    ]
    assert set(stored(sqlite_store).values()) == {"active"}
    assert run(commands[1].split()[1:]) == 0
    assert stored(sqlite_store) == {
        "judge live": "active",
        "alert live": "paused",
        "push phoenix": "active",
    }
    assert "judge live: removed" in said(shell, sqlite_store, "remove live --kind judge")
    assert "alert live: active" in said(
        shell, sqlite_store, "resume live"
    )  # one kind has the name now
    error = said(shell, sqlite_store, "pause nothing", code=2)
    assert "'nothing'; known: live (alert)," in error
    assert "'live'; known: none" in said(shell, sqlite_store, "pause live --kind judge", code=2)


def test_one_table_has_the_rules_of_all_kinds_with_what_waits_or_the_problem(sqlite_store, shell):
    store_answers(sqlite_store, 3)
    for line in (
        f"{JUDGE} --existing",
        ALERT,
        "add alert workers --when missing_worker --to webhook:env:HOOK",
    ):
        said(shell, sqlite_store, line)
    said(shell, sqlite_store, f"{PUSH} --what reviews,gold --source log --name team")
    check(sqlite_store)
    names = [["judge", "live"], ["alert", "old"], ["alert", "workers"], ["push", "team"]]
    head, *rows = csv.reader(io.StringIO(said(shell, sqlite_store, "list --csv")))
    assert head == ["Kind", "Name", "What it does", "State", "Problem or waiting"]
    assert [row[:2] for row in rows] == names
    waiting = ["3 answers waiting", "0 open events", "1 open event", "0 items waiting"]
    assert [row[3:] for row in rows] == [["no worker", each] for each in waiting]
    shown = said(shell, sqlite_store, "list").splitlines()
    assert [line.split("  ")[0] for line in shown[1:5]] == [row[0] for row in rows]
    assert ": workers: 0 " in shown[5]
    assert "start `judgeboard serve" in shown[6]
    rules = listed(shell, sqlite_store)
    assert [[each["kind"], each["name"], each["does"], each["state"]] for each in rules] == [
        row[:4] for row in rows
    ]
    assert [len(each.get("open", ())) for each in rules] == [0, 0, 1, 0]
    assert [each["name"] for each in listed(shell, sqlite_store, "--kind alert")] == [
        "old",
        "workers",
    ]
    assert [each["kind"] for each in listed(shell, sqlite_store, "team")] == ["push"]
    assert "last success: never" in said(shell, sqlite_store, "list team")
    assert "--csv" in said(shell, sqlite_store, "list --csv --json", code=2)


def test_rules_are_kept_and_show_what_waits(store, shell):
    store_answers(store, 3, query_type="QA")
    assert listed(shell, store, "--kind judge") == []
    said(shell, store, f"{JUDGE} --rate 0.5 --rate QA=1 --max-calls 2 --existing")
    lines = listed(shell, store)
    assert [(line["name"], line["state"], line["waiting"], line["rates"]) for line in lines] == [
        ("live", "no worker", 3, {"QA": 1.0})
    ]
    shown = said(shell, store, "list live")
    assert "50 % (QA: 100" in shown
    assert "waiting: 3 answers" in shown
    assert " 2 calls" in shown


def test_a_stored_judge_version_is_used_and_wrong_words_are_refused(sqlite_store, shell):
    store_answers(sqlite_store, 1)
    assert run_line(f"judge --judge lexical --db {address(sqlite_store)}") == 0
    line = "add judge again --judge-version lexical --json --existing"
    added = json.loads(said(shell, sqlite_store, line))
    assert (added["kind"], added["judge"], added["waiting"]) == ("judge", "lexical v1", 0)
    assert "choose a judge" in said(shell, sqlite_store, "add judge x", code=2)
    assert "QA=" in said(shell, sqlite_store, f"{JUDGE} --rate QA=", code=2)
