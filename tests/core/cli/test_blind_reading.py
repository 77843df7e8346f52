"""Who types is a reviewer too: exports and figures of a terminal leave out what they are to review blind."""

import json
from pathlib import Path

import pytest

from judgeboard.cli.app import run
from judgeboard.cli.terminal import actor
from judgeboard.domain import QueueOrder
from judgeboard.filters import RowFilter
from judgeboard.review import ensure_reviewer
from judgeboard.store.engine import Store
from marked_answer import mark_answer
from queue_desk import queue_desk


def blind_desk(store: Store) -> str:
    desk = queue_desk(store)
    mark_answer(store, desk.ada)
    me = ensure_reviewer(store, "cli", actor())
    desk.queue(where=RowFilter(ids=("marked",)), blind_judge=True, order=QueueOrder.OLDEST, assigned=(me,))
    return str(store.engine.url.database)


def test_an_export_leaves_out_what_its_user_reviews_blind_and_says_how_many(
    sqlite_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = blind_desk(sqlite_store)
    assert run(["export", "all", "-o", str(tmp_path / "out"), "--db", db]) == 0
    assert "left out: 1 answer that you are to review blind and have not" in capsys.readouterr().err
    files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()}
    assert [name for name, text in files.items() if "mark-" in text] == []
    assert "plain-reasoning" in files["judgments.jsonl"]


def test_figures_count_the_others(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    db = blind_desk(sqlite_store)
    assert run(["stats", "--json", "--db", db]) == 0
    assert json.loads(capsys.readouterr().out)["responses"] == 1
