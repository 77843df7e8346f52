"""Requests as an assistant sends them, and a receiver that takes them."""

import gzip
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from judgeboard.receiving.gathering import attach_feedback, gather
from judgeboard.receiving.http import HttpTransport
from judgeboard.receiving.receiver import Receiver

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
STARTED = 1_780_000_000_000_000_000


@dataclass(frozen=True)
class Sent:
    """A span of a made-up assistant; the root (number 0) has the question and the answer, others a passage."""

    trace: int
    number: int = 0
    service: str | None = "shop"

    @property
    def trace_id(self):
        return f"{self.trace:032x}"

    @property
    def span_id(self):
        return f"{self.trace:08x}{self.number + 1:08x}"

    @property
    def attributes(self):
        if self.number:
            kind = {"openinference.span.kind": "RETRIEVER", "input.value": f"question {self.trace}"}
            document = "retrieval.documents.0.document"
            return kind | {
                f"{document}.content": f"passage {self.number} of {self.trace}",
                f"{document}.id": "d",
            }
        return {
            "openinference.span.kind": "CHAIN",
            "input.value": f"question {self.trace}",
            "output.value": f"answer {self.trace}",
        }


def request(spans):
    """The body of an export, with one resource per span."""
    body = ExportTraceServiceRequest()
    for sent in spans:
        group = body.resource_spans.add()
        if sent.service is not None:
            named = group.resource.attributes.add(key="service.name")
            named.value.string_value = sent.service
        span = group.scope_spans.add().spans.add(
            trace_id=bytes.fromhex(sent.trace_id),
            span_id=bytes.fromhex(sent.span_id),
            name=f"span {sent.number}",
            start_time_unix_nano=STARTED + sent.number * 1_000_000,
            end_time_unix_nano=STARTED + 2_000_000_000,
        )
        if sent.number:
            span.parent_span_id = bytes.fromhex(Sent(sent.trace).span_id)
        for key, value in sent.attributes.items():
            span.attributes.add(key=key).value.string_value = value
    return body.SerializeToString()


def trace(number, passages=1, **options):
    """The spans of a trace as they come: the root last."""
    return [Sent(number, each, **options) for each in (*range(1, passages + 1), 0)]


def log_request(sent, text):
    """The body of an export of one log record."""
    body = ExportLogsServiceRequest()
    record = (
        body.resource_logs.add()
        .scope_logs.add()
        .log_records.add(
            trace_id=bytes.fromhex(sent.trace_id),
            span_id=bytes.fromhex(sent.span_id),
            event_name="note",
        )
    )
    record.body.string_value = text
    return body.SerializeToString()


def gzipped(body):
    """The arguments of a compressed request."""
    return {"content": gzip.compress(body), "headers": PROTOBUF | {"content-encoding": "gzip"}}


def send_spans(http, sent, headers=PROTOBUF):
    """Send spans, or the body of an export, as an exporter does; return the reply."""
    body = sent if isinstance(sent, bytes) else request(sent)
    return http.post("/v1/traces", content=body, headers=headers)


@contextmanager
def receiving(store, client="127.0.0.1", host="localhost", **options):
    """A receiver over HTTP whose traces wait until `gathered`."""
    with writing(store, **options) as receiver:
        app = Starlette(routes=HttpTransport(receiver).routes())
        with TestClient(
            app, base_url=f"http://{host}", client=(client, 9), follow_redirects=False
        ) as http:
            yield http


@contextmanager
def writing(store, **options):
    """A receiver that stores, but does not gather."""
    receiver = Receiver(lambda: store, **options)
    receiver._writer.start()
    try:
        yield receiver
    finally:
        receiver._writer.stop()


def gathered(store, after=3.0):
    """Gather as if some seconds had passed; return how many traces were gathered."""
    now = datetime.now(UTC) + timedelta(seconds=after)
    count = gather(store, now)
    attach_feedback(store, now)
    return count
