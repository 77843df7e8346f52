"""The settings of the environment and the project file, read in one place and shown without secrets."""

import ast
from pathlib import Path

import pytest

from judgeboard.errors import BadInput
from judgeboard.masking import masked
from judgeboard.settings import load_settings, provider_address, provider_key, shown_settings

CORE = Path(__file__).parents[2] / "core" / "judgeboard"


def test_nothing_is_set_by_default() -> None:
    assert {each.origin for each in shown_settings(load_settings(), ["openai"])} == {"default"}


def test_the_usual_names_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGEBOARD_DB", "judgeboard.db")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz")
    monkeypatch.setenv("JUDGEBOARD_ALWAYS_REVIEW", " sql,complex ,")
    settings = load_settings()
    assert settings.db == "judgeboard.db"
    assert provider_address("openai") == "http://localhost:8000/v1"
    assert provider_key("openai") == "sk-abcdefghijklmnopqrstuvwxyz"
    assert provider_key("anthropic") is None
    assert settings.always_review == ("sql", "complex")
    monkeypatch.setenv("JUDGEBOARD_DB", "")
    assert load_settings().db is None


def test_secrets_and_passwords_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGEBOARD_DB", "postgresql://mara:hunter2@db/case?sslpassword=hunter3")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnopqrstuvwxyz")
    monkeypatch.setenv("JUDGEBOARD_ALERT_COMMAND", "send --token S3CRET")
    settings = load_settings()
    shown = {each.name: each.value for each in shown_settings(settings, ["openai"])}
    assert shown["alert_command"] == "********"
    assert shown["db"] == "postgresql://mara:***@db/case?sslpassword=***"
    assert shown["OPENAI_API_KEY"] == "********wxyz"
    assert "sk-abc" not in repr(settings)
    assert "S3CRET" not in repr(settings)
    assert masked("a/path.db") == "a/path.db"


def test_a_short_key_shows_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-short")
    assert "********" in [each.value for each in shown_settings(load_settings(), ["openai"])]


def test_a_value_of_the_wrong_kind_names_its_variable_and_not_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGEBOARD_RANDOM_SHARE", "secret words")
    with pytest.raises(BadInput, match=r"JUDGEBOARD_RANDOM_SHARE is not usable: .*number") as caught:
        load_settings()
    assert "secret words" not in str(caught.value)


def test_nothing_else_reads_the_environment() -> None:
    readers = set()
    for path in CORE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
                readers.add(path.relative_to(CORE).as_posix())
    assert readers == {"settings.py", "client/sending.py"}  # the client is for assistants and has its own variables


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:s3/cr@et@host/db",
        "postgresql://host/db?user=u&password=s3cret",
        "https://host/v1?key=s3cret",
        "https://host/v1?access_token=s3cret&x=1",
    ],
)
def test_no_part_of_a_password_is_shown(address: str) -> None:
    shown = masked(address)
    assert "***" in shown
    assert not any(part in shown for part in ("s3", "cret", "cr@et"))
