"""`judgeboard doctor` and `judgeboard config`: what is wrong, how to mend it, and no secret on the screen."""

import random
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from command_lines import run_line
from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    always,
    completion,
    failure,
    verdict,
)
from judgeboard.store import integrity
from judgeboard.store.engine import Store, connect
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.opening import open_store, upgrade
from judging_log import address, store_answers, until
from released_database import load
from served import serving
from stored_rows import read

KEY = "sk-live-0123456789abcdef"


def doctor(db, reply=None):
    with RecordingEndpoint(always(reply or verdict())) as endpoint:
        asked = ["--model", "scripted", "--base-url", endpoint.base_url] if reply else []
        return run(["doctor", *asked, "--db", str(db)])


def test_all_well_is_0_and_says_what_was_looked_at(sqlite_store, capsys):
    store_answers(sqlite_store, 3)
    assert doctor(address(sqlite_store), verdict()) == 0
    out = capsys.readouterr().out
    assert "3 answers, 0" in out
    assert "scripted-model, json_schema" in out
    assert "fix " not in out


def test_a_database_that_everybody_can_read_is_said_with_the_command(sqlite_store, capsys):
    store_answers(sqlite_store, 1)
    file = Path(address(sqlite_store))
    for mode, warns in ((0o644, True), (0o640, False), (0o600, False)):
        file.chmod(mode)
        assert doctor(file) == 0
        assert (f"chmod o-rwx {file}*" in capsys.readouterr().out) == warns


@pytest.mark.parametrize(
    ("reply", "fix"),
    [
        (failure(401, "no such key"), "OPENAI_API_KEY"),
        (failure(404, "no such model", code="model_not_found"), "--model"),
        (failure(500, "out of order"), "HTTP 500: out of order"),
        (completion("I like it."), "there is no JSON object in the reply"),
    ],
    ids=["key", "model", "server", "reply"],
)
def test_what_is_wrong_with_an_endpoint_is_1_with_the_fix(sqlite_store, capsys, reply, fix):
    store_answers(sqlite_store, 1)
    assert doctor(address(sqlite_store), reply) == 1
    wrong = [line for line in capsys.readouterr().out.split("fix ")[1:] if fix in line]
    assert len(wrong) == 1


def test_an_address_where_nobody_answers_is_said(sqlite_store, typed):
    store_answers(sqlite_store, 1)
    with RecordingEndpoint() as gone:
        pass
    command = f"doctor --model m --base-url {gone.base_url}"
    assert "nothing answers" in typed(command, code=1)


def test_a_missing_key_is_said_before_anything_is_sent(sqlite_store, typed):
    store_answers(sqlite_store, 1)
    assert "OPENAI_API_KEY" in typed("doctor --model gpt-4o-mini", code=1)


def test_doctor_names_the_settings_in_which_a_server_differs_from_this_terminal(
    sqlite_store, tmp_path, monkeypatch, typed
):
    store_answers(sqlite_store, 3)
    theirs, ours = tmp_path / "theirs.toml", tmp_path / "ours.toml"
    prompt = '[judges.strict]\nmodel = "big"\nprompt = "{}"\n'
    for file, folder in ((theirs, "there"), (ours, "here")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "strict.md").write_text("# System\nBe strict.\n")
        file.write_text("random_share = 0.5\n" + prompt.format(f"{folder}/strict.md"))

    def recorded():
        return len(read(sqlite_store, latest_events, EventFilter("use_settings"), limit=10))

    with serving(address(sqlite_store), JUDGEBOARD_CONFIG=str(theirs)):
        until(lambda: recorded() == 1, "the settings of the server")
        assert ": judges, random_share\n" in typed("doctor", code=1)
        monkeypatch.setenv("JUDGEBOARD_CONFIG", str(ours))
        # Equal contents in different folders.
        assert ": equal\n" in typed("doctor")
        theirs.write_text(theirs.read_text().replace("0.5", "0.25"))
        until(lambda: recorded() == 2, "the settings that the running server reads now")
        assert ": random_share\n" in typed("doctor", code=1)
    # The server has ended.
    typed("doctor")


def test_a_database_that_cannot_be_used_yet_names_the_next_command(
    sqlite_store, tmp_path, shell, typed
):
    missing = tmp_path / "none.db"
    assert "judgeboard quickstart" in shell(f"doctor --db {missing}", code=1)
    assert not missing.exists()
    assert "judgeboard import FILE" in typed("doctor", code=1)
    with sqlite_store.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    assert "judgeboard export all" in typed("doctor", code=1)


@pytest.mark.parametrize("command", ["config", "doctor"])
def test_no_secret_reaches_the_screen(sqlite_store, monkeypatch, capsys, command):
    store_answers(sqlite_store, 1)
    with RecordingEndpoint(always(failure(401, f"Incorrect API key provided: {KEY}"))) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url.replace("://", "://user:s3cret@"))
        monkeypatch.setenv("JUDGEBOARD_MODEL", "scripted")
        run_line(f"{command} --db {address(sqlite_store)}")
    printed = capsys.readouterr()
    for secret in (KEY, "s3cret"):
        assert secret not in printed.out + printed.err
    assert "***" in printed.out


def test_config_says_which_settings_come_from_where(typed, monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_LOW_GROUNDEDNESS", "0.6")
    lines = dict(line.split(maxsplit=1) for line in typed("config").splitlines())
    assert lines["low_groundedness"] == "0.6  (JUDGEBOARD_LOW_GROUNDEDNESS)"
    assert lines["low_quality"] == "2  (default)"
    assert lines["OPENAI_API_KEY"] == "not set  (default)"


def test_config_fails_where_the_database_cannot_be_opened(tmp_path, capsys):
    assert run_line(f"config --db {tmp_path}") == 2
    assert "is a folder" in capsys.readouterr().out


def test_config_without_a_database_still_shows_the_environment(tmp_path, shell):
    out = shell(f"config --db {tmp_path / 'none.db'}")
    assert [line.split()[-1] for line in out.splitlines() if line.startswith("db  ")] == [
        "(default)"
    ]
    assert "no database at" in out


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A real database file, with rows in most tables."""
    folder = tmp_path_factory.mktemp("whole")
    store = Store(connect(make_url(f"sqlite:///{folder / 'whole.db'}"), create=True))
    load(store, "0007", folder)
    upgrade(store)
    store.close()
    return (folder / "whole.db").read_bytes()


@pytest.fixture
def file(whole, tmp_path):
    """A copy of it."""
    file = tmp_path / "judgeboard.db"
    file.write_bytes(whole)
    return file


PAGE = 4096
INTERIOR, LEAF, INDEX_INTERIOR, INDEX_LEAF = 5, 13, 2, 10  # first byte of a page


def pages_of(data, kind):
    """The positions of the pages of a kind, after the first page."""
    return [at for at in range(PAGE, len(data), PAGE) if data[at] == kind]


def put(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def zeroed(kind):
    """A page of this kind becomes zero, as after a lost write."""
    return lambda data: put(data, random.Random(7).choice(pages_of(data, kind)), bytes(PAGE))


def swapped(data):
    first, second = random.Random(7).sample(pages_of(data, LEAF), 2)
    return put(put(data, first, data[second : second + PAGE]), second, data[first : first + PAGE])


def garbage(kind):
    """200 random bytes in a page of this kind."""
    chance = random.Random(7)
    return lambda data: put(data, chance.choice(pages_of(data, kind)) + 8, chance.randbytes(200))


def other_letter(data):
    """One letter of an answer changes, which no structure of the file shows."""
    at = data.index(b"My sources are silent on how a helmet should fit")
    return put(data, at, b"N")


DAMAGE = {
    "magic": lambda data: bytes(16) + data[16:],
    "page size": lambda data: put(data, 16, b"\x08\x00"),
    "encoding": lambda data: put(data, 56, b"\0\0\0\2"),
    "free pages": lambda data: put(data, 32, b"\0\0\1\0\0\0\0\5"),
    "schema": lambda data: put(data, 100, bytes(PAGE - 100)),
    "half": lambda data: data[: len(data) // 2],
    "tail": lambda data: data[
        : -1000 - 10 * PAGE
    ],  # the last pages may be free: nothing is lost with them
    "first page alone": lambda data: data[:PAGE],
    "empty": lambda _data: b"",
    "text": lambda _data: b"this is a text, whatever the name of the file says " * 99,
    "interior page": zeroed(INTERIOR),
    "leaf page": zeroed(LEAF),
    "interior page of an index": zeroed(INDEX_INTERIOR),
    "leaf page of an index": zeroed(INDEX_LEAF),
    "garbage in a table": garbage(LEAF),
    "garbage in an index": garbage(INDEX_LEAF),
    "swapped pages": swapped,
    "a letter": other_letter,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_never_called_ok(whole, file, damage, capsys):
    file.write_bytes(DAMAGE[damage](whole))
    assert doctor(file) == 1
    printed = capsys.readouterr()
    assert "fix  " in printed.out
    assert all(line.startswith("hidden: ") for line in printed.err.splitlines()), "no traceback"
    for command in ("stats", "trends"):
        code = run_line(f"{command} --db {file}")
        error = capsys.readouterr().err
        assert code == 0 or f"{file} is damaged" in error or f"no database at {file}" in error
        assert "Error" not in error


def test_a_log_of_another_database_beside_the_file_is_damage(file, new_store, capsys):
    other = new_store()
    with other.reading():  # an open connection keeps the log
        store_answers(other, 3)
        shutil.copyfile(f"{address(other)}-wal", f"{file}-wal")
    assert doctor(file) == 1
    assert "is damaged" in capsys.readouterr().out


def test_a_whole_file_is_ok(file, capsys):
    assert doctor(file) == 0
    out = capsys.readouterr().out
    assert "ok   integrity" in out
    assert "604 of 604" in out


def test_a_check_that_takes_too_long_ends_and_is_not_ok(file):
    with closing(open_store(file)) as store:
        stopped = integrity.check_integrity(store.engine, seconds=0)
    assert stopped.faults == ()
    assert stopped.complete is False


def test_of_a_large_log_some_answers_are_compared(sqlite_store, monkeypatch):
    store_answers(sqlite_store, 30)
    monkeypatch.setattr(integrity, "MOST_HASHED", 10)
    hashed = read(sqlite_store, integrity.compare_hashes)
    assert hashed.answers == 30
    assert hashed.compared == 10


@pytest.mark.postgres
def test_of_postgresql_the_content_is_compared_and_the_files_are_not(postgres_store, capsys):
    store_answers(postgres_store, 3)
    assert doctor(address(postgres_store)) == 0
    out = capsys.readouterr().out
    assert "pg_amcheck" in out
    assert "3 of 3" in out
    with postgres_store.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE response DISABLE TRIGGER USER")
        connection.exec_driver_sql("UPDATE response SET answer = 'another' WHERE id = 2")
    assert doctor(address(postgres_store)) == 1
    out = capsys.readouterr().out
    assert "1 of 3" in out
    assert "row 2" in out


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE judgment SET groundedness = 'x' || groundedness WHERE id = 3",
        "UPDATE judge_version SET prompt = 'Be kind.' WHERE prompt IS NOT NULL",
        "UPDATE review SET reviewer_id = 999 WHERE id = 3",
    ],
    ids=["number", "prompt", "reference"],
)
def test_a_value_that_no_command_misses_is_found(file, change, capsys):
    with closing(sqlite3.connect(file)) as connection, connection:
        (table,) = set(re.findall(r"UPDATE (\w+)", change))
        connection.execute(f"DROP TRIGGER guard_{table}_update")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        assert connection.execute(change).rowcount >= 1
    assert doctor(file) == 1
    assert "fix  " in capsys.readouterr().out
