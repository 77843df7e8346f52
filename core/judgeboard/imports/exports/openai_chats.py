"""OpenAI chat logs: training examples with messages, stored completions, and requests with their responses."""

from collections.abc import Iterator, Mapping
from typing import Any

from judgeboard.imports import known_names
from judgeboard.imports.exports.entry import (
    Entry,
    answer_row,
    as_object,
    each_row,
    named,
    objects,
    shown_reason,
    without_nothing,
)
from judgeboard.llm.chat import last_of_user, text_of
from judgeboard.store.filters import value_at

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_ENVELOPES = ("body", "request", "response", "data", "completion", "kwargs", "input", "output")
_READ = frozenset({"messages", "choices", "usage", "metadata", *_ENVELOPES})  # unless they are texts or numbers


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row is a dialogue that ends with a reply, or a request with its reply.

    A row with its own columns for question and answer is not: its messages are the earlier turns.
    """
    if isinstance(named(row, known_names.QUESTION), str) and isinstance(named(row, known_names.ANSWER), str):
        return False
    messages = _messages(row)
    ends = bool(messages) and (messages[-1].get("role") == "assistant" or isinstance(_text_beside(row), str))
    return ends or _reply(row) is not None


def _text_beside(row: Mapping[str, Any]) -> Any:
    return named(row, known_names.ANSWER)


def _levels(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the row, and the objects that may hold its request or its reply."""
    inner = [as_object(row.get(name)) for name in _ENVELOPES if isinstance(row.get(name), dict)]
    bodies = [level["body"] for level in inner if isinstance(level.get("body"), dict)]
    return [row, *inner, *bodies]


def _messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    for level in _levels(row):
        for name in ("messages", "input"):
            messages = objects(level.get(name))
            if messages and all(str(message.get("role")) in _ROLES for message in messages):
                instructions = level.get("instructions")
                first = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
                return [*first, *messages]
            if name == "input" and isinstance(level.get(name), str) and "model" in level:
                return [{"role": "user", "content": level[name]}]
    return []


def _reply(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the completion in a row: an object with choices, or with output of the Responses API."""
    for level in _levels(row):
        if isinstance(value_at(level, ("choices", 0, "message")), dict):
            return level
        if level.get("object") == "response" and isinstance(level.get("output"), list):
            return level
    return None


def _answer(reply: Mapping[str, Any]) -> str:
    if "choices" in reply:
        return text_of(value_at(reply, ("choices", 0, "message", "content")))
    parts = [text_of(item.get("content")) for item in objects(reply["output"]) if item.get("type") == "message"]
    return "\n".join(filter(None, parts))


@each_row
def read(row: dict[str, Any]) -> Iterator[Entry]:
    """Yield the entry of a dialogue."""
    messages, reply = _messages(row), _reply(row)
    if reply is not None:
        answered = _answer(reply)
    elif messages and messages[-1].get("role") == "assistant":
        answered, messages = text_of(messages[-1].get("content")), messages[:-1]
    else:
        beside = _text_beside(row)
        answered = beside if isinstance(beside, str) else ""
    place = last_of_user(messages)
    beside = named(row, known_names.QUESTION)
    question = beside if place is None else text_of(messages[place].get("content"))
    if not isinstance(question, str) or not answered.strip():
        problem = value_at(row, ("error", "message")) or value_at(row, ("response", "error", "message"))
        missing = "no question: the log has no messages" if question is None else "no answer: the reply has no text"
        yield Entry(None, reason=f"{missing}{f' ({shown_reason(problem)})' if problem else ''}")
        return
    usage = as_object(value_at(reply, ("usage",)))
    created = value_at(reply, ("created",)) or value_at(reply, ("created_at",))
    models = [level.get("model") for level in (reply or {}, *_levels(row))]
    metadata = {
        **as_object(row.get("metadata")),
        "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        "user": next((level.get("user") for level in _levels(row) if isinstance(level.get("user"), str)), None),
    }
    answer = {
        "external_id": next((row[name] for name in ("custom_id", "id") if row.get(name)), value_at(reply, ("id",))),
        "query": question,
        "answer": answered,
        "messages": messages,
        "generator_model": next((model for model in models if isinstance(model, str)), None),
        "asked_at": created if isinstance(created, int | float) else None,
        "metadata": without_nothing(metadata),
    }
    others = {
        name: value
        for name, value in row.items()
        if name not in {"object", "custom_id"} and not (name in _READ and isinstance(value, dict | list))
    }
    yield Entry(answer_row(others, **answer))
