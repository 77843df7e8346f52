"""A real model judges anchors twice through the commands: its verdicts are stored apart, with the model's name."""

import json

import pytest

from judgeboard.cli.app import run
from judgeboard.domain import Response
from judgeboard.store.engine import Store
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import ANCHOR_JUDGMENT
from judging_log import address, judgments
from stored_rows import rows_of

ANSWER = Response(
    "log", "1", "How high is the wall at Sonnstein?", "It is 34 metres high.", ("Sonnstein: routes up to 34 m.",)
)


@pytest.mark.llm
@pytest.mark.timeout(900)
def test_anchors_are_judged_again_by_a_real_model(
    small_model: str, sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite_store.writing() as connection:
        store_responses(connection, [ANSWER])
    database = ["--db", address(sqlite_store)]
    model = ["--judge", "rag", "--model", "smollm2", "--base-url", small_model, "--max-output", "64"]
    calls = [*model, "--timeout", "500", *database]
    assert run(["judge", *calls]) in {0, 1}
    assert run(["anchors", "make", "--n", "1", *database]) == 0
    for _ in range(2):
        assert run(["anchors", "judge", *calls]) in {0, 1}
    rows = rows_of(sqlite_store, ANCHOR_JUDGMENT)
    assert len(rows) == 2
    assert len(judgments(sqlite_store)) == 1
    assert all(row["raw"] and row["model_reported"] and row["prompt_tokens"] > 100 for row in rows)
    capsys.readouterr()
    code = run(["anchors", "report", "--json", *database])
    if not any(row["status"] == "ok" for row in rows):
        assert code == 2
        return
    shown = json.loads(capsys.readouterr().out)
    assert (code, shown["drift"], shown["judge"], shown["anchors"]) == (0, False, "rag v1", 1)
    assert shown["usable"] <= 1
