"""The commands, as a person types them: what they print, and their exit codes."""

import contextlib
import gc
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from stat import filemode

import pytest

from judgeboard.cli.app import Root, run
from judgeboard.errors import DatabaseAway
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, failure
from judgeboard.runs import judging
from judgeboard.store.engine import Store
from judgeboard.store.export import exports
from judgeboard.store.opening import open_store
from judging_log import address


@pytest.fixture
def database(sqlite_template: Path, tmp_path: Path) -> str:
    path = str(shutil.copyfile(sqlite_template, tmp_path / "judgeboard.db"))
    log = tmp_path / "log.jsonl"
    rows = [
        {"id": f"a{n}", "question": f"q{n}?", "response": f"answer {n}", "contexts": ["p"]}
        for n in range(4)
    ]
    log.write_text("\n".join(json.dumps(row) for row in rows))
    assert run(["import", str(log), "--db", path]) == 0
    return path


@pytest.mark.parametrize("name", Root.places)
def test_every_command_has_help_with_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "--help"]) == 0
    assert f"judgeboard {name}" in capsys.readouterr().out.split("Example:")[1]


def test_a_program_that_calls_a_command_keeps_its_garbage_collector(database: str) -> None:
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    assert run(["stats", "--db", database]) == 0
    assert gc.get_threshold() == threshold
    assert gc.get_freeze_count() <= frozen


@pytest.fixture
def permissive_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_only_its_owner_can_read_the_database_and_what_is_written_from_it(
    permissive_umask: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"id": "a1", "question": "how?", "response": "so"}\n{"id": "a2"}\n')
    written = tmp_path / "written"
    database = str(written / "judgeboard.db")
    assert run(["db", "migrate", "--db", database]) == 0
    store = open_store(database)
    with store.writing() as connection:  # while it is open, it has a -wal and a -shm file
        connection.exec_driver_sql("SELECT 1")
    rejected = written / "rejected.jsonl"
    run(["import", str(log), "--rejected", str(rejected), "--db", database])
    assert run(["export", "responses", "-o", str(written / "answers.jsonl"), "--db", database]) == 0
    assert run(["export", "all", "--format", "parquet", "-o", str(written), "--db", database]) == 0
    modes = {
        path.name: filemode(path.stat().st_mode) for path in written.iterdir() if path.is_file()
    }
    store.close()
    expected = {
        "judgeboard.db",
        "judgeboard.db-wal",
        "judgeboard.db-shm",
        "rejected.jsonl",
        "answers.jsonl",
    }
    assert expected | {"reviews.parquet"} <= set(modes)
    assert set(modes.values()) == {"-rw-------"}, modes


def test_a_database_that_is_shared_on_purpose_stays_shared(
    permissive_umask: None, database: str
) -> None:
    Path(database).chmod(0o660)
    assert run(["db", "migrate", "--db", database]) == 0
    assert filemode(Path(database).stat().st_mode) == "-rw-rw----"


def test_a_missing_database_names_the_next_command_and_makes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.db"
    for words in (
        ["stats"],
        ["judge", "--judge", "lexical"],
        ["flags", "apply"],
        ["export", "flags", "-o", str(tmp_path / "x")],
    ):
        assert run([*words, "--db", str(missing)]) == 2
        error = capsys.readouterr().err
        assert "judgeboard import FILE" in error
        assert len(error.strip().splitlines()) == 1
    assert not missing.exists()


def test_every_suggested_command_opens_the_database_of_this_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, log = str(tmp_path / "my log.db"), tmp_path / "log.jsonl"
    log.write_text(
        json.dumps(
            {"id": "a1", "question": "how?", "response": "As `judgeboard flags apply` does."}
        )
    )
    suggesting = (
        *(
            "agreement",
            "labels plan --reach 0.1 --for kappa",
            "trends",
            "test anchors make",
            "agreement --of repeats",
            "queue list",
        ),
        *(
            "queue list x",
            "queue create p --subject pairs",
            "queue schema list",
            "sources keys revoke x",
            "rule list",
            "doctor",
        ),
        *(
            "rule list --kind push",
            "suite list 1",
            "test controls judge --judge lexical",
            "trends watch --acknowledge 1 --note x",
            "flags apply",
        ),
    )
    assert run(["db", "migrate", "--db", database]) == 0
    for words in suggesting:
        run([*words.split(), "--db", database])
    assert run(["import", str(log), "--db", database]) == 0
    for words in (
        "judge --judge lexical",
        "test health lexical",
        "queue create q --all-answers --limit 1",
    ):
        assert run([*words.split(), "--db", database]) == 0
    output = capsys.readouterr()
    commands = re.findall(r"judgeboard [a-z-]+ ?[^`&\n]*", output.out + output.err)
    assert len(commands) > len(suggesting)
    assert [each for each in commands if f"--db '{database}'" not in each] == [
        "judgeboard quickstart"
    ]

    assert run(["test", "health", "lexical", "--json", "--db", database]) == 0
    assert "--db" not in capsys.readouterr().out


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
def test_an_empty_list_names_the_command_that_fills_it(
    words: str, sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "--db", address(sqlite_store)]) == 0
    assert "`judgeboard " in capsys.readouterr().out


def test_settings_and_findings_are_printed_as_json(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["config", "--json", "--db", database]) == 0
    settings = {each["name"]: each for each in json.loads(capsys.readouterr().out)["settings"]}
    assert settings["random_share"]["origin"] == "default"
    run(["doctor", "--json", "--db", database])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert findings
    assert {*findings[0]} == {"ok", "what", "value", "fix"}


def test_a_file_that_is_no_database_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "notes.db"
    file.write_text("this is a text and no database at all, whatever its name says" * 20)
    assert run(["stats", "--db", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"judgeboard: {file} ")
    assert error.count("\n") == 1


def test_a_password_in_an_address_is_masked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judgeboard.store.outages.WAIT_SECONDS", 0)
    assert run(["stats", "--db", "postgresql://ann:s3cret@127.0.0.1:1/none"]) == 2
    error = capsys.readouterr().err
    assert "s3cret" not in error
    assert "***" in error


def test_import_says_what_was_recognised_as_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.csv"
    log.write_text("Frage,response\nwhy?,because\n")
    assert run(["import", str(log), "--map", "Frage=query", "--db", str(tmp_path / "d.db")]) == 0
    printed = capsys.readouterr().out
    assert "query from 'Frage'" in printed
    assert "answer from 'response'" in printed


def test_import_names_a_field_once_where_rows_call_it_differently(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    names = ["query", "question", "prompt", "input", "instruction"]
    log.write_text("\n".join(json.dumps({name: "why?", "answer": "because"}) for name in names))
    assert run(["import", str(log), "--db", str(tmp_path / "d.db")]) == 0
    (read,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  read:")]
    assert [read.count(f"'{name}'") for name in names] == [1, 1, 1, 0, 0]
    assert " 2 more, " in read


def test_import_exit_codes_tell_all_some_and_none(tmp_path: Path) -> None:
    good = json.dumps({"query": "q", "answer": "a"})
    for name, text, code in (("all", good, 0), ("some", f"{good}\n{{", 1), ("none", "{", 2)):
        log = tmp_path / f"{name}.jsonl"
        log.write_text(text)
        assert run(["import", str(log), "--source", name, "--db", str(tmp_path / "d.db")]) == code
    assert run(["import", str(tmp_path / "absent.jsonl"), "--db", str(tmp_path / "d.db")]) == 2


def test_one_unreadable_file_does_not_keep_the_others_out(database: str, tmp_path: Path) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "b1", "query": "q", "answer": "a"}))
    assert run(["import", str(tmp_path / "absent.jsonl"), str(more), "--db", database]) == 2
    with sqlite3.connect(database) as connection:
        (count,) = connection.execute("SELECT count(*) FROM response").fetchone()
    assert count == 5


def test_a_dry_run_makes_no_database(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"query": "q", "answer": "a"}))
    assert run(["import", str(log), "--dry-run", "--db", str(tmp_path / "new.db")]) == 0
    assert not (tmp_path / "new.db").exists()


def test_stats_json_is_json_alone_and_the_same_bytes_each_time(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["judge", "--judge", "lexical", "--db", database])
    capsys.readouterr()
    assert run(["stats", "--json", "--db", database]) == 0
    first = capsys.readouterr().out
    assert json.loads(first)["judgments"]["ok"] == 4
    run(["stats", "--json", "--db", database])
    assert capsys.readouterr().out == first


def test_a_reader_that_closes_the_pipe_does_not_change_the_exit_code(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unusable = tmp_path / "unusable.jsonl"
    unusable.write_text("{}")
    for words, code in (
        (["stats"], 0),
        (["stats", "--json"], 0),
        (["import", str(unusable)], 2),
        (["config"], 0),
    ):
        reader, writer = os.pipe()
        os.close(reader)
        with (
            contextlib.suppress(BrokenPipeError),
            os.fdopen(writer, "w") as pipe,
            monkeypatch.context() as patched,
        ):
            patched.setattr(sys, "stdout", pipe)
            patched.setattr(sys, "stderr", sys.stderr)  # click wraps both
            assert run([*words, "--db", database]) == code


def test_stats_say_in_words_what_there_is(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["judge", "--judge", "lexical", "--db", database])
    capsys.readouterr()
    assert run(["stats", "--db", database]) == 0
    assert "4 responses, 0" in capsys.readouterr().out


def test_stats_say_how_far_a_judge_agrees_with_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, log, grades = (
        str(tmp_path / "judgeboard.db"),
        tmp_path / "log.jsonl",
        tmp_path / "grades.jsonl",
    )
    answers = [
        {"id": f"a{n}", "question": f"q{n}?", "response": "ten", "contexts": ["ten"]}
        for n in range(12)
    ]
    log.write_text("\n".join(map(json.dumps, answers)))
    said = [
        {"id": f"a{n}", "annotator": "Mara", "label": "grounded" if n else "hallucinated"}
        for n in range(12)
    ]
    grades.write_text("\n".join(map(json.dumps, said)))
    assert run(["import", str(log), "--db", database]) == 0
    assert run(["import", str(grades), "--kind", "grades", "--db", database]) == 0
    run(["judge", "--judge", "lexical", "--db", database])
    capsys.readouterr()
    assert run(["stats", "--db", database]) == 0
    out = capsys.readouterr().out
    assert ["lexical", "v1", "all", "12", "12", "92", "%"] in [
        line.split()[:7] for line in out.splitlines()
    ]


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_exported_responses_import_again_without_a_change(
    database: str, tmp_path: Path, format_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / f"out.{format_}")
    assert run(["export", "responses", "--format", format_, "-o", file, "--db", database]) == 0
    assert run(["import", file, "--db", database]) == 0
    assert "0 new, 4 unchanged" in capsys.readouterr().out


def test_export_all_writes_a_folder(database: str, tmp_path: Path) -> None:
    assert (
        run(["export", "all", "--format", "csv", "-o", str(tmp_path / "out"), "--db", database])
        == 0
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        f"{table}.csv" for table in exports()
    )


def test_forget_blanks_the_texts_and_keeps_the_scores(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["judge", "--judge", "lexical", "--db", database])
    capsys.readouterr()
    run(["stats", "--json", "--db", database])
    before = capsys.readouterr().out
    assert run(["db", "forget", "a1", "--yes", "--db", database]) == 0
    with sqlite3.connect(database) as connection:
        texts = "SELECT query, answer, passages, content_hash IS NOT NULL FROM response WHERE external_id = 'a1'"
        assert connection.execute(texts).fetchone() == (None, None, None, 1)
        judged = (
            "SELECT reasoning, raw, groundedness IS NOT NULL FROM judgment JOIN "
            "response ON response.id = response_id"
        )
        judgment = connection.execute(f"{judged} WHERE external_id = 'a1'").fetchone()
        events = connection.execute("SELECT kind FROM event WHERE kind = 'forget'").fetchall()
    assert (judgment, events) == ((None, None, 1), [("forget",)])
    capsys.readouterr()
    run(["stats", "--json", "--db", database])
    assert capsys.readouterr().out == before


@pytest.mark.parametrize(
    "words",
    [
        ["db", "forget", "--user", "u1"],
        ["db", "forget", "--unsed"],
        ["db", "forget"],
        ["db", "forget", "--older-than", "3"],
        ["db", "forget", "a1", "--older-than", "3"],
        ["forgot", "a1"],
    ],
    ids=" ".join,
)
def test_no_message_suggests_what_deletes(
    database: str, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run([*words, "--db", database]) == 2
    error = capsys.readouterr().err
    assert "Error: " in error
    for deleting in ("--unused", "--yes", "Did you mean"):
        assert deleting not in error
    with sqlite3.connect(database) as connection:
        (forgotten,) = connection.execute(
            "SELECT count(*) FROM event WHERE kind LIKE 'forget%'"
        ).fetchone()
    assert forgotten == 0


def test_forget_of_an_unknown_id_says_so(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["db", "forget", "nobody", "--yes", "--db", database]) == 2
    assert "no response 'nobody'" in capsys.readouterr().err


def test_migrate_says_where_the_database_stood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "new.db")
    assert run(["db", "migrate", "--db", path]) == 0
    assert "created" in capsys.readouterr().out
    assert run(["db", "migrate", "--db", path]) == 0
    assert "was at" in capsys.readouterr().out


def test_config_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-indeed-1234")
    assert run(["config"]) == 0
    assert "very-secret" not in capsys.readouterr().out


def test_an_unexpected_error_is_one_line_and_debug_shows_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "import",
        str(tmp_path / "absent.jsonl"),
        "--map",
        "nothing",
        "--db",
        str(tmp_path / "d.db"),
    ]
    assert run(words) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert run([*words, "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://127.0.0.1:1/none?user=ann&password=s3cret",
        "postgresql://ann:s3cret@host:notaport/none",
        "postgresql:/ann:s3cret@host/none",
        "mysql+nodriver://ann:s3cret@host/none",
        "nosuch://ann:s3cret@host/none",
        "sqlite:///judgeboard.db?password=s3cret",
    ],
)
def test_a_wrong_address_is_said_in_one_line_without_its_password(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judgeboard.store.outages.WAIT_SECONDS", 0)
    assert run(["stats", "--db", address]) == 2
    error = capsys.readouterr().err
    assert "s3cret" not in error
    assert "--debug" not in error
    assert len(error.strip().splitlines()) == 1


def test_the_file_of_another_program_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as shop:
        shop.execute("CREATE TABLE orders (id)")
    log = tmp_path / "log.jsonl"
    log.write_text('{"query": "q", "answer": "a"}')
    for words in (["stats"], ["db", "migrate"], ["import", str(log)]):
        assert run([*words, "--db", str(path)]) == 2
        assert "another program" in capsys.readouterr().err
    with contextlib.closing(sqlite3.connect(path)) as shop:
        names = shop.execute("SELECT name FROM sqlite_master").fetchall()
    assert names == [("orders",)]


def test_a_revision_of_a_newer_program_is_said(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert run(["db", "migrate", "--db", database]) == 2
    assert "a newer Judgeboard" in capsys.readouterr().err


def test_names_that_are_not_utf8_do_not_keep_a_file_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "b\udcff")
    log = tmp_path / "log\udcff.jsonl"
    log.write_text('{"query": "q", "answer": "a"}\n{"query": "q"}')
    assert run(["import", str(log), "--db", str(tmp_path / "judgeboard.db")]) == 1
    with contextlib.closing(sqlite3.connect(tmp_path / "judgeboard.db")) as connection:
        batches = connection.execute("SELECT file, actor FROM import_batch").fetchall()
    assert batches == [("log\ufffd.jsonl", "cli:b\ufffd")]


def test_an_export_never_replaces_the_database(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "responses", "-o", database, "--db", database]) == 2
    assert database in capsys.readouterr().err
    assert run(["stats", "--db", database]) == 0


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("database is locked", "another process writes to it"),
        ("database or disk is full", "free some disk space"),
    ],
)
def test_a_database_that_is_locked_or_full_says_what_to_do(
    fault: str, advice: str, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            f"CREATE TRIGGER bad BEFORE INSERT ON response BEGIN SELECT RAISE(ABORT, '{fault}'); END"
        )
    log = tmp_path / "more.jsonl"
    log.write_text('{"query": "q", "answer": "a"}')
    assert run(["import", str(log), "--db", database]) == 2
    assert f"database error: {fault} ({advice}" in capsys.readouterr().err


def test_an_error_of_the_database_is_one_line_without_the_rows(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON response BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    log = tmp_path / "more.jsonl"
    log.write_text('{"query": "a private question", "answer": "a"}')
    assert run(["import", str(log), "--db", database]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "no room" in error
    assert "private" not in error


def test_a_run_that_gives_up_waiting_names_the_command_that_goes_on(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def give_up(*_: object, wait: float, **__: object) -> None:
        raise DatabaseAway(
            f"the database could not be used for {wait:g} s: 8 replies could not be stored", 8
        )

    monkeypatch.setattr(judging, "judge_pending", give_up)
    assert run(["judge", "--judge", "lexical", "--wait", "5", "--db", database]) == 2
    error = capsys.readouterr().err
    assert "8 replies" in error
    assert error.endswith(f" --judge lexical --wait 5 --db {database}`\n")


def test_events_show_runs_with_their_counts_and_the_reason_of_a_failure(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ["--db", database]
    assert run(["judge", "--judge", "lexical", "--limit", "3", *db]) == 0
    with RecordingEndpoint(always(failure(401, "wrong key"))) as endpoint:
        assert run(["judge", "night", "--model", "m", "--base-url", endpoint.base_url, *db]) == 2
    assert run(["db", "forget", "a1", "--yes", *db]) == 0
    capsys.readouterr()
    assert run(["db", "events", "--kind", "run", "--json", *db]) == 0
    failed, done = json.loads(capsys.readouterr().out)["events"]
    assert (done["details"]["judge"], done["details"]["state"], done["details"]["ok"]) == (
        "lexical v1",
        "done",
        3,
    )
    assert (failed["details"]["judge"], failed["details"]["state"]) == ("night v1", "stopped")
    assert "401" in failed["details"]["reason"]
    assert run(["db", "events", *db]) == 0
    lines = capsys.readouterr().out.splitlines()
    kinds = [line.split("  ")[3] for line in lines]
    assert kinds[:1] == ["forget"]
    assert kinds.count("run") == 2
    assert [line.split("  ")[1] for line in lines] == sorted(
        (line.split("  ")[1] for line in lines), reverse=True
    )
    assert run(["db", "events", "--since", "2199-01-01", *db]) == 0
    assert run(["db", "events", "--actor", "nobody", *db]) == 0
    assert run(["db", "events", "--kind", "run", "--before", "1", *db]) == 0
    assert capsys.readouterr().out == ""
    assert run(["db", "events", "--kind", "run", "--limit", "1", *db]) == 0
    assert "--before 2\n" in capsys.readouterr().err
