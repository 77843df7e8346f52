"""`judgeboard suite`, as a person or a build server runs it: exit codes, JSON, being killed in the middle."""

import json
import shlex
import signal

import pytest

from command_lines import run_line
from forked_commands import ReadCommand
from held_endpoint import held_endpoint
from judgeboard.cli.app import run
from judgeboard.domain import DimensionScore, Grade, Response
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion
from judgeboard.people.roster import ensure_reviewer
from judgeboard.reviews.submissions import Submission, submit
from judgeboard.store.forgetting import forget_response
from judgeboard.store.judge_versions import get_version
from judgeboard.store.label_schemas import list_schemas
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import GENERATION, JUDGMENT
from judging_log import address, judgments, runs, time_passes, until
from stored_rows import read, row_count, write_to
from suite_runs import asked, playing, scored

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


def words(endpoint, store, suite, *more):
    judge = f"--model judge --base-url {endpoint.base_url} --concurrency {AT_ONCE} --yes"
    return [*shlex.split(f"suite run {suite} {judge} --db {address(store)}"), *more]


def ran(store, script, suite, *more):
    with RecordingEndpoint(script) as endpoint:
        return run(words(endpoint, store, suite, *more))


def said(capsys):
    return json.loads(capsys.readouterr().out)


def test_the_json_has_every_field_and_show_prints_the_same(sqlite_store, suite, capsys):
    assert ran(sqlite_store, playing(scores={3: scored(1, 2)}), suite, "--json") == 0
    first = said(capsys)
    assert (first["run"], first["total_cases"], first["measured"], first["unmeasured"]) == (
        1,
        24,
        24,
        0,
    )
    assert first["average_score"]["value"] == pytest.approx((23 * 4 + 1.5) / 24)
    assert set(first["average_score"]) >= {"value", "low", "high", "n", "method"}
    assert (first["above_threshold"], first["pass_rate"]["value"]) == (23, pytest.approx(23 / 24))
    assert (first["passed"], first["gate"], first["baseline"]) == (
        True,
        {"code": 0, "state": "pass", "reasons": []},
        None,
    )
    assert "number-3?" in first["cases"][3]["query"]
    (failure,) = first["failures"]
    assert failure.keys() >= {"key", "query", "response", "reason", "checks"}
    assert (failure["case"], failure["score"], failure["passed"]) == ("4", 1.5, False)
    tone = {"dimension": "tone", "value": 2.0, "scale": "1-5", "reasoning": "So."}
    assert failure["dimensions"]["tone"] == tone
    assert set(first["dimensions"]) == {"accuracy", "tone"}
    assert {
        name: first["account"][name]
        for name in ("asked", "ok", "unparsable", "refused", "error", "not_reached")
    } == {
        **dict.fromkeys(("unparsable", "refused", "error", "not_reached"), 0),
        "asked": 48,
        "ok": 48,
    }
    assert run(["suite", "list", "1", "--db", address(sqlite_store), "--json"]) == 0
    assert said(capsys) == first
    assert run(["suite", "list", "--db", address(sqlite_store), "--json"]) == 0
    (listed,) = said(capsys)["runs"]
    assert (listed["run"], listed["suite"], listed["candidate"], listed["measured"]) == (
        1,
        "house",
        "model:candidate",
        24,
    )
    assert run(["suite", "list", "--db", address(sqlite_store)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[-3:] == ["24", "24", "done"]


def test_the_temperature_of_the_judge_makes_a_version_of_its_own(sqlite_store, suite, capsys):
    judges = []
    for options in (), ("--temperature", "0.7"):
        ran(sqlite_store, playing(), suite, "--json", *options)
        judges.append(said(capsys)["judge"])
    with sqlite_store.reading() as connection:
        temperatures = [get_version(connection, judge).params["temperature"] for judge in judges]
    assert temperatures == [0, 0.7]


def test_the_exit_codes_of_the_gate(sqlite_store, suite, capsys):
    bad = {number: scored(1, 1) for number in range(24)}
    some = {number: scored(3, 3) for number in range(8)}
    silent = {number: completion("Hm.") for number in range(2)}

    def reasons():
        return {each["code"]: each["values"] for each in said(capsys)["gate"]["reasons"]}

    assert ran(sqlite_store, playing(), suite) == 0
    assert "The gate passes." in capsys.readouterr().out
    assert ran(sqlite_store, playing(scores=bad | silent), suite, "--json") == 2
    assert reasons()["gate_few_scores"] == {"n": 2, "cases": 24, "most": 0.05}
    assert ran(sqlite_store, playing(scores=some), suite, "--baseline", "1") == 1
    assert "Worse: 8 cases." in capsys.readouterr().out
    shown = ["suite", "list", "3", "--db", address(sqlite_store), "--json"]
    # Without a baseline there is no regression.
    assert run(shown) == 0
    assert reasons() == {}
    assert run([*shown, "--baseline", "1"]) == 1
    assert reasons()["gate_pass_rate_fell"]["change"]["value"] == pytest.approx(-8 / 24)
    assert ran(sqlite_store, playing(), suite, "--baseline", "99") == 2
    assert "run 99" in capsys.readouterr().err
    assert run(["suite", "list", "1", "--baseline", "latest", "--db", address(sqlite_store)]) == 0
    assert "No baseline: house " in capsys.readouterr().out


def test_killed_half_way_the_same_command_repeats_only_the_calls_in_flight(sqlite_store, suite):
    with held_endpoint(playing()) as held:
        held.hold_after(20)
        server = held.server
        command = words(server, sqlite_store, suite)

        def stored():
            return row_count(sqlite_store, GENERATION, JUDGMENT)

        with ReadCommand(*command) as first:
            until(
                lambda: len(server.requests) == 20 + AT_ONCE and stored() == 20,
                "20 stored, 4 in flight",
            )
            first.send_signal(signal.SIGKILL)
        time_passes(sqlite_store)
        held.release()
        assert run(command) == 0
        assert len(server.requests) == 48 + AT_ONCE
        answers, scores = asked(server)
        assert set(answers) == set(scores) == set(range(24))
    assert [(row["kind"], row["state"], row["selected"]) for row in runs(sqlite_store)] == [
        ("suite", "done", 48)
    ]
    assert stored() == 48


def test_recorded_replies_judge_by_the_id_of_the_case(sqlite_store, tmp_path, capsys):
    file, replies = tmp_path / "s.yaml", tmp_path / "replies.jsonl"
    file.write_text(f"name: s\n{RUBRIC}cases: [{{id: rope, query: 'How long?'}}]\n")
    replies.write_text(
        json.dumps(
            {
                "response_id": "rope",
                "raw": {name: {"reasoning": "r", "score": 5} for name in ("accuracy", "tone")},
            }
        )
        + "\n"
    )
    candidate = f"--candidate python:textwrap:dedent --replies {replies}"
    code = run_line(f"suite run {file} {candidate} --db {address(sqlite_store)} --json")
    shown = said(capsys)
    assert (code, shown["average_score"]["value"], shown["account"]["asked"]) == (0, 5.0, 2)


def test_the_rubric_judge_scores_the_log_and_takes_its_examples_from_people(
    sqlite_store, tmp_path, capsys
):
    rubric, log, replies = tmp_path / "r.yaml", tmp_path / "log.jsonl", tmp_path / "replies.jsonl"
    rubric.write_text("\n".join(line.removeprefix("  ") for line in RUBRIC.splitlines()[1:]))
    log.write_text(
        "".join(
            json.dumps({"id": str(n), "query": f"q{n}?", "answer": f"a {n}"}) + "\n"
            for n in range(3)
        )
    )
    said_ = {name: {"reasoning": "r", "score": 2} for name in ("accuracy", "tone")}
    replies.write_text(
        "".join(json.dumps({"response_id": str(n), "raw": said_}) + "\n" for n in range(3))
    )
    where = ["--db", address(sqlite_store)]
    judge = f"judge --judge rubric --rubric {rubric} --replies {replies}"
    asking = [*shlex.split(judge), *where]
    assert run(["import", str(log), *where]) == 0
    assert run(asking) == 0
    assert len(judgments(sqlite_store)) == 3
    assert {(row["groundedness"], row["quality"]) for row in judgments(sqlite_store)} == {
        (None, None)
    }
    assert run([*asking, "--examples-from-reviews", "1"]) == 2
    assert "0 answers" in capsys.readouterr().err
    reviewer = ensure_reviewer(sqlite_store, "test", "mara")
    given_grade = Grade(scores=(DimensionScore("tone", 5, "1-5"),))
    for number in (1, 2, 3):  # some of them are held out for the comparison of prompts
        submit(
            sqlite_store,
            Submission(
                response_id=number, reviewer=reviewer, grade=given_grade, request_key=str(number)
            ),
        )
    assert run([*asking, "--examples-from-reviews", "1"]) == 0
    assert "rubric v2" in capsys.readouterr().out
    example = read(sqlite_store, get_version, "rubric v2").params["examples"][0]["response"]
    assert example in {1, 2, 3}
    submit(
        sqlite_store,
        Submission(
            response_id=example,
            reviewer=reviewer,
            grade=Grade(scores=(DimensionScore("tone", 1, "1-5"),)),
            request_key="later",
        ),
    )
    by_name = ["judge", "rubric", "--rejudge", "all", "--replies", str(replies), *where]
    assert run(by_name) == 0
    assert "rubric v2" in capsys.readouterr().out
    assert run(["queue", "schema", "add", str(rubric), *where]) == 0
    assert "v1: 2 fields" in capsys.readouterr().out
    (schema,) = read(sqlite_store, list_schemas)
    assert [(field.name, field.scale, field.required) for field in schema.content.fields] == [
        ("accuracy", "1-5", True),
        ("tone", "1-5", True),
    ]
    with_schema = ["by schema", "--schema", schema.title]
    judged_before = len(judgments(sqlite_store))
    assert (
        run([*(word for word in asking if word not in {"--rubric", str(rubric)}), *with_schema])
        == 0
    )
    assert len(judgments(sqlite_store)) == judged_before + 3
    capsys.readouterr()
    assert run([*asking, *with_schema]) == 2
    assert "--schema and --rubric" in capsys.readouterr().err
    rubric.write_text(rubric.read_text().replace("5: e", "6: e", 1))
    assert run(asking) == 2
    assert "r.yaml, line 2: dimensions[0].levels:" in capsys.readouterr().err
    write_to(sqlite_store, forget_response, str(example - 1), actor="test")
    assert run(by_name) == 2
    assert "rubric v2 " in capsys.readouterr().err


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


def test_the_warning_of_one_family_counts_the_answers_that_were_judged(sqlite_store, suite, capsys):
    # The suite judges two answers of each model. The other 30 of the judge's family are to other
    # questions.
    models = {
        number: "qwen3-8b" if number in {2, 3} else "gpt-4o"
        for number in (*range(4), *range(100, 130))
    }
    with sqlite_store.writing() as connection:
        answers = [
            Response(
                "app", str(n), f"What is number-{n}?", f"It is number-{n}.", generator_model=model
            )
            for n, model in models.items()
        ]
        store_responses(connection, answers)
    with RecordingEndpoint(playing()) as endpoint:
        judging = ["--model", "gpt-4o-mini", "--candidate", "source:app"]
        command = [*words(endpoint, sqlite_store, suite), *judging]
        run([*command, "--json"])
    warning = "gpt-4o-mini (OpenAI) judges its own family"
    assert [each[: len(warning)] for each in said(capsys)["warnings"]] == [warning]
    run(["suite", "list", "1", "--db", address(sqlite_store), "--json"])
    assert [each[: len(warning)] for each in said(capsys)["warnings"]] == [warning]
