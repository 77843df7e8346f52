"""Commands of methods, on the database of the test."""

import json

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
