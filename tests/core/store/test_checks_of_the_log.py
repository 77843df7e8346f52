"""Checks of logged answers: flags when an answer is stored, and when the rules are applied again."""

import json
from pathlib import Path

import pytest

from engines import on_sqlite
from judgeboard.domain import Decision
from judgeboard.errors import BadInput
from judgeboard.flags.checks import named_checks
from judgeboard.flags.rules import why
from judgeboard.measure.trend import trend
from judgeboard.store.settings import set_setting
from judgeboard.store.storing import reapply_flags
from judgeboard.store.tables import FLAG
from judging_log import address
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


def apply_again(log):
    """Apply the rules to the first answer."""
    write_to(log.store, reapply_flags, [1])


CITES, WARM = (1, "cites", "open"), (1, "gives a temperature", "open")


def warm_answer(log, query_type="QA"):
    """Store an answer that fails both checks."""
    return log.answers(1, answer="Warm.", query_type=query_type)[0]


@on_sqlite
def test_an_answer_that_fails_a_check_is_flagged_when_it_is_stored(log):
    check(log, CHECKS)
    warm_answer(log)
    other = warm_answer(log, "Summary")
    log.answers(1, answer="145 °C [1]", query_type="QA")
    assert flags(log) == [CITES, WARM, (other, "gives a temperature", "open")]
    (first, *_) = rows_of(log.store, FLAG)
    assert first["rule"] == "failed_check"
    assert "Warm" not in str(first)  # a flag never repeats a text, which `forget` could not remove
    assert "“gives a temperature” (regex)" in why("failed_check", first["details"], first["params"])


@on_sqlite
def test_a_changed_check_is_applied_to_stored_answers(log):
    warm_answer(log)
    assert flags(log) == []
    check(log, CHECKS)
    apply_again(log)
    apply_again(log)
    assert flags(log) == [CITES, WARM]
    # Only its name changes: the same check.
    check(log, CHECKS.replace("gives a temperature", "says how warm"))
    apply_again(log)
    assert flags(log) == [CITES, WARM]
    check(log, CHECKS.replace("°C", "°F"))
    apply_again(log)
    assert flags(log) == [CITES, WARM, (1, "gives a temperature", "superseded")]
    check(log, None)
    apply_again(log)
    assert {state for *_, state in flags(log)} == {"superseded"}


@on_sqlite
def test_a_decided_check_stays_decided_and_a_new_check_still_flags(log):
    check(log, CHECKS.partition("- name: cites")[0])
    log.decide(warm_answer(log), "failed_check", Decision.DISMISS)
    check(log, CHECKS)
    apply_again(log)
    assert flags(log) == [CITES, (1, "gives a temperature", "dismissed")]


@on_sqlite
def test_a_judgment_does_not_touch_the_flags_of_checks(log):
    check(log, CHECKS)
    log.say_all(log.version(), [warm_answer(log, "Summary")], groundedness=0.9)
    assert flags(log) == [WARM]


def test_checks_come_from_a_file_too_and_a_mistake_is_refused(sqlite_log, tmp_path, monkeypatch):
    for text in ("checks: [{name: x, regex: '('}]", "#" * 60_000):
        with pytest.raises(BadInput, match="checks"):
            check(sqlite_log, text)
    file = tmp_path / "checks.yaml"
    file.write_text(CHECKS, encoding="utf-8")
    monkeypatch.setenv("JUDGEBOARD_CHECKS", str(file))
    warm_answer(sqlite_log, "Summary")
    assert flags(sqlite_log) == [WARM]


def test_the_command_defines_and_counts_and_the_trend_shows_the_share(sqlite_log, tmp_path, shell):
    database = f"--db {address(sqlite_log.store)}"
    sqlite_log.answers(3, answer="Warm.", day=20_003, query_type="Summary")
    sqlite_log.answers(1, answer="145 °C", day=20_003, query_type="Summary")
    file = tmp_path / "checks.yaml"
    file.write_text(CHECKS, encoding="utf-8")
    shell(f"flags checks {file} {database}")
    shell(f"flags apply {database}")
    listed = json.loads(shell(f"flags checks --json {database}"))["checks"]
    assert [(each["name"], each["kind"], each["failing"]) for each in listed] == [
        ("gives a temperature", "regex", 3),
        ("cites", "cites_passage", 0),
    ]
    (panel,) = read(sqlite_log.store, trend, measure="failed_check_share").panels
    assert [(point.estimate.value, point.estimate.n) for point in panel.points] == [(0.75, 4)]
    example = Path(__file__).parents[3] / "examples" / "checks.yaml"
    assert named_checks(example.read_text(encoding="utf-8"))
