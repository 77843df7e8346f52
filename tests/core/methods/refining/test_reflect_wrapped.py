"""Self-refine around a caller's own chat call: any callable, any judge, never an exception at the limit."""

import asyncio
import functools
import json
import threading

import pytest

import judgeboard
from endpoint_scripts import in_turn
from judgeboard.domain import Status, StepRecord
from judgeboard.llm.asking import Replied
from judgeboard.llm.recording_endpoint import RecordingEndpoint
from refining_log import rated
from result_fields import check_fields

QUESTION = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How warm is it?"},
]


class Chat:
    """Answers "try 1", "try 2", … and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, messages):
        self.asked.append(messages)
        return f"try {len(self.asked)}"


def judging(*ratings):
    """A judge that gives these ratings in turn, the last one for ever."""
    left = list(ratings)

    def judge(_messages):
        rating = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(rating, str):
            return rating
        feedback = f"better than {rating}"
        return json.dumps({"evaluation": "why", "rating": rating, "feedback": feedback})

    return judge


def refined(chat, *ratings, **options):
    """What a chat call answers to the question in the end, if its answers are rated so."""
    return judgeboard.refine(chat, judging(*ratings), **options).blocking(QUESTION)


def test_a_plain_function_is_refined_with_and_without_an_event_loop():
    blocking = refined(Chat(), 2, 2, 4)
    awaited = asyncio.run(judgeboard.refine(Chat(), judging(2, 2, 4))(QUESTION))
    for result in (blocking, awaited):
        check_fields(result, answer="try 3", passed=True, rating=4)
        assert [one.rating.rating for one in result.attempts] == [2, 2, 4]


class AsyncCall:
    """An object whose call is a coroutine."""

    async def __call__(self, _messages):
        return "async object"


async def async_chat(_messages):
    return "async function"


def with_a_loop_of_its_own(messages):
    """As many agents' blocking wrappers do."""
    return asyncio.run(async_chat(messages))


@pytest.mark.parametrize(
    ("chat", "answer"),
    [
        (async_chat, "async function"),
        (AsyncCall(), "async object"),
        (functools.partial(async_chat), "async function"),
        (lambda messages: async_chat(messages), "async function"),  # noqa: PLW0108 - a function that returns an awaitable
        (with_a_loop_of_its_own, "async function"),
        (lambda _messages: "lambda", "lambda"),
    ],
)
def test_any_callable_is_wrapped(chat, answer):
    assert refined(chat, 4).answer == answer


def test_a_blocking_call_does_not_hold_up_the_event_loop():
    async def scene():
        go = threading.Event()

        def chat(_messages):
            # The loop was held up.
            assert go.wait(60)
            return "late"

        waiting = asyncio.create_task(judgeboard.refine(chat, judging(4))("Wait."))
        await asyncio.sleep(0)
        go.set()
        return await waiting

    assert asyncio.run(scene()).answer == "late"


def test_the_limit_gives_the_last_answer_with_the_feedback_and_raises_nothing():
    chat = Chat()
    result = refined(chat, 1, 3, 2, 2)
    check_fields(result, answer="try 4", passed=False, rating=2, feedback="better than 2")
    assert len(chat.asked) == 4


def test_unusable_ratings_alone_still_give_an_answer():
    result = refined(Chat(), "no idea", max_repeats=1, keep="best")
    check_fields(result, answer="try 2", passed=False, rating=None, feedback=None)
    assert [one.status for one in result.attempts] == [Status.UNPARSABLE] * 2


def test_the_call_gets_the_original_and_the_latest_feedback_alone():
    chat = Chat()
    refined(chat, 1, 2, 3, 3)
    first, second, third, _ = chat.asked
    assert first == QUESTION
    assert [message["role"] for message in third] == ["system", "user"]
    assert "better than 1" in second[1]["content"]
    assert "better than 2" in third[1]["content"]
    assert "better than 1" not in third[1]["content"]


def test_a_call_cannot_change_what_later_attempts_are_asked():
    seen = []

    def chat(messages):
        seen.append(len(messages))
        messages.append({"role": "assistant", "content": "mine"})
        messages[0]["content"] = "changed"
        return "same"

    refined(chat, 1, max_repeats=2)
    assert seen == [2, 2, 2]
    assert QUESTION[0]["content"] == "Be brief."


def test_pictures_stay_and_the_feedback_is_one_more_part():
    chat = Chat()
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:,x"}},
    ]
    judgeboard.refine(chat, judging(1, 4)).blocking([{"role": "user", "content": parts}])
    told = chat.asked[1][0]["content"]
    assert told[:2] == parts
    assert "better than 1" in told[2]["text"]


def test_a_judge_that_raises_is_a_failed_attempt_and_a_chat_that_raises_raises():
    failed = LookupError("no such thing")

    def broken(_messages):
        raise failed

    result = judgeboard.refine(Chat(), broken, max_repeats=0).blocking(QUESTION)
    check_fields(result, answer="try 1", passed=False)
    check_fields(result.attempts[0], status="error", error=f"LookupError: {failed}")
    with pytest.raises(LookupError):
        refined(broken, 4)


def test_an_empty_answer_is_an_attempt_that_is_not_rated():
    answers = iter(["  ", "here"])
    result = refined(lambda _messages: next(answers), 4)
    assert result.answer == "here"
    assert [one.status for one in result.attempts] == ["unparsable", "ok"]
    nothing = refined(lambda _messages: "", 4, max_repeats=0)
    check_fields(nothing, answer=None, passed=False)


def test_the_cost_of_all_attempts_is_summed_and_an_unknown_one_is_unknown(tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text("[models]\nreader = { input = 1, output = 1 }\n")

    def chat(_messages):
        return Replied("text", StepRecord(Status.OK, cost_micro=1000))

    with RecordingEndpoint(in_turn([rated(2), rated(4)])) as endpoint:
        options = {"model": "reader", "base_url": endpoint.base_url, "prices": prices}
        known = judgeboard.refine(chat, **options).blocking(QUESTION)
        unknown = judgeboard.refine(Chat(), **options).blocking(QUESTION)
    assert known.cost_micro == 2240
    assert unknown.cost_micro is None


def test_a_judge_that_is_made_serves_many_calls():
    async def scene(better):
        return [(await better("Is it so?")).passed for _ in range(2)]

    with RecordingEndpoint(in_turn([rated(4)])) as endpoint:
        made = judgeboard.make_judge("rating", model="reader", base_url=endpoint.base_url)
        better = judgeboard.refine(Chat(), made)
        assert asyncio.run(scene(better)) == [True, True]
        assert [better.blocking("Is it so?").passed for _ in range(2)] == [True, True]


def test_what_cannot_be_refined_is_said_in_one_line():
    good = judgeboard.refine(Chat(), judging(4))
    with pytest.raises(judgeboard.JudgeboardError, match="of the user"):
        good.blocking([{"role": "system", "content": "x"}])
    with pytest.raises(judgeboard.JudgeboardError, match="not int"):
        refined(lambda _messages: 7, 4)
    with pytest.raises(judgeboard.JudgeboardError, match="options apply only"):
        judgeboard.refine(Chat(), judging(4), model="m")
    with pytest.raises(judgeboard.JudgeboardError, match="gives feedback"):
        judgeboard.refine(Chat(), "lexical").blocking("x")


def test_the_judge_sees_the_passages_fenced():
    def judge(messages):
        seen.append(messages[-1]["content"])
        return judging(4)(messages)

    seen = []
    judgeboard.refine(Chat(), judge).blocking("How warm?", passages=["It is 15 degrees."])
    assert "[BEGIN PASSAGE 1 " in seen[0]
    assert "[BEGIN REQUEST " in seen[0]
