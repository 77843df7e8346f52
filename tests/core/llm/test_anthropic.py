"""Anthropic's Messages API, spoken to a recording endpoint that refuses what the real one refuses."""

import asyncio
import json
from dataclasses import replace

import pytest

from endpoint_scripts import in_turn
from judgeboard.domain import JudgeInput, Status
from judgeboard.errors import BadInput, EndpointRefused
from judgeboard.llm.anthropic_provider import ANTHROPIC, read
from judgeboard.llm.chat import ChatRequest, NoReply, Reply
from judgeboard.llm.endpoint import PROVIDERS, choose_provider, price_of
from judgeboard.llm.endpoint_chat import EndpointChat
from judgeboard.llm.recording_endpoint import (
    RecordingEndpoint,
    ScriptedReply,
    always,
    completion,
    verdict,
)
from judgeboard.runs.judging import make_judge
from judging_log import judge_once
from result_fields import check_fields

KEY = "sk-ant-secret-0123456789"
REQUEST = ChatRequest(
    messages=[
        {"role": "system", "content": "You judge answers."},
        {"role": "user", "content": "Judge this."},
    ],
    schema={"type": "object", "properties": {"quality": {"type": "integer"}}},
    schema_name="verdict",
    max_output=512,
    parameters={"temperature": 0},
)
ANSWER = JudgeInput(1, "What colour is the sky?", "Blue.", ("The sky is blue.",))


def anthropic_failure(status, kind, message):
    """Return an error as Anthropic's API sends it; ``kind`` is its type, like overloaded_error."""
    error = {"type": kind, "message": message}
    body = {"type": "error", "error": error, "request_id": "req_scripted"}
    return ScriptedReply(body, status)


def invalid(message):
    """Return the error of a request that the API cannot take."""
    return anthropic_failure(400, "invalid_request_error", message)


def as_anthropic(then):
    """Answer like Anthropic's Messages API: refuse what it refuses, and send what ``then`` completes in its form."""

    def script(request, number):
        if fault := _messages_fault(request):
            return invalid(fault)
        reply = then(request, number)
        is_completion = isinstance(reply.body, dict) and "choices" in reply.body
        return replace(reply, body=_message(reply.body, request)) if is_completion else reply

    return script


_TAKEN = frozenset(
    {"model", "messages", "max_tokens", "system", "temperature", "tools", "tool_choice"}
)


def _messages_fault(request):
    for name in ("model", "messages", "max_tokens"):
        if name not in request:
            return f"{name}: Field required"
    if strange := sorted(set(request) - _TAKEN):
        return f"{strange[0]}: Extra inputs are not permitted"
    for place, message in enumerate(request["messages"]):
        if message["role"] not in {"user", "assistant"}:
            return f'messages: Unexpected role "{message["role"]}". Use the top-level `system` parameter'
        if not message["content"]:
            return f"messages.{place}: all messages must have non-empty content"
    if request.get("tool_choice", {}).get("type") == "tool":
        named = request["tool_choice"]["name"]
        if named not in [tool["name"] for tool in request.get("tools", ())]:
            return f"tool_choice: Tool '{named}' not found in provided tools"
    return None


def _message(completed, request):
    """A chat completion in the form of a message; a text that is JSON becomes the input of the tool."""
    (choice,) = completed["choices"]
    text, refusal = choice["message"]["content"] or "", choice["message"]["refusal"]
    stop = {"length": "max_tokens", "stop": "end_turn"}[choice["finish_reason"]]
    block = {"type": "text", "text": refusal or text}
    if refusal:
        stop = "refusal"
    elif "tool_choice" in request and text.startswith("{"):
        name = request["tool_choice"]["name"]
        block = {
            "type": "tool_use",
            "id": "toolu_scripted",
            "name": name,
            "input": json.loads(text),
        }
        stop = "tool_use" if stop == "end_turn" else stop
    usage = completed["usage"]
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": completed["model"],
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
        },
    }


def asked(script, *requests, **options):
    waits = []

    async def slept(seconds):
        waits.append(seconds)

    async def run():
        chat = EndpointChat(
            "claude-haiku-4-5",
            provider=ANTHROPIC,
            base_url=endpoint.base_url,
            api_key=KEY,
            sleep=slept,
            chance=lambda: 0.0,
            **options,
        )
        try:
            return [await chat.complete(request) for request in requests or (REQUEST,)]
        finally:
            await chat.aclose()

    with RecordingEndpoint(as_anthropic(script)) as endpoint:
        replies = asyncio.run(run())
    endpoint.waits = waits
    return replies, endpoint


def test_a_schema_is_asked_for_as_the_input_of_one_tool():
    (reply,), endpoint = asked(always(verdict()))
    assert json.loads(reply.text)["quality"] == 4
    check_fields(reply, finish_reason="tool_use", reply_format="json_schema", dropped_parameters=())
    (attempt,) = reply.attempts
    check_fields(attempt, prompt_tokens=100, completion_tokens=20, raw=reply.text)
    (sent,) = endpoint.requests
    assert sent.path == "/v1/messages"
    assert (sent.headers["x-api-key"], sent.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert not {"authorization", "openai-organization", "openai-project"} & sent.headers.keys()
    assert sent.body["system"] == "You judge answers."
    assert sent.body["messages"] == [{"role": "user", "content": "Judge this."}]
    check_fields(sent.body, max_tokens=512, temperature=0)
    assert sent.body["tools"][0]["input_schema"] == REQUEST.schema
    assert sent.body["tool_choice"] == {
        "type": "tool",
        "name": "verdict",
        "disable_parallel_tool_use": True,
    }


def test_free_text_is_asked_for_without_a_tool_and_token_probabilities_never():
    free = replace(REQUEST, schema=None, logprobs=True)
    (reply,), endpoint = asked(always(completion("Blue.")), free)
    check_fields(reply, text="Blue.", tokens=None, dropped_parameters=("logprobs",))
    assert not {"tools", "tool_choice", "logprobs"} & endpoint.requests[0].body.keys()


def test_a_model_that_takes_no_forced_tool_or_temperature_is_asked_in_words_alone():
    refusals = [
        invalid("tool_choice: forced tool use is not supported by this model"),
        invalid("`temperature` is deprecated for this model."),
    ]
    (first, second), endpoint = asked(in_turn([*refusals, verdict()]), REQUEST, REQUEST)
    for reply in (first, second):
        check_fields(reply, reply_format="text", dropped_parameters=("temperature",))
    assert [attempt.why for attempt in first.attempts] == ["first", "format", "parameter"]
    assert len(endpoint.requests) == 4


@pytest.mark.parametrize(
    ("status", "kind", "headers", "wait"),
    [
        (429, "rate_limit_error", {"retry-after": "7"}, 7.0),
        (529, "overloaded_error", {}, 0.25),
        (500, "api_error", {}, 0.25),
        (504, "timeout_error", {}, 0.25),
    ],
)
def test_what_may_pass_is_tried_again(status, kind, headers, wait):
    failed = replace(anthropic_failure(status, kind, "later"), headers=headers)
    (reply,), endpoint = asked(in_turn([failed, verdict()]))
    assert isinstance(reply, Reply)
    assert [attempt.status for attempt in reply.attempts] == [f"http_{status}", "ok"]
    assert endpoint.waits == [wait]


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (
            anthropic_failure(401, "authentication_error", f"invalid x-api-key {KEY}"),
            "ANTHROPIC_API_KEY",
        ),
        (anthropic_failure(403, "permission_error", "no permission"), "ANTHROPIC_API_KEY"),
        (anthropic_failure(404, "not_found_error", "model: claude-haiku-4-5"), "--model"),
        (anthropic_failure(402, "billing_error", "payment"), "credit"),
        (invalid("Your credit balance is too low to access the Anthropic API."), "credit"),
    ],
)
def test_what_no_row_can_survive_stops_the_run(reply, says):
    with pytest.raises(EndpointRefused, match=says) as refused:
        asked(always(reply))
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    "reply",
    [
        invalid("prompt is too long: 250000 tokens > 200000 maximum"),
        anthropic_failure(413, "request_too_large", "Request exceeds the maximum size"),
        ScriptedReply("<html>sign in first</html>"),
    ],
)
def test_other_errors_are_this_rows_alone(reply):
    (answer,), endpoint = asked(always(reply))
    assert isinstance(answer, NoReply)
    assert len(endpoint.requests) == len(answer.attempts) == 1


def test_a_refusal_and_a_reply_that_was_cut_off_are_told():
    replies = [completion(None, refusal="I will not."), completion("half", finish_reason="length")]
    (refused, cut), _ = asked(in_turn(replies), REQUEST, REQUEST)
    assert refused.refusal == "I will not."
    check_fields(cut, refusal=None, finish_reason="length")


def test_tokens_of_a_cache_are_counted():
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 40,
        "cache_read_input_tokens": 500,
        "output_tokens": 2,
    }
    content = [{"type": "text", "text": text} for text in ("a", "b")]
    found = read({"content": content, "usage": usage})
    check_fields(found, text="ab", prompt_tokens=543, completion_tokens=2)
    with pytest.raises(TypeError):
        read([])


def test_prices_are_known():
    for model in (
        "claude-haiku-4-5-20251001",
        "claude-sonnet-4-5",
        "claude-opus-4-1-20250805",
        "claude-sonnet-4-20250514",
    ):
        assert price_of(model) is not None
    price = price_of("claude-sonnet-4-5")
    assert price.cost_micro(1_000_000, 1_000_000) == 18_000_000


@pytest.mark.parametrize(
    ("name", "model", "base_url", "provider"),
    [
        (None, "gpt-4o", None, "openai"),
        (None, "claude-haiku-4-5", None, "anthropic"),
        (None, "claude-haiku-4-5", "http://gateway/v1", "openai"),
        ("anthropic", "claude-haiku-4-5", "http://gateway/v1", "anthropic"),
        ("openai", "claude-haiku-4-5", None, "openai"),
    ],
)
def test_the_model_chooses_the_provider_where_nothing_else_does(name, model, base_url, provider):
    assert choose_provider(name, model=model, base_url=base_url) is PROVIDERS[provider]


def test_a_provider_that_is_none_is_refused():
    with pytest.raises(BadInput, match="openai or anthropic"):
        choose_provider("mistral")


def test_a_judge_asks_anthropic_with_its_own_key_and_address(monkeypatch):
    with pytest.raises(BadInput, match="ANTHROPIC_API_KEY"):
        make_judge("rag", model="claude-haiku-4-5")
    replies = in_turn([verdict(groundedness=85), verdict()])
    with RecordingEndpoint(as_anthropic(replies)) as endpoint:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.base_url)
        result = judge_once(make_judge("rag", model="claude-haiku-4-5"), ANSWER)
    check_fields(result, status=Status.OK, quality=4, groundedness=1.0)
    assert [attempt.why for attempt in result.attempts] == ["first", "repair"]
    assert result.cost_micro == 2 * (100 + 5 * 20)
    assert {request.headers["x-api-key"] for request in endpoint.requests} == {KEY}
