"""Reads spans by dialects: the conventions for attributes, and last the telling names of no convention."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

from judgeboard.registry.tools import tools
from judgeboard.traces.attributes import (
    REDACTED,
    as_count,
    as_number,
    as_text,
    first_scalar,
    own_metadata,
    parsed,
    parsed_object,
    session_and_user,
    tags_in,
    under,
)
from judgeboard.traces.content import messages_in, question_of, text_of
from judgeboard.traces.documents import passages_in
from judgeboard.traces.spans import NOTHING, LogRecord, Operation, Part, Span

Dialect = Callable[[Span, Sequence[LogRecord]], Part | None]
"""Reads a span with its log records; None if the span does not follow the dialect."""


@cache
def known_dialects() -> tuple[Dialect, ...]:
    """Return the dialects of all tools in order of precedence."""
    return tuple(tool.spans for tool in tools() if tool.spans is not None)


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:
    """Read a span in all dialects: the first part with content, with absent fields from the next parts.

    Names of attributes that are of no convention come last, and only if they may add something.
    """
    parts = [part for dialect in known_dialects() if (part := dialect(span, logs)) is not None]
    first_part = next(filter(_has_content, parts), None)
    if (first_part is None or _may_add(span, first_part)) and (
        part := _read_plain(span)
    ) is not None:
        parts.append(part)
    if not parts:
        return None
    parts.sort(key=lambda part: not _has_content(part))  # stable: the precedence stays
    first = parts[0]
    for part in parts[1:]:
        gaps = {
            name: value
            for name in _FIELDS
            if getattr(first, name) in NOTHING and (value := getattr(part, name)) not in NOTHING
        }
        if first.tool_calls:  # a model that asked for a tool did not answer
            gaps.pop("answer", None)
        unsure = first.dialect == "plain" or (
            first.operation is Operation.OTHER and not _has_content(first)
        )
        if unsure and part.operation is not Operation.OTHER:
            gaps |= {"operation": part.operation, "dialect": part.dialect}
        first = replace(first, **gaps) if gaps else first
    return replace(first, missing=None) if first.missing and _has_content(first) else first


_FIELDS = tuple(field.name for field in fields(Part))


def _has_content(part: Part) -> bool:
    return bool(
        part.question
        or part.answer
        or part.passages is not None
        or part.messages
        or part.tool_calls
    )


_QUESTIONS = (
    "question",
    "user_question",
    "user_query",
    "query",
    "user_input",
    "user_message",
    "input.value",
    "input",
    "inputs",
    "prompt",
    "request_data",
    "lk.input_text",
    "lk.user_transcript",
    "haystack.pipeline.input_data",
    "gcp.vertex.agent.llm_request",
    "pydantic_ai.all_messages",
    "all_messages_events",
    "crewai.task.description",
    "crew_tasks",
)
_ANSWERS = (
    "answer",
    "final_answer",
    "response",
    "output.value",
    "output",
    "outputs",
    "completion",
    "final_result",
    "result",
    "response_data",
    "lk.response.text",
    "haystack.pipeline.output_data",
    "gcp.vertex.agent.llm_response",
)
_PASSAGES = (
    "documents",
    "passages",
    "retrieved_documents",
    "retrieved_contexts",
    "contexts",
    "context",
    "chunks",
)
_MODELS = ("model", "model_name", "llm.model", "generator_model")
_SESSIONS = (
    "session.id",
    "session_id",
    "sessionId",
    "conversation.id",
    "conversation_id",
    "thread.id",
    "thread_id",
)
_USERS = ("user.id", "user_id", "userId", "enduser.id")
_TAGS = ("tags", "tag.tags")
_INPUT_TOKENS = (
    "prompt_tokens",
    "input_tokens",
    "tokens.prompt",
    "tokens.input",
    "usage.prompt_tokens",
)
_OUTPUT_TOKENS = (
    "completion_tokens",
    "output_tokens",
    "tokens.completion",
    "tokens.output",
    "usage.completion_tokens",
)
_COSTS = ("cost", "total_cost", "cost_usd", "usage.cost")
# Namespaces of OpenTelemetry in which a query is a statement or a part of an address, and a
# response is a message.
_OTHER = frozenset(
    {
        "db",
        "url",
        "http",
        "graphql",
        "sql",
        "server",
        "client",
        "rpc",
        "dns",
        "faas",
        "net",
        "messaging",
        "code",
        "gen_ai",
        "aws",
        "az",
        "gcp",
        "cloud",
        "k8s",
        "container",
        "process",
        "langfuse",
        "langsmith",
        "mlflow",
        "traceloop",
        "ai",
        "llm",
    }
)
_RETRIEVAL = re.compile(r"retriev|search|lookup|fetch_(?:doc|passage|context)", re.IGNORECASE)
_TOOL = re.compile(r"\btool\b|tool_call", re.IGNORECASE)


def _read_plain(span: Span) -> Part | None:
    """Read a span of no convention by telling names of attributes, with or without a namespace."""
    fields = _by_name(span.attributes)
    metadata = parsed_object(span.attributes.get("metadata")) | under(span.attributes, "metadata.")
    session, user = session_and_user(metadata)
    question = next(
        (text for value in _values(fields, _QUESTIONS) if (text := question_of(value))), None
    )
    conversations = (messages_in(value) for value in _values(fields, ("messages", *_QUESTIONS)))
    messages = next((each for each in conversations if question_of(each)), ())
    question = question or question_of(messages)
    names = (*_PASSAGES, *_ANSWERS) if _RETRIEVAL.search(span.name) else _PASSAGES
    retrieved = (passages_in(value) for value in _values(fields, names))
    passages = next((each for each in retrieved if each is not None), None)
    retrieves = passages is not None and bool(_RETRIEVAL.search(span.name))
    answers = () if retrieves else _values(fields, _ANSWERS)
    answer = next((text for value in answers if (text := text_of(value))), None)
    operation = Operation.OTHER
    if passages is not None and answer is None:
        operation = Operation.RETRIEVAL
    elif _TOOL.search(span.name):
        operation = Operation.TOOL
    elif question or answer:
        operation = Operation.APP
    part = Part(
        dialect="plain",
        operation=operation,
        question=question,
        answer=answer,
        messages=messages,
        passages=passages,
        model=next(map(as_text, _values(fields, _MODELS)), None),
        prompt_tokens=next(map(as_count, _values(fields, _INPUT_TOKENS)), None),
        completion_tokens=next(map(as_count, _values(fields, _OUTPUT_TOKENS)), None),
        cost=next(map(as_number, _values(fields, _COSTS)), None),
        session=first_scalar(span.attributes, _SESSIONS) or session,
        user=first_scalar(span.attributes, _USERS) or user,
        tags=next((tags for name in _TAGS if (tags := tags_in(span.attributes.get(name)))), ()),
        metadata=own_metadata(metadata),
    )
    return part if part != _NO_FIELDS else None


_NO_FIELDS = Part("plain", Operation.OTHER)
_FIELDS_OF = {  # the fields of a part that may come from an attribute
    **dict.fromkeys(("messages", *_QUESTIONS), ("question", "messages")),
    **dict.fromkeys(_PASSAGES, ("passages",)),
    **dict.fromkeys(_ANSWERS, ("answer", "passages")),
    **dict.fromkeys(_MODELS, ("model",)),
    **dict.fromkeys(_INPUT_TOKENS, ("prompt_tokens",)),
    **dict.fromkeys(_OUTPUT_TOKENS, ("completion_tokens",)),
    **dict.fromkeys(_COSTS, ("cost",)),
    **dict.fromkeys(_SESSIONS, ("session",)),
    **dict.fromkeys(_USERS, ("user",)),
    **dict.fromkeys(_TAGS, ("tags",)),
}


def _may_add(span: Span, part: Part) -> bool:
    """Whether `_read_plain` may have a field that another dialect left empty.

    This check saves a second reading of most spans.
    """
    for name, value in _by_name(span.attributes).items():
        if name.startswith("metadata"):
            return True
        for field in _FIELDS_OF.get(name, ()):
            in_structures = field in {"messages", "passages"}
            if getattr(part, field) in NOTHING and not (
                in_structures and isinstance(parsed(value), str)
            ):
                return True
    return False


def _by_name(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes by name, and also by the last part of a name with a namespace."""
    values: dict[str, Any] = {}
    fields = {name: value for name, value in fields.items() if value != REDACTED}
    for field in sorted(fields, reverse=True):
        namespace, _, last = field.rpartition(".")
        if namespace and namespace.partition(".")[0] not in _OTHER:
            values[last] = fields[field]
    return {**values, **fields}


def _values(values: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [values[name] for name in names if name in values and values[name] is not None]
