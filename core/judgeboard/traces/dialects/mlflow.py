"""MLflow: spans of its tracing, whose attributes are all JSON texts."""

from collections.abc import Sequence
from typing import Any

from judgeboard.traces.attributes import as_count, as_number, first_scalar, own_metadata, parsed, parsed_object, under
from judgeboard.traces.content import contents
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_TYPES = {
    "CHAT_MODEL": Operation.MODEL,
    "LLM": Operation.MODEL,
    "RETRIEVER": Operation.RETRIEVAL,
    "TOOL": Operation.TOOL,
    "EMBEDDING": Operation.OTHER,
    "RERANKER": Operation.RERANKING,
    "PARSER": Operation.OTHER,
    "MEMORY": Operation.OTHER,
    "EVALUATOR": Operation.CHECK,
    "GUARDRAIL": Operation.CHECK,
}
_MISSING = "Content is off: MLflow leaves out questions and documents unless MLFLOW_ENABLE_OTEL_GENAI_SEMCONV=false."


def read(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001
    """Read a span of MLflow; None if it is of another dialect."""
    if not any(name.startswith("mlflow.") for name in span.attributes):
        return _without_documents(span)
    attributes = {name: parsed(value) for name, value in span.attributes.items()}
    operation = _TYPES.get(str(attributes.get("mlflow.spanType")).upper(), Operation.APP)
    outputs = attributes.get("mlflow.spanOutputs")
    usage, cost = (parsed_object(attributes.get(name)) for name in ("mlflow.chat.tokenUsage", "mlflow.llm.cost"))
    models = ("mlflow.llm.model", "model") if operation is Operation.MODEL else ()
    tags = under(attributes, "mlflow.traceTag.")
    trace_metadata = attributes.get("mlflow.traceMetadata") or attributes.get("metadata")
    return Part(
        "mlflow",
        operation,
        **contents(operation, attributes.get("mlflow.spanInputs"), outputs, span.name),
        model=first_scalar(attributes, models),
        prompt_tokens=as_count(usage.get("input_tokens")),
        completion_tokens=as_count(usage.get("output_tokens")),
        cost=as_number(cost.get("total_cost")),
        session=first_scalar(attributes, ("mlflow.trace.session", "session.id")),
        user=first_scalar(attributes, ("mlflow.trace.user", "user.id")),
        metadata=own_metadata(parsed_object(trace_metadata) | tags),
    )


def _without_documents(span: Span) -> Part | None:
    """Return what a span lacks that MLflow exported in the form of OTel GenAI.

    Calls of models and tools keep their content, which the dialect of OTel GenAI reads. Functions have none but their
    type, and retrievers come as tools without a result.
    """
    attributes: dict[str, Any] = dict(span.attributes)
    if not span.scope.startswith("mlflow") or "gen_ai.tool.call.result" in attributes:
        return None
    operation = attributes.get("gen_ai.operation.name")
    is_call = operation in {"chat", "generate_content", "text_completion", "embeddings"}
    if is_call or {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments"} & attributes.keys():
        return None
    return Part(
        "mlflow",
        Operation.RETRIEVAL if operation in {"execute_tool", "RETRIEVER"} else Operation.APP,
        session=first_scalar(attributes, ("gen_ai.conversation.id", "session.id")),
        user=first_scalar(attributes, ("user.id",)),
        missing=_MISSING,
    )
