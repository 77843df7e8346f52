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
