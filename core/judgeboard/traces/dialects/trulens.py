"""TruLens: spans of its records, with the attributes ``ai.observability.*``."""

from collections.abc import Sequence
from typing import Any

from judgeboard.traces.attributes import as_count, as_number, first, first_scalar, under
from judgeboard.traces.content import contents
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_BASE = "ai.observability."
_TYPES = {
    "record_root": Operation.APP,
    "nested_record_root": Operation.APP,
    "agent": Operation.APP,
    "workflow_step": Operation.APP,
    "graph_node": Operation.APP,
    "graph_task": Operation.APP,
    "generation": Operation.MODEL,
    "retrieval": Operation.RETRIEVAL,
    "tool": Operation.TOOL,
    "mcp": Operation.TOOL,
    "reranking": Operation.RERANKING,
}
_INPUTS = (
    *("record_root.input", "retrieval.query_text", "reranking.query_text", "mcp.input_arguments"),
    *("graph_node.input_state", "graph_task.input_state", "workflow.input_event"),
)
_OUTPUTS = (
    *("record_root.output", "retrieval.retrieved_contexts", "graph_node.output_state", "graph_task.output_state"),
    *("reranking.output_context_texts", "mcp.output_content", "workflow.output_event", "call.return"),
)


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001
    """Read a span of TruLens; None if it is of another dialect."""
    own = under(span.attributes, _BASE)
    if not own:
        return None
    operation = _TYPES.get(str(own.get("span_type")).lower(), Operation.OTHER)
    inputs: Any = first(own, _INPUTS)
    if inputs is None:
        inputs = under(own, "call.kwargs.")
    outputs = first(own, _OUTPUTS)
    if outputs is None and operation is Operation.RETRIEVAL:
        outputs = span.attributes.get("gen_ai.retrieval.documents")  # here plain texts
    resource = {name.removeprefix(_BASE): value for name, value in span.resource.items() if name.startswith(_BASE)}
    named = ("app_name", "app_version", "run.name", "input_id", "record_root.ground_truth_output")
    return Part(
        "trulens",
        operation,
        **contents(operation, inputs, outputs, span.name),
        model=first_scalar(own, ("cost.model",)),
        prompt_tokens=as_count(own.get("cost.num_prompt_tokens")),
        completion_tokens=as_count(own.get("cost.num_completion_tokens")),
        cost=as_number(own.get("cost.cost")),
        session=first_scalar(span.attributes, (_BASE + "conversation_id", "gen_ai.conversation.id", "session.id")),
        user=first_scalar(span.attributes, ("user.id",)),
        metadata={
            name.rpartition(".")[2] if name != "run.name" else "run": value
            for name in named
            if (value := own.get(name, resource.get(name))) not in (None, "")
        },
    )
