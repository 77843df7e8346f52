"""TruLens: the table of events in the database, and spans, with the attributes ``ai.observability.*``.

An event is a span; evaluations are spans with a score.
"""

from collections.abc import Sequence
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports.export import Export, Keys
from judgeboard.imports.exports.traced import Score, Trace, each_span, nanoseconds
from judgeboard.tools.tool import Tool
from judgeboard.traces.attributes import (
    as_count,
    as_number,
    first,
    first_scalar,
    parsed_object,
    under,
)
from judgeboard.traces.content import contents
from judgeboard.traces.spans import LogRecord, Operation, Part, Span

_OWN = "ai.observability."  # how the names of TruLens's attributes begin
_DIGITS = 39  # of the largest trace id, which has 128 bits


# Exports of TruLens


@each_span
def read_events(row: Row) -> Trace | None:
    """Return the trace of an event, None without an id."""
    record, attributes, trace = (
        parsed_object(row.values.get(name)) for name in ("record", "record_attributes", "trace")
    )
    if not trace.get("trace_id") or not trace.get("span_id"):
        return None
    parent = trace.get("parent_id") or record.get("parent_span_id")
    started = nanoseconds(row.values.get("start_timestamp"))
    # The id of a trace in hexadecimal digits; TruLens writes a decimal number.
    trace_id = str(trace["trace_id"])
    is_number = trace_id.isdecimal() and len(trace_id) <= _DIGITS
    span = Span(
        trace_id=f"{int(trace_id):032x}" if is_number else trace_id,
        span_id=str(trace["span_id"]),
        parent_id=str(parent) if parent else None,
        name=str(record.get("name") or ""),
        started_ns=started,
        ended_ns=max(started, nanoseconds(row.values.get("timestamp"))),
        scope="trulens",
        attributes=attributes,
        resource=parsed_object(row.values.get("resource_attributes")),
        error="error" if record.get("status") == "STATUS_CODE_ERROR" else None,
    )
    score = attributes.get(f"{_OWN}eval_root.score")
    name, reason = (
        first(attributes, (f"{_OWN}eval_root.{part}", f"{_OWN}eval.{part}"))
        for part in ("metric_name", "explanation")
    )
    scores = (
        [] if score is None or name is None else [Score(str(name), score, "TruLens", reason=reason)]
    )
    return Trace(row, [span], scores)


_EVENTS = Export(
    "TruLens events",
    "trulens",
    (
        Keys(
            "record",
            "record_attributes",
            "trace",
            holds=lambda row: _OWN in str(row["record_attributes"]),
        ),
    ),
    read_events,
    of_traces=True,
)


# Spans of TruLens


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
    "record_root.input",
    "retrieval.query_text",
    "reranking.query_text",
    "mcp.input_arguments",
    "graph_node.input_state",
    "graph_task.input_state",
    "workflow.input_event",
)
_OUTPUTS = (
    "record_root.output",
    "retrieval.retrieved_contexts",
    "graph_node.output_state",
    "graph_task.output_state",
    "reranking.output_context_texts",
    "mcp.output_content",
    "workflow.output_event",
    "call.return",
)


def read_span(span: Span, logs: Sequence[LogRecord]) -> Part | None:  # noqa: ARG001 - the interface of all dialects
    """Read a span of TruLens; None for a span of another dialect."""
    fields = under(span.attributes, _OWN)
    if not fields:
        return None
    operation = _TYPES.get(str(fields.get("span_type")).lower(), Operation.OTHER)
    inputs: Any = first(fields, _INPUTS)
    if inputs is None:
        inputs = under(fields, "call.kwargs.")
    outputs = first(fields, _OUTPUTS)
    if outputs is None and operation is Operation.RETRIEVAL:
        outputs = span.attributes.get("gen_ai.retrieval.documents")  # here plain texts
    resource = {
        name.removeprefix(_OWN): value
        for name, value in span.resource.items()
        if name.startswith(_OWN)
    }
    names = ("app_name", "app_version", "run.name", "input_id", "record_root.ground_truth_output")
    return Part(
        "trulens",
        operation,
        **contents(operation, inputs, outputs, span.name),
        model=first_scalar(fields, ("cost.model",)),
        prompt_tokens=as_count(fields.get("cost.num_prompt_tokens")),
        completion_tokens=as_count(fields.get("cost.num_completion_tokens")),
        cost=as_number(fields.get("cost.cost")),
        session=first_scalar(
            span.attributes, (_OWN + "conversation_id", "gen_ai.conversation.id", "session.id")
        ),
        user=first_scalar(span.attributes, ("user.id",)),
        metadata={
            name.rpartition(".")[2] if name != "run.name" else "run": value
            for name in names
            if (value := fields.get(name, resource.get(name))) not in (None, "")
        },
    )


TOOL = Tool(exports=(_EVENTS,), spans=read_span)
