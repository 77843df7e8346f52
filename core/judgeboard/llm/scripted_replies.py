"""Scripts for the recording endpoint: how models and gateways answer, well and badly."""

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

GOOD_VERDICT = {"reasoning": "Every statement stands in passage 1.", "groundedness": 1.0, "quality": 4}


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One HTTP answer: a JSON ``body`` (or text as it is), after ``delay_s``; ``hang_up`` closes without any."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    hang_up: bool = False


Answering = ScriptedReply | Awaitable[ScriptedReply]
Script = Callable[[dict[str, Any], int], Answering]
"""From a request's JSON body and its number (0 first) to the answer, at once or awaited."""


def completion(
    content: str | None,
    *,
    refusal: str | None = None,
    finish_reason: str = "stop",
    model: str = "scripted-model",
    usage: tuple[int, int] | None = (100, 20),
) -> ScriptedReply:
    """Return a chat completion that carries ``content``; ``usage`` is (prompt, completion) tokens."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return ScriptedReply(body)


def with_chances(reply: ScriptedReply, tokens: Sequence[tuple[str, Mapping[str, float]]]) -> ScriptedReply:
    """Return a completion with its tokens' probabilities: each token's text, and the likeliest texts at its place."""
    content = [
        {"token": text, "logprob": _log(chances.get(text, 1.0)), "top_logprobs": _top(chances)}
        for text, chances in tokens
    ]
    choice = {**reply.body["choices"][0], "logprobs": {"content": content}}
    return replace(reply, body={**reply.body, "choices": [choice]})


def _top(chances: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"token": text, "logprob": _log(chance)} for text, chance in chances.items()]


def _log(chance: float) -> float:
    return math.log(chance) if chance > 0 else -9999.0  # as servers write what cannot come


def verdict(**changes: Any) -> ScriptedReply:
    """Return a completion with a good verdict, or one with ``changes`` to its fields."""
    return completion(json.dumps({**GOOD_VERDICT, **changes}))


def failure(status: int, message: str, *, code: str | None = None, param: str | None = None) -> ScriptedReply:
    """Return an error in OpenAI's dialect."""
    return ScriptedReply({"error": {"message": message, "type": "error", "param": param, "code": code}}, status)


def anthropic_failure(status: int, kind: str, message: str) -> ScriptedReply:
    """Return an error as Anthropic's API sends it; ``kind`` is its type, like overloaded_error."""
    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}
    return ScriptedReply(error, status)


def as_anthropic(then: Script) -> Script:
    """Answer like Anthropic's Messages API: refuse what it refuses, and send what ``then`` completes in its form."""

    def script(request: dict[str, Any], number: int) -> ScriptedReply:
        if fault := _messages_fault(request):
            return anthropic_failure(400, "invalid_request_error", fault)
        reply = then(request, number)
        if not isinstance(reply, ScriptedReply):
            raise TypeError("a scripted message is there at once")
        is_completion = isinstance(reply.body, dict) and "choices" in reply.body
        return replace(reply, body=_message(reply.body, request)) if is_completion else reply

    return script


_TAKEN = frozenset({"model", "messages", "max_tokens", "system", "temperature", "tools", "tool_choice"})


def _messages_fault(request: Mapping[str, Any]) -> str | None:
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


def _message(completed: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion in the form of a message; a text that is JSON becomes the input of the tool."""
    choice = completed["choices"][0]
    text = choice["message"]["content"] or ""
    stop = {"length": "max_tokens", "stop": "end_turn"}.get(choice["finish_reason"], choice["finish_reason"])
    block: dict[str, Any] = {"type": "text", "text": choice["message"]["refusal"] or text}
    if choice["message"]["refusal"]:
        stop = "refusal"
    elif "tool_choice" in request and text.startswith("{"):
        name = request["tool_choice"]["name"]
        block = {"type": "tool_use", "id": "toolu_scripted", "name": name, "input": json.loads(text)}
        stop = "tool_use" if stop == "end_turn" else stop
    usage = completed.get("usage")
    return {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": completed["model"],
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage and {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def always(reply: ScriptedReply) -> Script:
    """Answer everything with ``reply``."""
    return lambda _request, _number: reply


def in_turn(replies: Sequence[ScriptedReply]) -> Script:
    """Answer the first request with the first reply and so on; the last one stays."""
    return lambda _request, number: replies[min(number, len(replies) - 1)]


def rejects_format(then: Script, *names: str) -> Script:
    """Answer 400 to the reply formats in ``names`` (json_schema, json_object), else like ``then``."""

    def script(request: dict[str, Any], number: int) -> Answering:
        asked = request.get("response_format", {}).get("type")
        if asked in names:
            return failure(400, f"response_format type {asked!r} is not supported", param="response_format")
        return then(request, number)

    return script


def rejects_parameter(then: Script, name: str, message: str) -> Script:
    """Answer 400 with ``message`` to a request that carries the parameter ``name``, else like ``then``."""

    def script(request: dict[str, Any], number: int) -> Answering:
        if name in request:
            return failure(400, message, param=name, code="unsupported_parameter")
        return then(request, number)

    return script


def rejects_temperature(then: Script) -> Script:
    """Behave like a reasoning model asked for a temperature."""
    return rejects_parameter(then, "temperature", "Unsupported value: only the default temperature is supported.")


def rejects_max_tokens(then: Script) -> Script:
    """Behave like a model that wants its maximum under the newer name."""
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    return rejects_parameter(then, "max_tokens", message)


def rate_limited(then: Script, times: int, headers: Mapping[str, str] | None = None) -> Script:
    """Answer 429 to the first ``times`` requests, with ``headers`` like retry-after, then like ``then``."""
    limited = ScriptedReply({"error": {"message": "Rate limit reached"}}, 429, headers or {})
    return lambda request, number: limited if number < times else then(request, number)
