"""The commands for drafts, and what `judgeboard mcp` says if it cannot start."""

import builtins
import json

import pytest

from agent_client import Agent
from judgeboard.cli.app import run
from judgeboard.mcp.route import endpoints
from judgeboard.store.tables import REVIEW
from queue_case import queue_case
from stored_rows import row_count


@pytest.fixture
def mcp(sqlite_store):
    """Return ``mcp(words)``, which runs `judgeboard mcp` on a database with an answer."""
    queue_case(sqlite_store).flagged(0.1)
    return lambda *words: run(["mcp", *words, "--db", str(sqlite_store.engine.url.database)])


def test_drafts_are_listed_confirmed_and_dismissed_by_command(mcp, sqlite_store, capsys):
    agent = Agent(sqlite_store)
    for note in ("first \x1b[31mred", "second"):
        agent.data("draft_review", answer="1", review={"note": note})
    assert mcp("drafts") == 0
    printed = capsys.readouterr().out
    assert "first" in printed
    assert "\x1b" not in printed
    assert mcp("confirm", "1") == 0
    assert mcp("dismiss", "2") == 0
    assert row_count(sqlite_store, REVIEW) == 1
    capsys.readouterr()
    assert mcp("drafts", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"drafts": []}
    assert mcp("confirm", "1") == 2
    assert "confirmed already" in capsys.readouterr().err
    assert mcp("confirm", "99") == 2


def test_without_the_extra_the_command_names_it_and_the_route_is_missing(mcp, monkeypatch, capsys):
    imported = builtins.__import__

    def without(name, *arguments, **options):
        if name == "judgeboard.mcp.server":
            raise ModuleNotFoundError("No module named 'mcp'", name="mcp")
        return imported(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    assert mcp() == 2
    assert "judgeboard[mcp]" in capsys.readouterr().err
    monkeypatch.setattr("judgeboard.mcp.route.find_spec", lambda _name: None)
    assert endpoints(None) == ()


def test_a_missing_database_is_an_error_and_not_a_message(tmp_path, capsys):
    assert run(["mcp", "--db", str(tmp_path / "none.db")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "none.db" in printed.err
