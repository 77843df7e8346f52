"""A real model proposes instructions and judges by others: all of it is accounted for, whatever it writes."""

import itertools
import json
from typing import Any

import pytest

from aligned_log import STRONG, measured_routes, numbers_of
from judgeboard.cli.app import run
from judgeboard.domain import Label, Status, Verdict
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion, forward_to
from judgeboard.runs.judging import make_judge
from judgeboard.store.alignments import EvidenceRole, stored_looks
from judgeboard.store.engine import Store
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments
from judgeboard.store.tables import JUDGMENT
from judging_log import address
from stored_rows import rows_of

INSTRUCTIONS = 'Compare the numbers. Reply "correct 1" if they are equal, "incorrect 0" if not.'


@pytest.mark.llm
def test_a_real_model_proposes_and_judges(
    small_model: str, sqlite_store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    _, ids = measured_routes(sqlite_store, 40)
    asked, real = itertools.count(), forward_to(small_model)
    second = completion(json.dumps({"why": "Numbers decide.", "instructions": INSTRUCTIONS}))

    def script(request: dict[str, Any], number: int) -> Any:
        """Let the model propose once; the second proposal can be used."""
        return second if request["model"] == STRONG and next(asked) else real(request, number)

    # The judge's verdicts are stored already, because the model is slow. One of them is wrong.
    wrong, *right = numbers_of(EvidenceRole.DEVELOP, 40)[:3]
    judged = [wrong, *right, *numbers_of(EvidenceRole.HELD_OUT, 40)[:10]]
    with RecordingEndpoint(script) as endpoint:
        judge = make_judge("grade", model="smollm2", base_url=endpoint.base_url, max_output=8)
        good = {number: (number % 2 == 1) != (number == wrong) for number in judged}
        labels = {number: Label.GROUNDED if good[number] else Label.HALLUCINATED for number in judged}
        with sqlite_store.writing() as connection:
            version = ensure_version(connection, judge.version)
            judgments = [NewJudgment(ids[n], 0, 0, Verdict(Status.OK, label=labels[n])) for n in judged]
            store_judgments(connection, version, None, judgments)
        words = ["--base-url", endpoint.base_url, "--db", address(sqlite_store), "--timeout", "120"]
        words += ["--max-output", "16", "--candidates", "2", "--json"]
        code = run(["align", "--judge-version", "grade", "--model", STRONG, *words])
    shown = json.loads(capsys.readouterr().out)
    assert code == shown["exit_code"]
    assert code in {0, 1, 2}
    assert shown["labelled"] == {"held_out": 10, "develop": 3, "examples": 0}
    assert [each["number"] for each in shown["candidates"]] == [1, 2]
    assert all((each["right"] is None) == (each["refused"] is not None) for each in shown["candidates"])
    assert any(each["right"] is not None for each in shown["candidates"])
    assert len(rows_of(sqlite_store, JUDGMENT)) == 13
    with sqlite_store.reading() as connection:
        assert len(stored_looks(connection)) == (shown["look"] is not None)
