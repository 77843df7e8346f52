"""OTLP: log records `gen_ai.evaluation.result` of the OpenTelemetry conventions, as JSON, for a Collector."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from judgeboard.settings.masking import without_secrets
from judgeboard.store.tools import PushItem, PushScore
from judgeboard.targets.target import Access, Connection, Refused, Target, facts, needed_trace_id, span_id, stable_id


def _access(address: str, environment: Mapping[str, str]) -> Access:
    pairs = (pair.partition("=") for pair in environment.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",") if pair)
    return Access(address.removesuffix("/v1/logs"), {name.strip(): unquote(value).strip() for name, _, value in pairs})


def _send(http: Connection, items: Sequence[PushItem]) -> None:
    records = [_record(item, score) for item in items for score in item.scores]
    scope = {"scope": {"name": "judgeboard"}, "logRecords": records}
    resource = {"attributes": _attributes({"service.name": "judgeboard"})}
    reply = http.send("POST", "/v1/logs", {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})
    partial = reply.get("partialSuccess") if isinstance(reply, dict) else None
    if partial and int(partial.get("rejectedLogRecords") or 0):
        raise Refused(without_secrets(str(partial.get("errorMessage") or "log records were rejected")))


def _record(item: PushItem, score: PushScore) -> dict[str, Any]:
    at = str(int(item.at.timestamp() * 1_000_000) * 1_000)
    attributes = {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.score.label": score.label,
        "gen_ai.evaluation.explanation": score.reasoning or item.note,
        # A record has no id of its own: by this one a receiver recognises a record that comes again.
        "judgeboard.id": str(stable_id(item, score.name, str(item.row_id))),
        "judgeboard.kind": item.what.value,
        **{f"judgeboard.{name}": value for name, value in facts(item).items()},
    }
    record = {
        "timeUnixNano": at,
        "observedTimeUnixNano": at,
        "eventName": "gen_ai.evaluation.result",
        "traceId": needed_trace_id(item),
        "spanId": span_id(item),
        "attributes": _attributes(attributes),
    }
    return {name: value for name, value in record.items() if value is not None}


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}}
        for name, value in values.items()
        if value is not None
    ]


OTLP = Target(
    "otlp", ("OTEL_EXPORTER_OTLP_ENDPOINT",), _access, _send, batch_size=200, default_address="http://localhost:4318"
)
