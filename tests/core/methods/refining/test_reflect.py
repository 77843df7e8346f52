"""Self-reflection over a log: who is asked again, which answer is kept, what is stored, where the command goes on."""

import re

import pytest

from engines import on_sqlite
from judgeboard.domain import Response, RunState, Status, Verdict
from judgeboard.errors import BadInput, UnknownPrice
from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, completion, failure
from judgeboard.methods.refining.reflect import ReflectRule, reflect_pending
from judgeboard.store.filters import RowFilter
from judgeboard.store.judge_versions import ensure_version
from judgeboard.store.judgments import NewJudgment
from judgeboard.store.storing import store_judgments, store_responses
from judgeboard.store.tables import FLAG, JUDGMENT, RESPONSE
from judging_log import judgments, runs, store_answers
from refining_log import (
    LONG,
    asked,
    both,
    generations,
    generator,
    is_judging,
    judge,
    judged,
    made,
    rated,
    refinements,
    scored,
    store_bad,
    written,
)
from result_fields import check_fields
from stored_rows import rows_of, values_of, write_to

PASSING = "It is 15 °C in Paris."  # the only answer of the scene that passes

BETTER = "It is granite, as the passage says."
GRANITE_IS_GOOD = scored({"granite": (0.9, 4)})


def reflect(store, script=None, *, writer=None, reader=None, **options):
    """Reflect on the log; ``writer`` and ``reader``: options of the generator and of the judge."""
    with RecordingEndpoint(script or writing()) as endpoint:
        asking = judge("rag", endpoint, **reader or {}), generator(endpoint, **writer or {})
        summary = reflect_pending(store, *asking, **{"concurrency": 2} | options)
    return summary, endpoint


def writing(text=BETTER, scores=GRANITE_IS_GOOD):
    return both(lambda _request: text, scores)


def judge_first(store, **said):
    """Give every answer of the log a verdict of the judge version that the tests use."""
    with RecordingEndpoint() as endpoint:
        version = write_to(store, ensure_version, judge("rag", endpoint).version)
    verdict = Verdict(**{"status": Status.OK, "groundedness": 0.2, "quality": 2} | said)
    judgments = [NewJudgment(id_, 0, 0, verdict) for id_ in values_of(store, RESPONSE.c.id)]
    write_to(store, store_judgments, version, None, judgments)


@on_sqlite
def test_a_better_grounded_answer_is_kept_and_everything_is_stored(store):
    store_bad(store)
    summary, endpoint = reflect(store)
    check_fields(summary, eligible=1, regenerated=1, kept_new=1, kept_original=0)
    assert summary.calls == len(endpoint.requests) == 3
    check_fields(summary.account, asked=3, ok=3, not_reached=0)
    [new] = made(store)
    check_fields(
        new,
        source="log",
        external_id=f"0~reflect-{summary.account.run_id}",
        answer=BETTER,
        generator_model="writer",
        derived_from=1,
    )
    assert [(row["id"], row["groundedness"]) for row in judgments(store)] == [
        ("0", 0.2),
        (new["external_id"], 0.9),
    ]
    [row] = refinements(store)
    before, after = (one["id"] for one in rows_of(store, JUDGMENT))
    check_fields(
        row,
        method="reflect",
        outcome="kept_new",
        root_response_id=1,
        response_id=new["id"],
        judgment_before_id=before,
        judgment_id=after,
    )
    [call] = generations(store)
    check_fields(call, status="ok", response_id=new["id"], prompt_tokens=100)


@pytest.mark.parametrize(
    ("own", "sent"), [({}, (None, 2048)), ({"temperature": 0.7, "max_output": 99}, (0.7, 99))]
)
def test_the_generator_is_asked_the_same_messages_by_its_own_settings(sqlite_store, own, sent):
    store_bad(sqlite_store)
    _, endpoint = reflect(sqlite_store, writer=own)
    [request] = written(endpoint)
    assert request["messages"] == list(asked(0))
    assert (request.get("temperature"), request["max_tokens"]) == sent


def test_a_failed_second_judgment_keeps_the_original(sqlite_store):
    store_bad(sqlite_store)
    unclear = writing(
        scores=lambda answer: completion("Good!") if "granite" in answer else scored({})(answer)
    )
    summary, _ = reflect(sqlite_store, unclear)
    check_fields(summary, regenerated=1, kept_new=0, kept_original=1, second_failed=1)
    assert [row["outcome"] for row in refinements(sqlite_store)] == ["second_failed"]
    assert [row["status"] for row in judgments(sqlite_store)] == ["ok", "unparsable"]
    # The repair is a call too.
    assert summary.calls == 4


def test_an_identical_answer_is_counted_and_not_judged(sqlite_store):
    store_bad(sqlite_store)
    judge_first(sqlite_store)
    summary, endpoint = reflect(sqlite_store, writing(f"{LONG} number-0.\n"))
    check_fields(summary, eligible=1, identical=1, regenerated=0, calls=1)
    assert not any(is_judging(request.body) for request in endpoint.requests)
    assert made(sqlite_store) == []


def test_a_generator_that_gives_nothing_leaves_the_original_and_is_counted(sqlite_store):
    store_bad(sqlite_store)
    judge_first(sqlite_store)
    summary, _ = reflect(sqlite_store, writing(failure(400, "too long")))
    check_fields(summary, eligible=1, no_answer=1, regenerated=0)
    assert summary.account.error == 1
    assert [row["response_id"] for row in generations(sqlite_store)] == [None]


def test_rows_without_messages_are_counted_and_rebuilt_only_when_that_is_wanted(sqlite_store):
    store_bad(sqlite_store, 2, messages=None)
    summary, endpoint = reflect(sqlite_store)
    check_fields(summary, eligible=2, no_messages=2, regenerated=0)
    assert written(endpoint) == []
    again, endpoint = reflect(sqlite_store)
    assert (again.eligible, again.no_messages, again.calls, endpoint.requests) == (2, 2, 0, [])
    rebuilt, endpoint = reflect(sqlite_store, rebuild_messages=True)
    check_fields(rebuilt, no_messages=0, kept_new=2)
    asked = [str(one["messages"]) for one in written(endpoint)]
    assert sorted("What is rock 0?" in messages for messages in asked) == [False, True]
    assert all("It is a rock." in messages for messages in asked)


@pytest.mark.parametrize(
    "said",
    [
        {"quality": 3},  # with the default maximum, 2
        {"quality": None},
        {"groundedness": None},
        {"status": Status.UNPARSABLE, "groundedness": None, "quality": None},
    ],
    ids=["good enough", "no quality", "no groundedness", "no usable verdict"],
)
def test_what_is_good_enough_or_unmeasured_is_not_eligible(sqlite_store, said):
    store_bad(sqlite_store)
    judge_first(sqlite_store, **said)
    summary, endpoint = reflect(sqlite_store)
    assert (summary.eligible, summary.calls, endpoint.requests) == (0, 0, [])
    # A command that finds nothing to do leaves nothing behind.
    assert runs(sqlite_store) == []
    looser, _ = reflect(sqlite_store, rule=ReflectRule(max_quality=3))
    assert looser.kept_new == (said.get("quality") == 3)


@pytest.mark.parametrize(
    ("fields", "rule", "kept"),
    [
        ({"query_type": "simple"}, ReflectRule(), 0),
        ({"query_type": "simple"}, ReflectRule(query_types=()), 1),
        ({"answer": "ö" * 49}, ReflectRule(), 0),
        ({"answer": "ö" * 50}, ReflectRule(), 1),
        ({"passages": None}, ReflectRule(), 0),
        ({"query_type": "QA", "answer": "x" * 10}, ReflectRule(3, 10, ("QA", "complex")), 1),
    ],
)
def test_the_rule_says_which_answers_are_made_anew_and_the_others_are_not_even_judged(
    sqlite_store, fields, rule, kept
):
    store_bad(sqlite_store, **fields)
    summary, endpoint = reflect(sqlite_store, rule=rule)
    assert (summary.kept_new, len(endpoint.requests)) == (kept, 3 * kept)


def test_an_original_that_turns_out_good_takes_one_call(sqlite_store):
    store_bad(sqlite_store)
    summary, endpoint = reflect(sqlite_store, writing(scores=scored({}, (0.9, 4))))
    assert (summary.eligible, summary.calls, len(endpoint.requests)) == (0, 1, 1)


def test_a_filter_narrows_and_another_judge_version_begins_anew(sqlite_store):
    store_bad(sqlite_store, 3)
    narrowed, endpoint = reflect(sqlite_store, where=RowFilter(ids=("1",)))
    assert (narrowed.eligible, len(endpoint.requests)) == (1, 3)
    rest, endpoint = reflect(sqlite_store)
    # What is settled is not done again.
    assert (rest.eligible, len(endpoint.requests)) == (2, 6)
    other, _ = reflect(sqlite_store, writer={"temperature": 1.0})
    # Another generator is another question.
    check_fields(other, eligible=3, calls=6)


def test_another_rule_reaches_what_is_left_and_repeats_nothing(sqlite_store):
    store_bad(sqlite_store, 2)
    other = Response("other", "x", "Why?", f"{LONG} number-x.", ("It is a rock.",), "complex")
    write_to(sqlite_store, store_responses, [other])
    first, _ = reflect(sqlite_store)
    check_fields(first, kept_new=2, no_messages=1)
    rest, endpoint = reflect(
        sqlite_store, writing(), rebuild_messages=True, rule=ReflectRule(max_quality=3)
    )
    assert (rest.kept_new, len(endpoint.requests)) == (1, 2)


def test_the_same_command_again_asks_nothing_and_tries_again_what_failed(sqlite_store):
    store_bad(sqlite_store, 2)
    script = both(
        lambda request: failure(400, "no") if "rock 1" in str(request) else BETTER,
        GRANITE_IS_GOOD,
    )
    first, _ = reflect(sqlite_store, script)
    check_fields(first, kept_new=1, no_answer=1)
    second, endpoint = reflect(sqlite_store)
    assert (second.kept_new, len(endpoint.requests)) == (1, 2)
    third, endpoint = reflect(sqlite_store)
    assert (third.eligible, endpoint.requests) == (0, [])


def test_a_stopped_run_goes_on_though_the_log_has_grown(store):
    store_bad(store, 3)
    judge_first(store)
    stopped, _ = reflect(store, writing(scores=lambda _answer: failure(401, "no such key")))
    check_fields(stopped.account, state=RunState.STOPPED, not_reached=3)
    check_fields(stopped, eligible=3, regenerated=0)
    kept = len(generations(store))
    assert kept > 0
    store_answers(store, 2, first=10)
    newcomer = Response(
        "log", "new", "What is it?", f"{LONG} new.", ("A rock.",), "complex", messages=asked(9)
    )
    write_to(store, store_responses, [newcomer])
    summary, endpoint = reflect(store)
    assert summary.account.run_id == stopped.account.run_id
    # No answer is made twice.
    assert (summary.kept_new, len(written(endpoint))) == (3, 3 - kept)
    newer, endpoint = reflect(store)
    assert newer.account.run_id != stopped.account.run_id
    assert [request["messages"] for request in written(endpoint)] == [list(asked(9))]


def test_made_answers_raise_no_flag_and_are_no_part_of_the_log(sqlite_store):
    store_bad(sqlite_store)
    reflect(sqlite_store, writing(scores=scored({"granite": (0.0, 1)})))
    assert {row["response_id"] for row in rows_of(sqlite_store, FLAG)} == {1}
    again, endpoint = reflect(sqlite_store)
    # A made answer is not made anew.
    assert (again.eligible, endpoint.requests) == (0, [])


def test_a_cost_limit_needs_both_prices(sqlite_store, tmp_path):
    store_bad(sqlite_store)
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\nreader = { input = 1, output = 1 }\n")
    priced, remote = {"prices": prices}, {"base_url": "https://models.example.org/v1"}
    with pytest.raises(UnknownPrice, match="writer"):
        reflect(sqlite_store, writer=priced | remote, reader=priced, max_cost=1)
    assert runs(sqlite_store) == []


def test_the_cost_of_both_models_is_summed(sqlite_store, tmp_path):
    store_bad(sqlite_store)
    prices = tmp_path / "prices.toml"
    prices.write_text(
        "[models]\nreader = { input = 1, output = 1 }\nwriter = { input = 10, output = 10 }\n"
    )
    priced = {"prices": prices}
    summary, _ = reflect(sqlite_store, writer=priced, reader=priced, max_cost=1)
    assert summary.account.cost_micro == 2 * 120 + 1200


@pytest.mark.parametrize("changes", [{"max_quality": 5}, {"min_chars": -1}])
def test_a_rule_out_of_its_range_is_refused(changes):
    with pytest.raises(BadInput):
        ReflectRule(**changes)


def test_the_scene_runs_as_its_docstring_says(example, capsys):
    weather = example("weather")
    weather.main([])
    printed = capsys.readouterr().out
    attempts = re.findall(r"attempt \d: It is (-?\d+) °C in Paris\.\n  rated (\d)", printed)
    assert attempts == [("-255", "1"), ("-125", "1"), ("15", "4")]
    assert printed.endswith(f"passed: {PASSING}\n")
    for seed in "123":
        result = weather.main(["--seed", seed])
        check_fields(result, passed=True, answer=PASSING)
        # Impossible temperatures fail.
        failed = {(one.rating.rating, "15" in one.answer) for one in result.attempts[:-1]}
        assert failed <= {(1, False)}


def test_models_at_an_endpoint_play_the_scene_with_a_real_tool_call(example):
    function = {"name": "weather", "arguments": '{"city": "Paris"}'}
    call = {"id": "c1", "type": "function", "function": function}

    def script(request, _number):
        messages = request["messages"]
        if request["model"] == "reader":
            return rated(4 if " 15 °C" in judged(request) else 1, "ask again")
        if messages[-1]["role"] == "tool":
            return completion(f"It is {messages[-1]['content']} in Paris.")
        reply = completion("").body
        reply["choices"][0]["message"] |= {"content": None, "tool_calls": [call]}
        reply["choices"][0]["finish_reason"] = "tool_calls"
        return ScriptedReply(reply)

    with RecordingEndpoint(script) as endpoint:
        models = ["--model", "writer", "--judge-model", "reader"]
        result = example("weather").main([*models, "--base-url", endpoint.base_url])
    check_fields(result, passed=True, answer=PASSING)
    assert len(result.attempts) == 3
