"""A real model judges through the command: whatever it says, nothing of it gets lost."""

from collections import Counter

import pytest

from judgeboard.cli.app import run
from judgeboard.domain import Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, forward_to
from judgeboard.store.engine import Store
from judgeboard.store.storing import store_responses
from judging_log import address, judgments

ANSWERS = [
    ("How high is the wall at Sonnstein?", "It is 34 metres high.", ("Sonnstein: routes up to 34 m.",)),
    ("Is chalk allowed there?", "Yes, white chalk is allowed everywhere.", ("Chalk is not allowed on sandstone.",)),
    ("Who wrote the guide?", "The guide does not say it.", ()),
]


@pytest.mark.llm
@pytest.mark.timeout(900)
def test_every_answer_gets_a_judgment_with_all_that_was_said(
    small_model: str, sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite_store.writing() as connection:
        store_responses(connection, [Response("log", str(number), *answer) for number, answer in enumerate(ANSWERS)])
    with RecordingEndpoint(forward_to(small_model, timeout_s=500)) as endpoint:
        model = ["--model", "smollm2", "--base-url", endpoint.base_url, "--max-output", "96", "--timeout", "500"]
        code = run(["judge", "--judge", "rag", *model, "--concurrency", "2", "--db", address(sqlite_store)])

    rows = judgments(sqlite_store)
    counted = Counter(row["status"] for row in rows)
    assert len(rows) == counted.total() == len(ANSWERS)
    assert (
        "3 asked = " + " + ".join(f"{counted[status]} {status}" for status in ("ok", "unparsable", "refused", "error"))
        in capsys.readouterr().out
    )
    assert (code, counted["error"]) == (0, 0), [row["error"] for row in rows]
    for row in rows:
        assert row["raw"], row["id"]
        assert row["model_reported"]
        assert row["prompt_tokens"] > 100
        assert 0 < row["completion_tokens"] <= 96 * len(row["attempts"])
        assert row["latency_ms"] > 0
        assert row["cost_micro"] is None
        assert (row["groundedness"] is not None) == (row["status"] == "ok")
        assert all(attempt["raw"] for attempt in row["attempts"])
    assert sum(len(row["attempts"]) for row in rows) == len(endpoint.requests)
    assert {request.body["max_tokens"] for request in endpoint.requests} == {96}
