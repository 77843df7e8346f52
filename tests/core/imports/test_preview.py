"""A preview shows the columns and the first records, and stores nothing."""

import io
import json

from judgeboard.domain import Response
from judgeboard.imports.reading import preview


def file_of(count):
    rows = ({"question": f"q{number}", "output": "a" if number % 10 else 7} for number in range(count))
    return io.BytesIO("\n".join(map(json.dumps, rows)).encode())


def test_a_short_file_is_shown_whole():
    shown = preview(file_of(30), name="log.jsonl")
    assert shown.format == "JSON lines"
    assert (shown.rows_read, shown.complete, len(shown.rejected), len(shown.records)) == (30, True, 3, 20)
    assert isinstance(shown.records[0], Response)
    report = {line.ours: line for line in shown.columns}
    assert (report["query"].theirs, report["query"].example) == ("question", "q0")
    assert report["asked_at"].how == "not in the file"


def test_of_a_long_file_the_start_is_read():
    shown = preview(file_of(3000), name="log.jsonl", rows=5)
    assert (shown.rows_read, shown.complete, len(shown.records)) == (1000, False, 5)
    assert {line.ours: line.how for line in shown.columns}["asked_at"] == "not in the first 1,000 rows"


def test_grades_and_verdicts_are_shown_too():
    row = {"response_id": "r", "annotator": "ann", "judge": "j", "quality": 3}
    for kind in ("grades", "verdicts"):
        shown = preview(io.BytesIO(json.dumps(row).encode()), kind=kind, name="x.jsonl")
        assert len(shown.records) == 1
