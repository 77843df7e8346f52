"""Reads the body of a chat completion."""

import json
from dataclasses import dataclass
from typing import Any

from judgeboard.llm.token_chances import TokenChance, read_token_chances
from judgeboard.storable_text import storable


@dataclass(frozen=True, slots=True)
class ChatBody:
    """What a chat completion carries, as storable text; ``replaced`` tells that some characters were not storable."""

    text: str
    refusal: str | None
    finish_reason: str | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    replaced: bool
    tokens: tuple[TokenChance, ...] | None = None


def _content_text(content: Any) -> str:
    """The text of a message: a string, or the text parts of a list, as some servers send it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _name(value: Any) -> str | None:
    return storable(value)[0] if isinstance(value, str) else None


def read_chat_body(body: str) -> ChatBody | None:
    """Read the JSON body of a chat completion; None where it is none (a login page, an error sent as 200)."""
    try:
        content = json.loads(body)
        choice = content["choices"][0]
        message = choice["message"]
        usage = content.get("usage")
        usage = usage if isinstance(usage, dict) else {}  # an odd one makes the cost unknown, not the reply useless
        written, refused = message.get("content"), message.get("refusal")
        prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        finish_reason, model = _name(choice.get("finish_reason")), _name(content.get("model"))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    text, replaced = storable(_content_text(written))
    refusal, refusal_replaced = storable(refused) if isinstance(refused, str) else ("", False)
    return ChatBody(
        text=text,
        refusal=refusal or None,
        finish_reason=finish_reason,
        model=model,
        prompt_tokens=prompt,
        completion_tokens=completion,
        replaced=replaced or refusal_replaced,
        tokens=read_token_chances(choice),
    )
