"""Self-refine over prompts: how many calls, which answer is kept, what is stored, where the command goes on."""

import json

import pytest

import judgeboard
from engines import on_sqlite
from judgeboard.domain import RunState, Status
from judgeboard.errors import BadInput
from judgeboard.formats.output import to_plain
from judgeboard.llm.recording_endpoint import RecordingEndpoint, completion, failure
from judgeboard.methods.refining.queries import stored_attempts
from judgeboard.methods.refining.refine import RefineRule, refine_pending
from judgeboard.runs.generation import read_prompts
from judgeboard.store.runs import list_runs
from judging_log import judgments, store_answers
from refining_log import (
    both,
    generations,
    generator,
    judge,
    made,
    rated,
    ratings,
    refinements,
    store_bad,
    written,
)
from result_fields import check_fields
from stored_rows import read

QUESTION = "How warm is it?"


def prompts(tmp_path, *lines):
    file = tmp_path / "prompts.jsonl"
    file.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return read_prompts(file)


@pytest.fixture
def question(tmp_path):
    """A file of prompts with one question."""
    return prompts(tmp_path, QUESTION)


def refine(store, script, asked=None, **options):
    with RecordingEndpoint(script) as endpoint:
        asking = judge("rating", endpoint), generator(endpoint)
        summary = refine_pending(store, *asking, prompts=asked, concurrency=1, **options)
    return summary, endpoint


def answering(text, *replies):
    """Answer with a text each time; the replies of the judge come in turn, and the last one stays."""
    left = iter(replies)
    return both(lambda _request: text, lambda _answer: next(left, replies[-1]))


def given(summary):
    [item] = summary.items
    return [attempt.rating for attempt in item.attempts]


@on_sqlite
def test_ratings_of_2_2_and_4_take_six_calls(store, question):
    summary, endpoint = refine(store, ratings(2, 2, 4), question)
    assert len(endpoint.requests) == summary.calls == summary.account.asked == 6
    assert (summary.prompts, summary.passed, given(summary)) == (1, 1, [2, 2, 4])
    assert [(row["outcome"], row["feedback"]) for row in refinements(store)] == [
        ("failed", "feedback on try 1"),
        ("failed", "feedback on try 2"),
        ("passed", "feedback on try 3"),
    ]
    assert [(row["quality"], row["reasoning"]) for row in judgments(store)] == [
        (n, "So it is.") for n in (2, 2, 4)
    ]
    run = summary.account.run_id
    assert [(row["external_id"], row["derived_from"]) for row in made(store)] == [
        (f"1~refine-{run}-{n}", None) for n in (1, 2, 3)
    ]


def test_never_passing_takes_eight_calls_and_is_no_error(sqlite_store, question):
    summary, endpoint = refine(sqlite_store, ratings(1, 2, 3, 3), question)
    assert (len(endpoint.requests), summary.passed, summary.account.exit_code) == (8, 0, 0)
    assert to_plain(summary.items[0]) == {
        "id": "1",
        "passed": False,
        "attempts": [
            {
                "answer": f"try {place}",
                "rating": n,
                "evaluation": "So it is.",
                "feedback": f"feedback on try {place}",
                "status": "ok",
                "error": None,
            }
            for place, n in enumerate((1, 2, 3, 3), start=1)
        ],
    }


def test_only_the_feedback_of_the_attempt_before_goes_with_the_original_message(
    sqlite_store, question
):
    _, endpoint = refine(sqlite_store, ratings(1, 1, 1, 1), question)
    first, *again = [request["messages"] for request in written(endpoint)]
    assert first == [{"role": "user", "content": QUESTION}]
    for number, messages in enumerate(again, start=1):
        [message] = messages
        assert message["content"].startswith(QUESTION)
        told = [n for n in (1, 2, 3, 4) if f"feedback on try {n}" in message["content"]]
        # Feedback does not pile up.
        assert told == [number]
    assert [row["messages"] for row in made(sqlite_store)] == [first, *again]


@pytest.mark.parametrize("reply", ["Fine.", '{"evaluation": "x", "rating": 5, "feedback": ""}'])
def test_an_unusable_rating_is_a_failed_attempt_without_feedback(sqlite_store, question, reply):
    summary, endpoint = refine(sqlite_store, ratings(reply, 4), question)
    first, second = summary.items[0].attempts
    check_fields(first, rating=None, evaluation=None, feedback=None, status=Status.UNPARSABLE)
    assert first.error
    assert second.rating == 4
    asked = [{"role": "user", "content": QUESTION}]
    assert [request["messages"] for request in written(endpoint)] == [asked, asked]
    assert [row["outcome"] for row in refinements(sqlite_store)] == ["unrated", "passed"]
    assert [row["status"] for row in judgments(sqlite_store)] == ["unparsable", "ok"]


def test_an_attempt_without_an_answer_is_recorded_and_not_rated(sqlite_store, tmp_path):
    calls = iter([failure(400, "no"), completion("try 1")])
    summary, endpoint = refine(
        sqlite_store,
        both(lambda _request: next(calls), lambda _answer: rated(4)),
        prompts(tmp_path, QUESTION),
    )
    assert [attempt.status for attempt in summary.items[0].attempts] == ["error", "ok"]
    assert (summary.passed, summary.account.error, len(endpoint.requests)) == (1, 1, 3)
    assert [row["outcome"] for row in refinements(sqlite_store)] == ["no_answer", "passed"]


def test_prompts_of_a_finished_run_are_answered_anew(sqlite_store, question):
    first, _ = refine(sqlite_store, ratings(4), question)
    second, _ = refine(sqlite_store, ratings(4), question)
    assert first.account.run_id != second.account.run_id
    assert len(made(sqlite_store)) == 2


@on_sqlite
def test_logged_questions_are_asked_with_their_messages_and_once(store):
    store_bad(store, 3)
    script = answering("try", rated(4))
    summary, endpoint = refine(store, script)
    assert (summary.prompts, summary.passed, len(endpoint.requests)) == (3, 3, 6)
    assert [item.id for item in summary.items] == ["0", "1", "2"]
    assert [row["derived_from"] for row in made(store)] == [1, 2, 3]
    assert {row["root_response_id"] for row in refinements(store)} == {1, 2, 3}
    assert written(endpoint)[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    again, endpoint = refine(store, script)
    assert (again.prompts, again.items, endpoint.requests) == (0, (), [])


def test_a_longer_limit_tries_again_what_did_not_pass_and_that_alone(sqlite_store):
    store_bad(sqlite_store, 2)

    script = both(
        lambda request: "rock 1" if "rock 1" in str(request["messages"]) else "rock 0",
        lambda answer: rated(4 if "rock 1" in answer else 3),
    )
    first, _ = refine(sqlite_store, script, rule=RefineRule(max_repeats=0))
    check_fields(first, prompts=2, passed=1)
    again, _ = refine(sqlite_store, script, rule=RefineRule(max_repeats=0))
    assert again.prompts == 0
    longer, _ = refine(sqlite_store, script, rule=RefineRule(max_repeats=1))
    assert (longer.prompts, [item.id for item in longer.items]) == (1, ["0"])
    lower, _ = refine(sqlite_store, script, rule=RefineRule(success_rating=3, max_repeats=9))
    # What is rated 3 is good enough now.
    assert lower.prompts == 0


def test_a_question_without_messages_is_asked_with_its_passages(sqlite_store):
    store_bad(sqlite_store, messages=None)
    _, endpoint = refine(sqlite_store, ratings(4))
    [request] = written(endpoint)
    asked = str(request["messages"])
    assert "What is rock 0?" in asked
    assert "It is a rock." in asked


@on_sqlite
def test_a_stopped_run_goes_on_where_it_was(store, question):
    script = answering("try", rated(2, "first feedback"), failure(401, "no such key"))
    stopped, _ = refine(store, script, question)
    check_fields(stopped.account, state=RunState.STOPPED, not_reached=1)
    assert (len(generations(store)), len(judgments(store))) == (2, 1)
    script = answering("try", rated(3, "second feedback"), rated(4))
    summary, endpoint = refine(store, script, question)
    assert summary.account.run_id == stopped.account.run_id
    # No step is repeated.
    assert (given(summary), summary.calls) == ([2, 3, 4], 6)
    # The stored answer is rated, then one further attempt is made.
    assert len(endpoint.requests) == 3
    asked = str(written(endpoint)[0]["messages"])
    assert "second feedback" in asked
    assert "first feedback" not in asked


def test_a_stopped_run_over_the_log_goes_on_though_the_log_has_grown(sqlite_store):
    store_bad(sqlite_store)
    script = answering("rock", rated(2), rated(2), failure(401, "no such key"))
    stopped, _ = refine(sqlite_store, script)
    assert (stopped.account.state, len(generations(sqlite_store))) == (RunState.STOPPED, 3)
    store_answers(sqlite_store, 1, first=7)
    summary, endpoint = refine(sqlite_store, answering("rock", rated(4)))
    assert summary.account.run_id == stopped.account.run_id
    assert ([item.id for item in summary.items], given(summary)) == (["0"], [2, 2, 4])
    # The third answer is stored, and lacks its rating alone.
    assert len(endpoint.requests) == 1
    newer, endpoint = refine(sqlite_store, answering("rope", rated(4)))
    assert ([item.id for item in newer.items], len(endpoint.requests)) == (["7"], 2)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "line 1: not JSON"),
        ([{"id": 1}], "line 1: expected"),
        (
            [{"id": "a", "prompt": "x"}, {"id": "a", "prompt": "y"}],
            "line 2: the id 'a' is used twice",
        ),
        ([{"prompt": "x", "passages": "y"}], "line 1: passages must be a list"),
        (
            [{"messages": [{"role": "system", "content": "x"}]}],
            "line 1: the messages contain no message of the user",
        ),
        ([{"id": True, "prompt": "x"}], "line 1: the id must be a text"),
        (["", "  "], "contains no prompt"),
    ],
)
def test_a_line_that_is_no_prompt_is_named(tmp_path, lines, said):
    with pytest.raises(BadInput, match=said):
        prompts(tmp_path, *lines)


def test_prompts_are_texts_objects_or_messages(tmp_path):
    talk = [{"role": "system", "content": "s"}, {"role": "user", "content": "and this?"}]
    found = prompts(
        tmp_path, "plain", {"id": 7, "prompt": "object", "passages": ["p"]}, {"messages": talk}
    )
    assert [(one.item.external_id, one.item.query) for one in found] == [
        ("1", "plain"),
        ("7", "object"),
        ("3", "and this?"),
    ]
    assert found[1].item.passages == ("p",)
    assert found[2].messages == tuple(talk)


@pytest.mark.parametrize(
    "changes", [{"success_rating": 0}, {"success_rating": 5}, {"max_repeats": -1}, {"keep": "all"}]
)
def test_a_rule_out_of_its_range_is_refused(changes):
    with pytest.raises(BadInput):
        RefineRule(**changes)


@on_sqlite
def test_a_live_call_with_a_store_keeps_every_attempt_as_a_finished_run(store):
    answers, marks = iter(["one", "two"]), iter([2, 4])

    def chat(_messages):
        return next(answers)

    def judge(_messages):
        return json.dumps({"evaluation": "why", "rating": next(marks), "feedback": "more"})

    result = judgeboard.refine(chat, judge, store=store).blocking("How warm is it?")
    check_fields(result, answer="two", passed=True)
    (run,) = read(store, list_runs)
    (attempts,) = read(store, stored_attempts, run.id).values()
    check_fields(run, state=RunState.DONE, kind="refine")
    assert [(each.answer, each.rating) for each in attempts] == [("one", 2), ("two", 4)]
