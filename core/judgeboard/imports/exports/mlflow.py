"""MLflow: traces as JSON, and tables of traces with their assessments."""

from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import as_object, from_json, objects
from judgeboard.imports.exports.traced import Score, Trace, each_trace, nanoseconds, trace_metadata
from judgeboard.store.filters import value_at
from judgeboard.traces.spans import Span

_OWN = "mlflow."
_SPAN_BYTES = 8
_SESSION, _USER = "mlflow.trace.session", "mlflow.trace.user"


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row is a trace with its spans."""
    trace = _trace(row)
    spans = objects(value_at(trace, ("data", "spans")))
    return bool(spans) and any(str(name).startswith(_OWN) for name in as_object(spans[0].get("attributes")))


def _trace(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a trace with ``info`` and ``data``, as a row has it or as it is in the cells of a table."""
    whole = as_object(row.get("trace"))
    if not whole and isinstance(row.get("data"), dict):
        whole = dict(row)
    if not whole and isinstance(row.get("spans"), list):
        whole = {"info": dict(row), "data": {"spans": row["spans"]}}
    info = as_object(whole.get("info"))
    if not info.get("assessments") and objects(row.get("assessments")):
        whole["info"] = info | {"assessments": row["assessments"]}
    return whole


def _read(row: Row) -> Iterator[Trace]:
    trace = _trace(row.values)
    info = as_object(trace.get("info"))
    trace_id = str(info.get("trace_id") or info.get("request_id") or "").removeprefix("tr-")
    own = as_object(info.get("trace_metadata") or info.get("request_metadata"))
    tags = info.get("tags")
    if isinstance(tags, list):
        tags = {str(tag.get("key")): tag.get("value") for tag in objects(tags)}
    # The trace has the session and the user, not its spans. They are put where the dialect of MLflow reads them.
    of_trace = {name: own[name] for name in (_SESSION, _USER) if name in own}
    spans = [
        _span(span, trace_id, of_trace)
        for span in objects(value_at(trace, ("data", "spans")))
        if _span_id(span) is not None
    ]
    if spans:
        metadata = trace_metadata(own, _OWN) | trace_metadata(as_object(tags), _OWN)
        scores = [_score(each) for each in objects(info.get("assessments")) if _counts(each)]
        yield Trace(row, spans, scores, metadata)


read = each_trace(_read)


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
    attributes = _attributes(span.get("attributes"))
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


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of a span: an object, or a list of keys and values as the REST interface has it."""
    if not isinstance(value, list):
        return as_object(value)
    return {str(each.get("key")): value_at(each, ("value", "string_value")) for each in objects(value)}


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
