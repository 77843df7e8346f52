"""`judgeboard test audit`, as a person types it."""

import json
from typing import Any

import pytest

from graded_log import BAD, GOOD, GradedLog
from judgeboard.cli.app import run
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion, verdict
from judgeboard.store.engine import Store
from judging_log import address

COUNTS = ("asked", "ok", "unparsable", "refused", "error", "not_reached")


@pytest.fixture
def log(sqlite_store: Store) -> GradedLog:
    """Ten answers that a teacher calls good, and people bad; a second judge agrees with people."""
    log = GradedLog(sqlite_store)
    ids = log.answers(10)
    log.say_all(log.version("teacher"), ids, label=GOOD)
    log.say_all(log.version("second"), ids, label=BAD)
    log.review_all(ids, label=BAD.value)
    return log


def audit(log: GradedLog, *words: str) -> int:
    return run(["test", "audit", "teacher", *words, "--db", address(log.store)])


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    out = capsys.readouterr().out
    return json.loads(out)


def test_a_recorded_audit_as_json_alone(log: GradedLog, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(log, "--recorded", "--by", "second", "--json") == 0
    result = printed(capsys)
    assert [result["account"][name] for name in COUNTS] == [10, 10, 0, 0, 0, 0]
    assert [row["value"] for row in result["rows"] if row["figure"] == "n"] == [10, 0, 0, 0]
    assert result["about"]["counts"]["flags_raised"] == 10
    assert {*result["caught"][0]} == {"external_id", "source", "response_id", "judge", "people"}
    assert [len(result[name]) for name in ("caught", "missed", "accused")] == [10, 0, 0]


def test_a_model_audits_a_tenth_unless_told_otherwise(
    log: GradedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    with RecordingEndpoint(always(completion("incorrect 0"))) as endpoint:
        model = ["--model", "big", "--base-url", endpoint.base_url]
        assert audit(log, *model) == 0
        first = len(endpoint.requests)
        assert " 10 % " in capsys.readouterr().out
        assert audit(log, *model, "--sample", "1", "--json") == 0
        assert first < len(endpoint.requests) == len(printed(capsys)["caught"]) == 10


@pytest.mark.parametrize("approach", [[], ["--approach", "2", "--judge", "grade"]])
def test_the_supreme_judge_is_asked_at_the_temperature_that_is_given(
    log: GradedLog, approach: list[str]
) -> None:
    with RecordingEndpoint(always(completion("incorrect 0"))) as endpoint:
        model = ["--model", "big", "--base-url", endpoint.base_url, *approach]
        assert audit(log, *model, "--temperature", "0.7", "--sample", "1") == 0
    assert {request.body["temperature"] for request in endpoint.requests} == {0.7}


def test_the_second_approach_scores_as_the_audited_judge_does_or_as_told(
    log: GradedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    with RecordingEndpoint(always(completion("incorrect 0"))) as endpoint:
        model = ["--model", "big", "--base-url", endpoint.base_url]
        model += ["--sample", "1", "--approach", "2"]
        # A rag judge gives no label, and the teacher nothing else.
        assert audit(log, *model) == 2
        refused = capsys.readouterr().err
        assert "teacher v1 gives label," in refused
        assert "groundedness and quality." in refused
        assert refused.count("\n") == 1
        assert endpoint.requests == []
        assert audit(log, *model, "--judge", "grade", "--json") == 0
        assert printed(capsys)["rows"][0]["value"] == 10
        assert len(endpoint.requests) == 10
        log.say_all(log.version("rag"), range(1, 11), groundedness=0.9)
        endpoint.script = always(verdict(groundedness=0.1))
        command = ["test", "audit", "rag", *model, "--name", "other", "--json"]
        command += ["--db", address(log.store)]
        assert run(command) == 0
        result = printed(capsys)
        assert (result["about"]["judges"][1], result["about"]["counts"]["audited"]) == (
            "other v1",
            10,
        )
    assert len(endpoint.requests) == 20


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "the supreme judge needs a model: give --model NAME"),
        (["--recorded"], "--by NAME"),
        (
            ["--recorded", "--by", "second", "--model", "m"],
            "makes no model calls: remove --model",
        ),
        (["--recorded", "--by", "second", "--concurrency", "16"], "remove --concurrency"),
        (["--recorded", "--by", "second", "--temperature", "1"], "remove --temperature"),
        (["--recorded", "--by", "nobody"], "no judge version 'nobody'"),
        (["--recorded", "--by", "teacher"], "cannot audit itself"),
        (["--model", "m", "--base-url", "http://127.0.0.1:1/v1", "--judge", "rag"], "--approach 2"),
        (
            ["--model", "m", "--base-url", "https://models.example.org/v1", "--max-cost", "1"],
            "--prices",
        ),
        (["--recorded", "--by", "second", "--sample", "0"], "--sample"),
    ],
)
def test_a_bad_option_is_2_and_one_line(
    log: GradedLog, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert audit(log, *options) == 2
    shown = capsys.readouterr()
    assert says in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


LIVE = ["--model", "m", "--base-url", "http://127.0.0.1:1/v1"]


@pytest.mark.parametrize(
    "how", [LIVE, [*LIVE, "--approach", "2", "--judge", "grade"], ["--recorded", "--by", "second"]]
)
def test_a_version_that_gave_no_verdicts_on_answers_is_not_audited(
    log: GradedLog, capsys: pytest.CaptureFixture[str], how: list[str]
) -> None:
    log.version("pairwise")
    assert run(["test", "audit", "pairwise", *how, "--db", address(log.store)]) == 2
    shown = capsys.readouterr()
    assert "pairwise v1 " in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")


@pytest.mark.parametrize("how", [LIVE, ["--recorded", "--by", "second"]])
def test_a_sample_that_draws_none_of_the_verdicts_is_an_audit_of_nothing(
    log: GradedLog, how: list[str]
) -> None:
    assert audit(log, *how, "--sample", "0.000001") == 0


def test_what_was_shown_the_verdicts_is_not_compared_as_scores(
    log: GradedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    with RecordingEndpoint(always(completion("incorrect 0"))) as endpoint:
        assert audit(log, "--model", "big", "--base-url", endpoint.base_url, "--sample", "1") == 0
    recorded = ["--recorded", "--by", "supreme"]
    assert audit(log, *recorded) == 0
    capsys.readouterr()
    assert audit(log, *recorded, "--approach", "2") == 2
    shown = capsys.readouterr()
    assert "supreme v1 " in shown.err
    assert "Omit --approach" in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
