"""Requests and replies of OTLP over HTTP, in protobuf and JSON."""

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as ProtoLogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from judgeboard.errors import BadInput
from judgeboard.traces.annotations import with_linked
from judgeboard.traces.attributes import load_json
from judgeboard.traces.elements import Elements, JsonElements, ProtobufElements
from judgeboard.traces.spans import LogRecord, Span, SpanEvent, exception_of

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
_ERROR = 2  # the status code of a span that failed
_KNOWS_REMOTE, _IS_REMOTE = 0x100, 0x200  # flags of a span
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})
_OBJECTS = frozenset({"resource", "scope", "status", "body", "value", "arrayValue", "kvlistValue"})
_EARLIEST, _LATEST = 10**18, 3 * 10**18  # of the times of spans: from 2001 to 2065
# The code of gRPC for a status of HTTP, as google.rpc.Status wants it.
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 408: 4, 413: 8, 415: 3, 429: 8, 503: 14}
_UNKNOWN = 2


def bare_type(content_type: str) -> str:
    """Return the media type in the header of a request, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def traces_elements(content_type: str) -> Elements:
    """Return a counter of the elements of an export request with spans."""
    if bare_type(content_type) == PROTOBUF:
        return ProtobufElements(ExportTraceServiceRequest.DESCRIPTOR, ProtoSpan.DESCRIPTOR)
    return JsonElements(of_otlp=True)


def logs_elements(content_type: str) -> Elements:
    """Return a counter of the elements of an export request with log records."""
    if bare_type(content_type) == PROTOBUF:
        return ProtobufElements(ExportLogsServiceRequest.DESCRIPTOR, ProtoLogRecord.DESCRIPTOR)
    return JsonElements(of_otlp=True)


def media_type(content_type: str) -> str:
    """Return `JSON` or `PROTOBUF`, the type of a request and of its reply. Raises BadInput for any other type."""
    name = bare_type(content_type)
    if name not in {JSON, PROTOBUF}:
        raise BadInput(f"the content type is {name or 'absent'}: send {PROTOBUF} or {JSON}")
    return name


def traces_in(body: bytes, content_type: str) -> list[Span | LogRecord]:
    """Return the spans of an export request, and log records with results on linked spans of other traces.

    Raises BadInput if the request cannot be decoded.
    """
    request = ExportTraceServiceRequest()
    _parse(request, body, content_type)
    records: list[Span | LogRecord] = []
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scoped in group.scope_spans:
            scope = scoped.scope.name
            for span in scoped.spans:
                links = (
                    (
                        _id(link.trace_id, _TRACE_BYTES, "trace"),
                        _id(link.span_id, _SPAN_BYTES, "span") or "",
                    )
                    for link in span.links
                )
                complete_links = [
                    (trace_id, span_id) for trace_id, span_id in links if trace_id is not None
                ]
                records += with_linked(_span(span, scope, resource), complete_links)
    return records


def logs_in(body: bytes, content_type: str) -> list[LogRecord]:
    """Return the log records of an export request that belong to a trace.

    Raises BadInput if the request cannot be decoded.
    """
    request = ExportLogsServiceRequest()
    _parse(request, body, content_type)
    records: list[LogRecord] = []
    for group in request.resource_logs:
        resource = _attributes(group.resource.attributes)
        for record in (record for scoped in group.scope_logs for record in scoped.log_records):
            trace_id = _id(record.trace_id, _TRACE_BYTES, "trace")
            if trace_id is None:
                continue
            attributes = _attributes(record.attributes)
            name = attributes.get("event.name")
            records.append(
                LogRecord(
                    trace_id=trace_id,
                    span_id=_id(record.span_id, _SPAN_BYTES, "span") or "",
                    event=record.event_name or (name if isinstance(name, str) else ""),
                    at_ns=_in_nanoseconds(record.time_unix_nano or record.observed_time_unix_nano),
                    body=_value(record.body),
                    attributes=attributes,
                    resource=resource,
                )
            )
    return records


def success(content_type: str) -> bytes:
    """Return the body of a reply with status 200. Everything was taken, so all fields are absent."""
    return b"{}" if media_type(content_type) == JSON else b""


def failure(reply_type: str, status: int, message: str) -> bytes:
    """Return the body of a reply with an error: a ``google.rpc.Status`` for a status of HTTP."""
    code = _CODES.get(status, _UNKNOWN)
    if reply_type == PROTOBUF:
        return bytes(Status(code=code, message=message).SerializeToString())
    return orjson.dumps({"code": code, "message": message})


def _parse(request: Message, body: bytes, content_type: str) -> None:
    if media_type(content_type) == JSON:
        # Read a request in JSON. A null is an absent value, an unknown field is ignored.
        try:
            fields = load_json(body)
        except ValueError:
            raise BadInput("the body is not JSON") from None
        if not isinstance(fields, dict):
            raise BadInput("the body is not a JSON object")
        # Ids are hexadecimal in OTLP, and base 64 in the JSON of Protobuf. Protobuf would ignore a
        # text or a number in place of an object.
        objects: list[dict[str, Any]] = [fields]
        while objects:
            inner_fields = objects.pop()
            for name, value in inner_fields.items():
                if name in _IDS and isinstance(value, str):
                    with suppress(ValueError):
                        inner_fields[name] = b64encode(bytes.fromhex(value)).decode()
                elif name in _OBJECTS and not isinstance(value, dict | None):
                    raise BadInput(f"{name} is no JSON object")
                values = value if isinstance(value, list) else [value]
                objects += [each for each in values if isinstance(each, dict)]
        try:
            ParseDict(fields, request, ignore_unknown_fields=True)
        except (ParseError, OverflowError) as error:
            raise BadInput(f"the body is not an OTLP request: {error}") from None
        return
    with suppress(DecodeError):
        request.ParseFromString(body)
        return
    try:  # a text may be no UTF-8
        lenient = _lenient_class(request.DESCRIPTOR).FromString(body)
        _repair(lenient)
        request.ParseFromString(lenient.SerializeToString())
    except DecodeError:
        raise BadInput("the body is not an OTLP request in protobuf") from None


@cache
def _lenient_class(descriptor: Descriptor) -> type[Message]:
    """Return the class of the same messages in the older syntax, which takes texts that are no UTF-8 as bytes."""
    pool = DescriptorPool()
    files = [descriptor.file]
    for file in files:
        files += file.dependencies
    for file in {
        file.name: file for file in reversed(files)
    }.values():  # files that others need come first
        copy = FileDescriptorProto()
        file.CopyToProto(copy)
        copy.syntax = "proto2"
        pool.Add(copy)
    lenient: type[Message] = GetMessageClass(pool.FindMessageTypeByName(descriptor.full_name))
    return lenient


def _repair(message: Message) -> None:
    """Replace each byte that is no UTF-8 in the texts of a message by U+FFFD."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in [value] if isinstance(value, Message) else value:
                _repair(inner)
        elif field.type == field.TYPE_STRING and isinstance(value, bytes):
            setattr(message, field.name, value.decode(errors="replace"))


def _span(span: ProtoSpan, scope: str, resource: Mapping[str, Any]) -> Span:
    trace_id, span_id = (
        _id(span.trace_id, _TRACE_BYTES, "trace"),
        _id(span.span_id, _SPAN_BYTES, "span"),
    )
    if trace_id is None or span_id is None:
        raise BadInput("a span has no trace id or no span id")
    started = _in_nanoseconds(span.start_time_unix_nano)
    events = tuple(
        SpanEvent(each.name, each.time_unix_nano, _attributes(each.attributes))
        for each in span.events
    )
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=_id(span.parent_span_id, _SPAN_BYTES, "parent span"),
        name=span.name,
        started_ns=started,
        ended_ns=max(
            started, _in_nanoseconds(span.end_time_unix_nano)
        ),  # 0 if the sender did not set it
        scope=scope,
        attributes=_attributes(span.attributes),
        resource=resource,
        events=events,
        error=(span.status.message or exception_of(events) or "error")
        if span.status.code == _ERROR
        else None,
        remote_parent=bool(span.flags & _IS_REMOTE) if span.flags & _KNOWS_REMOTE else None,
    )


def _in_nanoseconds(time: int) -> int:
    """Return a time that was sent in seconds, milli- or microseconds by mistake in nanoseconds; others unchanged."""
    if time < _EARLIEST:
        for unit in (10**9, 10**6, 10**3):
            if _EARLIEST <= time * unit < _LATEST:
                return time * unit
    return time


def _id(value: bytes, length: int, what: str) -> str | None:
    """Return an id as hexadecimal text; None for an empty or zero id."""
    if value and len(value) != length:
        raise BadInput(
            f"a {what} id has {len(value)} bytes instead of {length} ({2 * length} hexadecimal digits in JSON)"
        )
    return value.hex() if any(value) else None


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    if kind == "double_value":
        number = value.double_value
        return number if math.isfinite(number) else None  # JSON has no other numbers
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return getattr(value, kind) if kind in {"int_value", "bool_value"} else None
