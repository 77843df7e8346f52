"""MLflow: traces as JSON, and tables of traces with their assessments."""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import as_object, from_json, objects
from judgeboard.imports.exports.shapes import MLFLOW, mlflow_attributes, mlflow_trace_id, mlflow_traces
from judgeboard.imports.exports.traced import Score, Trace, each_trace, nanoseconds, trace_metadata
from judgeboard.store.filters import value_at
from judgeboard.traces.attributes import as_number
from judgeboard.traces.spans import Span

_SPAN_BYTES = 8
_SESSION, _USER = "mlflow.trace.session", "mlflow.trace.user"
_INPUTS, _OUTPUTS = "mlflow.spanInputs", "mlflow.spanOutputs"
_SHORTEST_CUT = 250
_WITHOUT_SPANS = (
    "the search result has no whole question and answer: use `judgeboard pull mlflow`, or export the traces with spans"
)


def _pairs(value: Any) -> dict[str, Any]:
    """Return an object, which older REST interfaces have as a list of keys and values."""
    if isinstance(value, list):
        return {str(each.get("key")): each.get("value") for each in objects(value)}
    return as_object(value)


@each_trace
def read(row: Row) -> Iterator[Trace]:
    """Yield the traces of a row."""
    for trace in mlflow_traces(row.values):
        info = as_object(trace.get("info"))
        trace_id = mlflow_trace_id(info)
        own = _pairs(info.get("trace_metadata") or info.get("request_metadata"))
        # The trace has the session and the user, not its spans. They are put where the dialect of MLflow reads them.
        of_trace = {name: own[name] for name in (_SESSION, _USER) if name in own}
        spans = [
            _span(span, trace_id, of_trace)
            for span in objects(value_at(trace, ("data", "spans")))
            if _span_id(span) is not None
        ]
        reason = None
        if not spans and trace_id:
            spans = [_root(info, trace_id, own | of_trace)]
            whole = {_INPUTS, _OUTPUTS} <= spans[0].attributes.keys() or spans[0].error is not None
            reason = None if whole else _WITHOUT_SPANS
        if spans:
            metadata = trace_metadata(own, MLFLOW) | trace_metadata(_pairs(info.get("tags")), MLFLOW)
            scores = [_score(each) for each in objects(info.get("assessments")) if _counts(each)]
            yield Trace(row, spans, scores, metadata, reason)


def _root(info: Mapping[str, Any], trace_id: str, own: Mapping[str, Any]) -> Span:
    """Return a span with what is known of a trace without its spans."""
    written = [own.get(f"mlflow.trace{name}") for name in ("Inputs", "Outputs")]
    inputs, outputs = map(_whole, written)
    if all(written):  # from MLflow's own libraries: the previews of other senders may be of any message
        asked = _whole(info.get("request_preview"))
        if inputs is None and asked is not None:  # of a dialogue, this is the last message of the user
            inputs = json.dumps({"messages": [{"role": "user", "content": asked}]})
        outputs = outputs or _whole(info.get("response_preview"))
    if outputs is not None and outputs.startswith(("{", "[")):  # perhaps of a tool: without spans, nothing says so
        outputs = None
    started = nanoseconds(info.get("request_time") or info.get("timestamp_ms"))
    duration = str(info.get("execution_duration") or f"{info.get('execution_time_ms') or 0}ms")
    seconds = as_number(duration.rstrip("ms")) or 0.0
    attributes = {
        _INPUTS: inputs,
        _OUTPUTS: outputs,
        "mlflow.chat.tokenUsage": own.get("mlflow.trace.tokenUsage"),
        "mlflow.llm.cost": own.get("mlflow.trace.cost"),
        **{name: own.get(name) for name in (_SESSION, _USER)},
    }
    return Span(
        trace_id=trace_id,
        span_id=trace_id[-2 * _SPAN_BYTES :],
        parent_id=None,
        name=str(_pairs(info.get("tags")).get("mlflow.traceName") or ""),
        started_ns=started,
        ended_ns=started + round(max(0.0, seconds) * (1e6 if duration.endswith("ms") else 1e9)),
        scope="mlflow",
        attributes={name: value for name, value in attributes.items() if value is not None},
        error="error" if (info.get("state") or info.get("status")) == "ERROR" else None,
    )


def _whole(text: Any) -> str | None:
    """Return a text that MLflow has not cut; it cuts texts of 250 characters and more, and writes dots at their end."""
    cut = isinstance(text, str) and len(text) >= _SHORTEST_CUT and text.endswith("...")
    return text if isinstance(text, str) and text and not cut else None


def _span_id(span: Mapping[str, Any]) -> str | None:
    return _hexadecimal(span.get("span_id") or value_at(span, ("context", "span_id")))


def _hexadecimal(value: Any) -> str | None:
    """Return the id of a span as other tools write it. MLflow writes its eight bytes in base 64."""
    if not value:
        return None
    with suppress(ValueError):
        content = b64decode(str(value), validate=True)
        return content.hex() if len(content) == _SPAN_BYTES else str(value)
    return str(value)


def _span(span: Mapping[str, Any], trace_id: str, of_trace: Mapping[str, Any]) -> Span:
    parent = _hexadecimal(span.get("parent_span_id") or span.get("parent_id"))
    attributes = mlflow_attributes(span.get("attributes"))
    code = value_at(span, ("status", "code")) or span.get("status_code")
    failed = str(code).endswith("ERROR")
    message = value_at(span, ("status", "message")) or span.get("status_message") or "error"
    return Span(
        trace_id=trace_id,
        span_id=str(_span_id(span)),
        parent_id=parent,
        name=str(span.get("name") or ""),
        started_ns=nanoseconds(_number(span.get("start_time_unix_nano")) or span.get("start_time")),
        ended_ns=nanoseconds(_number(span.get("end_time_unix_nano")) or span.get("end_time")),
        scope="mlflow",
        attributes=attributes if parent else {**attributes, **of_trace},
        error=str(message) if failed else None,
    )


def _number(value: Any) -> Any:
    """Return an integer, which JSON may have as a text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value


def _counts(assessment: Mapping[str, Any]) -> bool:
    """Whether an assessment counts: a replaced one of a person does not, one of a judge does."""
    return assessment.get("valid") is not False or value_at(assessment, ("source", "source_type")) != "HUMAN"


def _score(assessment: Mapping[str, Any]) -> Score:
    error = value_at(assessment, ("feedback", "error", "error_message"))
    value = value_at(assessment, ("feedback", "value"))
    if value is None:
        value = value_at(assessment, ("expectation", "value"))
    return Score(
        name=str(assessment.get("assessment_name") or assessment.get("name")),
        value=from_json(value) if isinstance(value, str) and value[:1] in {"{", "["} else value,
        by=str(value_at(assessment, ("source", "source_id")) or "MLflow"),
        human=value_at(assessment, ("source", "source_type")) == "HUMAN",
        reason=assessment.get("rationale"),
        error=error if isinstance(error, str) else None,
        at=assessment.get("last_update_time") or assessment.get("create_time"),
    )
