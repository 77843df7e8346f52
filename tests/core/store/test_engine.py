"""An open database: what is in its file when it is closed, and that damage of the file is named."""

import json
import os
import resource
import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from forked_commands import ReadCommand
from judgeboard.cli.app import run
from judgeboard.receiving.keys import create_key
from judgeboard.store import engine
from judgeboard.store.opening import open_store
from judgeboard.store.tables import FLAG, RESPONSE, REVIEW, SPAN
from judging_log import address, store_answers, until
from queue_case import queue_case
from sent_traces import PROTOBUF, request, trace
from served import answers, free_port


@pytest.fixture
def file(sqlite_store):
    return Path(address(sqlite_store))


def in_copy(file, statement):
    """Run a query on a copy of the database file alone, without the files beside it."""
    copy = file.with_name("copy.db")
    shutil.copyfile(file, copy)
    store = open_store(copy)
    with store.reading() as connection:
        number = connection.scalar(statement)
    store.close()
    return int(number)


@contextmanager
def idle_server(file):
    """Another process that has the database open, and neither reads nor writes."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("SELECT count(*) FROM response").fetchone()
        yield


def log_of(file):
    return file.with_name(f"{file.name}-wal")


def test_a_stopped_server_leaves_every_acknowledged_review_in_the_file(sqlite_store, file):
    case = queue_case(sqlite_store)
    case.flagged(*[0.1] * 20)
    flags = [row["id"] for row in case.rows(FLAG)]
    headers = {
        "authorization": f"Bearer {create_key(sqlite_store, 'reviews', scopes=('review',), by='test')}"
    }
    sqlite_store.close()
    port = free_port()
    url = f"http://localhost:{port}"
    with ReadCommand("serve", "--port", str(port), "--db", str(file)) as process:
        until(lambda: answers(f"{url}/readyz"), "the server answers")
        with httpx.Client(base_url=url, headers=headers, timeout=60) as http:
            for flag in flags:
                review = {"reviewer": case.mara.name, "flag": flag, "decision": "confirm"}
                http.post("/api/reviews", json=review).raise_for_status()
        process.terminate()
        process.wait(60)
    assert not log_of(file).exists()
    assert in_copy(file, select(func.count()).select_from(REVIEW)) == len(flags) == 20


def test_a_stopped_receiver_leaves_every_acknowledged_span_in_the_file(sqlite_store, file):
    sqlite_store.close()
    port = free_port()
    url = f"http://localhost:{port}"
    with ReadCommand("sources", "receive", "--port", str(port), "--db", str(file)) as process:
        until(lambda: answers(f"{url}/healthz"), "the receiver answers")
        httpx.post(
            f"{url}/v1/traces", content=request(trace(1)), headers=PROTOBUF
        ).raise_for_status()
        process.terminate()
        process.wait(60)
    assert not log_of(file).exists()
    assert in_copy(file, select(func.count()).select_from(SPAN)) == len(trace(1))


def test_a_command_leaves_its_rows_in_the_file_while_a_server_has_it_open(
    sqlite_store, file, tmp_path
):
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "1", "query": "q", "answer": "a"}\n')
    sqlite_store.close()
    with idle_server(file):
        assert run(["import", str(log), "--db", str(file)]) == 0
        assert log_of(file).read_bytes() == b""
        assert in_copy(file, select(func.count()).select_from(RESPONSE)) == 1
        assert run(["judge", "--judge", "lexical", "--db", str(file)]) == 0
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
    with sqlite_store.reading() as connection:
        assert connection.scalar(select(func.count()).select_from(RESPONSE)) == 1


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
    sqlite_store, file, change, capsys, caplog
):
    store_answers(sqlite_store, 3)
    sqlite_store.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        for trigger in ("guard_response_update", "search_response_update"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute(f"UPDATE response SET {change} WHERE id = 2")
    assert (
        run(
            ["export", "responses", "-o", str(file.with_name("responses.jsonl")), "--db", str(file)]
        )
        == 2
    )
    printed = capsys.readouterr()
    assert f"{file} is damaged" in printed.err
    assert run(["doctor", "--db", str(file)]) == 1
    shown = printed.out + printed.err + capsys.readouterr().out + caplog.text
    assert SECRET not in shown


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
        commands = [
            *(
                ["stats"],
                ["agreement"],
                ["labels", "rate"],
                ["trends"],
                ["queue", "list"],
                ["test", "health"],
                ["db", "events"],
            ),
            ["export", "reviews", "-o", str(out / "reviews.jsonl")],
        ]
        written = [
            (run([*command, "--db", str(file)]), capsys.readouterr().out) for command in commands
        ]
        exported = (out / "reviews.jsonl").read_bytes()
        (out / "reviews.jsonl").unlink()
        assert [each.name for each in sealed.iterdir()] == [file.name]
        for folder_mode, file_mode in ((0o555, 0o444), (0o777, 0o444), (0o555, 0o666)):
            file.chmod(file_mode)
            sealed.chmod(folder_mode)
            with no_rights():
                read = [
                    (run([*command, "--db", str(file)]), capsys.readouterr().out)
                    for command in commands
                ]
                assert read == written
                assert (out / "reviews.jsonl").read_bytes() == exported
                # A file beside the database would belong to this user, and its owner could not
                # write then.
                assert [each.name for each in sealed.iterdir()] == [file.name]
                assert run(["flags", "apply", "--db", str(file)]) == 2
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
    log.write_text(json.dumps({"query": "q", "answer": "a"}))
    new = tmp_path / "new.db"
    for command in (["stats", "--db", str(file)], ["import", str(log), "--db", str(new)]):
        with no_room(monkeypatch):
            assert run(command) == 2
        assert "disk is full" in capsys.readouterr().err
    assert [each.name for each in tmp_path.glob("new.db*")] == []
    assert run(["import", str(log), "--db", str(new)]) == 0
