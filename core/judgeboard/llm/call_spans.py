"""Model calls as spans in the GenAI conventions of OpenTelemetry; questions and answers only if they are asked for."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from judgeboard.llm.chat import ChatRequest, Message, NoReply, Reply, text_of
from judgeboard.llm.endpoint import ModelEndpoint
from judgeboard.traces import telemetry

_SAMPLING = ("temperature", "top_p", "seed")


async def traced_call(endpoint: ModelEndpoint, request: ChatRequest) -> Reply | NoReply:
    """Ask a model, and trace the call if it leaves the process and traces are sent."""
    if endpoint.provider is None:
        return await endpoint.chat.complete(request)
    with telemetry.span(f"chat {endpoint.model}", _asked(endpoint, request), kind="CLIENT") as span:
        reply = await endpoint.chat.complete(request)
        if isinstance(reply, NoReply):
            span.fail(reply.attempts[-1].status if reply.attempts else "no_reply")
        span.add(_replied(reply))
        if telemetry.sends_content():
            span.add(_content(request.messages, reply))
    return reply


def _asked(endpoint: ModelEndpoint, request: ChatRequest) -> dict[str, Any]:
    address = urlsplit(f"//{endpoint.host or ''}")
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": endpoint.provider,
        "gen_ai.request.model": endpoint.model,
        "gen_ai.request.max_tokens": request.max_output,
        "gen_ai.output.type": "text" if request.schema is None else "json",
        "server.address": address.hostname,
        "server.port": address.port,
        "judgeboard.subject": request.subject or None,
        "judgeboard.repair": request.repair,
    } | {f"gen_ai.request.{name}": request.parameters.get(name) for name in _SAMPLING}


def _replied(reply: Reply | NoReply) -> dict[str, Any]:
    attributes: dict[str, Any] = {"judgeboard.calls": len(reply.attempts)}
    if isinstance(reply, Reply):
        attributes |= {
            "gen_ai.response.model": reply.model,
            "gen_ai.response.finish_reasons": None if reply.finish_reason is None else [reply.finish_reason],
            "gen_ai.usage.input_tokens": reply.prompt_tokens,
            "gen_ai.usage.output_tokens": reply.completion_tokens,
        }
    return attributes


def _content(messages: Sequence[Message], reply: Reply | NoReply) -> dict[str, str]:
    instructions = [_part(message) for message in messages if message["role"] == "system"]
    asked = [
        {"role": message["role"], "parts": [_part(message)]} for message in messages if message["role"] != "system"
    ]
    content: dict[str, Any] = {"gen_ai.input.messages": asked}
    if instructions:
        content["gen_ai.system_instructions"] = instructions
    if isinstance(reply, Reply):
        answer = {"type": "text", "content": reply.text or reply.refusal or ""}
        content["gen_ai.output.messages"] = [
            {"role": "assistant", "parts": [answer], "finish_reason": reply.finish_reason or "stop"}
        ]
    return {name: json.dumps(value, ensure_ascii=False) for name, value in content.items()}


def _part(message: Mapping[str, Any]) -> dict[str, str]:
    return {"type": "text", "content": text_of(message.get("content"))}
