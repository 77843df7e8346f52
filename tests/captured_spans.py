"""Spans of the decoded captures: hex ids, attribute values in the JSON form of OTLP."""

import json

from judgeboard.traces.spans import Span, SpanEvent


def captured_spans(path):
    body = json.loads(path.read_text(encoding="utf-8"))
    return [
        _span(
            span,
            scoped.get("scope", {}).get("name", ""),
            _attributes(resourced.get("resource", {})),
        )
        for resourced in body["resourceSpans"]
        for scoped in resourced["scopeSpans"]
        for span in scoped["spans"]
    ]


def _span(span, scope, resource):
    failed = "ERROR" in str(span.get("status", {}).get("code"))
    return Span(
        span["traceId"],
        span["spanId"],
        span.get("parentSpanId") or None,
        span["name"],
        int(span["startTimeUnixNano"]),
        int(span["endTimeUnixNano"]),
        scope,
        _attributes(span),
        resource,
        tuple(
            SpanEvent(each["name"], int(each["timeUnixNano"]), _attributes(each))
            for each in span.get("events", ())
        ),
        span["status"].get("message", "") if failed else None,
    )


def _attributes(holder):
    return {each["key"]: _value(each["value"]) for each in holder.get("attributes", ())}


def _value(value):
    kind, content = next(iter(value.items()))
    if kind == "arrayValue":
        return [_value(each) for each in content.get("values", ())]
    if kind == "kvlistValue":
        return {each["key"]: _value(each["value"]) for each in content.get("values", ())}
    return int(content) if kind == "intValue" else content
