"""A file that is no database of this program stays as it is, to the byte, whatever command gets it as --db."""

import shutil
import sqlite3
from contextlib import closing, suppress

import pytest
from sqlalchemy import create_engine, text

from cli_commands import command_examples
from judgeboard.cli.app import root, run
from judgeboard.errors import JudgeboardError, UnusableDatabase
from judgeboard.store.opening import open_store

EXAMPLES = list(command_examples(root))


def shop(path, journal):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("CREATE TABLE orders (id)")
    connection.execute("INSERT INTO orders VALUES (1)")
    connection.commit()
    return connection


def of_another_program(path, _template):
    shop(path, "DELETE").close()


def in_use(path, template):
    IN_USE.append(shop(path, "WAL"))


def left_by_a_crash(path, _template):
    with closing(shop(path.with_name("live.db"), "WAL")):
        for end in ("", "-wal"):  # all tables are in the log
            shutil.copy(path.with_name(f"live.db{end}"), path.with_name(f"{path.name}{end}"))
    path.with_name("live.db").unlink()


def with_alembic(path, _template):
    with closing(shop(path, "DELETE")) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num)")
        connection.execute("INSERT INTO alembic_version VALUES ('0012')")


def newer(path, template):
    live = path.with_name("live.db")
    shutil.copy(template, live)
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("CREATE TABLE of_a_later_release (id)")
        for end in ("", "-wal"):
            shutil.copy(f"{live}{end}", f"{path}{end}")
    live.unlink()


def notes(path, _template):
    path.write_text("this is a text and no database\n" * 100)


def parquet(path, _template):
    path.write_bytes(b"PAR1" + bytes(5_000) + b"PAR1")


def folder(path, _template):
    path.mkdir()


IN_USE = []
KINDS = [of_another_program, in_use, left_by_a_crash, with_alembic, newer, notes, parquet, folder]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for the file that is refused, and another one with a log, in which commands run."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "log.jsonl").write_text('{"query": "q", "answer": "a"}\n')
    monkeypatch.chdir(work)
    (tmp_path / "theirs").mkdir()
    yield tmp_path / "theirs"
    while IN_USE:
        IN_USE.pop().close()


def contents(place):
    """Return the bytes of each file, but for the index in memory that another program has open."""
    files = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    return files | dict.fromkeys((name for name in files if name.endswith("-shm")), b"")


@pytest.mark.parametrize("make", KINDS)
def test_a_refused_file_is_unchanged_by_every_command(
    make, place, sqlite_template, capsys, monkeypatch
):
    file = place / "theirs.db"
    make(file, sqlite_template)
    before, silent = contents(place), set()
    for words in EXAMPLES:
        words = [  # noqa: PLW2901
            "log.jsonl" if word.endswith((".jsonl", ".csv", ".gz")) else word for word in words
        ]
        for db in (["--db", str(file)], []):
            monkeypatch.setenv("JUDGEBOARD_DB", str(file))
            code = run([*words, *db])
            shown = capsys.readouterr()
            assert contents(place) == before, words
            if code == 0 or str(file) not in shown.err + shown.out:
                silent.add(" ".join(words[:2]))
            # No message advises to use this file.
            assert "judgeboard import FILE" not in shown.err, words
    # Most commands have seen the file; the examples of the others name files that are not there, or
    # need no database.
    assert len(silent) < len(EXAMPLES) / 3, silent


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("create", [False, True])
def test_a_refused_file_is_unchanged_by_python(make, create, place, sqlite_template):
    make(place / "theirs.db", sqlite_template)
    before = contents(place)
    with pytest.raises(JudgeboardError):
        open_store(place / "theirs.db", create=create)
    assert contents(place) == before


def test_an_empty_file_is_unchanged_until_a_command_creates_the_database(shell, place):
    file = place / "empty.db"
    file.touch()
    for words in EXAMPLES:
        if words[0] in {"stats", "doctor", "db"} and words[1:2] != ["migrate"]:
            run([*words, "--db", str(file)])
            assert contents(place) == {"empty.db": b""}, words
    shell(f"import log.jsonl --db {file}")
    shell(f"stats --db {file}")


def test_tables_that_are_still_in_the_log_are_found(place, sqlite_template):
    live = place / "live.db"
    with closing(open_store(live, create=True)) as store, store.reading():
        for end in ("", "-wal"):
            shutil.copy(f"{live}{end}", place / f"copy.db{end}")
    open_store(place / "copy.db").close()


@pytest.mark.postgres
def test_a_schema_of_another_program_gets_nothing(empty_postgres, place):
    engine = create_engine(empty_postgres)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE event (id INTEGER)"))
    for create in (False, True):
        with pytest.raises(UnusableDatabase):
            open_store(empty_postgres, create=create)
    for words in (["stats"], ["import", "log.jsonl"], ["db", "migrate"], ["worker"]):
        with suppress(SystemExit):
            assert run([*words, "--db", empty_postgres]) == 2, words
    with engine.connect() as connection:
        tables = connection.execute(
            text("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        )
        assert tables.scalars().all() == ["event"]
    engine.dispose()
