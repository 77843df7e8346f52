"""Checks of logged answers: flags when an answer is stored, and when the rules are applied again."""

import json
from pathlib import Path

import pytest

from engines import on_sqlite
from judgeboard.cli.app import run
from judgeboard.domain import Decision
from judgeboard.errors import BadInput
from judgeboard.flags.checks import named_checks
from judgeboard.flags.rules import why
from judgeboard.measure.trend import trend
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import reapply_flags
from judgeboard.store.tables import FLAG
from stored_rows import read, rows_of, write_to

CHECKS = """\
checks:
- name: gives a temperature
  regex: '\\d+ °C'
- name: cites
  cites_passage: true
  query_types: [QA]
"""


def check(log, text):
    write_to(log.store, set_setting, "checks", text, "test")


def flags(log):
    rows = rows_of(log.store, FLAG)
    return sorted((row["response_id"], row["details"]["check"], row["state"]) for row in rows)


def apply_again(log, ids):
    write_to(log.store, reapply_flags, ids)


@on_sqlite
def test_an_answer_that_fails_a_check_is_flagged_when_it_is_stored(log):
    check(log, CHECKS)
    (bad,) = log.answers(1, answer="Warm.", query_type="QA")
    (other,) = log.answers(1, answer="Warm.", query_type="Summary")
    log.answers(1, answer="145 °C [1]", query_type="QA")
    assert flags(log) == [
        (bad, "cites", "open"),
        (bad, "gives a temperature", "open"),
        (other, "gives a temperature", "open"),
    ]
    (first, *_) = rows_of(log.store, FLAG)
    assert first["rule"] == "failed_check"
    assert "Warm" not in str(first)  # a flag never repeats a text, which `forget` could not remove
    assert "“gives a temperature” (regex)" in why("failed_check", first["details"], first["params"])


@on_sqlite
def test_a_changed_check_is_applied_to_stored_answers(log):
    (answer,) = log.answers(1, answer="Warm.", query_type="QA")
    assert flags(log) == []
    check(log, CHECKS)
    apply_again(log, [answer])
    apply_again(log, [answer])
    assert flags(log) == [(answer, "cites", "open"), (answer, "gives a temperature", "open")]
    check(
        log, CHECKS.replace("gives a temperature", "says how warm")
    )  # only its name changes: the same check
    apply_again(log, [answer])
    assert flags(log) == [(answer, "cites", "open"), (answer, "gives a temperature", "open")]
    check(log, CHECKS.replace("°C", "°F"))
    apply_again(log, [answer])
    assert flags(log) == [
        (answer, "cites", "open"),
        (answer, "gives a temperature", "open"),
        (answer, "gives a temperature", "superseded"),
    ]
    check(log, None)
    apply_again(log, [answer])
    assert {state for *_, state in flags(log)} == {"superseded"}


@on_sqlite
def test_a_decided_check_stays_decided_and_a_new_check_still_flags(log):
    check(log, CHECKS.partition("- name: cites")[0])
    (answer,) = log.answers(1, answer="Warm.", query_type="QA")
    log.decide(answer, "failed_check", Decision.DISMISS)
    check(log, CHECKS)
    apply_again(log, [answer])
    assert flags(log) == [(answer, "cites", "open"), (answer, "gives a temperature", "dismissed")]


@on_sqlite
def test_a_judgment_does_not_touch_the_flags_of_checks(log):
    check(log, CHECKS)
    (answer,) = log.answers(1, answer="Warm.")
    log.say(log.version(), {answer: {"groundedness": 0.9}})
    assert flags(log) == [(answer, "gives a temperature", "open")]


def test_checks_come_from_a_file_too_and_a_mistake_is_refused(sqlite_log, tmp_path, monkeypatch):
    for text in (
        "checks: [{name: x, regex: '('}]",
        "#" * 60_000,
    ):
        with pytest.raises(BadInput, match="checks"):
            check(sqlite_log, text)
    file = tmp_path / "checks.yaml"
    file.write_text(CHECKS, encoding="utf-8")
    monkeypatch.setenv("JUDGEBOARD_CHECKS", str(file))
    (answer,) = sqlite_log.answers(1, answer="Warm.")
    assert flags(sqlite_log) == [(answer, "gives a temperature", "open")]


def test_the_command_defines_and_counts_and_the_trend_shows_the_share(sqlite_log, tmp_path, capsys):
    database = ["--db", str(sqlite_log.store.engine.url.database)]
    sqlite_log.answers(3, answer="Warm.", day=20_003, query_type="Summary")
    sqlite_log.answers(1, answer="145 °C", day=20_003, query_type="Summary")
    file = tmp_path / "checks.yaml"
    file.write_text(CHECKS, encoding="utf-8")
    assert run(["flags", "checks", str(file), *database]) == 0
    assert run(["flags", "apply", *database]) == 0
    capsys.readouterr()
    assert run(["flags", "checks", "--json", *database]) == 0
    listed = json.loads(capsys.readouterr().out)["checks"]
    assert [(each["name"], each["kind"], each["failing"]) for each in listed] == [
        ("gives a temperature", "regex", 3),
        ("cites", "cites_passage", 0),
    ]
    (panel,) = read(sqlite_log.store, trend, measure="failed_check_share").panels
    assert [(point.estimate.value, point.estimate.n) for point in panel.points] == [(0.75, 4)]
    assert named_checks(
        (Path(__file__).parents[3] / "examples" / "checks.yaml").read_text(encoding="utf-8")
    )
