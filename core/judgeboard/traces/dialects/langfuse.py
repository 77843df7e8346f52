"""Langfuse: observations of its SDKs from version 3 on, and the attributes that it puts on spans of other libraries."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.traces.attributes import (
    as_count,
    as_number,
    first,
    first_scalar,
    own_metadata,
    parsed_object,
    tags_in,
    under,
)
from judgeboard.traces.content import contents
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_OBSERVATION = "langfuse.observation."
_TRACE = "langfuse.trace."
_TYPES = {
    "generation": Operation.MODEL,
    "retriever": Operation.RETRIEVAL,
    "tool": Operation.TOOL,
    "guardrail": Operation.CHECK,
    "evaluator": Operation.CHECK,
    "agent": Operation.APP,
    "chain": Operation.APP,
    "span": Operation.APP,
}
_SESSIONS = (
    *("langfuse.session.id", "session.id", "gen_ai.conversation.id", _TRACE + "metadata.langfuse_session_id"),
    *(_OBSERVATION + "metadata.langfuse_session_id", _TRACE + "metadata.session_id"),
)
_USERS = (
    *("langfuse.user.id", "user.id", _TRACE + "metadata.langfuse_user_id"),
    *(_OBSERVATION + "metadata.langfuse_user_id", _TRACE + "metadata.user_id"),
)
_TAGS = (
    *(_TRACE + "tags", "langfuse.tags", _TRACE + "metadata.langfuse_tags"),
    _OBSERVATION + "metadata.langfuse_tags",
)
_OF_TRACE = {  # kept as metadata
    "environment": "langfuse.environment",
    "release": "langfuse.release",
    "version": "langfuse.version",
    "public": _TRACE + "public",
    "trace_name": _TRACE + "name",
}


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001
    """Read a span of Langfuse; None if it is of another dialect."""
    attributes = span.attributes
    if not any(name.startswith("langfuse.") for name in attributes):
        return None
    operation = _operation(attributes)
    inputs, outputs = attributes.get(_OBSERVATION + "input"), attributes.get(_OBSERVATION + "output")
    if operation is Operation.APP:  # the trace's own question and answer, if the application set them
        inputs = first(attributes, (_TRACE + "input", _OBSERVATION + "input"))
        outputs = first(attributes, (_TRACE + "output", _OBSERVATION + "output"))
    prompt_tokens, completion_tokens = _tokens(parsed_object(attributes.get(_OBSERVATION + "usage_details")))
    return Part(
        "langfuse",
        operation,
        **contents(operation, inputs, outputs, span.name),
        model=first_scalar(attributes, (_OBSERVATION + "model.name",)),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        cost=_cost(parsed_object(attributes.get(_OBSERVATION + "cost_details"))),
        session=first_scalar(attributes, _SESSIONS),
        user=first_scalar(attributes, _USERS),
        tags=tags_in(first(attributes, _TAGS)),
        metadata=_metadata(span),
    )


def _operation(attributes: Mapping[str, Any]) -> Operation:
    kind = attributes.get(_OBSERVATION + "type")
    if _OBSERVATION + "model.name" in attributes and kind in (None, "span"):  # SDKs up to 3.3 had no other type
        return Operation.MODEL
    if kind is not None:
        return _TYPES.get(str(kind).lower(), Operation.OTHER)
    written = {_OBSERVATION + "input", _OBSERVATION + "output", _TRACE + "input", _TRACE + "output"}
    return Operation.APP if written & attributes.keys() else Operation.OTHER


def _tokens(usage: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the tokens of prompt and completion.

    Langfuse's own keys are parts of a total: ``input`` leaves out what ``input_cache_read`` counts. The keys of
    providers (``prompt_tokens``, ``input_tokens``) are whole numbers, and their details are inside them.
    """
    counts = {name: count for name, each in usage.items() if (count := as_count(each)) is not None}
    prompt = first(counts, ("prompt_tokens", "input_tokens", "promptTokens"))
    completion = first(counts, ("completion_tokens", "output_tokens", "completionTokens"))
    if prompt is not None or completion is not None:
        return prompt, completion
    whole = [sum(each for name, each in counts.items() if name.startswith(side)) for side in ("input", "output")]
    if counts.get("total", sum(whole)) != sum(whole):
        return counts.get("input"), counts.get("output")
    return (whole[0] if "input" in counts else None), (whole[1] if "output" in counts else None)


def _cost(details: Mapping[str, Any]) -> float | None:
    total = as_number(details.get("total"))
    parts = [number for each in details.values() if (number := as_number(each)) is not None]
    return total if total is not None or not parts else sum(parts)


def _metadata(span: Span) -> dict[str, Any]:
    """Return the metadata of the trace and, on its root, of the observation."""
    attributes = span.attributes
    metadata: dict[str, Any] = {}
    prefixes = [_TRACE + "metadata", "langfuse.metadata"]
    if span.parent_id is None or attributes.get("langfuse.internal.is_app_root"):
        prefixes.insert(0, _OBSERVATION + "metadata")
    for prefix in prefixes:
        metadata |= parsed_object(attributes.get(prefix)) | under(attributes, prefix + ".")
    named = {name: attributes[key] for name, key in _OF_TRACE.items() if key in attributes}
    return own_metadata(metadata) | named
