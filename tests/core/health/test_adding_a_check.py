"""A check of judges is a file and a line in CHECKS: command, JSON and page then show it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import judgeboard

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
    print(run(["health", "--judge-version", "lexical", "--gate", *arguments]))
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
    assert "warning  haste: lexical v1 is hasty.\n    sleep 1" in command
    assert command.rstrip().endswith("\n1"), "the gate fails"
    check = json.loads(as_json[: as_json.rindex("}") + 1])["checks"][0]
    assert (check["name"], check["state"], check["statistic"]["value"]) == ("haste", "warning", 0.75)
    for shown in ("(haste", "<b>Haste</b>", "lexical v1 is hasty.", "sleep 1"):
        assert shown in page
