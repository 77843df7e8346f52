"""Whoever opens an older SQLite file upgrades it, after a copy beside it that holds the earlier state."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from forked_commands import ReadCommand
from judgeboard.errors import BadInput, SchemaMismatch
from judgeboard.store import backups, opening
from judgeboard.store.engine import Store, connect, database_url
from judgeboard.store.migrations import HEAD
from judgeboard.store.opening import open_store
from judgeboard.store.revisions import current_revision
from killed_at import count_moments, kill_at, open_and_close
from released_database import columns_of_tables, load, rows_of_tables
from served import fork_server

RELEASED = "0007"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A SQLite file of the oldest release that is recorded."""
    folder = tmp_path_factory.mktemp("released")
    path = folder / "released.db"
    (folder / "unpacked").mkdir()
    load(opened(path, create=True), RELEASED, folder / "unpacked")
    return path


@pytest.fixture
def older(released, tmp_path):
    """A copy of it, alone in its folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return Path(shutil.copy(released, folder / "log.db"))


def opened(path, *, create=False):
    return Store(connect(database_url(path), create=create))


def revision_of(path):
    with closing(opened(path)) as store:
        return current_revision(store)


def copies(path):
    """The copies beside a database; nothing else is left there."""
    names = {f"{path.name}{end}" for end in ("", "-wal", "-shm")}
    files = [each for each in path.parent.iterdir() if each.name not in names]
    assert all(each.match(f"{path.stem}-revision-{RELEASED}-2*Z.db") for each in files), files
    return files


def answers_and_reviews(path):
    """The rows that every revision has in the same columns."""
    queries = (
        "SELECT id, source, external_id, query, answer FROM response ORDER BY id",
        "SELECT id, reviewer_id, decision, note, at FROM review ORDER BY id",
        "SELECT id, response_id, groundedness, raw FROM judgment ORDER BY id",
    )
    with closing(sqlite3.connect(path)) as connection:
        return [connection.execute(each).fetchall() for each in queries]


def test_a_command_upgrades_after_a_copy_and_says_so_in_a_line(older):
    with closing(opened(older)) as store:
        columns = columns_of_tables(store)
        before = rows_of_tables(store, columns)
    printed = []
    for _ in range(2):
        with ReadCommand("versions", "list", "--db", str(older)) as command:
            printed.append((command.stdout.read(), command.stderr.read()))
        assert command.returncode == 0
    (first, message), (second, nothing) = printed
    (copy,) = copies(older)
    (line,) = message.splitlines()
    assert all(part in line for part in (str(older), RELEASED, HEAD, str(copy)))
    assert nothing == ""
    assert first == second
    with closing(opened(copy)) as store:
        assert current_revision(store) == RELEASED
        assert rows_of_tables(store, columns) == before
    assert revision_of(older) == HEAD


def test_of_two_that_start_at_once_one_upgrades_and_the_other_waits(older):
    processes = [fork_server().Process(target=open_and_close, args=(str(older),)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert revision_of(older) == HEAD
    assert len(copies(older)) == 1


def test_an_upgrade_that_was_killed_leaves_the_old_or_the_new_state(older, tmp_path):
    before = answers_and_reviews(older)
    other = tmp_path / "other"
    other.mkdir()
    moments = count_moments(open_and_close, str(shutil.copy(older, other / "log.db")))
    original = older.read_bytes()
    seen = set()
    for tenth in range(1, 11):
        for each in older.parent.iterdir():
            each.unlink()
        older.write_bytes(original)
        assert kill_at(max(1, moments * tenth // 11), open_and_close, str(older))
        revision = revision_of(older)
        seen.add(revision)
        assert revision in {RELEASED, HEAD}
        assert answers_and_reviews(older) == before
        open_and_close(str(older))
        assert revision_of(older) == HEAD
        assert answers_and_reviews(older) == before
        (copy,) = copies(older)  # whole, and no second one of the same state
        assert revision_of(copy) == RELEASED
        assert answers_and_reviews(copy) == before
    assert RELEASED in seen


def test_a_copy_is_made_again_only_if_the_database_has_changed(older, monkeypatch):
    def fail(_store):
        raise BadInput("the disk broke")

    with monkeypatch.context() as failing:
        failing.setattr(opening, "upgrade", fail)
        for _ in range(3):
            with pytest.raises(BadInput, match="the disk broke"):
                open_store(older)
        assert len(copies(older)) == 1
        with closing(sqlite3.connect(older)) as connection, connection:
            connection.execute("UPDATE reviewer SET role = 'lead'")
        (first,) = copies(older)
        first.rename(first.with_name(first.name.replace("Z.db", "0Z.db")))
        with pytest.raises(BadInput, match="the disk broke"):
            open_store(older)
    assert len(copies(older)) == 2
    open_store(older).close()
    assert len(copies(older)) == 2


def test_nothing_is_upgraded_without_room_or_rights_or_while_others_use_it(older, monkeypatch):
    before = older.read_bytes()
    with monkeypatch.context() as full:
        usage = shutil.disk_usage(older.parent)
        full.setattr(backups.shutil, "disk_usage", lambda _: usage._replace(free=1_000))
        with pytest.raises(BadInput, match="MiB"):
            open_store(older)
    for refused in (older, older.parent):
        with monkeypatch.context() as sealed:
            sealed.setattr(os, "access", lambda path, *_, no=refused, **_o: Path(path) != no)
            with pytest.raises(SchemaMismatch, match="cannot write"):
                open_store(older)
    with closing(sqlite3.connect(older)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM response").fetchone()
        with pytest.raises(BadInput, match="stop the servers and workers"):
            open_store(older)
    assert copies(older) == []
    assert revision_of(older) == RELEASED
    assert older.read_bytes()[100:] == before[100:]


def test_a_copy_can_be_restored(older, shell):
    before = answers_and_reviews(older)
    open_store(older).close()
    (copy,) = copies(older)
    assert f"schema {RELEASED}" in shell(f"db restore {copy} --db {older}")
    open_store(older).close()
    assert answers_and_reviews(older) == before
