"""A real small model answers and judges through both commands: whatever it says, all of it is accounted for."""

import json

import pytest

from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.store.engine import Store
from judging_log import address, judgments
from refining_log import generations, refinements, store_bad

pytestmark = [pytest.mark.llm, pytest.mark.timeout(300)]


def play(store: Store, base_url: str, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    generator = ["--generator", "smollm2", "--generator-base-url", base_url, "--generator-max-output", "24"]
    assert run([*words, *generator, "--timeout", "200", "--json", "--db", address(store)]) == 0
    output = json.loads(capsys.readouterr().out)
    assert isinstance(output, dict)
    return output


def test_one_answer_is_reflected_on_and_refined(
    small_model: str, sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store_bad(sqlite_store)
    with RecordingEndpoint(forward_to(small_model, timeout_s=200)) as endpoint:
        url = endpoint.base_url
        # The offline judge, since a real one's calls are what the second command makes.
        reflected = play(sqlite_store, url, capsys, "reflect", "--judge", "lexical", "--max-quality", "4")
        first = len(endpoint.requests)
        judge = ("--judge-model", "smollm2", "--base-url", url, "--max-output", "64")
        refined = play(sqlite_store, url, capsys, "refine", "--where", "id=0", *judge, "--max-repeats", "0")
        assert (reflected["calls"], refined["calls"]) == (first, len(endpoint.requests) - first)
    for said in (reflected, refined):
        account = said["account"]
        assert account["asked"] == sum(int(account[name]) for name in ("ok", "unparsable", "refused", "error"))
        assert (account["error"], account["not_reached"]) == (0, 0)
    assert (reflected["eligible"], refined["prompts"]) == (1, 1)
    assert {row["status"] for row in (*judgments(sqlite_store), *generations(sqlite_store))} <= {"ok", "unparsable"}
    assert all(row["rating"] is None for row in refinements(sqlite_store) if row["outcome"] == "unrated")
