"""A file that came over a page is imported without leaving anything on the disk of the server."""

import io
import json
from pathlib import Path

import pytest

from judgeboard.domain import Rejected
from judgeboard.imports.importing import import_file
from judgeboard.store.engine import Store

LINES = [json.dumps({"id": f"a{n}", "question": "q", "answer": f"answer {n}"}) for n in range(3)] + ["{broken"]


def upload() -> io.BytesIO:
    return io.BytesIO("\n".join(LINES).encode())


def test_rejected_rows_are_handed_over_in_a_dry_run_too(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    for dry_run in (True, False):
        rejected: list[Rejected] = []
        summary = import_file(sqlite_store, upload(), name="log.jsonl", dry_run=dry_run, on_rejected=rejected.append)
        assert (summary.new, [one.line for one in rejected]) == (3, [4])
        assert summary.rejected_file is None
    assert {path.name for path in set(tmp_path.iterdir()) - before} <= {"judgeboard.db-wal", "judgeboard.db-shm"}


def test_the_same_upload_again_is_known(sqlite_store: Store) -> None:
    import_file(sqlite_store, upload(), name="log.jsonl", on_rejected=lambda _row: None)
    again = import_file(sqlite_store, upload(), name="other-name.jsonl", on_rejected=lambda _row: None)
    assert (again.new, again.unchanged) == (0, 3)
    assert again.before is not None
