"""The help of a command names what the command takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_commands import every_command
from judgeboard.cli.app import root, run
from judgeboard.registry.judge_kinds import JUDGES
from judgeboard.store.filters import WHERE_FIELDS, parse_where


def help_of(name, capsys):
    assert run([*name.split(), "--help"]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_list_of_commands_shows_whole_sentences(capsys, monkeypatch):
    """A first click is chosen by this line, and a cut sentence hides what decides it."""
    monkeypatch.setenv("COLUMNS", "80")
    groups = {(), *(path[:-1] for path in every_command(root))}
    for group in sorted(groups):
        assert run([*group, "--help"]) == 0
        listed = capsys.readouterr().out
        assert not re.findall(r"^  [a-z-]+  +[A-Z].*\.\.\.$", listed, re.MULTILINE), group


@pytest.mark.parametrize("name", ["judge", "test audit", "refine reflect", "refine"])
def test_every_field_of_where_is_explained_in_the_help_and_every_example_of_one_is_a_field(
    name, capsys
):
    text = help_of(name, capsys)
    assert (
        " ".join(f"{field}: {words}" for field, words in WHERE_FIELDS.items())
        in text.partition("Fields: ")[2]
    )
    for example in text.partition("Example:")[2].split("--where ")[1:]:
        parse_where([example.split()[0]])


def test_a_help_has_every_option_by_group(shell):
    whole = shell("judge -h")
    titles = [
        line.rstrip(":")
        for line in whole.splitlines()
        if line.endswith(":") and not line.startswith(" ")
    ]
    assert titles == ["Options", "Judge", "Model", "Calls", "Selection", "Output and database"]
    assert all(
        option in whole
        for option in ("--rejudge", "--temperature", "--max-cost", "--where", "--config")
    )


def test_every_kind_of_judge_is_in_the_help(capsys):
    text = help_of("judge", capsys)
    assert all(kind in text.partition("--judge-version")[0] for kind in JUDGES)


@pytest.mark.parametrize("name", ["compare pairs", "compare ssr"])
def test_a_missing_file_is_said_before_a_missing_key(name, tmp_path, shell, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    pairs, database = tmp_path / "none.jsonl", tmp_path / "judgeboard.db"
    error = shell(f"{name} --pairs {pairs} --model m --db {database}", code=2)
    assert "none.jsonl" in error
    assert "key" not in error
    assert not database.exists()


def test_a_command_loads_no_module_of_another_command():
    code = (
        "import sys; from judgeboard.cli.app import run; run(['labels', 'rate', '-h']); "
        "print(sorted(name for name in sys.modules if name.startswith('judgeboard.cli.')))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    used = ("app", "groups", "labels", "options")
    assert printed.splitlines()[-1] == str([f"judgeboard.cli.{name}" for name in used])


def test_the_installed_command_ends_with_the_exit_code_of_the_command_line():
    """Other tests run commands in their own process, or fork them."""
    installed = Path(sys.executable).with_name("judgeboard")
    codes = [
        subprocess.run([installed, words], capture_output=True, check=False).returncode
        for words in ("-h", "-x")
    ]
    assert codes == [0, 2]


def test_a_misspelt_command_names_similar_ones(shell):
    assert "'rate'" in shell("labels ratee", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    {
        "labels plan --reach 7": "'--reach': 7 is not allowed: the number must be above 0 and below 1. "
        "For 7 %, write 0.07.",
        "labels stand --agreement 90": "must be above 0 and below 1. For 90 %, write 0.9.",
        "agreement --epsilon -1": "must be at least 0 and at most 1.\n",
        "judge --max-cost 0": "must be above 0.\n",
        "judge --timeout 1h": "'--timeout': must be a number, not '1h'",
    }.items(),
)
def test_a_number_out_of_range_is_refused_with_the_range_and_a_percentage_with_its_share(
    words, message, shell
):
    assert message in shell(words, code=2)
