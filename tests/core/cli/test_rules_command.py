"""`judgeboard rules`: add, list, pause, resume and remove judging rules."""

import json
from typing import Any

import pytest

from judgeboard.cli.app import run
from judgeboard.store.engine import Store
from judging_log import address, store_answers


def said(capsys: pytest.CaptureFixture[str], store: Store, *words: str, code: int = 0) -> str:
    assert run(["rules", *words, "--db", address(store)]) == code
    streams = capsys.readouterr()
    return streams.out if code == 0 else streams.err


def test_rules_are_kept_and_show_what_waits(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store_answers(store, 3, query_type="QA")
    assert "There are no judging rules yet" in said(capsys, store, "list")
    rates = ("--rate", "0.5", "--rate", "QA=1", "--max-calls", "2")
    said(capsys, store, "add", "live", "--judge", "lexical", *rates, "--existing")
    lines: list[dict[str, Any]] = json.loads(said(capsys, store, "list", "--json"))["rules"]
    assert [(line["name"], line["state"], line["waiting"], line["rates"]) for line in lines] == [
        ("live", "no worker", 3, {"QA": 1.0})
    ]
    shown = said(capsys, store, "list")
    assert "50 % (QA: 100 %) of all answers" in shown
    assert "waiting: 3 answers" in shown
    assert "per day: 2 calls" in shown
    said(capsys, store, "pause", "live")
    assert "live: paused" in said(capsys, store, "list")
    said(capsys, store, "resume", "live")
    said(capsys, store, "remove", "live")
    assert json.loads(said(capsys, store, "list", "--json")) == {"rules": []}


def test_a_stored_judge_version_is_used_and_wrong_words_are_refused(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_answers(sqlite_store, 1)
    assert run(["judge", "--judge", "lexical", "--db", address(sqlite_store)]) == 0
    capsys.readouterr()
    added = json.loads(said(capsys, sqlite_store, "add", "again", "--judge-version", "lexical", "--json", "--existing"))
    assert (added["judge"], added["waiting"]) == ("lexical v1", 0)
    assert "choose a judge" in said(capsys, sqlite_store, "add", "x", code=2)
    assert "is not a number" in said(capsys, sqlite_store, "add", "x", "--judge", "lexical", "--rate", "QA=", code=2)
    assert "no judging rule 'x'; known: again" in said(capsys, sqlite_store, "pause", "x", code=2)
