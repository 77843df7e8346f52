"""Running a suite: who is asked what, what is stored, where the same call goes on, what does not count."""

import json
from dataclasses import replace

import pytest

import judgeboard
from engines import on_sqlite
from judgeboard.domain import Response, ResponseKind, RunState
from judgeboard.errors import BadInput, NotFound, UnknownPrice
from judgeboard.formats.output import to_plain
from judgeboard.llm.recording_endpoint import RecordingEndpoint, always, completion, failure
from judgeboard.measure.notes import note
from judgeboard.methods.suites.file import Case, Check
from judgeboard.methods.suites.results import suite_result
from judgeboard.methods.suites.run import run_suite
from judgeboard.runs.judging import judge_pending, make_judge
from judgeboard.store.forgetting import forget_response
from judgeboard.store.overview import count_log
from judgeboard.store.settings import primary_judge
from judgeboard.store.storing import store_responses
from judgeboard.store.tables import FLAG, GENERATION, JUDGMENT, RESPONSE
from judging_log import rag
from result_fields import check_fields
from stored_rows import read, row_count, rows_of, values_of, write_to
from suite_runs import asked, playing, scored, suite


def run(store, script, which, candidate="model:candidate", judge=None, **options):
    """Run a suite; ``judge``: options of a judge that is made before."""
    with RecordingEndpoint(script) as endpoint:
        model = {"model": "judge", "base_url": endpoint.base_url}
        options = model | {"concurrency": 4} | options
        if judge is not None:
            options["judge"] = make_judge("rubric", rubric=which.rubric, **model, **judge)
            del options["model"]
        return run_suite(store, which, candidate, **options), endpoint


@on_sqlite
def test_each_case_is_answered_once_and_scored_once(store):
    result, endpoint = run(store, playing(scores={1: scored(5, 2), 3: scored(1, 2)}), suite(4))
    assert asked(endpoint) == ([0, 1, 2, 3], [0, 1, 2, 3])
    assert [case.score for case in result.cases] == [4.0, 3.5, 4.0, 1.5]
    check_fields(result.average_score, value=3.25, n=4, method="Student's t")
    assert result.pass_rate.value == 0.75
    assert {name: mean.value for name, mean in result.dimensions.items()} == {
        "accuracy": 3.5,
        "tone": 3.0,
    }
    check_fields(result, above_threshold=3, passed=False)
    assert result.gate.code == 1
    (failed,) = result.failures
    check_fields(failed, case="3", score=1.5)
    check_fields(result.account, asked=8, ok=8, not_reached=0)
    # What is stored says the same.
    assert to_plain(suite_result(store, result.run)) == to_plain(result)


def test_the_judge_sees_reference_and_context_and_the_model_only_the_context(sqlite_store):
    passage = "A rope has 60 m."
    case = Case("How long is number-0?", "0", reference="sixty metres", context=(passage,))
    _, endpoint = run(sqlite_store, playing(), suite(1, cases=(case,)))
    candidate, judge = (request.body["messages"][-1]["content"] for request in endpoint.requests)
    assert passage in candidate
    assert passage in judge
    assert "sixty metres" in judge
    assert "sixty metres" not in candidate
    # A generator has its own settings.
    assert "temperature" not in endpoint.requests[0].body


def test_answers_are_candidates_and_stay_out_of_the_log(sqlite_store):
    run(sqlite_store, playing(scores={0: scored(1, 1)}), suite(3))
    assert values_of(sqlite_store, RESPONSE.c.kind) == [ResponseKind.CANDIDATE] * 3
    assert read(sqlite_store, count_log) == 0
    # Who judged no answer of the log is not its judge.
    assert read(sqlite_store, primary_judge) is None
    assert row_count(sqlite_store, FLAG) == 0
    with RecordingEndpoint() as endpoint:
        assert judge_pending(sqlite_store, rag(endpoint)).selected == 0


@on_sqlite
def test_what_cannot_be_measured_is_counted_apart_and_never_a_zero(store):
    answers = {0: failure(400, "too long"), 1: completion("")}
    scores = {2: completion("Splendid."), 3: completion(None, refusal="No."), 4: scored(5, 5)}
    result, endpoint = run(store, playing(answers, scores), suite(5))
    # There is no answer to score.
    assert asked(endpoint)[1].count(0) == 0
    check_fields(result, measured=1, unmeasured=4, passed=True)
    assert result.average_score.value == 5.0
    assert [":".join(case.reason.split(":")[:2]) for case in result.without_score] == [
        "no answer: error",
        "no answer: unparsable",
        "no score: unparsable",
        "no score: refused",
    ]
    assert [case.query for case in result.without_score] == [case.query for case in suite(4).cases]
    # The gate does not conclude from one case of five.
    assert result.gate.code == 2
    account = result.account
    check_fields(
        account, asked=8, ok=4, unparsable=2, refused=1, error=1, not_reached=0, state=RunState.DONE
    )


def test_a_dimension_that_was_not_scored_does_not_count_as_bad(sqlite_store):
    result, _ = run(sqlite_store, playing(scores={0: scored(5, None)}), suite(2))
    assert [case.score for case in result.cases] == [5.0, 4.0]
    assert result.dimensions["tone"].n == 1
    assert result.cases[0].dimensions["tone"].value is None


def test_checks_stand_beside_the_judge(sqlite_store):
    good = (Check("equals", "It is number-0."), Check("regex", r"number-\d"))
    bad = (Check("equals", "It is 1."), Check("json_schema", {"type": "object"}))
    zero, one = suite(2).cases
    cases = (replace(zero, checks=good), replace(one, checks=bad))
    result, _ = run(sqlite_store, playing(), suite(2, cases=cases))
    assert [case.passed for case in result.cases] == [True, False]
    assert (result.average_score.value, result.pass_rate.value) == (4.0, 0.5)
    # The score alone, and the score with the checks.
    check_fields(result, above_threshold=2, passing=1, passed=False, exit_code=1)
    (failed,) = result.failures
    assert [(check.kind, check.passed) for check in failed.checks] == [
        ("equals", False),
        ("json_schema", False),
    ]
    assert failed.checks[0].message
    check_fields(result.gate, code=1, reasons=(note("gate_checks", n=1, cases=2),))


def test_a_stopped_run_goes_on_with_what_it_has_and_a_finished_one_runs_anew(store):
    def breaking(request, number):
        return playing()(request, number) if number < 9 else failure(401, "no such key")

    stopped, endpoint = run(store, breaking, suite(12))
    assert (stopped.account.state, stopped.gate.code, stopped.exit_code) == (RunState.STOPPED, 2, 2)
    done = row_count(store, GENERATION), row_count(store, JUDGMENT)
    assert sum(done) <= 9
    again, endpoint = run(store, playing(), suite(12))
    assert (again.run, again.measured, again.account.state) == (stopped.run, 12, RunState.DONE)
    # Nothing stored is asked again.
    assert tuple(map(len, asked(endpoint))) == (12 - done[0], 12 - done[1])
    anew, endpoint = run(store, playing(), suite(12))
    assert (anew.run != again.run, tuple(map(len, asked(endpoint)))) == (True, (12, 12))


def test_another_suite_or_candidate_is_another_run(sqlite_store):
    runs = {
        run(sqlite_store, lambda _request, _number: failure(401, "no"), *which)[0].run
        for which in (
            [suite(2)],
            [suite(3)],
            [suite(2, threshold=4.0)],
            [suite(2), "model:other"],
            [suite(2)],
        )
    }
    assert len(runs) == 4


def test_a_cost_limit_needs_the_price_of_both_models(sqlite_store):
    remote = "https://models.example.org/v1"
    with pytest.raises(UnknownPrice):
        run(sqlite_store, playing(), suite(2), max_cost=1.0, base_url=remote)
    assert row_count(sqlite_store, RESPONSE) == 0


def test_a_cost_limit_counts_the_calls_that_are_paid_here_and_stops_at_it(sqlite_store, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\njudge = { input = 1, output = 1 }\n")  # 120 millionths a verdict
    options = {"judge": {"prices": prices}, "max_cost": 0.0003, "concurrency": 1}
    result, endpoint = run(sqlite_store, playing(), suite(9), answer_by_query, **options)
    # What the function costs is not known, and does not count.
    assert len(endpoint.requests) == 3
    assert result.account.state == RunState.STOPPED
    assert "cost limit" in result.account.why_stopped
    check_fields(result, measured=3, exit_code=2)
    assert [case.reason for case in result.without_score] == ["not reached"] * 6


def answer_by_query(query):
    return f"It is {query.rsplit(maxsplit=1)[-1].rstrip('?')}."


async def answer_by_messages(messages):
    return answer_by_query(messages[-1]["content"])


class Assistant:
    def __call__(self, query):
        return answer_by_query(query)


@pytest.mark.parametrize(
    "candidate",
    [answer_by_query, answer_by_messages, Assistant(), "python:collections:UserString"],
    ids=["query", "messages", "object", "named"],
)
def test_a_function_of_the_users_answers(sqlite_store, candidate):
    result, endpoint = run(sqlite_store, playing(), suite(3), candidate)
    if isinstance(candidate, str):  # what it gives is no text
        assert ["UserString" in case.reason for case in result.without_score] == [True] * 3
        return
    assert asked(endpoint) == ([], [0, 1, 2])
    assert (result.measured, result.candidate.split(":")[0]) == (3, "python")
    # Nobody knows what it cost.
    assert result.account.cost_micro is None


def test_a_function_that_raises_leaves_its_case_unmeasured(sqlite_store):
    broken = RuntimeError("out of order")

    def answer(query):
        if "number-1" in query:
            raise broken
        return "It is number-0."

    result, _ = run(sqlite_store, playing(), suite(2), answer)
    assert result.cases[0].reason is None
    assert result.cases[1].reason.endswith(f"RuntimeError: {broken}")


@on_sqlite
def test_answers_of_the_log_are_found_by_query_and_copied(store):
    logged = [
        Response("app", "a", "What is number-0?", "An older number-0."),
        Response(
            "app", "b", "What is number-0?", "It is number-0.", ("A passage.",), generator_model="m"
        ),
        Response("else", "c", "What is number-1?", "It is number-1."),
    ]
    ids = write_to(store, store_responses, logged).new
    result, endpoint = run(store, playing(), suite(2), "source:app")
    assert asked(endpoint) == ([], [0])
    judged = endpoint.requests[0].body["messages"][-1]["content"]
    assert "It is number-0." in judged
    assert "A passage." in judged
    assert result.cases[1].reason.startswith("no answer ")
    assert result.account.asked == 1
    (copied,) = (row for row in rows_of(store, RESPONSE) if row["kind"] == "candidate")
    check_fields(copied, derived_from=ids[1], generator_model="m")
    write_to(store, forget_response, "b", source="app", actor="test")
    forgotten = suite_result(store, result.run).cases[0]
    check_fields(forgotten, query=None, score=4.0)
    assert {name: given.reasoning for name, given in forgotten.dimensions.items()} == {
        "accuracy": None,
        "tone": None,
    }


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (None, "no candidate"),
        ("gpt-4o", "a candidate must be model:NAME"),
        ("model:", "a candidate must be model:NAME"),
        ("python:json", "names no function"),
        ("python:no_such_module:f", "cannot be loaded: ModuleNotFoundError"),
        ("python:json:no_such", "cannot be loaded: AttributeError"),
        ("python:json:__name__", "is not a function"),
        (lambda: "x", "has no parameter"),
    ],
)
def test_who_cannot_answer_is_refused_before_anything_is_stored(sqlite_store, candidate, said):
    with pytest.raises(BadInput, match=said):
        run(sqlite_store, playing(), suite(1), candidate)
    assert row_count(sqlite_store, JUDGMENT) == 0


def test_a_baseline_that_is_none_is_refused_before_anything_is_asked(sqlite_store):
    for baseline, said in ((7, "no suite run 7"), ("best", "no suite run 'best'")):
        with RecordingEndpoint(playing()) as endpoint:
            with pytest.raises(NotFound, match=said):
                run(sqlite_store, None, suite(1), base_url=endpoint.base_url, baseline=baseline)
            assert endpoint.requests == []


def test_a_run_is_compared_with_its_baseline_case_by_case(store):
    first, _ = run(store, playing(), suite(25))
    worse = {number: scored(2, 2) for number in range(12)}
    second, _ = run(store, playing(scores=worse), suite(25), baseline="latest")
    check_fields(
        second.baseline,
        run=first.run,
        n=25,
        worse=12,
        better=0,
        same_judge=True,
        only_before=12,
        only_after=0,
    )
    assert second.baseline.mean_change.value == pytest.approx(-24 / 25)
    assert (second.gate.code, len(second.gate.reasons)) == (1, 3)
    third, _ = run(store, playing(), replace(suite(25), threshold=3.0), baseline=first.run)
    assert (third.gate.code, third.baseline.mean_change.value) == (0, 0.0)


def test_latest_is_the_newest_finished_run_with_the_same_candidate_and_judge(sqlite_store):
    first, _ = run(sqlite_store, playing(), suite(25), baseline="latest")
    assert (first.baseline, first.gate.code) == (None, 0)
    assert first.notes == (
        note("no_baseline", suite="house", candidate="model:candidate", judge="rubric v1"),
    )
    good = {number: scored(5, 5) for number in range(25)}
    other, _ = run(sqlite_store, playing(scores=good), suite(25), "model:other", baseline="latest")
    # The run before is of another candidate.
    assert (other.baseline, len(other.notes)) == (None, 1)
    mine, _ = run(sqlite_store, playing(scores=good), suite(25), judge={"max_output": 99})
    again, _ = run(sqlite_store, playing(), suite(25), baseline="latest")
    assert (again.baseline.run, again.gate.code, again.notes) == (first.run, 0, ())
    named, _ = run(sqlite_store, playing(), suite(25), baseline=mine.run)
    assert named.notes == (note("baseline_other_judge"),)
    named, _ = run(sqlite_store, playing(), suite(25), baseline=other.run)
    assert named.notes == (note("baseline_other_candidate"),)
    assert not named.baseline.same_candidate


def test_cases_are_found_again_whatever_their_place_and_name(sqlite_store):
    first, _ = run(sqlite_store, playing(), suite(3))
    moved = tuple(Case(case.query, f"new-{case.id}") for case in reversed(suite(3).cases))
    cases = (*moved, Case("Is number-9 new?", "9"))
    second, _ = run(sqlite_store, playing(), suite(3, cases=cases), baseline="latest")
    check_fields(second.baseline, n=3, run=first.run)
    # Fewer than 20 cases in both.
    assert second.gate.code == 2


def test_a_suite_runs_inside_a_test_of_the_users(tmp_path):
    file = tmp_path / "suite.yaml"
    file.write_text("name: mine\ncases:\n- query: What is number-0?\n")
    names = ("accuracy", "helpfulness", "safety", "coherence")
    reply = completion(json.dumps({name: {"reasoning": "So.", "score": 5} for name in names}))
    store = judgeboard.open_store(tmp_path / "suite.db", create=True)
    with RecordingEndpoint(always(reply)) as endpoint:
        model = {"model": "judge", "base_url": endpoint.base_url}
        suite_ = judgeboard.read_suite(file)
        result = judgeboard.run_suite(store, suite_, answer_by_query, **model)
    store.close()
    assert result.gate.code == 0, result.gate.reasons
    assert result.average_score.value == 5.0
