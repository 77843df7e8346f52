"""An open database: what is in its file when it is closed, and that damage of the file is named."""

import os
import resource
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from command_lines import run_line
from forked_commands import ReadCommand
from judgeboard.receiving.keys import create_key
from judgeboard.store import engine
from judgeboard.store.opening import open_store
from judgeboard.store.tables import RESPONSE, REVIEW, SPAN
from judging_log import address, store_answers, until
from queue_case import queue_case
from sent_traces import PROTOBUF, request, trace
from served import answers, free_port
from stored_rows import row_count


@pytest.fixture
def file(sqlite_store):
    return Path(address(sqlite_store))


def rows_in_copy(file, table):
    """Count the rows of a table in a copy of the database file alone, without the files beside it."""
    copy = file.with_name("copy.db")
    shutil.copyfile(file, copy)
    with closing(open_store(copy)) as store:
        return row_count(store, table)


def log_of(file):
    return file.with_name(f"{file.name}-wal")


@contextmanager
def server(command, file, path):
    """Serve a database until the end of the block, from when this path answers."""
    port = free_port()
    url = f"http://localhost:{port}"
    with ReadCommand(*command.split(), "--port", str(port), "--db", str(file)) as process:
        until(lambda: answers(f"{url}/{path}"), "the server answers")
        yield url
        process.terminate()
        process.wait(60)


def test_a_stopped_server_leaves_every_acknowledged_review_in_the_file(sqlite_store, file):
    case = queue_case(sqlite_store)
    case.flagged(*[0.1] * 20)
    key = create_key(sqlite_store, "reviews", scopes=("review",), by="test")
    headers = {"authorization": f"Bearer {key}"}
    sqlite_store.close()
    with (
        server("serve", file, "readyz") as url,
        httpx.Client(base_url=url, headers=headers, timeout=60) as http,
    ):
        for flag in range(1, 21):
            review = {"reviewer": case.mara.name, "flag": flag, "decision": "confirm"}
            http.post("/api/reviews", json=review).raise_for_status()
    assert not log_of(file).exists()
    assert rows_in_copy(file, REVIEW) == 20


def test_a_stopped_receiver_leaves_every_acknowledged_span_in_the_file(sqlite_store, file):
    sqlite_store.close()
    with server("sources receive", file, "healthz") as url:
        sent = httpx.post(f"{url}/v1/traces", content=request(trace(1)), headers=PROTOBUF)
        sent.raise_for_status()
    assert not log_of(file).exists()
    assert rows_in_copy(file, SPAN) == len(trace(1))


def test_a_command_leaves_its_rows_in_the_file_while_a_server_has_it_open(
    sqlite_store, file, tmp_path, shell
):
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "1", "query": "q", "answer": "a"}\n')
    sqlite_store.close()
    with closing(sqlite3.connect(file)) as idle_server:
        idle_server.execute("SELECT count(*) FROM response").fetchone()
        shell(f"import {log} --db {file}")
        assert log_of(file).read_bytes() == b""
        assert rows_in_copy(file, RESPONSE) == 1
        shell(f"judge --judge lexical --db {file}")
        assert log_of(file).read_bytes() == b""


def test_a_reader_that_does_not_end_is_not_waited_for(sqlite_store, file, monkeypatch):
    monkeypatch.setattr(engine, "CLOSING_SECONDS", 0.01)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        count = "SELECT count(*) FROM response"
        reader.execute("BEGIN")
        reader.execute(count).fetchone()
        store_answers(sqlite_store, 1)
        assert not sqlite_store.checkpoint(0.01)
        sqlite_store.close()
        assert reader.execute(count).fetchone() == (0,)
    assert row_count(sqlite_store, RESPONSE) == 1


SECRET = "the name of the patient is Alma"


@pytest.mark.parametrize(
    "change",
    [
        f"answer = CAST('{SECRET}' || x'ff' AS TEXT)",
        f"passages = '[{SECRET}'",
        f"imported_at = '{SECRET}'",
    ],
    ids=["letters", "JSON", "time"],
)
def test_a_value_that_cannot_be_read_is_named_as_damage_without_its_text(
    sqlite_store, file, change, shell, capsys, caplog
):
    store_answers(sqlite_store, 3)
    sqlite_store.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        for trigger in ("guard_response_update", "search_response_update"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(f"UPDATE response SET {change} WHERE id = 2")
    exported = file.with_name("responses.jsonl")
    assert run_line(f"export responses -o {exported} --db {file}") == 2
    printed = capsys.readouterr()
    assert f"{file} is damaged" in printed.err
    assert SECRET not in printed.out + printed.err
    assert SECRET not in shell(f"doctor --db {file}", code=1) + caplog.text


def test_an_error_of_a_whole_database_stays_what_it_is(sqlite_store):
    fault = LookupError("a fault of the program")
    with pytest.raises(LookupError) as raised, sqlite_store.reading():
        raise fault
    assert raised.value is fault


@contextmanager
def no_rights():
    """Make this process an ordinary user, who is bound by the modes of files."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_the_user_cannot_write_is_read_and_exported(demo, capsys):
    with tempfile.TemporaryDirectory() as root:
        sealed, out = Path(root) / "sealed", Path(root) / "out"
        file = sealed / "judgeboard.db"
        for folder in (sealed, out):
            folder.mkdir()
            folder.chmod(0o777)
        Path(root).chmod(0o755)
        shutil.copyfile(demo, file)
        lines = ("stats", "agreement", "labels rate", "trends", "queue list", "test health")
        lines += ("db events", f"export reviews -o {out / 'reviews.jsonl'}")

        def run_all():
            return [(run_line(line, "--db", str(file)), capsys.readouterr().out) for line in lines]

        written = run_all()
        exported = (out / "reviews.jsonl").read_bytes()
        (out / "reviews.jsonl").unlink()
        assert [each.name for each in sealed.iterdir()] == [file.name]
        for folder_mode, file_mode in ((0o555, 0o444), (0o777, 0o444), (0o555, 0o666)):
            file.chmod(file_mode)
            sealed.chmod(folder_mode)
            with no_rights():
                assert run_all() == written
                assert (out / "reviews.jsonl").read_bytes() == exported
                # A file beside the database would belong to this user, and its owner could not
                # write then.
                assert [each.name for each in sealed.iterdir()] == [file.name]
                assert run_line("flags apply", "--db", str(file)) == 2
            assert "readonly database" in capsys.readouterr().err
            (out / "reviews.jsonl").unlink()
            sealed.chmod(0o755)


@contextmanager
def no_room(monkeypatch):
    """Let no file grow beyond one page: SQLite fails then as on a full disk, with "disk I/O error"."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(1, 1, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (engine.ONE_PAGE, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_named_and_an_unfinished_database_is_not_left_behind(
    sqlite_store, file, tmp_path, monkeypatch, capsys
):
    store_answers(sqlite_store, 3)
    sqlite_store.close()
    log = tmp_path / "log.jsonl"
    log.write_text('{"query": "q", "answer": "a"}')
    importing = f"import {log} --db {tmp_path / 'new.db'}"
    for line in (f"stats --db {file}", importing):
        with no_room(monkeypatch):
            assert run_line(line) == 2
        assert "disk is full" in capsys.readouterr().err
    assert [each.name for each in tmp_path.glob("new.db*")] == []
    assert run_line(importing) == 0
