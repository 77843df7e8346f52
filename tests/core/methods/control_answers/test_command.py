"""`judgeboard test controls`, as a person types it."""

import json

import pytest

from judgeboard.cli.app import run
from judgeboard.store.engine import Store
from judging_log import address, store_answers


def test_controls_are_made_and_judged(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_answers(sqlite_store, 12)
    db = ["--db", address(sqlite_store)]
    kinds = ["--kinds", "passages_removed, numbers_changed"]
    made = ["test", "controls", "make", *kinds, "--n", "10", *db]
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
