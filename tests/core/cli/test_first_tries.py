"""The first tries of a new user: what is understood, and which command a refusal ends with."""

import json
import re
import shlex

import pytest

from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, verdict
from judgeboard.store.engine import Store
from judging_log import address, store_answers


def last_command(text: str) -> list[str]:
    """Return the words of the last command of a message."""
    command = re.findall(r"judgeboard [^`\n]+", text)[-1]
    return shlex.split(command)[1:]


@pytest.mark.parametrize("command", [["judge"], ["rules", "add", "live"]])
def test_a_model_without_a_kind_of_judge_means_the_rag_judge(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    store_answers(sqlite_store, 2)
    with RecordingEndpoint(always(verdict())) as endpoint:
        words = ["--model", "m1", "--base-url", endpoint.base_url, "--db", address(sqlite_store), "--json"]
        assert run([*command, *words]) == 0
    assert json.loads(capsys.readouterr().out)["judge"] == "rag v1"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["judge"], ["judge", "--judge", "lexical"]),
        (["judge", "--judge", "lexicl"], ["judge", "--judge", "lexical"]),
        (["judge", "--judge=lexicl"], ["judge", "--judge=lexical"]),
        (["rules", "add", "live"], ["rules", "add", "live", "--judge", "lexical"]),
        (["judge", "--claims"], ["judge", "--claims", "--model", "gpt-4o-mini"]),
    ],
)
def test_without_a_judge_the_refusal_ends_with_the_command_that_names_one(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str], words: list[str], command: list[str]
) -> None:
    db = ["--db", address(sqlite_store)]
    assert run([*words[:1], *db, *words[1:]] if len(words) == 1 else [*words, *db]) == 2
    suggested = last_command(capsys.readouterr().err)
    assert sorted(suggested) == sorted([*command, *db])
    if "lexical" in str(command):
        store_answers(sqlite_store, 1)
        assert run(suggested) == 0


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["push", "--to", "phoenix", "--address", "http://x"], ["push", "phoenix", "--url", "http://x"]),
        (["push", "--to=phoenix"], ["push", "phoenix"]),
        (["push", "add", "--to", "mlflow"], ["push", "add", "mlflow"]),
        (["push", "phonix"], ["push", "phoenix"]),
        (["queue", "ls"], ["queue", "list"]),
        (["queue", "create", "q", "rule=low_quality"], ["queue", "create", "q", "--where", "rule=low_quality"]),
        (["agreement", "--judge", "lexical"], ["agreement", "--judge-version", "lexical"]),
        (["jugde"], ["judge"]),
        (["rules"], ["rules", "list"]),
        (["judge", "lexical"], ["judge", "--judge", "lexical"]),
        (["health"], ["health", "--judge-version", "lexical v1"]),
        (["health", "lexical"], ["health", "--judge-version", "lexical"]),
        (["health", "--fail"], ["health", "--gate", "--judge-version", "lexical v1"]),
        (["versus"], ["versus", "--judge-version", "lexical v1", "--judge-version", "other v1"]),
        (["versus", "lexical"], ["versus", "--judge-version", "lexical", "--judge-version", "other v1"]),
        (["queue", "next"], ["queue", "next", "legal"]),
    ],
)
def test_what_click_refuses_ends_with_the_command_of_this_database(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str], words: list[str], command: list[str]
) -> None:
    store_answers(sqlite_store, 2)
    db = ["--db", address(sqlite_store)]
    for name in ("lexical", "other"):
        assert run(["judge", "--judge", "lexical", "--name", name, *db]) == 0
    assert run(["queue", "create", "legal", *db]) == 0
    capsys.readouterr()
    assert run([*words, *db]) == 2
    assert sorted(last_command(capsys.readouterr().err)) == sorted([*command, *db])


def test_versions_alone_lists_them_and_the_version_names_the_program(
    sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_answers(sqlite_store, 1)
    db = ["--db", address(sqlite_store)]
    assert run(["judge", "--judge", "lexical", *db]) == 0
    capsys.readouterr()
    assert run(["versions", *db]) == 0
    assert capsys.readouterr().out == "lexical v1  lexical  –\n"
    assert run(["versions", "--json", *db]) == 0
    assert [version["name"] for version in json.loads(capsys.readouterr().out)["versions"]] == ["lexical"]
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("judgeboard, version ")


def test_no_refusal_suggests_a_command_that_deletes(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["forget"], ["forget", "--al"], ["forgett"]):
        run(words)
        assert "For example" not in capsys.readouterr().err
