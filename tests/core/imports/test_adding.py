"""A format or a kind of import is added with one file and one line."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from judgeboard.cli.import_command import kind_lines
from judgeboard.formats.files import FORMATS, Format, write_rows, write_whole
from judgeboard.imports.importing import import_file
from judgeboard.imports.kinds import KINDS, Kind
from judgeboard.store.engine import Store
from judgeboard.store.overview import count_log
from judgeboard_dashboard.widgets.imports import columns_table

DOCS = Path(__file__).parents[3] / "docs"

FORMAT = '''
"""Text with a bar between question and answer."""

from judgeboard.formats.files import byte_lines
from judgeboard.formats.files import Row


def read(source):
    for number, line in enumerate(byte_lines(source.chunks()), start=1):
        question, _, answer = line.decode().strip().partition("|")
        yield Row(number, {"question": question, "answer": answer})


def write(rows, columns, stream):
    count = 0
    for row in rows:
        stream.write("|".join(str(row[column.name]) for column in columns).encode() + b"\\n")
        count += 1
    return count
'''

KIND = '''
"""Questions and answers as a tracing tool logs them."""

from judgeboard.domain import Response
from judgeboard.imports.kinds import ImportKind, Stored
from judgeboard.store.storing import store_responses


class TraceImport(ImportKind):
    columns = {"trace": ("trace",), "asked": ("asked", "q"), "said": ("said",)}
    needed = ("trace", "asked", "said")
    brings_answers = True

    def build(self, cells):
        texts = (cells.required_text("asked"), cells.required_text("said"))
        return Response(self.source, cells.required_name("trace"), *texts)

    def store(self, connection, records, now):
        stored = store_responses(connection, records, self.batch_id, now)
        return Stored(len(stored.new), stored.unchanged)
'''


TITLE = "questions of a tracing tool"


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two files in a folder of their own, and a line for each."""
    (tmp_path / "bars.py").write_text(FORMAT, encoding="utf-8")
    (tmp_path / "traces.py").write_text(KIND, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("bars", "traces"):  # an earlier test's files are deleted
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(FORMATS, "bars", Format("bars", (".bars",), "bars"))
    monkeypatch.setitem(KINDS, "traces", Kind("traces:TraceImport", "Traces", "trace", TITLE))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch):
    """The command as it is when it is loaded with the new lines."""
    monkeypatch.delitem(sys.modules, "judgeboard.cli.import_command", raising=False)
    from judgeboard.cli.app import run

    return run


def test_a_new_format_is_read_and_written_by_the_commands(
    added, command, tmp_path: Path, capsys
) -> None:
    log, database = tmp_path / "log.bars", str(tmp_path / "new.db")
    log.write_text("which wall?|the left one\nwhen?|today\n", encoding="utf-8")
    assert command(["import", str(log), "--format", "bars", "--db", database]) == 0
    assert "2 new" in capsys.readouterr().out
    # The format is found by the ending.
    assert command(["import", str(log), "--db", database]) == 0
    rows = [{"question": "q", "answer": "a"}]
    from judgeboard.formats.files import Column

    assert (
        write_rows(rows, [Column("question"), Column("answer")], tmp_path / "out.bars", "bars") == 1
    )
    assert (tmp_path / "out.bars").read_text("utf-8") == "q|a\n"


def test_a_new_kind_is_offered_and_stored_by_the_command(
    added, command, tmp_path: Path, capsys
) -> None:
    log, database = tmp_path / "traces.jsonl", str(tmp_path / "new.db")
    good, bad = {"trace": "t1", "q": "which wall?", "said": "left"}, {"trace": "t2", "q": "when?"}
    log.write_text("".join(f"{json.dumps(row)}\n" for row in (good, bad)), encoding="utf-8")
    assert command(["import", "--help"]) == 0
    assert f"traces {TITLE}" in " ".join(capsys.readouterr().out.split())
    assert command(["import", "--kind", "traces", str(log), "--db", database]) == 1
    out = capsys.readouterr().out
    assert all(part in out for part in ("1 new", "0 unchanged", "1 rejected", "line 2: said:"))


def test_a_row_of_a_new_kind_is_recognised_by_its_columns(
    added, sqlite_store: Store, tmp_path: Path
) -> None:
    log = tmp_path / "traces.jsonl"
    log.write_text(
        json.dumps({"trace": "t1", "q": "which wall?", "said": "left"}), encoding="utf-8"
    )
    summary = import_file(sqlite_store, log)
    assert (summary.kind, summary.new) == ("traces", 1)
    with sqlite_store.reading() as connection:
        assert count_log(connection) == 1


def test_the_page_and_the_documentation_show_a_new_kind(
    added, sqlite_store: Store, tmp_path: Path
) -> None:
    log = tmp_path / "traces.jsonl"
    write_whole(
        log, lambda file: file.write(b'{"trace": "t1", "q": "which wall?", "said": "left"}\n')
    )
    start = import_file(sqlite_store, log, kind="traces", dry_run=True)
    columns = columns_table("traces", start.columns)
    in_file = [column.title for column in columns.columns].index("In your file")
    assert [row[in_file] for row in columns.rows] == ["trace", "q", "said"]
    assert f"traces {TITLE}" in " ".join(kind_lines().split())
    page = runpy.run_path(str(DOCS / "generate.py"), run_name="generate")["imports_page"]()
    lines = page.splitlines()
    assert "## Traces" in lines
    assert f"`judgeboard import --kind traces FILE`: {TITLE}." in page
    assert [*map(str.strip, next(line for line in lines if "`asked`" in line).split("|"))][2:5] == [
        "text",
        "yes",
        "`q`",
    ]
    assert any("`bars`" in line and "`.bars`" in line for line in lines)
