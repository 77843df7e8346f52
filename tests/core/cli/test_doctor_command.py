"""`judgeboard doctor` and `judgeboard config`: what is wrong, how to mend it, and no secret on the screen."""

from pathlib import Path

import pytest
from sqlalchemy import text

from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, always, completion, failure, verdict
from judgeboard.store.engine import Store
from judging_log import address, store_answers

KEY = "sk-live-0123456789abcdef"


def doctor(db: str, reply: ScriptedReply | None = None, *options: str) -> int:
    with RecordingEndpoint(always(reply or verdict())) as endpoint:
        asked = ["--model", "scripted", "--base-url", endpoint.base_url] if reply else []
        return run(["doctor", *asked, *options, "--db", db])


def test_all_well_is_0_and_says_what_was_looked_at(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store_answers(sqlite_store, 3)
    assert doctor(address(sqlite_store), verdict()) == 0
    out = capsys.readouterr().out
    assert "3 answers, 0 open flags" in out
    assert "scripted-model answered in" in out
    assert "json_schema" in out
    assert "fix " not in out


def test_a_database_that_everybody_can_read_is_said_with_the_command(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_answers(sqlite_store, 1)
    file = Path(address(sqlite_store))
    for mode, warns in ((0o644, True), (0o640, False), (0o600, False)):
        file.chmod(mode)
        assert doctor(str(file)) == 0
        assert (f"chmod o-rwx {file}*" in capsys.readouterr().out) == warns


def test_without_a_model_the_offline_judge_is_named(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store_answers(sqlite_store, 1)
    assert doctor(address(sqlite_store)) == 0
    assert "--judge lexical" in capsys.readouterr().out


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
def test_what_is_wrong_with_an_endpoint_is_1_with_the_fix(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str], reply: ScriptedReply, fix: str
) -> None:
    store_answers(sqlite_store, 1)
    assert doctor(address(sqlite_store), reply) == 1
    wrong = [line for line in capsys.readouterr().out.split("fix ")[1:] if fix in line]
    assert len(wrong) == 1


def test_an_address_where_nobody_answers_is_said(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store_answers(sqlite_store, 1)
    with RecordingEndpoint() as gone:
        pass
    assert run(["doctor", "--model", "m", "--base-url", gone.base_url, "--db", address(sqlite_store)]) == 1
    assert "nothing answers" in capsys.readouterr().out


def test_a_missing_key_is_said_before_anything_is_sent(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store_answers(sqlite_store, 1)
    assert run(["doctor", "--model", "gpt-4o-mini", "--db", address(sqlite_store)]) == 1
    assert "OPENAI_API_KEY" in capsys.readouterr().out


def test_a_missing_database_names_the_command_that_makes_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none.db"
    assert run(["doctor", "--db", str(missing)]) == 1
    assert "judgeboard demo" in capsys.readouterr().out
    assert not missing.exists()


def test_an_empty_database_names_the_import(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--db", address(sqlite_store)]) == 1
    assert "judgeboard import FILE" in capsys.readouterr().out


def test_a_database_of_an_older_revision_names_export(sqlite_store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite_store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    assert run(["doctor", "--db", address(sqlite_store)]) == 1
    assert "judgeboard export all" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["config", "doctor"])
def test_no_secret_reaches_the_screen(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    store_answers(sqlite_store, 1)
    with RecordingEndpoint(always(failure(401, f"Incorrect API key provided: {KEY}"))) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url.replace("://", "://user:s3cret@"))
        monkeypatch.setenv("JUDGEBOARD_MODEL", "scripted")
        run([command, "--db", address(sqlite_store)])
    printed = capsys.readouterr()
    for secret in (KEY, "s3cret"):
        assert secret not in printed.out + printed.err
    assert "***" in printed.out


def test_config_says_which_settings_come_from_where(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUDGEBOARD_LOW_GROUNDEDNESS", "0.6")
    assert run(["config", "--db", address(sqlite_store)]) == 0
    out = capsys.readouterr().out
    assert "JUDGEBOARD_LOW_GROUNDEDNESS = 0.6" in out
    assert "low_groundedness = 0.6 (env)" in out
    assert "low_quality = 2" in out
    assert "(default)" in out
    assert "OPENAI_API_KEY is not set" in out


def test_config_fails_where_the_database_cannot_be_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "--db", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().out


def test_config_without_a_database_still_shows_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "--db", str(tmp_path / "none.db")]) == 0
    out = capsys.readouterr().out
    assert "JUDGEBOARD_DB is not set" in out
    assert "no database at" in out
