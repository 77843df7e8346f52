"""A backup is one whole, checked state, and a restore replaces nothing that is in use."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from stat import filemode

import pytest
from sqlalchemy import make_url

from judgeboard.domain import Response
from judgeboard.errors import BadInput, DamagedDatabase, SchemaMismatch
from judgeboard.store.backups import back_up, restore
from judgeboard.store.migrations import HEAD
from judgeboard.store.opening import open_store
from judgeboard.store.overview import count_log
from judgeboard.store.storing import store_responses
from stored_rows import read, write_to


def add(store, *names):
    write_to(store, store_responses, [Response("log", name, f"{name}?", "so") for name in names])


def answers(file):
    with closing(open_store(file)) as store:
        return read(store, count_log)


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "prod.db"
    with closing(open_store(path, create=True)) as store:
        add(store, "a0", "a1")
    return path


@pytest.fixture
def url(database):
    return make_url(f"sqlite:///{database}")


@pytest.fixture
def backup(url, tmp_path):
    file = tmp_path / "safe.db"
    back_up(url, file)
    return file


def names_in(folder):
    return {path.name for path in folder.iterdir()}


def test_a_backup_holds_one_state_while_others_write(database, tmp_path):
    store, stop = open_store(database), threading.Event()

    def write():
        for number in range(10_000):
            if stop.is_set():
                break
            add(store, f"x{number}", f"y{number}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            file = tmp_path / f"copy-{number}.db"
            assert back_up(store.engine.url, file) == HEAD
            # Both answers of a transaction, or none.
            assert answers(file) % 2 == 0
    finally:
        stop.set()
        writer.join()
        store.close()
    assert filemode((tmp_path / "copy-0.db").stat().st_mode) == "-rw-------"
    assert not list(tmp_path.glob("copy-?.db-*")), "one file"
    assert not list(tmp_path.glob(".*"))


def test_a_backup_replaces_no_file_and_is_not_left_in_part(database, url, tmp_path):
    (tmp_path / "kept.db").write_text("mine")
    with pytest.raises(BadInput, match=r"kept\.db"):
        back_up(url, tmp_path / "kept.db")
    with pytest.raises(BadInput, match=r"/prod-2\d{3}-\d\d-\d\d\.db"):
        back_up(url, tmp_path)
    content = bytearray(database.read_bytes())
    content[40_000:60_000] = bytes(20_000)
    database.write_bytes(content)
    with pytest.raises(DamagedDatabase):
        back_up(url, tmp_path / "copy.db")
    assert names_in(tmp_path) == {"kept.db", "prod.db"}


def test_a_restore_keeps_the_earlier_database_beside_the_state_of_the_backup(
    database, tmp_path, shell
):
    file = tmp_path / "safe.db"
    assert "written and checked" in shell(f"db backup {file} --db {database}")
    with closing(open_store(database)) as store:
        add(store, "spoilt")
    database.chmod(0o660)
    file.chmod(0o400)
    shown = shell(f"db restore {file} --db {database}")
    (kept,) = tmp_path.glob("prod-before-restore-*.db")
    assert all(str(part) in shown for part in (database, file, HEAD, kept))
    assert (answers(database), answers(kept)) == (2, 3)
    assert filemode(database.stat().st_mode) == "-rw-rw----"
    database.unlink()
    shell(f"db restore {file} --db {database}")
    assert answers(database) == 2


def test_a_damaged_database_is_replaced_with_its_log(database, url, backup):
    database.write_bytes(b"no database" * 1_000)
    Path(f"{database}-wal").write_bytes(b"a log")
    kept = restore(url, backup).kept
    assert kept.read_bytes().startswith(b"no database")
    assert Path(f"{kept}-wal").read_bytes() == b"a log"
    assert answers(database) == 2


def test_nothing_is_restored_while_another_process_uses_the_database(database, url, backup):
    code = (
        "import sys; from judgeboard.store.opening import open_store; store = open_store(sys.argv[1]); "
        "connection = store.engine.connect(); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(BadInput, match=r"prod\.db"):
            restore(url, backup)
        other.communicate()
    assert names_in(backup.parent) == {"prod.db", "safe.db"}
    assert restore(url, backup).kept is not None


def test_a_file_that_is_no_backup_changes_nothing(database, url, tmp_path):
    before = database.read_bytes()
    other, newer, text = tmp_path / "other.db", tmp_path / "newer.db", tmp_path / "text.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE thing (id INTEGER)")
    shutil.copy(database, newer)
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    text.write_text("hello " * 1_000)
    cases = [
        (other, BadInput, "tables of another program"),
        (newer, SchemaMismatch, "has schema revision 9999"),
        (text, DamagedDatabase, "is not a SQLite database"),
        (tmp_path / "none.db", BadInput, "there is no file"),
        (database, BadInput, "is the database itself"),
    ]
    for file, error, words in cases:
        with pytest.raises(error, match=words):
            restore(url, file)
    assert database.read_bytes() == before
    assert names_in(tmp_path) == {"prod.db", "other.db", "newer.db", "text.db"}


@pytest.mark.parametrize(("command", "tool"), [("backup", "pg_dump"), ("restore", "pg_restore")])
def test_a_database_of_a_server_is_backed_up_with_its_own_tool(command, tool, tmp_path, shell):
    address = "postgresql://judge:hidden@db.example:5433/answers"
    error = shell(f"db {command} {tmp_path / 'safe.dump'} --db {address}", code=2)
    assert f"{tool} " in error
    assert "postgresql://judge@db.example:5433/answers" in error
    assert "hidden" not in error
    assert len(error.splitlines()) == 1
