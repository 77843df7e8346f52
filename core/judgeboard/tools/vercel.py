"""The AI SDK of Vercel (JavaScript): an outer span of the call, and an inner span for each request to a model."""

from collections.abc import Sequence

from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    as_count,
    first,
    first_scalar,
    own_metadata,
    parsed,
    session_and_user,
    tags_in,
    under,
)
from judgeboard.traces.content import calls_in, messages_in, question_of, text_of
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_MISSING = "Content is off: set recordInputs and recordOutputs of experimental_telemetry to true."


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of the AI SDK."""
    fields = span.attributes
    name = first_scalar(fields, ("ai.operationId", "operation.name"))
    if name is None or not name.startswith("ai."):
        return None
    kind, operation = name.split()[0], Operation.OTHER
    if kind == "ai.toolCall":
        operation = Operation.TOOL
    elif kind.startswith(("ai.generate", "ai.stream")):  # other spans are embeddings
        is_model = kind.endswith((".doGenerate", ".doStream"))
        operation = Operation.MODEL if is_model else Operation.APP
    has_texts = operation in {Operation.APP, Operation.MODEL}
    prompt = first(fields, ("ai.prompt.messages", "ai.prompt")) if has_texts else None
    messages = messages_in(prompt)
    metadata = under(fields, "ai.telemetry.metadata.")
    session, user = session_and_user(metadata)
    output = first(
        fields, ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
    )
    if operation is Operation.TOOL:
        call = under(fields, "ai.toolCall.")
        result = {"result": call["result"]} if "result" in call else {}
        tool_calls = tuple(each | result for each in calls_in({"tool_calls": [call]}))
    else:
        calls = parsed(first(fields, ("ai.response.toolCalls", "ai.result.toolCalls")))
        tool_calls = tuple(calls_in({"tool_calls": calls}))
    return Part(
        dialect="vercel",
        operation=operation,
        question=question_of(messages) or question_of(prompt),
        answer=text_of(output) if has_texts else None,
        messages=messages,
        tool_calls=tool_calls,
        model=first_scalar(fields, ("ai.response.model", "ai.model.id")),
        prompt_tokens=as_count(first(fields, ("ai.usage.inputTokens", "ai.usage.promptTokens"))),
        completion_tokens=as_count(
            first(fields, ("ai.usage.outputTokens", "ai.usage.completionTokens"))
        ),
        session=session,
        user=user,
        tags=tags_in(metadata.pop("tags", None)),
        metadata=own_metadata(metadata),
        missing=_MISSING if has_texts and prompt is None and output is None else None,
    )


TOOL = Tool(spans=read_span)
