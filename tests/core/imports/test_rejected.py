"""Rejected rows are written beside their file, whatever they hold, and only where there are any."""

import json
from pathlib import Path

import pytest

from judgeboard.domain import Rejected
from judgeboard.imports.importing import RejectedFile, rejected_path


def test_the_file_stands_beside_the_imported_one():
    assert rejected_path("logs/may.csv") == Path("logs/may.csv.rejected.jsonl")
    assert rejected_path("-") == Path("stdin.rejected.jsonl")


def test_rows_are_written_with_line_field_and_reason(tmp_path):
    path = tmp_path / "log.rejected.jsonl"
    rows = [
        Rejected(3, "answer", "no answer", {"query": "q", "answer": "\ud83d\0"}),
        Rejected(9, None, "not finite", {"x": float("inf")}),
    ]
    with RejectedFile(path) as file:
        for row in rows:
            file.add(row)
    first, second = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    assert first == {"line": 3, "field": "answer", "reason": "no answer", "row": {"query": "q", "answer": "\ud83d\0"}}
    assert (second["line"], second["row"]) == (9, "{'x': inf}")
    assert file.count == 2


def test_nothing_is_written_where_nothing_was_rejected(tmp_path):
    with RejectedFile(tmp_path / "log.rejected.jsonl") as file:
        pass
    assert file.count == 0
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_and_stops_nothing(tmp_path):
    with RejectedFile(tmp_path / "missing" / "log.rejected.jsonl") as file:
        file.add(Rejected(1, None, "not JSON", "x"))
        file.add(Rejected(2, None, "not JSON", "x"))
    assert file.count == 2
    assert file.problem is not None
    assert "--rejected PATH" in file.problem


@pytest.mark.parametrize("content", [b'{"query": "q", "answer": 5}\n', b"SQLite format 3\0"])
def test_a_file_of_anything_else_is_never_replaced(tmp_path, content):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with RejectedFile(path) as file:
        file.add(Rejected(1, None, "not JSON", "x"))
    assert path.read_bytes() == content
    assert "not a file of rejected rows" in file.problem


def test_an_older_file_of_rejected_rows_is_replaced(tmp_path):
    path = tmp_path / "log.rejected.jsonl"
    for line in (1, 2):
        with RejectedFile(path) as file:
            file.add(Rejected(line, None, "not JSON", "x"))
    assert [json.loads(text)["line"] for text in path.read_text("utf-8").splitlines()] == [2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_said_and_stops_nothing():
    with RejectedFile(Path("/dev/full")) as file:
        file.add(Rejected(1, None, "not JSON", "x"))
    assert "--rejected PATH" in file.problem
