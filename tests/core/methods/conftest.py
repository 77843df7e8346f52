"""Commands of methods, on the database of the test, and examples."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from command_lines import run_line
from judging_log import address


@pytest.fixture
def command(sqlite_store, capsys, monkeypatch):
    """Return ``command(line, *more, code=0)``: run a command that ends with this code, and return its out and err."""
    monkeypatch.setenv("JUDGEBOARD_DB", address(sqlite_store))

    def typed(line, *more, code=0):
        capsys.readouterr()
        assert run_line(line, *more) == code, capsys.readouterr().err
        return capsys.readouterr()

    return typed


@pytest.fixture
def json_of(command):
    """Return ``json_of(line, *more, code=0)``: what a command prints with --json."""
    return lambda line, *more, code=0: json.loads(command(line, *more, "--json", code=code).out)


@pytest.fixture
def example(monkeypatch):
    """Return ``example(name)``: the module of a script in `examples/`."""

    def load(name):
        file = Path(__file__).parents[3] / "examples" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"{name}_example", file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)  # its dataclasses look themselves up
        spec.loader.exec_module(module)
        return module

    return load
