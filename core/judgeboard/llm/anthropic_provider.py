"""Anthropic's Messages API."""

import json
from typing import Any

from judgeboard.llm.chat import ChatRequest, Reply, ReplyFormat
from judgeboard.llm.provider import Provider, RequestShape, text_or_none, token_count, usage_in

VERSION = "2023-06-01"
"""The version of the API, sent with each request."""
_SYSTEM_ROLES = frozenset({"system", "developer"})
_CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded"})


def headers(key: str) -> dict[str, str]:
    """Return the headers that carry the key."""
    return {"x-api-key": key, "anthropic-version": VERSION}


def body(model: str, request: ChatRequest, shape: RequestShape) -> dict[str, Any]:
    """Return the JSON body of a request. A schema becomes the input of a tool, and the model must use this tool."""
    system = [
        message["content"] for message in request.messages if message["role"] in _SYSTEM_ROLES
    ]
    # The API refuses empty texts, so a repair request leaves out an empty first reply.
    turns = [
        message
        for message in request.messages
        if message["role"] not in _SYSTEM_ROLES and message["content"]
    ]
    content = {"model": model, "messages": turns, **shape.parameters(request)}
    if system:
        content["system"] = "\n\n".join(system)
    if request.schema is not None and shape.reply_format is ReplyFormat.JSON_SCHEMA:
        content["tools"] = [
            {
                "name": request.schema_name,
                "description": "Takes the reply.",
                "input_schema": request.schema,
            }
        ]
        content["tool_choice"] = {
            "type": "tool",
            "name": request.schema_name,
            "disable_parallel_tool_use": True,
        }
    return content


def read(content: Any) -> Reply:
    """Read a message: the input of the tool as JSON, otherwise the text."""
    blocks = [block for block in content["content"] if isinstance(block, dict)]
    inputs = [block["input"] for block in blocks if block.get("type") == "tool_use"]
    text = "".join(str(block["text"]) for block in blocks if block.get("type") == "text")
    answer = json.dumps(inputs[0], ensure_ascii=False) if inputs else text
    stop, usage = text_or_none(content.get("stop_reason")), usage_in(content)
    prompt_tokens = token_count(usage.get("input_tokens"))
    if prompt_tokens is not None:
        # The API reports cached tokens separately.
        for name in ("cache_creation_input_tokens", "cache_read_input_tokens"):
            prompt_tokens += token_count(usage.get(name)) or 0
    return Reply(
        text=answer,
        refusal=(answer or "refusal") if stop == "refusal" else None,
        finish_reason="length" if stop in _CUT_OFF else stop,
        model=text_or_none(content.get("model")),
        prompt_tokens=prompt_tokens,
        completion_tokens=token_count(usage.get("output_tokens")),
    )


ANTHROPIC = Provider(
    name="anthropic",
    base_url="https://api.anthropic.com/v1",
    path="/messages",
    headers=headers,
    body=body,
    read=read,
    # The API has no JSON mode without a schema, and no token probabilities.
    shape=RequestShape(
        (ReplyFormat.JSON_SCHEMA, ReplyFormat.TEXT), dropped=frozenset({"logprobs"})
    ),
    models=("claude-",),
)
