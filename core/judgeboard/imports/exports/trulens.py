"""TruLens: the table of events in its database. An event is a span; evaluations are spans with a score."""

from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import as_object, from_json
from judgeboard.imports.exports.shapes import TRULENS
from judgeboard.imports.exports.traced import Score, Trace, each_span, nanoseconds
from judgeboard.traces.spans import Span

_DIGITS = 39  # of the largest trace id, which has 128 bits


@each_span
def read(row: Row) -> Trace | None:
    """Return the trace of an event, None if it has no id."""
    record, attributes, trace = (_object(row.values.get(name)) for name in ("record", "record_attributes", "trace"))
    if not trace.get("trace_id") or not trace.get("span_id"):
        return None
    parent = trace.get("parent_id") or record.get("parent_span_id")
    started = nanoseconds(row.values.get("start_timestamp"))
    span = Span(
        trace_id=_as_received(str(trace["trace_id"])),
        span_id=str(trace["span_id"]),
        parent_id=str(parent) if parent else None,
        name=str(record.get("name") or ""),
        started_ns=started,
        ended_ns=max(started, nanoseconds(row.values.get("timestamp"))),
        scope="trulens",
        attributes=attributes,
        resource=_object(row.values.get("resource_attributes")),
        error="error" if record.get("status") == "STATUS_CODE_ERROR" else None,
    )
    score = attributes.get(f"{TRULENS}eval_root.score")
    name = attributes.get(f"{TRULENS}eval_root.metric_name") or attributes.get(f"{TRULENS}eval.metric_name")
    reason = attributes.get(f"{TRULENS}eval_root.explanation") or attributes.get(f"{TRULENS}eval.explanation")
    scores = [] if score is None or name is None else [Score(str(name), score, "TruLens", reason=reason)]
    return Trace(row, [span], scores)


def _as_received(trace_id: str) -> str:
    """Return the id of a trace in hexadecimal digits; TruLens writes it as a decimal number."""
    is_number = trace_id.isdecimal() and len(trace_id) <= _DIGITS
    return f"{int(trace_id):032x}" if is_number else trace_id


def _object(value: Any) -> dict[str, Any]:
    """Return an object; the database has the JSON text of a JSON text."""
    return as_object(from_json(value))
