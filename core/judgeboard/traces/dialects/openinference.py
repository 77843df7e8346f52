"""OpenInference, the conventions of Arize Phoenix: dotted names with numbers for lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from judgeboard.traces.attributes import (
    as_count,
    as_number,
    as_text,
    first_scalar,
    nested,
    own_metadata,
    parsed,
    parsed_object,
    session_and_user,
    tags_in,
)
from judgeboard.traces.content import arguments_of, messages_in, question_of, text_of, tool_calls_in
from judgeboard.traces.documents import passages_beside, passages_in
from judgeboard.traces.spans import LogRecord, Operation, Part, Passage, Span

_KINDS = {
    **dict.fromkeys(("CHAIN", "AGENT", "UNKNOWN"), Operation.APP),
    "LLM": Operation.MODEL,
    "RETRIEVER": Operation.RETRIEVAL,
    "RERANKER": Operation.RERANKING,
    "TOOL": Operation.TOOL,
    **dict.fromkeys(("GUARDRAIL", "EVALUATOR"), Operation.CHECK),
}
REDACTED = "__REDACTED__"
"""What OpenInference writes instead of a hidden value."""
_HIDDEN = "Content is off: unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS."
_PREFIXES = ("openinference.", "llm.", "retrieval.documents", "reranker.")
_VARIABLES = ("question", "query", "query_str", "user_question", "user_query", "user_input", "input")
_MODELS = ("llm.response.model_name", "llm.model_name", "llm.request.model_name")


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of OpenInference."""
    fields = {name: value for name, value in span.attributes.items() if value != REDACTED}
    if not any(name.startswith(_PREFIXES) for name in fields):
        return None
    operation = _operation(fields)
    spoken = operation in {Operation.APP, Operation.MODEL}
    inputs, outputs = (_messages(fields, f"llm.{name}_messages") for name in ("input", "output"))
    messages = inputs or (messages_in(fields.get("input.value")) if spoken else ())
    metadata = parsed_object(fields.get("metadata"))
    session, user = session_and_user(metadata)
    return Part(
        dialect="openinference",
        operation=operation,
        question=question_of(messages) or _question(fields, operation),
        answer=_answer(fields, outputs) if spoken else None,
        messages=messages,
        passages=_passages(fields, operation),
        tool_calls=_tool(fields) if operation is Operation.TOOL else tool_calls_in(outputs),
        model=first_scalar(fields, _MODELS) or _requested_model(fields),
        prompt_tokens=as_count(fields.get("llm.token_count.prompt")),
        completion_tokens=as_count(fields.get("llm.token_count.completion")),
        cost=as_number(fields.get("llm.cost.total")),
        session=as_text(fields.get("session.id")) or session,
        user=as_text(fields.get("user.id")) or user,
        tags=tags_in(fields.get("tag.tags")),
        metadata=own_metadata(metadata),
        missing=_HIDDEN if len(fields) < len(span.attributes) else None,
    )


def _operation(fields: Mapping[str, Any]) -> Operation:
    kind = fields.get("openinference.span.kind")
    if isinstance(kind, str):
        return _KINDS.get(kind.upper(), Operation.OTHER)
    if any(name.startswith("retrieval.documents") for name in fields):
        return Operation.RETRIEVAL
    called = any(name.startswith(("llm.input_messages", "llm.output_messages", "llm.model_name")) for name in fields)
    return Operation.MODEL if called else Operation.OTHER


def _messages(fields: Mapping[str, Any], name: str) -> tuple[dict[str, Any], ...]:
    if name in fields:  # a list, or its JSON
        return messages_in(fields[name])
    entries = (each.get("message", each) for each in nested(fields, name))
    return messages_in([_with_parts(each) for each in entries if isinstance(each, dict)])


def _with_parts(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with the texts of ``contents`` as its content."""
    parts = message.get("contents")
    texts = (
        [each.get("message_content", each) for each in parts if isinstance(each, dict)]
        if isinstance(parts, list)
        else []
    )
    return {"role": "assistant", **message, "content": message.get("content") or texts}


def _question(fields: Mapping[str, Any], operation: Operation) -> str | None:
    if operation is Operation.RERANKING and "reranker.query" in fields:
        return question_of(fields["reranker.query"])
    if operation is Operation.MODEL:
        variables = parsed_object(fields.get("llm.prompt_template.variables"))
        prompts = (question_of(each.get("prompt")) for each in nested(fields, "llm.prompts"))
        if asked := first_scalar(variables, _VARIABLES) or next(filter(None, prompts), None):
            return asked
    return question_of(fields.get("input.value"))


def _answer(fields: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]) -> str | None:
    if outputs:
        return text_of(outputs)
    choices = (each.get("completion") for each in nested(fields, "llm.choices"))
    return next((text for each in choices if (text := text_of(each))), None) or text_of(fields.get("output.value"))


def _passages(fields: Mapping[str, Any], operation: Operation) -> tuple[Passage, ...] | None:
    if operation is Operation.APP:
        return passages_beside(fields.get("output.value")) or passages_beside(fields.get("input.value"))
    if operation not in {Operation.RETRIEVAL, Operation.RERANKING}:
        return None
    name = "reranker.output_documents" if operation is Operation.RERANKING else "retrieval.documents"
    whole = passages_in(fields.get("output.value"))
    listed = passages_in(fields[name] if name in fields else nested(fields, name) or None)
    if listed is None or whole is None or [each.text for each in whole] != [each.text for each in listed]:
        return whole if listed is None else listed
    # LangChain has the ids only in the output.
    return tuple(replace(each, id=each.id or other.id) for each, other in zip(listed, whole, strict=True))


def _tool(fields: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    name = as_text(fields.get("tool.name"))
    arguments, parameters = arguments_of(fields.get("input.value")), parsed(fields.get("tool.parameters"))
    # Some instrumentations put the arguments into the parameters, others the schema of the arguments.
    if not isinstance(arguments, dict) and isinstance(parameters, dict) and "properties" not in parameters:
        arguments = parameters
    values = {"arguments": arguments, "result": parsed(fields.get("output.value"))}
    content = {key: value for key, value in values.items() if value is not None}
    return ({"id": as_text(fields.get("tool_call.id")), "name": name, **content},) if name else ()


def _requested_model(fields: Mapping[str, Any]) -> str | None:
    return first_scalar(parsed_object(fields.get("llm.invocation_parameters")), ("model", "model_name"))
