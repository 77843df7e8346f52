"""`judgeboard suite`, as a person or a build server runs it: exit codes, JSON, being killed in the middle."""

import json
import shlex

import pytest

from command_lines import run_line
from held_endpoint import held_endpoint
from judgeboard.domain import DimensionScore, Grade, Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import get_version
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import GENERATION, JUDGMENT
from judging_log import address, judgments, runs
from killed_command import killed_after
from result_fields import check_fields
from stored_rows import read, row_count, write_to
from suite_runs import asked, playing, scored
from tool_files import written

RUBRIC = "rubric:\n  dimensions:\n" + "".join(
    f"  - {{name: {name}, levels: {{1: a, 2: b, 3: c, 4: d, 5: e}}}}\n"
    for name in ("accuracy", "tone")
)
AT_ONCE = 4


@pytest.fixture
def suite(tmp_path):
    cases = "".join(f"- query: 'What is number-{number}?'\n" for number in range(24))
    file = tmp_path / "suite.yaml"
    file.write_text(f"name: house\ncandidate: model:candidate\n{RUBRIC}cases:\n{cases}")
    return file


def words(endpoint, suite):
    judge = f"--model judge --base-url {endpoint.base_url} --concurrency {AT_ONCE} --yes"
    return f"suite run {suite} {judge}"


@pytest.fixture
def ran(command, suite):
    """Return ``ran(script, *more, code=0)``: what a run of the suite prints."""

    def run_suite(script, *more, code=0):
        with RecordingEndpoint(script) as endpoint:
            return command(words(endpoint, suite), *more, code=code)

    return run_suite


def test_the_json_has_every_field_and_show_prints_the_same(ran, command, json_of):
    first = json.loads(ran(playing(scores={3: scored(1, 2)}), "--json").out)
    check_fields(first, run=1, total_cases=24, measured=24, unmeasured=0)
    assert first["average_score"]["value"] == pytest.approx((23 * 4 + 1.5) / 24)
    assert first["average_score"].keys() >= {"value", "low", "high", "n", "method"}
    assert first["pass_rate"]["value"] == pytest.approx(23 / 24)
    check_fields(first, above_threshold=23, passed=True, baseline=None)
    assert first["gate"] == {"code": 0, "state": "pass", "reasons": []}
    assert "number-3?" in first["cases"][3]["query"]
    (failure,) = first["failures"]
    assert failure.keys() >= {"key", "query", "response", "reason", "checks"}
    check_fields(failure, case="4", score=1.5, passed=False)
    tone = {"dimension": "tone", "value": 2.0, "scale": "1-5", "reasoning": "So."}
    assert failure["dimensions"]["tone"] == tone
    assert first["dimensions"].keys() == {"accuracy", "tone"}
    check_fields(first["account"], asked=48, ok=48, unparsable=0, refused=0, error=0, not_reached=0)
    assert json_of("suite list 1") == first
    (listed,) = json_of("suite list")["runs"]
    check_fields(listed, run=1, suite="house", candidate="model:candidate", measured=24)
    assert command("suite list").out.splitlines()[-1].split()[-3:] == ["24", "24", "done"]


def test_the_temperature_of_the_judge_makes_a_version_of_its_own(sqlite_store, ran):
    temperatures = []
    for options in (), ("--temperature", "0.7"):
        judge = json.loads(ran(playing(), "--json", *options).out)["judge"]
        temperatures.append(read(sqlite_store, get_version, judge).params["temperature"])
    assert temperatures == [0, 0.7]


def test_the_exit_codes_of_the_gate(ran, command):
    bad = {number: scored(1, 1) for number in range(24)}
    some = {number: scored(3, 3) for number in range(8)}
    silent = {number: completion("Hm.") for number in range(2)}

    def reasons(printed):
        return {each["code"]: each["values"] for each in json.loads(printed.out)["gate"]["reasons"]}

    assert "The gate passes." in ran(playing()).out
    unmeasured = reasons(ran(playing(scores=bad | silent), "--json", code=2))
    assert unmeasured["gate_few_scores"] == {"n": 2, "cases": 24, "most": 0.05}
    assert "Worse: 8 cases." in ran(playing(scores=some), "--baseline", "1", code=1).out
    # Without a baseline there is no regression.
    assert reasons(command("suite list 3 --json")) == {}
    fell = reasons(command("suite list 3 --json --baseline 1", code=1))["gate_pass_rate_fell"]
    assert fell["change"]["value"] == pytest.approx(-8 / 24)
    assert "run 99" in ran(playing(), "--baseline", "99", code=2).err
    assert "No baseline: house " in command("suite list 1 --baseline latest").out


def test_killed_half_way_the_same_command_repeats_only_the_calls_in_flight(sqlite_store, suite):
    def stored():
        return row_count(sqlite_store, GENERATION, JUDGMENT)

    with held_endpoint(playing()) as held:
        line = f"{words(held.server, suite)} --db {address(sqlite_store)}"
        killed_after(20, AT_ONCE, held, stored, sqlite_store, shlex.split(line))
        assert len(held.server.requests) == 48 + AT_ONCE
        answers, scores = asked(held.server)
        assert set(answers) == set(scores) == set(range(24))
    assert [(row["kind"], row["state"], row["selected"]) for row in runs(sqlite_store)] == [
        ("suite", "done", 48)
    ]
    assert stored() == 48


def recorded(tmp_path, score, *ids):
    """Write a recorded score of both dimensions for each id, and return the file."""
    raw = {name: {"reasoning": "r", "score": score} for name in ("accuracy", "tone")}
    rows = [{"response_id": id_, "raw": raw} for id_ in ids]
    return written(tmp_path, *rows, name="replies.jsonl")


def test_recorded_replies_judge_by_the_id_of_the_case(tmp_path, json_of):
    file, replies = tmp_path / "s.yaml", recorded(tmp_path, 5, "rope")
    file.write_text(f"name: s\n{RUBRIC}cases: [{{id: rope, query: 'How long?'}}]\n")
    shown = json_of(f"suite run {file} --candidate python:textwrap:dedent --replies {replies}")
    assert (shown["average_score"]["value"], shown["account"]["asked"]) == (5.0, 2)


def test_the_rubric_judge_scores_the_log_and_takes_its_examples_from_people(
    sqlite_store, tmp_path, command
):
    numbers = [str(n) for n in range(3)]
    rows = [{"id": n, "query": f"q{n}?", "answer": f"a {n}"} for n in numbers]
    log, replies = written(tmp_path, *rows), recorded(tmp_path, 2, *numbers)
    rubric = tmp_path / "r.yaml"
    rubric.write_text("\n".join(line.removeprefix("  ") for line in RUBRIC.splitlines()[1:]))
    without_rubric = f"judge --judge rubric --replies {replies}"
    asking = f"{without_rubric} --rubric {rubric}"
    from_reviews = f"{asking} --examples-from-reviews 1"
    reviewer = ensure_reviewer(sqlite_store, "test", "mara")

    def grade(number, tone, key):
        scores = (DimensionScore("tone", tone, "1-5"),)
        review = Submission(
            response_id=number, reviewer=reviewer, grade=Grade(scores=scores), request_key=key
        )
        submit(sqlite_store, review)

    command(f"import {log}")
    command(asking)
    assert [(row["groundedness"], row["quality"]) for row in judgments(sqlite_store)] == [
        (None, None)
    ] * 3
    assert "0 answers" in command(from_reviews, code=2).err
    for number in (1, 2, 3):  # some of them are held out for the comparison of prompts
        grade(number, 5, str(number))
    assert "rubric v2" in command(from_reviews).out
    example = read(sqlite_store, get_version, "rubric v2").params["examples"][0]["response"]
    assert example in {1, 2, 3}
    grade(example, 1, "later")
    by_name = f"judge rubric --rejudge all --replies {replies}"
    assert "rubric v2" in command(by_name).out
    assert "v1: 2 fields" in command(f"queue schema add {rubric}").out
    (schema,) = read(sqlite_store, list_schemas)
    assert [(field.name, field.scale, field.required) for field in schema.content.fields] == [
        ("accuracy", "1-5", True),
        ("tone", "1-5", True),
    ]
    with_schema = ["by schema", "--schema", schema.title]
    judged_before = len(judgments(sqlite_store))
    command(without_rubric, *with_schema)
    assert len(judgments(sqlite_store)) == judged_before + 3
    assert "--schema and --rubric" in command(asking, *with_schema, code=2).err
    rubric.write_text(rubric.read_text().replace("5: e", "6: e", 1))
    assert "r.yaml, line 2: dimensions[0].levels:" in command(asking, code=2).err
    write_to(sqlite_store, forget_response, str(example - 1), actor="test")
    assert "rubric v2 " in command(by_name, code=2).err


def test_a_fresh_database_is_made_and_a_failed_check_is_named(suite, tmp_path, capsys):
    suite.write_text(suite.read_text() + "  checks: {equals: x}\n")
    fresh = str(tmp_path / "fresh" / "suite.db")
    with RecordingEndpoint(playing()) as endpoint:
        judge = f"--model judge --base-url {endpoint.base_url}"
        code = run_line(f"suite run {suite} {judge} --db {fresh}")
    assert code == 1
    out = capsys.readouterr().out
    assert "1 of 24" in out
    assert " 96 %" in out
    (failed,) = (line for line in out.splitlines() if "number-23?" in line)
    assert failed.split()[:2] == ["24", "4.00"]
    assert "equals:" in failed


def test_the_warning_of_one_family_counts_the_answers_that_were_judged(
    sqlite_store, suite, json_of
):
    # The suite judges two answers of each model. The other 30 of the judge's family are to other
    # questions.
    answers = [
        Response(
            "app",
            str(n),
            f"What is number-{n}?",
            f"It is number-{n}.",
            generator_model="qwen3-8b" if n in {2, 3} else "gpt-4o",
        )
        for n in (*range(4), *range(100, 130))
    ]
    write_to(sqlite_store, store_responses, answers)
    with RecordingEndpoint(playing()) as endpoint:
        judging = "--model gpt-4o-mini --candidate source:app"
        ran = json_of(f"{words(endpoint, suite)} {judging}", code=2)
    warning = "gpt-4o-mini (OpenAI) judges its own family"
    for shown in (ran, json_of("suite list 1", code=2)):
        assert [each[: len(warning)] for each in shown["warnings"]] == [warning]
