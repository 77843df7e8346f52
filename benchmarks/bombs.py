"""Sends small requests that are large in memory to a server, and prints what each of them costs.

    python benchmarks/bombs.py [--db URL] [--only SHAPE]
    python benchmarks/bombs.py --large             # the largest requests that must be stored

A row of the table is a shape, a route, a transport and an encoding, sent three times at once: the
statuses, the seconds until the last reply, the peak of the memory above that just before, the
memory afterwards above that of the new server, and the longest wait of another sender, who sends
one answer at a time.
"""

import argparse
import gzip
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import grpc
from servers import JUDGEBOARD, free_port, served, usage

MOST_MB, MOST_SECONDS, MOST_WAIT = 60, 2.0, 1.0
AT_ONCE = 3
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
JSON, PROTOBUF = "application/json", "application/x-protobuf"
SERVICES = {
    "/v1/traces": "opentelemetry.proto.collector.trace.v1.TraceService",
    "/v1/logs": "opentelemetry.proto.collector.logs.v1.LogsService",
}


@dataclass(frozen=True)
class Bomb:
    """A body for a route; ``content_type`` is None for a message of gRPC. ``encoding`` is "" without compression."""

    shape: str
    path: str
    content_type: str | None
    body: bytes
    encoding: str = ""

    def encoded(self) -> bytes:
        """Return the body as it is sent."""
        if self.encoding == "gzip":
            return gzip.compress(self.body, 6)
        if self.encoding == "gzip members":
            half = len(self.body) // 2
            return gzip.compress(self.body[:half], 6) + gzip.compress(self.body[half:], 6)
        return zlib.compress(self.body, 6) if self.encoding == "deflate" else self.body


# JSON: ten shapes, of which each is the value of a key, or a list of records


VALUES: Mapping[str, Callable[[int], bytes]] = {
    "empty objects": lambda n: b"[" + b"{}," * (5 * n) + b"{}]",
    "empty lists": lambda n: b"[" + b"[]," * (5 * n) + b"[]]",
    "empty texts": lambda n: b"[" + b'"",' * (5 * n) + b'""]',
    "numbers": lambda n: b"[" + b"1," * (10 * n) + b"1]",
    "nulls": lambda n: b"[" + b"null," * (5 * n) + b"null]",
    "keys": lambda n: b"{" + b",".join(b'"%d":1' % number for number in range(3 * n)) + b"}",
    "pairs": lambda n: b"[" + b'{"a":1},' * (5 * n) + b'{"a":1}]',
    "passages": lambda n: b"[" + b",".join(b'"%d"' % number for number in range(3 * n)) + b"]",
    "deep lists": lambda n: b"[" + (b"[" * 50 + b"]" * 50 + b",") * (n // 10) + b"1]",
}
RECORDS: Mapping[str, bytes] = {
    "/api/responses": b'{"query":"q","answer":"a"}',
    "/api/judgments": b'{"external_id":"a","judge":"j","quality":2}',
    "/api/feedback": b'{"response_id":"a","thumbs":"up"}',
    "/api/public/scores": b'{"traceId":"%s","name":"a","value":1}' % TRACE_ID.encode(),
    "/api/public/ingestion": b'{"type":"score-create","body":{"traceId":"%s","name":"a","value":1}}'
    % TRACE_ID.encode(),
    "/api/reviews": b'{"reviewer":"a","flag":1}',
}
AROUND: Mapping[str, bytes] = {
    "/api/public/ingestion": b'{"batch":%s}',
}
FIELDS: Mapping[str, bytes] = {
    "/api/responses": b'{"query":"q","answer":"a","context":%s}',
    "/api/judgments": b'{"external_id":"a","judge":"j","quality":2,"raw":%s}',
    "/api/feedback": b'{"response_id":"a","thumbs":"up","feedback":%s}',
    "/api/public/scores": b'{"traceId":"0af7651916cd43dd8448eb211c80319c","name":"a","value":1,"metadata":%s}',
    "/api/public/ingestion": b'{"batch":[{"type":"score-create","body":{"name":"a","metadata":%s}}]}',
    "/api/reviews": b'{"reviewer":"a","flag":1,"scores":%s}',
    "/v1/traces": b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":%s}]}]}]}',
    "/v1/logs": b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":%s}]}]}]}',
}
SPANS = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}'
LOGS = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[%s]}]}]}'
IDS = b'{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331"}'


def json_bombs(n: int) -> Iterator[Bomb]:
    """Yield the bombs of all routes of JSON."""
    for path, fields in FIELDS.items():
        for shape, values in VALUES.items():
            yield Bomb(shape, path, JSON, fields % values(n))
        if path in RECORDS:
            some = b",".join([RECORDS[path]] * (3 * n // 10))
            yield Bomb("records", path, JSON, AROUND.get(path, b"%s") % (b"[" + some + b"]"))
        else:
            around = SPANS if path == "/v1/traces" else LOGS
            yield Bomb("records", path, JSON, around % b",".join([IDS] * (3 * n // 10)))


# Protobuf: the same shapes in its wire format


def field(number: int, content: bytes) -> bytes:
    """Return a field with a message, a text or bytes."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    """Return a number, seven bits in each byte."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def of_span(content: bytes) -> bytes:
    """Return a request with one span, or log record, of this content."""
    return field(1, field(2, field(2, content)))


def protobuf_bombs(n: int) -> Iterator[Bomb]:
    """Yield the bombs of OTLP in protobuf."""
    for path, attributes, record_ids in (("/v1/traces", 9, (1, 2)), ("/v1/logs", 6, (9, 10))):

        def value(content: bytes, attributes: int = attributes) -> bytes:
            return of_span(field(attributes, field(1, b"a") + field(2, content)))

        ids = field(record_ids[0], bytes(range(1, 17))) + field(record_ids[1], bytes(range(1, 9)))
        shapes = {
            "empty attributes": of_span(field(attributes, b"") * (15 * n)),
            "attributes": of_span(
                field(attributes, field(1, b"a") + field(2, field(1, b"b"))) * (3 * n)
            ),
            "empty values": value(field(5, field(1, b"") * (5 * n))),
            "texts": value(field(5, field(1, field(1, b"a")) * (5 * n))),
            "keys": value(field(6, field(1, field(1, b"a")) * (5 * n))),
            "lists": value(field(5, field(1, field(5, b"")) * (5 * n))),
            "records": field(1, field(2, field(2, ids) * (3 * n // 10))),
            "empty records": field(1, field(2, field(2, b"") * (5 * n))),
            "resources": field(1, b"") * (15 * n),
            "attributes of the resource": field(1, field(1, field(1, b"") * (15 * n))),
        }
        for shape, body in shapes.items():
            yield Bomb(shape, path, PROTOBUF, body)
            yield Bomb(shape, path, None, body)


def bombs(n: int = 1_000_000) -> Iterator[Bomb]:
    """Yield the bombs of every route and transport, without compression."""
    yield from json_bombs(n)
    yield from protobuf_bombs(n)


# What they cost


@contextmanager
def server(database: str) -> Iterator[tuple[str, str, int]]:
    """Serve a database; yields the addresses of HTTP and gRPC, and the session."""
    port, grpc_port = free_port(), free_port()
    address = f"http://localhost:{port}"
    command = [*JUDGEBOARD, "serve", "--port", str(port), "--db", database]
    environment = {"JUDGEBOARD_RECEIVE_GRPC": str(grpc_port)}
    with served(command, f"{address}/healthz", environment) as session:
        yield address, f"localhost:{grpc_port}", session


def send(bomb: Bomb, body: bytes, http: str, grpc_address: str) -> str:
    """Send a bomb with its encoded body and return the status."""
    if bomb.content_type is not None:
        headers = {"content-type": bomb.content_type}
        if bomb.encoding:
            headers["content-encoding"] = bomb.encoding.partition(" ")[0]
        request = urllib.request.Request(http + bomb.path, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=300) as reply:
                return str(reply.status)
        except urllib.error.HTTPError as error:
            return str(error.code)
        except OSError as error:
            return type(error).__name__
    with grpc.insecure_channel(grpc_address, [("grpc.max_send_message_length", -1)]) as channel:
        compression = grpc.Compression.Gzip if bomb.encoding else grpc.Compression.NoCompression
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            f"/{SERVICES[bomb.path]}/Export"
        )
        try:
            call(bomb.body, timeout=300, compression=compression)
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"


class Watch:
    """Watches the memory of a server, and how long another sender waits, until the block ends."""

    def __init__(self, http: str, session: int) -> None:
        self._http, self._session = http, session
        self._ended = threading.Event()
        self.idle = self.peak = usage(session)[0]
        self.wait = 0.0
        self._threads = [threading.Thread(target=each) for each in (self._watch_memory, self._send)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _watch_memory(self) -> None:
        while not self._ended.wait(0.02):
            self.peak = max(self.peak, usage(self._session)[0])

    def _send(self) -> None:
        small = Bomb(
            "small",
            "/api/responses",
            JSON,
            b'{"id":"other","query":"q","answer":"a","context":["c"]}',
        )
        while not self._ended.wait(0.05):
            began = time.monotonic()
            status = send(small, small.body, self._http, "")
            self.wait = (
                max(self.wait, time.monotonic() - began) if status == "200" else float("inf")
            )


def large() -> Iterator[Bomb]:
    """Yield the largest requests that must be stored."""
    answer = '{"id":"%d","query":"question %d","answer":"An answer.","context":[%s]}'
    passages = ",".join(f'"passage {number} of the answer"' for number in range(20))
    answers = ",".join(answer % (number, number, passages) for number in range(5_000))
    yield Bomb("5,000 answers", "/api/responses", JSON, f"[{answers}]".encode())
    attributes = b"".join(
        field(9, field(1, b"key.%d" % number) + field(2, field(1, b"value %d" % number)))
        for number in range(50)
    )
    spans = b"".join(
        field(
            2,
            field(1, (number // 20 + 1).to_bytes(16))
            + field(2, (number + 1).to_bytes(8))
            + attributes,
        )
        for number in range(20_000)
    )
    request = field(1, field(2, spans))
    yield Bomb("20,000 spans", "/v1/traces", PROTOBUF, request)
    yield Bomb("20,000 spans again", "/v1/traces", None, request, "gzip")
    pair = '{"key":"k%d","value":{"stringValue":"v"}}'
    listed = ",".join(pair % number for number in range(50))
    one = '{"traceId":"%032x","spanId":"%016x","name":"s","attributes":[%s]}'
    body = ",".join(one % (number // 20 + 5001, number + 1, listed) for number in range(20_000))
    yield Bomb("20,000 spans in JSON", "/v1/traces", JSON, SPANS % body.encode(), "gzip")


def encodings(bomb: Bomb) -> Sequence[str]:
    """Return the encodings of a transport."""
    return ("", "gzip") if bomb.content_type is None else ("", "gzip", "gzip members", "deflate")


def main() -> None:
    """Start a server, send, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--db", help="database URL (default: a new SQLite file)")
    parser.add_argument("--only", default="", help="shapes, routes or content types with this text")
    parser.add_argument("--encoding", help="only this encoding")
    parser.add_argument(
        "--large", action="store_true", help="the largest requests that must be stored instead"
    )
    chosen = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        server(chosen.db or str(Path(folder) / "bombs.db")) as running,
    ):
        http, grpc_address, session = running
        with Watch(http, session):
            time.sleep(5)
        begin = usage(session)[0]
        print(
            f"idle: {begin:.0f} MB\n{'shape':28}{'route':24}{'type':18}{'encoding':14}status   seconds   MB  after wait"
        )
        for bomb in large() if chosen.large else bombs():
            for encoding in (bomb.encoding,) if chosen.large else encodings(bomb):
                if (
                    chosen.encoding not in {None, encoding}
                    or chosen.only not in f"{bomb.shape} {bomb.path} {bomb.content_type or 'gRPC'}"
                ):
                    continue
                each, before = replace(bomb, encoding=encoding), usage(session)[0]
                times, body = 1 if chosen.large else AT_ONCE, each.encoded()
                with Watch(http, session) as watch, ThreadPoolExecutor(times) as senders:
                    began = time.monotonic()
                    statuses = {
                        *senders.map(
                            send,
                            [each] * times,
                            [body] * times,
                            [http] * times,
                            [grpc_address] * times,
                        )
                    }
                    seconds = time.monotonic() - began
                time.sleep(1)
                after = usage(session)[0]
                bad = not chosen.large and (
                    statuses - {"413", "RESOURCE_EXHAUSTED"}
                    or watch.peak - before > MOST_MB
                    or seconds > MOST_SECONDS
                    or watch.wait > MOST_WAIT
                )
                print(
                    f"{bomb.shape:28}{bomb.path:24}{(bomb.content_type or 'gRPC').partition(';')[0][12:] or 'gRPC':18}"
                    f"{encoding:14}{','.join(statuses):10}{seconds:6.2f}{watch.peak - before:6.0f}{after - begin:6.0f}"
                    f"{watch.wait:6.2f}{'   TOO MUCH' if bad else ''}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
