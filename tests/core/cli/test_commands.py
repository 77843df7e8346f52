"""The commands, as a person types them: what they print, and their exit codes."""

import contextlib
import gc
import json
import os
import re
import shutil
import sqlite3
import sys
from pathlib import Path
from stat import filemode

import pytest

from command_lines import run_line
from judgeboard.cli.app import Root
from judgeboard.errors import DatabaseAway
from judgeboard.formats.label_schema import schema_in
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, failure
from judgeboard.runs import judging
from judgeboard.store.export import exports
from judgeboard.store.opening import open_store
from tool_files import written as written_rows


@pytest.fixture
def database(sqlite_template, tmp_path):
    path = str(shutil.copyfile(sqlite_template, tmp_path / "judgeboard.db"))
    rows = [
        {"id": f"a{n}", "question": f"q{n}?", "response": f"answer {n}", "contexts": ["p"]}
        for n in range(4)
    ]
    assert run_line(f"import {written_rows(tmp_path, *rows)} --db {path}") == 0
    return path


@pytest.mark.parametrize("name", Root.places)
def test_every_command_has_help_with_an_example(name, shell):
    assert f"judgeboard {name}" in shell(f"{name} --help").split("Example:")[1]


def test_a_program_that_calls_a_command_keeps_its_garbage_collector(database):
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    assert run_line(f"stats --db {database}") == 0
    assert gc.get_threshold() == threshold
    assert gc.get_freeze_count() <= frozen


@pytest.fixture
def permissive_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_only_its_owner_can_read_the_database_and_what_is_written_from_it(
    shell, permissive_umask, tmp_path
):
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "a1", "question": "how?", "response": "so"}\n{"id": "a2"}\n')
    written = tmp_path / "written"
    database = str(written / "judgeboard.db")
    shell(f"db migrate --db {database}")
    store = open_store(database)
    with store.writing() as connection:  # while it is open, it has a -wal and a -shm file
        connection.exec_driver_sql("SELECT 1")
    rejected = written / "rejected.jsonl"
    run_line(f"import {log} --rejected {rejected} --db {database}")
    shell(f"export responses -o {written / 'answers.jsonl'} --db {database}")
    shell(f"export all --format parquet -o {written} --db {database}")
    modes = {
        path.name: filemode(path.stat().st_mode) for path in written.iterdir() if path.is_file()
    }
    store.close()
    database = {f"judgeboard.db{end}" for end in ("", "-wal", "-shm")}
    assert database | {"rejected.jsonl", "answers.jsonl", "reviews.parquet"} <= set(modes)
    assert set(modes.values()) == {"-rw-------"}, modes


def test_a_database_that_is_shared_on_purpose_stays_shared(permissive_umask, database):
    Path(database).chmod(0o660)
    assert run_line(f"db migrate --db {database}") == 0
    assert filemode(Path(database).stat().st_mode) == "-rw-rw----"


def test_a_missing_database_names_the_next_command_and_makes_no_file(tmp_path, shell):
    missing = tmp_path / "none.db"
    for words in (
        "stats",
        "judge --judge lexical",
        "flags apply",
        f"export flags -o {tmp_path / 'x'}",
    ):
        error = shell(f"{words} --db {missing}", code=2)
        assert "judgeboard import FILE" in error
        assert len(error.strip().splitlines()) == 1
    assert not missing.exists()


def test_every_suggested_command_opens_the_database_of_this_command(tmp_path, capsys, shell):
    database = str(tmp_path / "my log.db")
    answer = "As `judgeboard flags apply` does."
    log = written_rows(tmp_path, {"id": "a1", "question": "how?", "response": answer})
    suggesting = (
        "agreement",
        "labels plan --reach 0.1 --for kappa",
        "trends",
        "test anchors make",
        "agreement --of repeats",
        "queue list",
        "queue list x",
        "queue create p --subject pairs",
        "queue schema list",
        "sources keys revoke x",
        "rule list",
        "doctor",
        "rule list --kind push",
        "suite list 1",
        "test controls judge --judge lexical",
        "trends watch --acknowledge 1 --note x",
        "flags apply",
    )
    db = f"--db '{database}'"
    assert run_line(f"db migrate {db}") == 0
    for words in suggesting:
        run_line(f"{words} {db}")
    for words in (
        f"import {log}",
        "judge --judge lexical",
        "test health lexical",
        "queue create q --all-answers --limit 1",
    ):
        assert run_line(f"{words} {db}") == 0
    output = capsys.readouterr()
    commands = re.findall(r"judgeboard [a-z-]+ ?[^`&\n]*", output.out + output.err)
    assert len(commands) > len(suggesting)
    assert [each for each in commands if db not in each] == ["judgeboard quickstart"]
    assert "--db" not in shell(f"test health lexical --json {db}")


@pytest.mark.parametrize(
    "words",
    [
        "versions list",
        "rule list",
        "rule list --kind alert",
        "queue list",
        "queue schema list",
        "flags checks",
        "suite list",
    ],
)
def test_an_empty_list_names_the_command_that_fills_it(words, typed):
    assert "`judgeboard " in typed(words)


def test_all_schemas_are_listed_and_one_is_printed_as_it_was_written(tmp_path, shell):
    (file := tmp_path / "s.yaml").write_text("name: s\nfields: [{name: safe, type: yes_no}]")
    db = f"--db {tmp_path / 'd.db'}"
    shell(f"db migrate {db}")
    shell(f"queue schema add {file} {db}")
    every, one = (shell(f"queue schema list {name} {db}") for name in ("", "s"))
    assert "s v1" in every
    assert schema_in(one) == schema_in(file.read_text())


def test_settings_and_findings_are_printed_as_json(database, capsys, shell):
    settings = json.loads(shell(f"config --json --db {database}"))["settings"]
    [share] = (each for each in settings if each["name"] == "random_share")
    assert share["origin"] == "default"
    capsys.readouterr()
    run_line(f"doctor --json --db {database}")
    finding, *_ = json.loads(capsys.readouterr().out)["findings"]
    assert {*finding} == {"ok", "what", "value", "fix"}


def test_import_exit_codes_tell_all_some_and_none(tmp_path):
    good = json.dumps({"query": "q", "answer": "a"})
    for name, text, code in (("all", good, 0), ("some", f"{good}\n{{", 1), ("none", "{", 2)):
        log = tmp_path / f"{name}.jsonl"
        log.write_text(text)
        assert run_line(f"import {log} --source {name} --db {tmp_path / 'd.db'}") == code
    assert run_line(f"import {tmp_path / 'absent.jsonl'} --db {tmp_path / 'd.db'}") == 2


def test_one_unreadable_file_does_not_keep_the_others_out(database, tmp_path, shell):
    more = written_rows(tmp_path, {"id": "b1", "query": "q", "answer": "a"})
    assert run_line(f"import {tmp_path / 'absent.jsonl'} {more} --db {database}") == 2
    assert json.loads(shell(f"stats --json --db {database}"))["responses"] == 5


def test_a_dry_run_makes_no_database(tmp_path):
    log = written_rows(tmp_path, {"query": "q", "answer": "a"})
    assert run_line(f"import {log} --dry-run --db {tmp_path / 'new.db'}") == 0
    assert not (tmp_path / "new.db").exists()


def test_stats_json_is_json_alone_and_the_same_bytes_each_time(database, shell):
    shell(f"judge --judge lexical --db {database}")
    first, second = (shell(f"stats --json --db {database}") for _ in range(2))
    assert json.loads(first)["judgments"]["ok"] == 4
    assert first == second


def test_a_reader_that_closes_the_pipe_does_not_change_the_exit_code(
    database, tmp_path, monkeypatch
):
    unusable = written_rows(tmp_path, {})
    for line, code in (("stats", 0), ("stats --json", 0), (f"import {unusable}", 2), ("config", 0)):
        reader, writer = os.pipe()
        os.close(reader)
        with (
            contextlib.suppress(BrokenPipeError),
            os.fdopen(writer, "w") as pipe,
            monkeypatch.context() as patched,
        ):
            patched.setattr(sys, "stdout", pipe)
            patched.setattr(sys, "stderr", sys.stderr)  # click wraps both
            assert run_line(f"{line} --db {database}") == code


def test_export_all_writes_a_folder(database, tmp_path):
    assert run_line(f"export all --format csv -o {tmp_path / 'out'} --db {database}") == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        f"{table}.csv" for table in exports()
    )


def test_forget_blanks_the_texts_and_keeps_the_scores(database, shell):
    shell(f"judge --judge lexical --db {database}")
    before = json.loads(shell(f"stats --json --db {database}"))
    shell(f"db forget a1 --yes --db {database}")
    with sqlite3.connect(database) as connection:
        texts = "SELECT query, answer, passages, content_hash IS NOT NULL FROM response WHERE external_id = 'a1'"
        assert connection.execute(texts).fetchone() == (None, None, None, 1)
        judged = (
            "SELECT reasoning, raw, groundedness IS NOT NULL FROM judgment JOIN "
            "response ON response.id = response_id"
        )
        judgment = connection.execute(f"{judged} WHERE external_id = 'a1'").fetchone()
        events = connection.execute("SELECT kind FROM event WHERE kind = 'forget'").fetchall()
    assert judgment == (None, None, 1)
    assert events == [("forget",)]
    assert json.loads(shell(f"stats --json --db {database}")) == before | {"forgotten": 1}


@pytest.mark.parametrize(
    "words",
    [
        "db forget --user u1",
        "db forget --unsed",
        "db forget",
        "db forget --older-than 3",
        "db forget a1 --older-than 3",
        "forgot a1",
    ],
    ids=" ".join,
)
def test_no_message_suggests_what_deletes(database, shell, words):
    error = shell(f"{words} --db {database}", code=2)
    assert "Error: " in error
    for deleting in ("--unused", "--yes", "Did you mean"):
        assert deleting not in error
    events = json.loads(shell(f"db events --json --db {database}"))["events"]
    assert not [each for each in events if each["kind"].startswith("forget")]


def test_forget_of_an_unknown_id_says_so(database, shell):
    assert "no response 'nobody'" in shell(f"db forget nobody --yes --db {database}", code=2)


def test_migrate_says_where_the_database_stood(tmp_path, shell):
    path = str(tmp_path / "new.db")
    assert "created" in shell(f"db migrate --db {path}")
    assert "was at" in shell(f"db migrate --db {path}")


def test_an_unexpected_error_is_one_line_and_debug_shows_the_rest(tmp_path, shell):
    words = f"import {tmp_path / 'absent.jsonl'} --map nothing --db {tmp_path / 'd.db'}"
    assert len(shell(words, code=2).strip().splitlines()) == 1
    assert "Traceback" in shell(f"{words} --debug", code=2)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:s3cret@127.0.0.1:1/none",
        "postgresql://127.0.0.1:1/none?user=ann&password=s3cret",
        "postgresql://ann:s3cret@host:notaport/none",
        "postgresql:/ann:s3cret@host/none",
        "mysql+nodriver://ann:s3cret@host/none",
        "nosuch://ann:s3cret@host/none",
        "sqlite:///judgeboard.db?password=s3cret",
    ],
)
def test_a_wrong_address_is_said_in_one_line_without_its_password(address, shell, monkeypatch):
    monkeypatch.setattr("judgeboard.store.outages.WAIT_SECONDS", 0)
    error = shell(f"stats --db {address}", code=2)
    assert "s3cret" not in error
    assert "--debug" not in error
    assert len(error.strip().splitlines()) == 1


def test_a_revision_of_a_newer_program_is_said(database, shell):
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "a newer Judgeboard" in shell(f"db migrate --db {database}", code=2)


def test_names_that_are_not_utf8_do_not_keep_a_file_out(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "b\udcff")
    log = tmp_path / "log\udcff.jsonl"
    log.write_text('{"query": "q", "answer": "a"}\n{"query": "q"}')
    assert run_line(f"import {log} --db {tmp_path / 'judgeboard.db'}") == 1
    with contextlib.closing(sqlite3.connect(tmp_path / "judgeboard.db")) as connection:
        batches = connection.execute("SELECT file, actor FROM import_batch").fetchall()
    assert batches == [("log\ufffd.jsonl", "cli:b\ufffd")]


def test_an_export_never_replaces_the_database(database, shell):
    assert database in shell(f"export responses -o {database} --db {database}", code=2)
    shell(f"stats --db {database}")


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("database is locked", " (another process writes to it"),
        ("database or disk is full", " (free some disk space"),
        ("no room", ""),
    ],
)
def test_an_error_of_the_database_is_one_line_with_what_to_do_and_without_the_rows(
    fault, advice, database, tmp_path, shell
):
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            f"CREATE TRIGGER bad BEFORE INSERT ON response BEGIN SELECT RAISE(ABORT, '{fault}'); END"
        )
    log = tmp_path / "more.jsonl"
    log.write_text('{"query": "a private question", "answer": "a"}')
    error = shell(f"import {log} --db {database}", code=2)
    assert f"database error: {fault}{advice}" in error
    assert error.count("\n") == 1
    assert "private" not in error


def test_a_run_that_gives_up_waiting_names_the_command_that_goes_on(database, monkeypatch, shell):
    def give_up(*_, wait, **__):
        raise DatabaseAway(
            f"the database could not be used for {wait:g} s: 8 replies could not be stored", 8
        )

    monkeypatch.setattr(judging, "judge_pending", give_up)
    words = f" --judge lexical --wait 5 --db {database}"
    error = shell(f"judge{words}", code=2)
    assert "8 replies" in error
    assert error.endswith(f"{words}`\n")


def test_events_show_runs_with_their_counts_and_the_reason_of_a_failure(database, shell):
    db = f"--db {database}"
    shell(f"judge --judge lexical --limit 3 {db}")
    with RecordingEndpoint(always(failure(401, "wrong key"))) as endpoint:
        shell(f"judge night --model m --base-url {endpoint.base_url} {db}", code=2)
    shell(f"db forget a1 --yes {db}")
    events = json.loads(shell(f"db events --kind run --json {db}"))["events"]
    failed, done = (event["details"] for event in events)
    assert (done["judge"], done["state"], done["ok"]) == ("lexical v1", "done", 3)
    assert failed["judge"] == "night v1"
    assert failed["state"] == "stopped"
    assert "401" in failed["reason"]
