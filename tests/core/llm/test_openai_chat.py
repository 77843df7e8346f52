"""The client speaks HTTP to a recording endpoint and counts every call."""

import asyncio
from dataclasses import replace

import pytest

from endpoint_scripts import (
    in_turn,
    rate_limited,
    rejects_format,
    rejects_max_tokens,
    rejects_temperature,
)
from judgeboard.errors import EndpointRefused
from judgeboard.llm.chat import ChatRequest, NoReply, Reply
from judgeboard.llm.endpoint_chat import EndpointChat
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    ScriptedReply,
    always,
    completion,
    failure,
    verdict,
)
from result_fields import check_fields
from served import free_port

REQUEST = ChatRequest(
    messages=[{"role": "user", "content": "Judge this."}],
    schema={"type": "object"},
    schema_name="verdict",
    max_output=512,
    parameters={"temperature": 0},
)
KEY = "sk-secret-0123456789"


def ask(endpoint, what=None, waits=None, **options):
    """Ask once, or do ``what`` with the client; ``waits`` gets the seconds of each wait."""

    async def slept(seconds):
        if waits is not None:
            waits.append(seconds)

    async def run():
        settings = {"base_url": endpoint.base_url, "api_key": KEY} | options
        chat = EndpointChat("judge-model", sleep=slept, chance=lambda: 0.0, **settings)
        try:
            return await (what(chat) if what else chat.complete(REQUEST))
        finally:
            await chat.aclose()

    return asyncio.run(run())


def asked_with(script, **options):
    with RecordingEndpoint(script) as endpoint:
        return ask(endpoint, **options), endpoint


def test_one_request_carries_all_that_was_asked_for():
    reply, endpoint = asked_with(
        always(completion("hello", usage=(11, 7), model="judge-model-2026"))
    )
    check_fields(
        reply,
        text="hello",
        model="judge-model-2026",
        finish_reason="stop",
        reply_format="json_schema",
    )
    (attempt,) = reply.attempts
    check_fields(
        attempt, why="first", status="ok", raw="hello", prompt_tokens=11, completion_tokens=7
    )
    assert attempt.latency_ms is not None
    (sent,) = endpoint.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body["max_tokens"] == 512
    assert sent.body["temperature"] == 0
    assert sent.body["response_format"]["json_schema"] == {
        "name": "verdict",
        "strict": True,
        "schema": {"type": "object"},
    }


def test_a_local_server_needs_no_key():
    reply, endpoint = asked_with(always(verdict()), api_key=None)
    assert isinstance(reply, Reply)
    assert endpoint.requests[0].headers["authorization"] == "Bearer none"


async def twice(chat):
    return [await chat.complete(REQUEST), await chat.complete(REQUEST)]


def together(count):
    """Ask so often at once."""

    async def ask_all(chat):
        return await asyncio.gather(*(chat.complete(REQUEST) for _ in range(count)))

    return ask_all


@pytest.mark.parametrize(
    ("rejected", "expected", "requests"),
    [
        ((), "json_schema", 1),
        (("json_schema",), "json_object", 2),
        (("json_schema", "json_object"), "text", 3),
    ],
)
def test_the_reply_format_falls_back_and_is_remembered(rejected, expected, requests):
    (first, second), endpoint = asked_with(rejects_format(always(verdict()), *rejected), what=twice)
    assert first.reply_format == second.reply_format == expected
    assert [attempt.why for attempt in first.attempts] == ["first", *["format"] * (requests - 1)]
    assert len(second.attempts) == 1
    assert len(endpoint.requests) == requests + 1


def test_many_first_requests_at_once_all_find_the_format():
    script = rejects_temperature(
        rejects_max_tokens(rejects_format(always(verdict()), "json_schema", "json_object"))
    )
    replies, endpoint = asked_with(script, what=together(20), concurrency=20)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert sum(len(reply.attempts) for reply in replies) == len(endpoint.requests)


def test_rejected_parameters_are_dropped_or_renamed_once_and_recorded():
    replies, endpoint = asked_with(
        rejects_temperature(rejects_max_tokens(always(verdict()))), what=twice
    )
    changes = ("temperature", "max_tokens -> max_completion_tokens")
    for reply in replies:
        check_fields(reply, dropped_parameters=changes, reply_format="json_schema")
    assert [attempt.why for attempt in replies[0].attempts] == ["first", "parameter", "parameter"]
    last = endpoint.requests[-1].body
    assert not {"temperature", "max_tokens"} & last.keys()
    assert last["max_completion_tokens"] == 512
    assert len(endpoint.requests) == 4


def test_what_one_row_could_not_get_answered_without_is_not_remembered():
    too_long = failure(
        400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"
    )
    rejected = failure(400, "response_format is not supported", param="response_format")

    (first, second), _ = asked_with(in_turn([rejected, too_long, verdict()]), what=twice)
    assert isinstance(first, NoReply)
    assert second.reply_format == "json_schema"


def test_retry_after_is_honoured():
    waits = []
    reply, endpoint = asked_with(
        rate_limited(always(verdict()), 2, {"retry-after": "7"}), waits=waits
    )
    assert isinstance(reply, Reply)
    assert waits == [7.0, 7.0]
    assert [(a.why, a.status) for a in reply.attempts] == [
        ("first", "http_429"),
        ("retry", "http_429"),
        ("retry", "ok"),
    ]
    assert "Rate limit reached" in reply.attempts[0].raw
    assert len(endpoint.requests) == 3


def test_a_wait_that_no_run_can_sit_out_ends_the_run():
    waits = []
    script = rate_limited(always(verdict()), 9, {"retry-after": "3600"})
    with RecordingEndpoint(script) as endpoint, pytest.raises(EndpointRefused, match="3,600 s"):
        ask(endpoint, waits=waits)
    assert (len(endpoint.requests), waits) == (1, [])


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_trouble_that_lasts_ends_as_this_rows_failure(status):
    waits = []
    reply, endpoint = asked_with(
        always(ScriptedReply("down for maintenance", status)), waits=waits, tries=3
    )
    assert isinstance(reply, NoReply)
    assert all(part in reply.reason for part in (f"HTTP {status}", "down for maintenance", "3"))
    assert len(endpoint.requests) == len(reply.attempts) == 3
    assert waits == [0.25, 0.5]


def test_a_lost_connection_is_tried_again():
    reply, endpoint = asked_with(in_turn([ScriptedReply(hang_up=True), verdict()]))
    assert isinstance(reply, Reply)
    assert [attempt.status for attempt in reply.attempts] == ["connection", "ok"]
    assert len(endpoint.requests) == 2


def test_a_slow_reply_is_a_timeout_and_tried_again():
    reply, _ = asked_with(in_turn([replace(verdict(), delay_s=30), verdict()]), timeout_s=2.0)
    assert isinstance(reply, Reply)
    assert [attempt.status for attempt in reply.attempts] == ["timeout", "ok"]


def test_an_address_where_nothing_listens_stops_the_run():
    url = f"http://127.0.0.1:{free_port()}/v1"
    with RecordingEndpoint() as endpoint, pytest.raises(EndpointRefused, match=r"127\.0\.0\.1"):
        ask(endpoint, base_url=url)


@pytest.mark.parametrize(
    ("reply", "fix"),
    [
        (failure(401, f"Incorrect API key provided: {KEY}"), "OPENAI_API_KEY"),
        (failure(403, "This key may not use judge-model"), "--model"),
        (failure(404, "The model `judge-model` does not exist", code="model_not_found"), "--model"),
        (ScriptedReply("<html>no such page</html>", 404), "--base-url"),
        (failure(429, "You exceeded your current quota", code="insufficient_quota"), "credit"),
    ],
)
def test_what_no_row_can_survive_stops_the_run_and_names_the_fix(reply, fix):
    with (
        RecordingEndpoint(always(reply)) as endpoint,
        pytest.raises(EndpointRefused, match=fix) as refused,
    ):
        ask(endpoint)
    assert KEY not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("key", [KEY, None])
def test_a_refused_key_names_its_variable_and_nothing_of_the_reply(key):
    with (
        RecordingEndpoint(always(failure(401, "bad key"))) as endpoint,
        pytest.raises(EndpointRefused) as refused,
    ):
        ask(endpoint, api_key=key)
    words = ("OPENAI_API_KEY", "HTTP 401", "bad key")
    assert [word in str(refused.value) for word in words] == [True, True, False]


def test_a_key_that_an_error_repeats_is_not_kept():
    reply, _ = asked_with(always(failure(400, f"your key {KEY} is fine but the prompt is not")))
    assert isinstance(reply, NoReply)
    assert KEY not in repr(reply)


@pytest.mark.parametrize(
    "reply",
    [
        failure(
            400,
            "maximum context length is 4096 tokens, reduce the length",
            code="context_length_exceeded",
        ),
        failure(400, "something nobody has heard of"),
        failure(501, "not implemented"),
        ScriptedReply("<html>sign in first</html>"),
        ScriptedReply({"choices": []}),
    ],
)
def test_other_errors_are_this_rows_and_not_tried_again(reply):
    answer, endpoint = asked_with(always(reply))
    assert isinstance(answer, NoReply)
    assert not answer.refused
    assert len(endpoint.requests) == len(answer.attempts) == 1


def test_content_that_the_endpoint_will_not_take_is_a_refusal():
    answer, _ = asked_with(always(failure(400, "The prompt was filtered", code="content_filter")))
    assert isinstance(answer, NoReply)
    assert answer.refused


def test_text_that_cannot_be_stored_is_replaced_and_marked():
    reply, _ = asked_with(always(completion("a\x00b\ud800c")))
    (attempt,) = reply.attempts
    assert reply.text == attempt.raw == "a\ufffdb\ufffdc"
    assert "U+FFFD" in attempt.detail


def test_the_text_parts_of_a_list_are_read():
    body = completion(None).body
    body["choices"][0]["message"]["content"] = [
        {"type": "text", "text": "one "},
        {"type": "text", "text": "two"},
    ]
    reply, _ = asked_with(always(ScriptedReply(body)))
    assert reply.text == "one two"


def test_as_many_calls_are_in_flight_as_were_allowed():
    async def once_all_are_here(_request, _number):
        async with asyncio.timeout(60):
            while endpoint.most_at_once < 128:  # noqa: ASYNC110 - the server's own figure
                await asyncio.sleep(0.01)
        return verdict()

    with RecordingEndpoint(once_all_are_here) as endpoint:
        replies = ask(endpoint, what=together(128), concurrency=128)
    assert all(isinstance(reply, Reply) for reply in replies)
    assert endpoint.most_at_once == 128


def test_the_host_is_shown_without_credentials():
    chat = EndpointChat("m", base_url="http://user:password@example.test:8000/v1")
    assert chat.host == "example.test:8000"
    asyncio.run(chat.aclose())


@pytest.mark.parametrize("usage", [[1], "many", {"prompt_tokens": "7"}])
def test_an_odd_account_of_tokens_leaves_the_reply_usable(usage):
    body = verdict().body | {"usage": usage}
    reply, _ = asked_with(always(ScriptedReply(body)))
    assert isinstance(reply, Reply)
    assert reply.attempts[-1].prompt_tokens is None
