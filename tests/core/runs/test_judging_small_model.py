"""A real model judges through the commands, answers and then anchors: whatever it says, nothing of it gets lost."""

from collections import Counter

import pytest

from command_lines import run_line
from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import ANCHOR_JUDGMENT
from judging_log import address, judgments
from stored_rows import rows_of, write_to

ANSWERS = [
    (
        "How high is the wall at Sonnstein?",
        "It is 34 metres high.",
        ("Sonnstein: routes up to 34 m.",),
    ),
    ("Is chalk allowed there?", "Yes, everywhere.", ("Chalk is not allowed.",)),
]

# The model reads 300 tokens a second: half of the built-in prompt does.
PROMPT = """# Role
You judge an answer.

# Groundedness
groundedness: 1.0 if all of the answer comes from the passages, 0.0 if nothing does.

# Quality
quality: 1 (bad), 2, 3 or 4 (good).

# Task
The token is {fence}.

{material}

Judge the answer.
"""


@pytest.mark.llm
@pytest.mark.timeout(900)
def test_every_answer_and_anchor_gets_a_judgment_with_all_that_was_said(
    small_model, sqlite_store, tmp_path, capsys
):
    prompt = tmp_path / "prompt.md"
    prompt.write_text(PROMPT)
    write_to(
        sqlite_store,
        store_responses,
        [Response("log", str(number), *answer) for number, answer in enumerate(ANSWERS)],
    )
    db = f"--db {address(sqlite_store)}"
    with RecordingEndpoint(forward_to(small_model, timeout_s=500)) as endpoint:
        model = f"--judge rag --model smollm2 --base-url {endpoint.base_url} --max-output 48"
        # One at a time, the server keeps the part of the prompt that all calls share.
        calls = f"{model} --prompt {prompt} --timeout 500 --concurrency 1 {db}"
        code = run_line(f"judge {calls}")
        output, requests = capsys.readouterr().out, len(endpoint.requests)
        assert run_line(f"test anchors make --n 1 {db}") == 0
        for _ in range(2):
            assert run_line(f"test anchors judge {calls}") in {0, 1}

    rows, anchors = judgments(sqlite_store), rows_of(sqlite_store, ANCHOR_JUDGMENT)
    counted = Counter(row["status"] for row in rows)
    # Verdicts on anchors are stored apart.
    assert len(rows) == counted.total() == len(ANSWERS)
    assert (
        "2 asked = "
        + " + ".join(
            f"{counted[status]} {status}" for status in ("ok", "unparsable", "refused", "error")
        )
        in output
    )
    assert (code, counted["error"]) == (0, 0), [row["error"] for row in rows]
    assert len(anchors) == 2
    for row in (*rows, *anchors):
        assert row["raw"], row["id"]
        assert row["model_reported"]
        assert row["prompt_tokens"] > 100
    for row in rows:
        assert 0 < row["completion_tokens"] <= 48 * len(row["attempts"])
        assert row["latency_ms"] > 0
        # The endpoint is on an own machine.
        assert row["cost_micro"] == 0
        assert (row["groundedness"] is not None) == (row["status"] == "ok")
        assert all(attempt["raw"] for attempt in row["attempts"])
    assert sum(len(row["attempts"]) for row in rows) == requests
    assert {request.body["max_tokens"] for request in endpoint.requests} == {48}

    code = run_line(f"test anchors report --json {db}")
    assert code == (0 if any(row["status"] == "ok" for row in anchors) else 2)
