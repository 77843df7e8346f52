"""What the README calls "a file and a line" is one: added to a copy of the package in exactly that way, it works."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import judgeboard

PACKAGE = Path(judgeboard.__file__).parent

RULE = """
from judgeboard.flags.rule import Reason, Rule, Signals, Thresholds


def reason(signals: Signals, thresholds: Thresholds) -> Reason | None:
    answer = signals.texts.answer if signals.texts else None
    return Reason("shouted", 0.3, {"length": len(answer)}) if answer and answer.isupper() else None


RULE = Rule("shouted", reason, lambda details, params: f"{details['length']} capital letters.", True, reads_texts=True)
"""
JUDGE = """
from judgeboard.domain import JudgeVersion, Status, Verdict


class Contrary:
    version = JudgeVersion(name="contrary", kind="contrary", scale="0-1")
    endpoint_host = None
    priced = True

    async def judge(self, item):
        return Verdict(Status.OK, groundedness=0.25, reasoning="No.")

    async def aclose(self):
        pass
"""
PROVIDER = """
from judgeboard.llm.openai_provider import body, read
from judgeboard.llm.provider import Provider

OTHER = Provider("other", "https://other.example/v1", "/talk", body, read, headers=lambda key: {"x-other": key})
"""
ASK = """
import asyncio, json
from judgeboard.runs.judging import make_judge
from judgeboard.domain import JudgeInput
from judgeboard.llm.recording_endpoint import RecordingEndpoint

async def ask(judge):
    verdict = await judge.judge(JudgeInput(1, "q", "a", ("p",)))
    await judge.aclose()
    return verdict

with RecordingEndpoint() as endpoint:
    judge = make_judge("rag", provider="other", base_url=endpoint.base_url, model="oth-1")
    verdict = asyncio.run(ask(judge))
    sent = endpoint.requests[0]
print(json.dumps([verdict.status, sent.path, sent.headers["x-other"], "authorization" in sent.headers]))
"""


class Copy:
    """A copy of the package that takes a new file and a new line."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "judgeboard"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def add(self, file: str, text: str, table: str, *changes: tuple[str, str]) -> None:
        (self.package / file).write_text(text, encoding="utf-8")
        path = self.package / table
        listed = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert listed.count(old) == 1, old
            listed = listed.replace(old, new)
        path.write_text(listed, encoding="utf-8")

    def run(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={"PYTHONPATH": str(self.folder), "PATH": "", **environment},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def judgeboard(self, *arguments: str) -> str:
        return self.run("-c", "from judgeboard.cli import main; main()", *arguments, "--db", "log.db")


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def rows(copy: Copy) -> Path:
    log = copy.folder / "log.jsonl"
    given: list[dict[str, Any]] = [
        {"id": "1", "question": "Is it loud?", "answer": "YES", "context": ["Very."]},
        {"id": "2", "question": "Is it loud?", "answer": "no", "context": ["Not at all."]},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in given))
    return log


def test_a_rule_that_reads_the_answers_text(copy: Copy) -> None:
    copy.add(
        "flags/shouted.py",
        RULE,
        "flags/rules.py",
        ("    random_sample,\n", "    random_sample,\n    shouted,\n"),
        ("    random_sample.RULE,\n", "    random_sample.RULE,\n    shouted.RULE,\n"),
    )
    copy.judgeboard("import", str(rows(copy)))
    assert '"shouted"' in copy.judgeboard("stats", "--json")
    with closing(sqlite3.connect(copy.folder / "log.db")) as database:
        flags = database.execute("SELECT details FROM flag WHERE rule = 'shouted'").fetchall()
    assert [json.loads(details) for (details,) in flags] == [{"length": 3}]


def test_a_judge(copy: Copy) -> None:
    line = '        "grade": make_grade_judge,\n'
    imported = "from judgeboard.judges.grade"
    copy.add(
        "judges/contrary.py",
        JUDGE,
        "judges/kinds.py",
        (line, f'{line}        "contrary": lambda _options: Contrary(),\n'),
        (imported, f"from judgeboard.judges.contrary import Contrary\n{imported}"),
    )
    copy.judgeboard("import", str(rows(copy)))
    copy.judgeboard("judge", "--judge", "contrary")
    assert "contrary v1" in copy.judgeboard("versions", "list")


def test_a_provider(copy: Copy) -> None:
    imported = "from judgeboard.llm.openai_provider"
    copy.add(
        "llm/other_provider.py",
        PROVIDER,
        "llm/endpoint.py",
        ("(OPENAI, ANTHROPIC)", "(OPENAI, ANTHROPIC, OTHER)"),
        (imported, f"from judgeboard.llm.other_provider import OTHER\n{imported}"),
    )
    answer = json.loads(copy.run("-c", ASK, OTHER_API_KEY="k-other", OPENAI_API_KEY="k-openai"))
    assert answer == ["ok", "/v1/talk", "k-other", False]
    assert "OTHER_API_KEY" in copy.judgeboard("config")
