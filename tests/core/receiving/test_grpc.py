"""OTLP over gRPC: what exporters send is stored and refused as over HTTP."""

import base64
import gzip
import signal
import socket
import sqlite3
import sys
import threading
from itertools import cycle
from pathlib import Path

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace import Status as SpanStatus
from opentelemetry.trace import StatusCode as SpanCode
from sqlalchemy import select

from forked_commands import ReadCommand
from judgeboard.cli.app import run
from judgeboard.receiving import receiver
from judgeboard.receiving.grpc import _host
from judgeboard.receiving.keys import create_key
from judgeboard.settings.model import load_settings
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.tables import RESPONSE, SPAN, TRACE
from judging_log import until
from sent_messages import BODY, SERVICE, export, listening
from sent_traces import gathered, log_request, receiving, request, send_spans, trace
from served import free_port
from stored_rows import read, values_of


def bearer(token):
    return [("authorization", f"Bearer {token}")]


def value_of(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return tuple(map(value_of, value.array_value.values))
    return getattr(value, kind)


def attributes_of(pairs):
    return {pair.key: value_of(pair.value) for pair in pairs}


def readable_spans(body):
    """The spans of an export as the SDK gives them to an exporter."""
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = Resource(attributes_of(group.resource.attributes))
        for scoped in group.scope_spans:
            for span in scoped.spans:
                trace_id, flags = int.from_bytes(span.trace_id), TraceFlags(TraceFlags.SAMPLED)
                context, parent = (
                    SpanContext(trace_id, int.from_bytes(id_), is_remote=False, trace_flags=flags)
                    for id_ in (span.span_id, span.parent_span_id)
                )
                yield ReadableSpan(
                    span.name,
                    context,
                    parent if span.parent_span_id else None,
                    resource,
                    attributes_of(span.attributes),
                    [
                        Event(each.name, attributes_of(each.attributes), each.time_unix_nano)
                        for each in span.events
                    ],
                    kind=SpanKind(max(0, span.kind - 1)),
                    status=SpanStatus(SpanCode(span.status.code)),
                    start_time=span.start_time_unix_nano,
                    end_time=span.end_time_unix_nano,
                    instrumentation_scope=InstrumentationScope(
                        scoped.scope.name, scoped.scope.version
                    ),
                )


def stored(store):
    """The answers and the ids of the spans."""
    names = "external_id", "source", "query", "answer", "passages"
    more = "generator_model", "messages", "asked_at", "extra"
    answers = select(*(RESPONSE.c[name] for name in (*names, *more)))
    spans = select(TRACE.c.external_id, SPAN.c.kind, SPAN.c.external_id).join_from(SPAN, TRACE)
    with store.reading() as connection:
        return tuple(
            sorted(map(tuple, connection.execute(query)), key=repr) for query in (answers, spans)
        )


@pytest.mark.parametrize("capture", ["oinf_langchain", "traceloop", "genai_openai_1.3b0"])
def test_the_exporter_of_opentelemetry_brings_the_answers_that_come_over_http(
    store, new_store, shared, capture
):
    files = sorted((shared / "captures" / capture).glob("*v1_traces.bin"))
    bodies = [
        gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
        for body in map(Path.read_bytes, files)
    ]
    over_http = new_store()
    with receiving(over_http) as http, listening(store) as address:
        for body, compression in zip(
            bodies, cycle([grpc.Compression.Gzip, grpc.Compression.NoCompression])
        ):
            exporter = OTLPSpanExporter(address, insecure=True, compression=compression)
            assert exporter.export(list(readable_spans(body))) is SpanExportResult.SUCCESS
            exporter.shutdown()
            assert send_spans(http, body).status_code == 200
    for each in (store, over_http):
        while gathered(each, after=100):
            pass
    answers, spans = stored(store)
    assert (answers, spans) == stored(over_http)
    assert answers
    assert spans


def test_log_records_are_stored_with_their_trace(sqlite_store):
    logs = "opentelemetry.proto.collector.logs.v1.LogsService"
    with listening(sqlite_store) as address:
        assert export(address, log_request(trace(1)[0], "text"), service=logs)[0] is StatusCode.OK
        metrics = export(
            address, b"", service="opentelemetry.proto.collector.metrics.v1.MetricsService"
        )
    assert metrics[0] is StatusCode.UNIMPLEMENTED
    assert [kind for _, kind, _ in stored(sqlite_store)[1]] == ["log"]


def test_a_key_is_taken_in_every_form_and_every_wrong_one_is_refused(store):
    token = create_key(store, "shop", source="shop", by="test")
    reader = create_key(store, "reader", scopes=["read"], by="test")
    password = base64.b64encode(f"shop:{token}".encode()).decode()
    ok = StatusCode.OK
    cases = [
        (bearer(token), ok, ""),
        ([("authorization", f"Basic {password}")], ok, ""),
        ([("x-api-key", token)], ok, ""),
        (bearer("jb_wrong"), StatusCode.UNAUTHENTICATED, "the key is not known"),
        (bearer(reader), StatusCode.PERMISSION_DENIED, "the key 'reader' lacks the scope 'ingest'"),
    ]
    with listening(store) as address:
        for headers, *expected in cases:
            assert list(export(address, headers=headers)[:2]) == expected
    events = read(store, latest_events, EventFilter(kind="refused"), limit=9)
    assert {(event.actor, event.details["status"]) for event in events} == {
        ("key:unknown", 401),
        ("key:reader", 403),
    }


def test_without_any_key_only_programs_on_this_machine_may_send(sqlite_store):
    with listening(sqlite_store) as address:
        assert export(address)[0] is StatusCode.OK
        code, text, _ = export(
            address, headers=[("x-forwarded-for", "203.0.113.9")]
        )  # a proxy on this machine
        assert code == StatusCode.UNAUTHENTICATED
        assert "create one with" in text
    with listening(sqlite_store, keys_needed=lambda: True) as address:
        assert export(address)[0] is StatusCode.UNAUTHENTICATED
    names = {
        "ipv4:127.0.0.1:50342": "127.0.0.1",
        "ipv6:%5B::1%5D:50342": "::1",
        "unix:": "",
        "ipv6:[fe80::1]:9": "fe80::1",
    }
    assert {peer: _host(peer) for peer in names} == names


def test_a_large_or_broken_message_is_refused_and_is_not_sent_again(sqlite_store, caplog):
    token = create_key(sqlite_store, "small", max_body_mb=0.25, by="test")
    broken, large = StatusCode.INVALID_ARGUMENT, StatusCode.RESOURCE_EXHAUSTED
    large_text = b"\x0a\x80\x80\x80\x08" + bytes(2**24)
    with listening(sqlite_store) as address:
        for body, compressed, expected, words in (
            (large_text[:300_000], False, large, "more than 0.25 MiB"),
            (large_text, True, large, "more than 0.25 MiB"),  # small until it is decompressed
            (b"\x0a\xff", False, broken, "not an OTLP request"),
            (gzip.compress(BODY)[:-4], False, broken, "ends too early"),
        ):
            code, text, trailers = export(address, body, bearer(token), compressed=compressed)
            assert code == expected, text
            assert words in text, text
            assert "grpc-status-details-bin" not in trailers
        assert export(address, b"", bearer(token))[0] is StatusCode.OK
        code, text, _ = export(address, bytes(2**26 + 1), bearer(token))
        assert code == large
        assert "larger than max" in text
    assert stored(sqlite_store) == ([], [])
    assert not caplog.records


def test_a_busy_receiver_tells_when_to_try_again(sqlite_store, monkeypatch):
    slow = create_key(sqlite_store, "slow", requests_per_second=0.001, by="test")
    fast = create_key(sqlite_store, "fast", by="test")
    with listening(sqlite_store) as address:
        assert export(address, headers=bearer(slow))[0] is StatusCode.OK
        replies = [export(address, headers=bearer(slow))]
    monkeypatch.setattr(receiver, "MOST_IN_MEMORY", len(BODY) - 1)
    with listening(sqlite_store) as address:
        replies.append(export(address, headers=bearer(fast)))
    for code, text, trailers in replies:
        assert code is StatusCode.RESOURCE_EXHAUSTED
        status, retry = Status.FromString(trailers["grpc-status-details-bin"]), RetryInfo()
        assert status.details[0].Unpack(retry)
        assert status.code == code.value[0]
        assert status.message == text
        assert retry.retry_delay.seconds == 2
    assert "requests per second" in replies[0][1]
    assert "at once" in replies[1][1]


def test_the_exporter_of_opentelemetry_sends_again_after_the_database_was_locked(
    sqlite_store, caplog
):
    lock = sqlite3.connect(
        str(sqlite_store.engine.url.database), isolation_level=None, check_same_thread=False
    )
    lock.execute("BEGIN IMMEDIATE")
    with listening(sqlite_store, patience=0.2) as address:
        exporter = OTLPSpanExporter(address, insecure=True, timeout=60)
        results = []
        sending = threading.Thread(
            target=lambda: results.append(exporter.export(list(readable_spans(BODY))))
        )
        sending.start()
        until(lambda: "Transient error" in caplog.text, "a refusal")
        lock.execute("ROLLBACK")
        sending.join()
        exporter.shutdown()
    lock.close()
    assert results == [SpanExportResult.SUCCESS]
    assert "RESOURCE_EXHAUSTED" in caplog.text
    assert len(stored(sqlite_store)[1]) == 2


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_acknowledged_span_is_lost_when_the_server_ends_under_load(store, end):
    database, port = store.engine.url.render_as_string(hide_password=False), free_port()
    address, acknowledged, enough = f"localhost:{port}", set[str](), threading.Event()
    codes = set()

    def send(sender):
        with grpc.insecure_channel(address) as channel:
            call = channel.unary_unary(f"/{SERVICE}/Export")
            for number in range(10**6):
                spans = trace(sender * 10**8 + number)
                try:
                    call(request(spans), timeout=60, wait_for_ready=number == 0)
                except grpc.RpcError as error:
                    codes.add(error.code())
                    return
                acknowledged.update(sent.span_id for sent in spans)
                if len(acknowledged) > 200:
                    enough.set()

    command = "sources", "receive", "--port", str(free_port()), "--db", database
    senders = [threading.Thread(target=send, args=[number]) for number in range(1, 4)]
    with ReadCommand(*command, JUDGEBOARD_RECEIVE_GRPC=str(port)) as process:
        assert process.stderr.readline().endswith(f" {address}\n")
        for each in senders:
            each.start()
        assert enough.wait(120)
        process.send_signal(end)
    for each in senders:
        each.join()
    assert codes <= {
        StatusCode.UNAVAILABLE,
        StatusCode.CANCELLED,
    }  # exporters send these again
    assert acknowledged <= set(values_of(store, SPAN.c.external_id))


@pytest.mark.parametrize(
    ("value", "address"),
    {
        "4400": "localhost:4400",
        "0.0.0.0": "0.0.0.0:4317",
        "[::1]:4400": "[::1]:4400",
        "judge-1:4400": "judge-1:4400",
        "": None,
    }.items(),
)
def test_the_setting_is_a_port_or_a_host_or_both(monkeypatch, value, address):
    monkeypatch.setenv("JUDGEBOARD_RECEIVE_GRPC", value)
    assert load_settings().receive_grpc == address


def test_a_server_that_cannot_receive_over_grpc_says_so_and_does_not_start(
    tmp_path, monkeypatch, capsys
):
    command = ["sources", "receive", "--db", str(tmp_path / "new.db")]

    def error(address):
        monkeypatch.setenv("JUDGEBOARD_RECEIVE_GRPC", address)
        assert run(command) == 2
        return capsys.readouterr().err

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = error(str(port))
    assert "JUDGEBOARD_RECEIVE_GRPC" in message
    assert f"localhost:{port}" in message
    assert "HOST:PORT" in error("localhost:port")
    monkeypatch.delitem(sys.modules, "judgeboard.receiving.grpc")
    monkeypatch.setitem(sys.modules, "grpc", None)
    assert "'judgeboard[grpc]'" in error("localhost")
    assert not (tmp_path / "new.db").exists()
