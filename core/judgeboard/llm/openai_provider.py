"""OpenAI's chat completions API, which most other servers also have."""

import math
from typing import Any

from judgeboard.llm.chat import ChatRequest, Reply, ReplyFormat, TokenChance
from judgeboard.llm.provider import Provider, RequestShape, text_or_none, token_count, usage_in

MOST_ALTERNATIVES = 10
"""Number of alternatives requested for each token. Most servers that allow fewer than 20 allow this many."""


def body(model: str, request: ChatRequest, shape: RequestShape) -> dict[str, Any]:
    """Return the JSON body of a request for a chat completion."""
    content = {"model": model, "messages": list(request.messages), **shape.parameters(request)}
    if request.logprobs and "logprobs" not in shape.dropped:
        content |= {"logprobs": True, "top_logprobs": MOST_ALTERNATIVES}
    if request.schema is None:
        return content
    if shape.reply_format is ReplyFormat.JSON_SCHEMA:
        schema = {"name": request.schema_name, "strict": True, "schema": request.schema}
        content["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif shape.reply_format is ReplyFormat.JSON_OBJECT:
        content["response_format"] = {"type": "json_object"}
    return content


def read(content: Any) -> Reply:
    """Read a chat completion."""
    choice, usage = content["choices"][0], usage_in(content)
    message = choice["message"]
    text = message.get("content")
    if isinstance(text, list):  # some servers send parts
        parts = (part.get("text") for part in text if isinstance(part, dict))
        text = "".join(part for part in parts if isinstance(part, str))
    return Reply(
        text=text if isinstance(text, str) else "",
        refusal=text_or_none(message.get("refusal")) or None,
        finish_reason=text_or_none(choice.get("finish_reason")),
        model=text_or_none(content.get("model")),
        prompt_tokens=token_count(usage.get("prompt_tokens")),
        completion_tokens=token_count(usage.get("completion_tokens")),
        tokens=read_token_chances(choice),
    )


def read_token_chances(choice: Any) -> tuple[TokenChance, ...] | None:
    """Return the tokens of a choice of a chat completion; None if they are missing or have an unknown form."""
    chances = []
    try:
        for token in choice["logprobs"]["content"]:
            text = token["token"]
            if not isinstance(text, str):
                raise TypeError("a token is a text")
            logprobs: dict[str, float] = {}
            for each in [token, *(token.get("top_logprobs") or [])]:
                alternative, logprob = each["token"], each["logprob"]
                if (
                    isinstance(alternative, str)
                    and isinstance(logprob, int | float)
                    and not math.isnan(logprob)
                ):
                    logprobs.setdefault(alternative, float(logprob))
            chances.append(TokenChance(text, tuple(logprobs.items())))
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    return tuple(chances) or None


OPENAI = Provider(
    name="openai",
    base_url="https://api.openai.com/v1",
    path="/chat/completions",
    body=body,
    read=read,
)
