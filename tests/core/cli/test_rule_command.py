"""`judgeboard rule`: add, list, pause, resume and remove rules of every kind."""

import csv
import io

from alert_checks import check
from judgeboard.cli.app import run
from judgeboard.store.rules import list_rules
from judgeboard.store.tables import RULES
from judging_log import address, store_answers

JUDGE = "rule add judge live --judge lexical"
ALERT = "rule add alert old --when old_flags --after 2d --to webhook:env:HOOK"
PUSH = "rule add push phoenix --url http://localhost:6006"


def stored(store):
    """Return the state of each stored rule, as the workers read it, by kind and name."""
    with store.reading() as connection:
        return {
            f"{kind} {rule.name}": rule.state.value
            for kind, rules in RULES.items()
            for rule in list_rules(connection, rules)
        }


def test_a_rule_of_each_kind_is_paused_resumed_and_removed_by_its_name(store, typed):
    store_answers(store, 1)
    for line in (JUDGE, ALERT, PUSH):
        typed(line)
    names = {"live": "judge live", "old": "alert old", "phoenix": "push phoenix"}
    states = dict.fromkeys(names.values(), "active")
    assert stored(store) == states
    assert {each.partition(" ")[0] for each in states} == {*RULES}
    for word, state in (("pause", "paused"), ("resume", "active"), ("remove", "removed")):
        for name, rule in names.items():
            assert typed(f"rule {word} {name}") == f"{rule}: {state}\n"
            states[rule] = state
            assert stored(store) == {each: now for each, now in states.items() if now != "removed"}
    assert typed("rule list --json")["rules"] == []
    for line in (JUDGE, ALERT, PUSH):
        typed(line)  # the names are free again


def test_a_name_of_two_kinds_is_changed_only_with_the_kind(sqlite_store, typed):
    store_answers(sqlite_store, 1)
    for line in (JUDGE, ALERT.replace("old ", "live "), PUSH):
        typed(line)
    refusal = typed("rule pause live", code=2)
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
    assert "judge live: removed" in typed("rule remove live --kind judge")
    assert "alert live: active" in typed("rule resume live")  # one kind has the name now
    error = typed("rule pause nothing", code=2)
    assert "'nothing'; known: live (alert)," in error
    assert "'live'; known: none" in typed("rule pause live --kind judge", code=2)


def test_one_table_has_the_rules_of_all_kinds_with_what_waits_or_the_problem(sqlite_store, typed):
    store_answers(sqlite_store, 3)
    for line in (
        f"{JUDGE} --existing",
        ALERT,
        "rule add alert workers --when missing_worker --to webhook:env:HOOK",
    ):
        typed(line)
    typed(f"{PUSH} --what reviews,gold --source log --name team")
    check(sqlite_store)
    names = [["judge", "live"], ["alert", "old"], ["alert", "workers"], ["push", "team"]]
    head, *rows = csv.reader(io.StringIO(typed("rule list --csv")))
    assert head == ["Kind", "Name", "What it does", "State", "Problem or waiting"]
    assert [row[:2] for row in rows] == names
    waiting = ["3 answers waiting", "0 open events", "1 open event", "0 items waiting"]
    assert [row[3:] for row in rows] == [["no worker", each] for each in waiting]
    shown = typed("rule list").splitlines()
    assert [line.split("  ")[0] for line in shown[1:5]] == [row[0] for row in rows]
    assert ": workers: 0 " in shown[5]
    assert "start `judgeboard serve" in shown[6]
    rules = typed("rule list --json")["rules"]
    assert [[each["kind"], each["name"], each["does"], each["state"]] for each in rules] == [
        row[:4] for row in rows
    ]
    assert [len(each.get("open", ())) for each in rules] == [0, 0, 1, 0]
    assert [each["name"] for each in typed("rule list --kind alert --json")["rules"]] == [
        "old",
        "workers",
    ]
    assert [each["kind"] for each in typed("rule list team --json")["rules"]] == ["push"]
    assert "last success: never" in typed("rule list team")
    assert "--csv" in typed("rule list --csv --json", code=2)


def test_rules_are_kept_and_show_what_waits(store, typed):
    store_answers(store, 3, query_type="QA")
    assert typed("rule list --kind judge --json")["rules"] == []
    typed(f"{JUDGE} --rate 0.5 --rate QA=1 --max-calls 2 --existing")
    lines = typed("rule list --json")["rules"]
    assert [(line["name"], line["state"], line["waiting"], line["rates"]) for line in lines] == [
        ("live", "no worker", 3, {"QA": 1.0})
    ]
    shown = typed("rule list live")
    assert "50 % (QA: 100" in shown
    assert "waiting: 3 answers" in shown
    assert " 2 calls" in shown


def test_a_stored_judge_version_is_used_and_wrong_words_are_refused(sqlite_store, typed):
    store_answers(sqlite_store, 1)
    typed("judge --judge lexical")
    line = "rule add judge again --judge-version lexical --json --existing"
    added = typed(line)
    assert added["kind"] == "judge"
    assert added["judge"] == "lexical v1"
    assert added["waiting"] == 0
    assert "choose a judge" in typed("rule add judge x", code=2)
    assert "QA=" in typed(f"{JUDGE} --rate QA=", code=2)
