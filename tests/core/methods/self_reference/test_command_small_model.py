"""`judgeboard compare ssr` with a real small model: whatever it says, every sample and every order is accounted for."""

import json
from pathlib import Path

import pytest

from judgeboard.cli.app import run
from judgeboard.domain import Status
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.methods.self_reference.tables import SAMPLE
from judgeboard.store.comparisons import latest_comparisons
from judgeboard.store.engine import Store
from judgeboard.store.tables import COMPARISON
from judging_log import address
from stored_rows import rows_of

PAIR = {
    "id": "q",
    "question": "Capital of Italy?",
    "answer_a": "Rome",
    "answer_b": "Paris",
}

# The model reads 300 tokens a second: half of the built-in prompt does.
PROMPT = """# Role
You compare two answers.

# Comparing
The order of the answers says nothing about them.

# Task
The token is {fence}.

{material}

Compare the two answers.
"""


@pytest.mark.llm
@pytest.mark.timeout(900)
def test_a_real_small_model_goes_through_all_of_it(
    small_model: str, sqlite_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(json.dumps(PAIR))
    prompt = tmp_path / "prompt.md"
    prompt.write_text(PROMPT)
    with RecordingEndpoint(forward_to(small_model, timeout_s=500)) as endpoint:
        model = [
            "--model",
            "smollm2",
            "--base-url",
            endpoint.base_url,
            "--max-output",
            "64",
            "--timeout",
            "500",
        ]
        # One at a time, the server keeps the part of the prompt that both orders share.
        model += ["--concurrency", "1", "--prompt", str(prompt)]
        command = [
            "compare",
            "ssr",
            "--pairs",
            str(pairs),
            *model,
            "--k",
            "1",
            "--conditions",
            "C",
            "--json",
        ]
        assert run([*command, "--db", address(sqlite_store)]) == 0
        requests = len(endpoint.requests)
    result = json.loads(capsys.readouterr().out)
    account = result["account"]
    asked = sum(account[status] for status in ("ok", "unparsable", "refused", "error"))
    comparisons = rows_of(sqlite_store, COMPARISON)
    stored = [*rows_of(sqlite_store, SAMPLE), *comparisons]
    assert account["asked"] == asked == len(stored) == 3
    assert sum(len(row["attempts"]) for row in stored) == requests
    assert all(row["raw"] and row["model_reported"] for row in stored)
    assert (account["error"], account["not_reached"]) == (0, 0)
    assert [row["n"] for row in result["rows"] if (row["figure"], row["slice"]) == ("n", None)] == [
        1
    ]
    with sqlite_store.reading() as connection:
        for row in comparisons:
            for said in latest_comparisons(
                connection, row["judge_version_id"], row["pair_id"], [row["condition"]]
            ):
                # Unusable is unusable.
                assert bool(said.preferences) is (said.status is Status.OK)
