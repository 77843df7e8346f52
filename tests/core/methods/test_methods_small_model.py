"""Every method with a real small model: whatever it says, all of it is accounted for."""

import json
from typing import Any

import pytest

from aligned_log import STRONG, measured_routes, numbers_of
from command_lines import run_line
from graded_log import GOOD, GradedLog, labels_in
from judgeboard.domain import Status
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion, forward_to
from judgeboard.methods.suites.file import read_suite
from judgeboard.methods.suites.run import make_candidate, run_suite
from judgeboard.runs.judging import make_judge
from judgeboard.store.alignments import EvidenceRole, stored_looks
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.tables import JUDGMENT, JUDGMENT_REVIEW, VERSION
from judging_log import address, judgments
from refining_log import generations, refinements, store_bad
from result_fields import check_fields
from stored_rows import read, rows_of, values_of, write_to

# The model reads 300 tokens a second: a part of the built-in prompts does.
SHORT_TASK = """
# Task
The token is {fence}.

{material}

Judge it.
"""
GRADE = f"""# System
Is the answer right? Reply "correct 1" if it is, "incorrect 0" if not.
{SHORT_TASK}"""
INSTRUCTIONS = 'Compare the numbers. Reply "correct 1" if they are equal, "incorrect 0" if not.'


@pytest.mark.llm
def test_a_real_model_proposes_and_judges(small_model, sqlite_store, tmp_path, capsys):
    prompt = tmp_path / "grade.md"
    prompt.write_text(GRADE)
    log, ids = measured_routes(sqlite_store, 40)
    real, said = forward_to(small_model), dict[str, Any]()
    second = completion(json.dumps({"why": "Numbers decide.", "instructions": INSTRUCTIONS}))

    async def script(request, number):
        """Let the model propose once and judge once, as it is slow; the second proposal can be used."""
        model = request["model"]
        if model == STRONG and model in said:
            return second
        if model not in said:
            said[model] = await real(request, number)
        return said[model]

    # The judge's verdicts are stored already, because the model is slow. One of them is wrong.
    wrong, *right = numbers_of(EvidenceRole.DEVELOP, 40)[:2]
    judged = [wrong, *right, *numbers_of(EvidenceRole.HELD_OUT, 40)[:10]]
    with RecordingEndpoint(script) as endpoint:
        judge = make_judge(
            "grade", model="smollm2", base_url=endpoint.base_url, max_output=8, prompt=prompt
        )
        version = write_to(sqlite_store, ensure_version, judge.version)
        bad = [ids[n] for n in judged if (n % 2 == 1) == (n == wrong)]
        log.say(version, labels_in([ids[n] for n in judged], bad))
        model = f"--model {STRONG} --base-url {endpoint.base_url} --timeout 120 --max-output 16"
        # One at a time, the server keeps the part of the prompt that all calls share.
        limits = f"--candidates 2 --concurrency 1 --json --db {address(sqlite_store)}"
        code = run_line(f"align --judge-version grade {model} {limits}")
    shown = json.loads(capsys.readouterr().out)
    assert code == shown["exit_code"]
    assert code in {0, 1, 2}
    assert shown["labelled"] == {"held_out": 10, "develop": 2, "examples": 0}
    assert [each["number"] for each in shown["candidates"]] == [1, 2]
    usable = [each["right"] is not None for each in shown["candidates"]]
    assert usable == [each["refused"] is None for each in shown["candidates"]]
    assert any(usable)
    assert len(rows_of(sqlite_store, JUDGMENT)) == 12
    assert len(read(sqlite_store, stored_looks)) == (shown["look"] is not None)


SUITE = """
name: real
max_unmeasured: 1
rubric:
  name: colours
  dimensions:
    - name: accuracy
      levels: {1: Wrong., 2: Poor., 3: Fair., 4: Good., 5: Right.}
cases: [{query: Name a colour., reference: Red.}]
"""


@pytest.mark.llm
def test_whatever_a_real_model_says_every_case_is_accounted_for(
    small_model, sqlite_store, tmp_path
):
    prompt = tmp_path / "rubric.md"
    prompt.write_text(f"# Role\nYou grade an answer.\n{SHORT_TASK}")
    file = tmp_path / "suite.yaml"
    file.write_text(SUITE)
    suite = read_suite(file)
    with RecordingEndpoint(forward_to(small_model)) as endpoint:
        options = {"base_url": endpoint.base_url, "timeout_s": 120}
        judge = make_judge(
            "rubric", rubric=suite.rubric, model="smollm2", max_output=24, prompt=prompt, **options
        )
        candidate = make_candidate("model:smollm2", max_output=16, **options)
        result = run_suite(sqlite_store, suite, candidate, judge=judge)
    account = result.account
    assert account.asked == account.ok + account.unparsable + account.refused + account.error
    assert result.measured + result.unmeasured == 1
    (case,) = result.cases
    assert (case.score is None) == (case.reason is not None)
    assert result.gate.code in {0, 1, 2}
    assert len(endpoint.requests) >= account.asked >= 1


@pytest.fixture
def graded(sqlite_store):
    graded = GradedLog(sqlite_store)
    graded.say_all(graded.version("teacher"), graded.answers(1), label=GOOD)
    return graded


def asked(graded, small_model, line):
    """Run a command against the model; 0 or 1 is its exit code: everything came back."""
    limits = f"--max-output 8 --timeout 120 --db {address(graded.store)}"
    assert run_line(f"{line} --base-url {small_model} {limits}") in {0, 1}


def statuses(graded, table):
    return values_of(graded.store, table.c.status, table.c.run_id.is_not(None))


@pytest.mark.llm
def test_a_grade_its_repeat_an_audit_and_a_jury(graded, small_model, tmp_path):
    prompt = tmp_path / "grade.md"  # both judges have these sections
    prompt.write_text(GRADE)
    model = f"--model smollm2 --prompt {prompt}"
    asked(graded, small_model, f"judge --judge grade {model}")
    asked(graded, small_model, f"judge --judge grade {model} --repeats 2")
    asked(graded, small_model, f"test audit teacher {model} --sample 1")
    assert run_line(f"compare judges teacher grade --db {address(graded.store)}") == 0
    said = [*statuses(graded, JUDGMENT), *statuses(graded, JUDGMENT_REVIEW)]
    assert len(said) == 3
    assert set(said) <= {Status.OK.value, Status.UNPARSABLE.value}
    versions = {row["id"]: row["kind"] for row in rows_of(graded.store, VERSION)}
    kinds = [versions[row["judge_version_id"]] for row in rows_of(graded.store, JUDGMENT)]
    assert (kinds.count("jury"), kinds.count("repeats")) == (1, 1)
    (row,) = rows_of(graded.store, JUDGMENT_REVIEW)
    assert (row["correct"] is not None) == (row["status"] == Status.OK)
    assert row["raw"]


def play(store, base_url, capsys, line):
    generator = f"--generator smollm2 --generator-base-url {base_url} --generator-max-output 24"
    # 1: no reply was usable
    assert run_line(f"{line} {generator} --timeout 200 --json --db {address(store)}") in {0, 1}
    return json.loads(capsys.readouterr().out)


@pytest.mark.llm
@pytest.mark.timeout(300)
def test_one_answer_is_reflected_on_and_refined(small_model, sqlite_store, capsys):
    store_bad(sqlite_store)
    with RecordingEndpoint(forward_to(small_model, timeout_s=200)) as endpoint:
        url = endpoint.base_url
        # The offline judge, since a real one's calls are what the second command makes.
        rule = "--judge lexical --max-quality 4"
        reflected = play(sqlite_store, url, capsys, f"refine reflect {rule}")
        first = len(endpoint.requests)
        judge = f"--model smollm2 --base-url {url} --max-output 64 --max-repeats 0"
        refined = play(sqlite_store, url, capsys, f"refine --where id=0 {judge}")
        assert (reflected["calls"], refined["calls"]) == (first, len(endpoint.requests) - first)
    for said in (reflected, refined):
        account = said["account"]
        answers = ("ok", "unparsable", "refused", "error")
        assert account["asked"] == sum(account[name] for name in answers)
        check_fields(account, error=0, not_reached=0)
    assert (reflected["eligible"], refined["prompts"]) == (1, 1)
    statuses = {row["status"] for row in (*judgments(sqlite_store), *generations(sqlite_store))}
    assert statuses <= {"ok", "unparsable"}
    unrated = [row for row in refinements(sqlite_store) if row["outcome"] == "unrated"]
    assert all(row["rating"] is None for row in unrated)
