"""LangSmith: runs that its SDK exports as spans, with inputs and outputs as whole JSON texts."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgeboard.traces.attributes import (
    as_count,
    as_number,
    first,
    first_scalar,
    nested,
    own_metadata,
    parsed_object,
    session_and_user,
    tags_in,
    under,
)
from judgeboard.traces.content import contents
from judgeboard.traces.langsmith_runs import STARTED
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

RUN_TYPES = {
    "llm": Operation.MODEL,
    "chat": Operation.MODEL,
    "retriever": Operation.RETRIEVAL,
    "tool": Operation.TOOL,
    "chain": Operation.APP,
    "agent": Operation.APP,
}
_MISSING = "Content is off: set LANGSMITH_HIDE_INPUTS=false and LANGSMITH_HIDE_OUTPUTS=false."
_INPUTS = ("gen_ai.prompt", "gen_ai.input.messages", "input.value", "gen_ai.tool.call.arguments")
_OUTPUTS = ("gen_ai.completion", "gen_ai.output.messages", "output.value", "gen_ai.tool.call.result")


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:
    """Read a span of LangSmith; None if it is of another dialect."""
    attributes: dict[str, Any] = {}
    for log in logs:  # a run that was sent in two parts has its inputs in a log record
        attributes |= log.attributes if log.event == STARTED else {}
    attributes |= span.attributes
    if not any(name.startswith("langsmith.") for name in attributes):
        return None
    inputs = first(attributes, _INPUTS) or [{"role": "user", **each} for each in nested(attributes, "gen_ai.prompt")]
    outputs = first(attributes, _OUTPUTS) or [
        {"role": "assistant", **each} for each in nested(attributes, "gen_ai.completion")[:1]
    ]
    kind = attributes.get("langsmith.span.kind")
    operation = RUN_TYPES.get(str(kind).lower(), Operation.OTHER)
    if kind is None and (inputs or outputs):
        operation = Operation.MODEL if "gen_ai.request.model" in attributes else Operation.APP
    metadata = under(attributes, "langsmith.metadata.")
    # The session_id of a run is the project; the session of a dialogue is in its metadata.
    session, user = session_and_user(metadata)
    run_id = first_scalar(attributes, ("langsmith.span.id",))  # feedback goes back to it
    return Part(
        "langsmith",
        operation,
        **contents(operation, inputs, outputs, str(attributes.get("langsmith.trace.name", span.name))),
        **(_usage(attributes, metadata) if operation is Operation.MODEL else {}),
        session=session or first_scalar(attributes, ("gen_ai.conversation.id", "session.id")),
        user=user or first_scalar(attributes, ("user.id",)),
        tags=tags_in(attributes.get("langsmith.span.tags")),
        metadata=own_metadata(metadata) | ({"run_id": run_id} if run_id else {}),
        missing=_MISSING if inputs == outputs == "{}" else None,
    )


def _usage(attributes: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    usage = parsed_object(metadata.get("usage_metadata"))
    inputs, outputs = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"), ("gen_ai.usage.output_tokens",)
    return {
        "model": first_scalar(attributes, ("gen_ai.response.model", "gen_ai.request.model"))
        or first_scalar(metadata, ("ls_model_name",)),
        "prompt_tokens": as_count(first(attributes, inputs) or usage.get("input_tokens")),
        "completion_tokens": as_count(
            first(attributes, (*outputs, "gen_ai.usage.completion_tokens")) or usage.get("output_tokens")
        ),
        "cost": as_number(
            first(attributes, ("gen_ai.usage.cost", "gen_ai.usage.total_cost")) or usage.get("total_cost")
        ),
    }
