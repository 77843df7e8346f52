"""A dry run keeps the first records and stores nothing."""

import io
import json

from judgeboard.domain import Response
from judgeboard.imports.importing import import_file
from judgeboard.store.engine import Store
from judgeboard.store.overview import count_responses


def file_of(count):
    rows = ({"question": f"q{number}", "output": "a" if number % 10 else 7} for number in range(count))
    return io.BytesIO("\n".join(map(json.dumps, rows)).encode())


def test_the_first_records_are_kept_and_the_whole_file_is_counted(sqlite_store: Store):
    summary = import_file(sqlite_store, file_of(3000), name="log.jsonl", dry_run=True)
    assert summary.format == "JSON lines"
    assert (summary.rows, summary.rejected, len(summary.first_records), len(summary.first_rejected)) == (
        3000,
        300,
        20,
        20,
    )
    assert isinstance(summary.first_records[0], Response)
    report = {line.ours: line for line in summary.columns}
    assert (report["query"].theirs, report["query"].example) == ("question", "q0")
    assert report["asked_at"].how == "not in the file"
    with sqlite_store.reading() as connection:
        assert count_responses(connection) == 0


def test_grades_and_verdicts_are_kept_too(sqlite_store: Store):
    row = {"response_id": "r", "annotator": "ann", "judge": "j", "quality": 3}
    for kind in ("grades", "verdicts"):
        file = io.BytesIO(json.dumps(row).encode())
        summary = import_file(sqlite_store, file, kind=kind, name="x.jsonl", dry_run=True)
        assert len(summary.first_records) == 1
