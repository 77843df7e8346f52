"""The report on a judge's health: planted faults are found; a new check needs a function and a line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import health_truth as truth
import pytest

import judgeboard
from engines import on_sqlite
from judgeboard.cli.app import run
from judgeboard.health.record import State
from judgeboard.health.report import CHECKS, measure_health
from judgeboard.store.engine import Store
from judging_log import address

SEEDS = range(20)


@pytest.mark.parametrize(
    "fault", ["first_answer", "wordy", "always_4", "blind", "unparsable", "unstable", "order", "own_family"]
)
def test_a_planted_fault_is_warned_of_with_the_truth_inside_its_interval(fault: str) -> None:
    planted = truth.FAULTS[fault]
    tally = truth.recovered(planted, SEEDS)
    assert tally.inside >= 17
    assert tally.warned[planted.check] >= 19


def test_a_sound_judge_is_hardly_ever_warned_of() -> None:
    tally = truth.false_alarms(SEEDS)
    assert {name: n for name, n in tally.warned.items() if n > 1} == {}
    assert {name for name in CHECKS if not tally.measured[name]} == {"weaker"}, "no size of a gpt-4o is known"


@on_sqlite
@pytest.mark.parametrize("fault", ["order", "unstable"])
def test_a_judge_is_found_out_from_answers_to_report(store: Store, fault: str) -> None:
    version = truth.fill(store, fault, 0, answers=60)
    report = measure_health(store, version.name)
    assert [check.name for check in report.in_state(State.WARNING)] == [truth.FAULTS[fault].check]
    (found,) = report.in_state(State.WARNING)
    assert found.statistic.low <= truth.STORED_TRUTH[fault]() <= found.statistic.high
    assert {check.name for check in report.checks if check.state is State.NOT_MEASURED} == {
        *("self_enhancement", "weaker", "verbosity_at_equal_grades")
    }


def test_the_command_says_the_same_of_a_sound_judge(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    truth.fill(sqlite_store, None, 1, answers=60)
    command = ["test", "health", "sound", "--db", address(sqlite_store)]
    assert run([*command, "--json", "--gate"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in shown["checks"]] == list(CHECKS)
    assert shown["warnings"] == 0
    for check in shown["checks"]:
        assert check.keys() >= {"name", "state", "statistic", "sentence", "command"}
        assert check["statistic"].keys() >= {"value", "low", "high", "n", "method"}
        assert (check["statistic"]["value"] is None) == (check["state"] == "not_measured")
        assert check["state"] != "not_measured" or (check["command"] and check["statistic"]["reason"])
    assert run(command) == 0
    assert "not measured  weaker than the generator: " in capsys.readouterr().out


PACKAGE = Path(judgeboard.__file__).parent
PAGE = PACKAGE.parents[1] / "dashboard" / "judgeboard_dashboard" / "views" / "judges.py"

CHECK = """
from judgeboard.health.record import Check, JudgeRecord, State
from judgeboard.stats.intervals import share_intervals


def haste(record: JudgeRecord) -> Check:
    return Check("haste", State.WARNING, share_intervals(3, 4)[0], f"{record.version.title} is hasty.", "sleep 1")
"""
USE = """
import sys
from judgeboard.cli.app import run
from streamlit.testing.v1 import AppTest

for arguments in (["import", "log.jsonl"], ["judge", "--judge", "lexical"]):
    assert run(arguments) == 0, arguments
for arguments in ([], ["--json"]):
    print("@@")
    print(run(["test", "health", "lexical", "--gate", *arguments]))
print("@@")
page = AppTest.from_file(sys.argv[1], default_timeout=60).run()
assert not page.exception, page.exception
print([element.value for element in (*page.markdown, *page.get("html"), *page.code)])
"""


def test_a_check_is_a_file_and_a_line(tmp_path: Path) -> None:
    package = tmp_path / "judgeboard"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "health" / "haste.py").write_text(CHECK, encoding="utf-8")
    report = package / "health" / "report.py"
    text = report.read_text(encoding="utf-8")
    for old, new in (
        ("from judgeboard.health.family import", "from judgeboard.health.haste import haste\n"),
        ('        "family": family,\n', '        "haste": haste,\n'),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new + old)
    report.write_text(text, encoding="utf-8")
    row = {"id": "1", "query": "q", "answer": "a", "passages": ["a"]}
    (tmp_path / "log.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")

    path = os.pathsep.join((str(tmp_path), str(PAGE.parents[2])))
    environment = os.environ | {"PYTHONPATH": path, "JUDGEBOARD_DB": str(tmp_path / "judgeboard.db")}
    done = subprocess.run(
        [sys.executable, "-c", USE, str(PAGE)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, command, as_json, page = done.stdout.split("@@\n")
    assert "warning  haste: lexical v1 is hasty.\n    for more data: sleep 1" in command
    assert command.rstrip().endswith("\n1"), "the gate fails"
    check = json.loads(as_json[: as_json.rindex("}") + 1])["checks"][0]
    assert (check["name"], check["state"], check["statistic"]["value"]) == ("haste", "warning", 0.75)
    for shown in ("(haste", "<b>Haste</b>", "lexical v1 is hasty.", "sleep 1"):
        assert shown in page
