"""The list of tools: each line stands for a module, commands know its names, and nothing loads the tools too early."""

import subprocess
import sys
from pathlib import Path

from judgeboard import tools as package
from judgeboard.cli import push as commands
from judgeboard.registry.tools import KNOWN_TOOLS, tools
from judgeboard.tools.pull import known_histories
from judgeboard.tools.push import known_targets


def test_every_module_of_a_tool_has_its_line():
    modules = [
        path.stem
        for path in Path(package.__file__).parent.glob("*.py")
        if "\nTOOL = " in path.read_text()
    ]
    assert sorted(line.module for line in KNOWN_TOOLS) == sorted(modules)


def test_commands_offer_each_tool_that_they_can_use_under_its_name():
    for line, tool in zip(KNOWN_TOOLS, tools(), strict=True):
        assert line.push == (tool.target and tool.target.name), line
        assert line.pull == (tool.history and tool.history.target.name), line
    pushed, pulled = (
        next(each.type.choices for each in command.params if each.name == "tool")
        for command in (commands.push_command, commands.pull_command)
    )
    assert pushed == ("phoenix", "mlflow", "langfuse", "langsmith", "label-studio", "otlp")
    assert set(known_targets()) == set(pushed)
    assert pulled == ("phoenix", "mlflow", "langfuse", "langsmith")
    assert set(known_histories()) == set(pulled)


def test_tools_are_loaded_where_a_file_must_be_recognised_and_load_no_httpx(tmp_path):
    """httpx and Protobuf take longer to load than all tools."""
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"question": "q", "answer": "a"}\n')
    code = f"""
import sys
from judgeboard.cli.app import run
from judgeboard.imports.reading import read_records
def loaded():
    print(*sorted({{"judgeboard.tools.langfuse", "httpx", "google.protobuf"}} & sys.modules.keys()))
run(["push", "--help"])
loaded()
list(read_records({str(plain)!r}, format="jsonl"))
loaded()
list(read_records({str(plain)!r}))
loaded()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-3:] == ["", "", "judgeboard.tools.langfuse"]
