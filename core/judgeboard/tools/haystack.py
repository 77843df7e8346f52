"""Haystack's own tracing: a span of the pipeline, and a span of each component with input and output as JSON."""

from collections.abc import Sequence
from typing import Any

from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import as_count, first, first_scalar, parsed_object
from judgeboard.traces.content import contents
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_COMPONENTS = (  # by the end of the name of a component's class
    ("Retriever", Operation.RETRIEVAL),
    ("Ranker", Operation.RERANKING),
    ("Generator", Operation.MODEL),
    ("Agent", Operation.APP),
    ("ToolInvoker", Operation.OTHER),
)
_MISSING = "Content is off: set HAYSTACK_CONTENT_TRACING_ENABLED=true."


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of Haystack; None for a span of another dialect."""
    attributes = span.attributes
    if (
        "haystack.pipeline.input_data" in attributes
        or "haystack.pipeline.output_data" in attributes
    ):
        inputs, outputs = (
            attributes.get(f"haystack.pipeline.{name}_data") for name in ("input", "output")
        )
        return Part("haystack", Operation.APP, **contents(Operation.APP, inputs, outputs))
    kind = first_scalar(attributes, ("haystack.component.type",))
    if kind is None:
        return None
    operation = next((each for end, each in _COMPONENTS if kind.endswith(end)), Operation.OTHER)
    inputs, outputs = (
        attributes.get("haystack.component.input"),
        attributes.get("haystack.component.output"),
    )
    if operation is Operation.OTHER or (inputs is None and outputs is None):
        return Part(
            "haystack", operation, missing=_MISSING if operation is Operation.MODEL else None
        )
    meta: dict[str, Any] = {}
    if operation is Operation.MODEL:
        # The metadata that a generator returns with the first reply.
        fields = parsed_object(outputs)
        replies = fields.get("meta") or fields.get("replies")
        reply = replies[0] if isinstance(replies, list) and replies else None
        if isinstance(reply, dict):
            meta = parsed_object(reply.get("meta", reply.get("_meta", reply)))
    usage = parsed_object(meta.get("usage"))
    return Part(
        "haystack",
        operation,
        **contents(operation, inputs, outputs),
        model=first_scalar(meta, ("model",)),
        prompt_tokens=as_count(first(usage, ("prompt_tokens", "input_tokens"))),
        completion_tokens=as_count(first(usage, ("completion_tokens", "output_tokens"))),
    )


TOOL = Tool(spans=read_span)
