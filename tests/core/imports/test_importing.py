"""Files come into the store whole, once, and say what became of every row; rejected rows are kept."""

import gzip
import io
import json
import tracemalloc
from pathlib import Path

import pytest

from engines import on_sqlite
from judgeboard.domain import Rejected
from judgeboard.imports import importing
from judgeboard.imports.importing import import_file
from judgeboard.imports.reading import read_records
from judgeboard.imports.rejected_rows import RejectedFile, rejected_path
from judgeboard.store.forgetting import forget_response
from judgeboard.store.overview import count_log
from judgeboard.store.storing import list_batches
from judgeboard.store.tables import FEEDBACK, IMPORT_BATCH, RESPONSE
from stored_rows import read, row_count, values_of, write_to
from tool_files import counts


@pytest.fixture
def write(tmp_path):
    """Return ``write(name, rows)``, which writes rows to a file; a text is a line as it is."""

    def written(name, *rows):
        path = tmp_path / name
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return written


def rows_in(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def answer(number, **more):
    return {
        "id": f"a{number}",
        "query": f"question {number}",
        "answer": f"answer {number}",
        "context": ["p"],
        **more,
    }


@pytest.fixture
def log(store, write):
    path = write("log.jsonl", *(answer(number) for number in range(5)))
    import_file(store, path)
    return path


def test_a_second_import_changes_nothing_and_says_since_when(store, log):
    again = import_file(store, log)
    assert counts(again) == (0, 5, 0)
    assert again.before is not None
    assert list(log.parent.glob("*.rejected.jsonl")) == []
    assert row_count(store, IMPORT_BATCH) == 1


@on_sqlite
def test_bad_rows_never_stop_the_good_ones_and_are_kept_with_their_reason(store, write, tmp_path):
    rows = answer(1), "{broken", answer(2, answer=7), "", answer(3), answer(1)
    summary = import_file(store, write("log.jsonl", *rows))
    assert counts(summary) == (2, 1, 2)
    assert summary.rejected_file == tmp_path / "log.jsonl.rejected.jsonl"
    rejected = rows_in(summary.rejected_file)
    assert [row["line"] for row in rejected] == [2, 3]
    assert all(row["reason"] for row in rejected)


@on_sqlite
def test_rejected_rows_of_an_earlier_import_are_named_as_such(store, write):
    path = write("log.jsonl", answer(1), answer(2, answer=7))
    rejected = import_file(store, path).rejected_file
    write(path.name, answer(1), answer(2))
    assert import_file(store, path).older_file == rejected
    # It may be of another database.
    assert rejected.exists()
    write(rejected.name, {"kept": "by a person"})
    assert import_file(store, path).older_file is None
    write(path.name, answer(1), answer(2, answer=7))
    rejected.unlink()
    again = import_file(store, path)
    assert (again.rejected_file, again.older_file) == (rejected, None)


def test_a_known_id_with_other_content_is_rejected_and_not_overwritten(store, log, write):
    summary = import_file(store, write("other.jsonl", answer(1, answer="changed"), answer(9)))
    assert (summary.new, summary.rejected, summary.differing) == (1, 1, 1)
    assert values_of(store, RESPONSE.c.answer, RESPONSE.c.external_id == "a1") == ["answer 1"]
    (kept,) = rows_in(summary.rejected_file)
    assert (kept["line"], kept["row"]["answer"]) == (1, "changed")
    assert kept["reason"].startswith("'a1' ")
    assert kept["reason"].endswith(": answer differs")


@on_sqlite
def test_a_forgotten_response_names_no_field_that_differs(store, log, write):
    write_to(store, forget_response, "a1", actor="Ada")
    summary = import_file(store, write("other.jsonl", answer(1, answer="changed")))
    (row,) = summary.first_differing
    assert "'a1'" in row.reason
    assert "differs" not in row.reason


def test_new_feedback_on_a_known_row_is_added_once(store, log, write):
    path = write("feedback.jsonl", answer(1, feedback="down"))
    for added in (1, 0):
        assert import_file(store, path).feedback_added == added
    assert row_count(store, FEEDBACK) == 1


@on_sqlite
def test_a_dry_run_says_what_would_happen_and_leaves_nothing(store, log, write, tmp_path):
    path = write("more.jsonl", answer(1), answer(2, answer="changed"), answer(7), "{")
    summary = import_file(store, path, dry_run=True)
    assert (counts(summary), summary.differing) == ((1, 1, 2), 1)
    assert row_count(store, RESPONSE) == 5
    assert not (tmp_path / "more.jsonl.rejected.jsonl").exists()


def test_an_import_that_was_stopped_tells_how_many_rows_it_stored(store, write, monkeypatch):
    monkeypatch.setattr(importing, "BATCH_ROWS", 2)

    def stop_after_two_batches(rows, _share):
        if rows == 4:
            raise KeyboardInterrupt

    path = write("log.jsonl", *map(answer, range(7)))
    with pytest.raises(KeyboardInterrupt):
        import_file(store, path, on_progress=stop_after_two_batches)
    [batch] = read(store, list_batches)
    assert (
        (batch.counts["new"], batch.finished_at) == (row_count(store, RESPONSE), None) == (4, None)
    )
    import_file(store, path)
    latest, _ = read(store, list_batches)
    assert (latest.counts["new"], latest.finished_at is None) == (3, False)


@on_sqlite
def test_a_dry_run_counts_no_flags(store, write):
    path = write("poor.jsonl", answer(1, feedback="down"))
    assert [import_file(store, path, dry_run=dry_run).flags for dry_run in (True, False)] == [0, 1]


GRADE = {"response_id": "a1", "annotator": "Ada", "quality": 2}


@on_sqlite
def test_what_is_forgotten_is_unchanged_where_its_files_come_in_again(store, log, write):
    verdict = {
        "response_id": "a1",
        "judge": "one",
        "quality": 2,
        "reasoning": "It says more.",
        "raw": "2",
    }
    files = {
        "responses": log,
        "verdicts": write("verdicts.jsonl", verdict),
        "grades": write("grades.jsonl", {**GRADE, "note": "Too much."}),
    }
    for kind, file in files.items():
        import_file(store, file, kind=kind)
    write_to(store, forget_response, "a1", actor="Ada")
    for kind, file in files.items():
        again = import_file(store, file, kind=kind)
        assert counts(again) == (0, again.rows, 0), kind
    other = write("other.jsonl", {**verdict, "quality": 3})
    assert import_file(store, other, kind="verdicts").differing == 1


@on_sqlite
def test_an_id_in_two_sources_is_rejected_naming_both(store, log, write):
    import_file(store, write("shop.jsonl", answer(1)), source="shop")
    path = write("grades.jsonl", GRADE)
    summary = import_file(store, path, kind="grades")
    assert "'default' and 'shop'" in summary.first_rejected[0].reason
    assert import_file(store, path, kind="grades", source="shop").new == 1


@on_sqlite
def test_a_file_that_breaks_off_leaves_whole_batches_and_the_next_run_completes_them(
    store, tmp_path
):
    rows = "\n".join(json.dumps(answer(number)) for number in range(2500))
    packed = gzip.compress(rows.encode())
    broken = tmp_path / "log.jsonl.gz"
    broken.write_bytes(packed[: len(packed) // 2])
    first = import_file(store, broken)
    assert first.unreadable is not None
    assert 0 < first.new == row_count(store, RESPONSE) < 2500
    broken.write_bytes(packed)
    assert counts(import_file(store, broken)) == (2500 - first.new, first.new, 0)


def test_a_batch_keeps_who_brought_it_and_what_became_of_it(store, log):
    (batch,) = read(store, list_batches)
    assert (batch.file, batch.kind, batch.actor) == ("log.jsonl", "responses", "library")
    assert batch.counts == {
        "rows": 5,
        "new": 5,
        "unchanged": 0,
        "feedback_added": 0,
        "rejected": 0,
        "conflicts": 0,
    }
    assert batch.finished_at is not None


@on_sqlite
def test_an_id_is_made_of_the_content_where_no_column_is_the_id_of_an_answer(store, write):
    without = {"query": "why?", "answer": "because"}
    named = write("named.jsonl", without | {"id": "a1"})
    assert import_file(store, write("bare.jsonl", without)).id_from_content
    assert not import_file(store, named).id_from_content
    assert not import_file(store, write("grades.jsonl", GRADE), kind="grades").id_from_content


LINES = [
    json.dumps({"id": f"a{n}", "question": "q", "answer": f"answer {n}"}) for n in range(3)
] + ["{broken"]


def upload():
    return io.BytesIO("\n".join(LINES).encode())


def test_rejected_rows_are_handed_over_in_a_dry_run_too(sqlite_store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    for dry_run in (True, False):
        rejected = []
        summary = import_file(
            sqlite_store, upload(), name="log.jsonl", dry_run=dry_run, on_rejected=rejected.append
        )
        assert (summary.new, [one.line for one in rejected]) == (3, [4])
        assert summary.rejected_file is None
    again = import_file(sqlite_store, upload(), name="other.jsonl", on_rejected=rejected.append)
    assert (counts(again), again.before is None) == ((0, 3, 1), False)
    assert {path.name for path in set(tmp_path.iterdir()) - before} <= {
        "judgeboard.db-wal",
        "judgeboard.db-shm",
    }


def file_of(count):
    rows = (
        {"question": f"q{number}", "output": "a" if number % 10 else 7} for number in range(count)
    )
    return io.BytesIO("\n".join(map(json.dumps, rows)).encode())


def test_the_first_rejected_rows_are_kept_and_the_whole_file_is_counted(sqlite_store):
    summary = import_file(sqlite_store, file_of(3000), name="log.jsonl", dry_run=True)
    assert summary.format == "JSON lines"
    assert (summary.rows, summary.rejected, len(summary.first_rejected)) == (3000, 300, 20)
    report = {line.ours: line for line in summary.columns}
    assert (report["query"].theirs, report["query"].example) == ("question", "q0")
    assert report["asked_at"].theirs is None
    assert read(sqlite_store, count_log) == 0


def test_the_file_stands_beside_the_imported_one():
    assert rejected_path("logs/may.csv") == Path("logs/may.csv.rejected.jsonl")
    assert rejected_path("-") == Path("stdin.rejected.jsonl")


def test_rows_are_written_with_line_field_and_reason(tmp_path):
    path = tmp_path / "log.rejected.jsonl"
    row = {"query": "q", "answer": "\ud83d\0"}
    with RejectedFile(path) as file:
        file.add(Rejected(3, "answer", "no answer", row))
        file.add(Rejected(9, None, "not finite", {"x": float("inf")}))
    assert rows_in(path) == [
        {"line": 3, "field": "answer", "reason": "no answer", "row": row},
        {"line": 9, "field": None, "reason": "not finite", "row": "{'x': inf}"},
    ]
    assert file.count == 2


def rejected_in(path, *lines):
    """Write rejected rows with these numbers of lines."""
    with RejectedFile(path) as file:
        for line in lines:
            file.add(Rejected(line, None, "not JSON", "x"))
    return file


def test_a_place_that_cannot_be_written_is_said_and_stops_nothing(tmp_path):
    file = rejected_in(tmp_path / "missing" / "log.rejected.jsonl", 1, 2)
    assert file.count == 2
    assert "--rejected PATH" in file.problem


@pytest.mark.parametrize("content", [b'{"query": "q", "answer": 5}\n', b"SQLite format 3\0"])
def test_a_file_of_anything_else_is_never_replaced(tmp_path, content):
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    file = rejected_in(path, 1)
    assert path.read_bytes() == content
    assert str(path) in file.problem


def test_an_older_file_of_rejected_rows_is_replaced(tmp_path):
    path = tmp_path / "log.rejected.jsonl"
    for line in (1, 2):
        rejected_in(path, line)
    assert [row["line"] for row in rows_in(path)] == [2]


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="only Linux has a device that is always full"
)
def test_a_full_disk_is_said_and_stops_nothing():
    assert "--rejected PATH" in rejected_in(Path("/dev/full"), 1).problem


ROWS = 2_000
TEXT = "x" * 7500


class Endless(io.RawIOBase):
    """A file of 15 MB that is made while it is read."""

    def __init__(self, kind):
        self._parts = iter(parts(kind))
        self._rest = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._rest and (part := next(self._parts, None)):
            self._rest = part
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def parts(kind):
    if kind == "csv":
        yield b"id,query,answer\n"
        yield from (f"{number},q,{TEXT}\n".encode() for number in range(ROWS))
        return
    before, between, end = {"jsonl": ("", "", ""), "json": ("[", ",", "]")}[kind]
    for number in range(ROWS):
        row = json.dumps({"id": number, "query": "q", "answer": TEXT})
        yield f"{between if number else before}{row}\n".encode()
    yield end.encode()


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_a_file_of_15_mb_is_read_in_4(kind):
    stream = Endless(kind)
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_records(stream, name=f"log.{kind}"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == ROWS
    assert peak < 4_000_000
