"""`judgeboard test audit`, as a person types it."""

import json

import pytest

from graded_log import BAD, GOOD, GradedLog
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion, verdict
from judging_log import address

COUNTS = ("asked", "ok", "unparsable", "refused", "error", "not_reached")
INCORRECT = always(completion("incorrect 0"))
LIVE = "--model m --base-url http://127.0.0.1:1/v1"
SECOND = "--recorded --by second"


@pytest.fixture
def log(sqlite_store):
    """Ten answers that a teacher calls good, and people bad; a second judge agrees with people."""
    log = GradedLog(sqlite_store)
    ids = log.answers(10)
    log.say_all(log.version("teacher"), ids, label=GOOD)
    log.say_all(log.version("second"), ids, label=BAD)
    log.review_all(ids, label=BAD.value)
    return log


@pytest.fixture
def audit(log, shell):
    """Return ``audit(options, code, of)``: what an audit prints, parsed where it is asked for JSON."""

    def typed(options, code=0, of="teacher"):
        printed = shell(f"test audit {of} {options} --db {address(log.store)}", code=code)
        return json.loads(printed) if "--json" in options and code == 0 else printed

    return typed


def test_a_recorded_audit_as_json_alone(audit):
    result = audit(f"{SECOND} --json")
    assert [result["account"][name] for name in COUNTS] == [10, 10, 0, 0, 0, 0]
    assert [row["value"] for row in result["rows"] if row["figure"] == "n"] == [10, 0, 0, 0]
    assert result["about"]["counts"]["flags_raised"] == 10
    assert {*result["caught"][0]} == {"external_id", "source", "response_id", "judge", "people"}
    assert [len(result[name]) for name in ("caught", "missed", "accused")] == [10, 0, 0]


def test_a_model_audits_a_tenth_unless_told_otherwise(audit):
    with RecordingEndpoint(INCORRECT) as endpoint:
        model = f"--model big --base-url {endpoint.base_url}"
        assert " 10 % " in audit(model)
        first = len(endpoint.requests)
        said = audit(f"{model} --sample 1 --json")
        assert first < len(endpoint.requests) == len(said["caught"]) == 10


@pytest.mark.parametrize("approach", ["", "--approach 2 --judge grade"])
def test_the_supreme_judge_is_asked_at_the_temperature_that_is_given(audit, approach):
    with RecordingEndpoint(INCORRECT) as endpoint:
        model = f"--model big --base-url {endpoint.base_url} {approach}"
        audit(f"{model} --temperature 0.7 --sample 1")
    assert {request.body["temperature"] for request in endpoint.requests} == {0.7}


def test_the_second_approach_scores_as_the_audited_judge_does_or_as_told(log, audit):
    with RecordingEndpoint(INCORRECT) as endpoint:
        model = f"--model big --base-url {endpoint.base_url} --sample 1 --approach 2"
        # A rag judge gives no label, and the teacher nothing else.
        refused = audit(model, code=2)
        assert "teacher v1 gives label," in refused
        assert "groundedness and quality." in refused
        assert refused.count("\n") == 1
        assert endpoint.requests == []
        assert audit(f"{model} --judge grade --json")["rows"][0]["value"] == 10
        assert len(endpoint.requests) == 10
        log.say_all(log.version("rag"), range(1, 11), groundedness=0.9)
        endpoint.script = always(verdict(groundedness=0.1))
        about = audit(f"{model} --name other --json", of="rag")["about"]
        assert (about["judges"][1], about["counts"]["audited"]) == ("other v1", 10)
    assert len(endpoint.requests) == 20


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("", "the supreme judge needs a model: give --model NAME"),
        ("--recorded", "--by NAME"),
        (f"{SECOND} --model m", "makes no model calls: remove --model"),
        (f"{SECOND} --concurrency 16", "remove --concurrency"),
        (f"{SECOND} --temperature 1", "remove --temperature"),
        ("--recorded --by nobody", "no judge version 'nobody'"),
        ("--recorded --by teacher", "cannot audit itself"),
        (f"{LIVE} --judge rag", "--approach 2"),
        ("--model m --base-url https://models.example.org/v1 --max-cost 1", "--prices"),
        (f"{SECOND} --sample 0", "--sample"),
    ],
)
def test_a_bad_option_is_2_and_one_line(audit, options, says):
    refused = audit(options, code=2)
    assert says in refused
    assert "Traceback" not in refused


@pytest.mark.parametrize("how", [LIVE, f"{LIVE} --approach 2 --judge grade", SECOND])
def test_a_version_that_gave_no_verdicts_on_answers_is_not_audited(log, audit, how):
    log.version("pairwise")
    refused = audit(how, code=2, of="pairwise")
    assert "pairwise v1 " in refused
    assert refused.count("\n") == 1


@pytest.mark.parametrize("how", [LIVE, SECOND])
def test_a_sample_that_draws_none_of_the_verdicts_is_an_audit_of_nothing(audit, how):
    audit(f"{how} --sample 0.000001")


def test_what_was_shown_the_verdicts_is_not_compared_as_scores(audit):
    with RecordingEndpoint(INCORRECT) as endpoint:
        audit(f"--model big --base-url {endpoint.base_url} --sample 1")
    recorded = "--recorded --by supreme"
    audit(recorded)
    refused = audit(f"{recorded} --approach 2", code=2)
    assert "supreme v1 " in refused
    assert "Omit --approach" in refused
    assert refused.count("\n") == 1
