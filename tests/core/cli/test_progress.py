"""Long commands show their progress on a terminal: the units that are done, and how many a second."""

import io
import json
import re
import sys

import pytest

from judgeboard.cli.app import run

ROWS = 1_000


class Terminal(io.StringIO):
    """What a terminal shows."""

    def isatty(self):
        return True


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "log.jsonl"
    rows = (
        {"id": f"a{n}", "question": "how?", "answer": f"so {n}", "contexts": ["p"]}
        for n in range(ROWS)
    )
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def shown(words, monkeypatch, *, terminal=True):
    stream = Terminal() if terminal else io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        patched.setenv("TERM", "xterm")
        patched.setenv("COLUMNS", "160")
        assert run(words) == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())


def test_long_commands_show_units_and_rate_on_a_terminal_alone(log, tmp_path, monkeypatch):
    database = str(tmp_path / "log.db")
    commands = {
        ("import", str(log)): f"{ROWS:,} rows",
        ("judge", "--judge", "lexical"): f"{ROWS}/{ROWS}",
        ("flags", "apply", "--yes"): f"{ROWS}/{ROWS}",
        ("export", "responses", "-o", str(tmp_path / "answers.jsonl")): f"{ROWS}/?",
    }
    for words, units in commands.items():
        text = shown([*words, "--db", database], monkeypatch)
        assert units in text, words
        assert re.search(r"\d/s", text), words
    for words in commands:
        quiet = shown([*words, "--db", database], monkeypatch, terminal=False)
        assert not re.search(r"\d/s", quiet), words
