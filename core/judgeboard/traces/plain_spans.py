"""Reads spans of no convention by telling names of attributes, with or without a namespace."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

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


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span by the names of its attributes."""
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
_FIELDS = {  # the fields that may come from an attribute
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


def may_add(span: Span, part: Part) -> bool:
    """Whether `read` may have a field that another dialect left empty.

    This check saves a second reading of most spans.
    """
    for name, value in _by_name(span.attributes).items():
        if name.startswith("metadata"):
            return True
        for field in _FIELDS.get(name, ()):
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
