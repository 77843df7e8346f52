"""`judgeboard test controls`, as a person types it."""

import json
from pathlib import Path

import pytest

from judgeboard.cli.app import run
from judgeboard.store.engine import Store
from judging_log import address, store_answers


def test_controls_are_made_and_judged(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_answers(sqlite_store, 12)
    db = ["--db", address(sqlite_store)]
    made = [
        "test",
        "controls",
        "make",
        "--kinds",
        "passages_removed, numbers_changed",
        "--n",
        "10",
        *db,
    ]
    assert run(made) == 0
    assert "passages_removed: 10 made\n" in capsys.readouterr().out
    assert run([*made, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["made"] == 0
    assert shown["kinds"][1] == {
        "kind": "numbers_changed",
        "effect": "known_bad",
        "made": 0,
        "known": 10,
    }
    judge = ["test", "controls", "judge", "--judge", "lexical", *db, "--json"]
    assert run(judge) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {name: shown[name] for name in ("ok", "unparsable", "error", "not_reached", "cost")} == {
        "ok": shown["asked"],
        "unparsable": 0,
        "error": 0,
        "not_reached": 0,
        "cost": 0,
    }
    assert run(judge[:-1]) == 0
    assert "nothing to judge" in capsys.readouterr().out


def test_what_is_missing_is_named(
    tmp_path: Path, sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", address(sqlite_store)]
    assert run(["test", "controls", "judge", "--judge", "lexical", *db]) == 2
    assert "controls make" in capsys.readouterr().err
    assert run(["test", "controls", "make", "--kinds", "worse", *db]) == 2
    assert "passages_removed" in capsys.readouterr().err
    assert run(["test", "controls", "make", "--db", str(tmp_path / "none.db")]) == 2
    store_answers(sqlite_store, 2)
    assert run(["test", "controls", "make", "--kinds", "hedges_removed", *db]) == 0
    assert "suitable answers: 0" in capsys.readouterr().out
