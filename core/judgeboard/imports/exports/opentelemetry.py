"""OpenTelemetry: requests of OTLP in JSON, as a Collector writes them to files, and single spans in this form."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from judgeboard.errors import BadInput
from judgeboard.formats.files import Row
from judgeboard.imports.exports.entry import Entries, Entry
from judgeboard.imports.exports.traced import Trace, entry_of, scores_of
from judgeboard.traces.spans import LogRecord, Span

_REQUESTS = frozenset({"resourceSpans", "resourceLogs"})
_WITHOUT_SPANS = "only log records of this trace are in the file: its spans are needed too"
_CODES = {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
_SNAKE = re.compile(r"_([a-z])")


def read(rows: Iterable[Row]) -> Entries:
    """Yield the answers of all traces. Their spans and log records are kept in memory until the end of the file."""
    traces: dict[str, Trace] = {}
    for row in rows:
        try:
            records = _records(row.values)
        except BadInput as error:
            yield row, Entry(None, reason=str(error))
            continue
        for record in records:
            trace = traces.setdefault(record.trace_id, Trace(row, []))
            if isinstance(record, Span):
                trace.spans.append(record)
            else:
                trace.logs.append(record)
    for trace in traces.values():
        trace.scores = scores_of(trace.spans, trace.logs)
        trace.reason = None if trace.spans else _WITHOUT_SPANS
        yield trace.row, entry_of(trace)


def _records(row: Mapping[str, Any]) -> list[Span | LogRecord]:
    from judgeboard.traces.otlp import JSON, logs_in, traces_in  # loads Protobuf

    request = _strict(row)
    if not _REQUESTS & request.keys():
        request = {"resourceSpans": [{"scopeSpans": [{"spans": [request]}]}]}
    try:
        body = orjson.dumps(request)
    except TypeError as error:
        raise BadInput(f"not a request of OTLP: {error}") from None
    return [*traces_in(body, JSON), *logs_in(body, JSON)]


def _strict(value: Any) -> Any:
    """Return a JSON value as the specification has it: names like ``traceId``, and the numbers of status codes.

    Programs in Python often write ``trace_id`` and the names of the codes.
    """
    if isinstance(value, list):
        return [_strict(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        _SNAKE.sub(lambda match: match[1].upper(), name): _CODES.get(each, each)
        if name == "code" and isinstance(each, str)
        else _strict(each)
        for name, each in value.items()
    }
