"""Requests that are broken in the ways of senders, proxies and attackers: 10,000 different ones of a few good ones."""

import gzip
import json
import zlib
from copy import deepcopy
from dataclasses import dataclass, replace
from random import Random

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from sent_traces import JSON, PROTOBUF

TYPES = (
    "application/json",
    "application/x-protobuf",
    "application/json; charset=utf-8",
    "text/plain",
    "",
    "application/grpc",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "application/x-protobuf;;",
)
ENCODINGS = ("gzip", "deflate", "identity", "br", "GZIP", "gzip, gzip", "")
WRONG = (
    None,
    5,
    -1,
    1e400,
    2**70,
    True,
    "",
    "x",
    [],
    {},
    [[]],
    [None],
    {"a": {}},
    "\ud800",
    "\x00",
)


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    content: bytes


def good_requests(captures):
    """Every captured request to a path of the receiver, and one of each other kind."""
    requests = [
        Request(
            "/api/responses",
            JSON,
            b'[{"id": "a", "question": "Hi?", "answer": "Hello.", "contexts": ["One."]}]',
        ),
        Request("/api/feedback", JSON, b'{"response_id": "a", "thumbs": "up"}'),
        Request(
            "/api/judgments",
            JSON,
            b'{"response_id": "a", "judge": "j", "quality": 2, "scores": {}, "raw": "x"}',
        ),
    ]
    for path in sorted(captures.glob("*/*.meta.json")):
        meta = json.loads(path.read_text(encoding="utf-8"))
        if meta["path"].endswith(("/v1/traces", "/v1/logs")):
            headers = {name.lower(): value for name, value in meta["headers"].items()}
            kept = {
                name: headers[name]
                for name in ("content-type", "content-encoding")
                if headers.get(name)
            }
            body = path.with_name(path.name.replace(".meta.json", ".bin")).read_bytes()
            requests.append(Request(meta["path"], kept, body))
    return requests


def mutations(captures, count, seed=1):
    """Yield requests of which most are broken; the same seed yields the same."""
    chance, requests = Random(seed), good_requests(captures)
    for _ in range(count):
        request = chance.choice(requests)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            request = chance.choices(*zip(*MUTATIONS, strict=True))[0](request, chance)
        yield request


def _opened(request):
    if request.headers.get("content-encoding") != "gzip":
        return request
    try:
        content = gzip.decompress(request.content)
    except (OSError, EOFError, zlib.error):
        return request
    return Request(request.path, {"content-type": request.headers.get("content-type", "")}, content)


def same(request, chance):
    return request


def flipped(request, chance):
    request = _opened(request)
    content = bytearray(request.content)
    for _ in range(chance.randint(1, 8) if content else 0):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return replace(request, content=bytes(content))


def overwritten(request, chance):
    """Put bytes in: a length of four gigabytes or more, zeros, a start of a group, noise."""
    request = _opened(request)
    place = chance.randint(0, len(request.content))
    put = chance.choice(
        (b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", b"\x00" * 20, b"\x0b", chance.randbytes(9))
    )
    after = request.content[place + (len(put) if chance.random() < 0.5 else 0) :]
    return replace(request, content=request.content[:place] + put + after)


def wrong_wire_type(request, chance):
    """Change the type of a field but not its number: the lowest three bits of a byte."""
    request = _opened(request)
    content = bytearray(request.content)
    if content:
        place = chance.randrange(min(len(content), 400))
        content[place] = content[place] & 0xF8 | chance.randrange(8)
    return replace(request, content=bytes(content))


def cut(request, chance):
    request = _opened(request) if chance.random() < 0.7 else request
    return replace(request, content=request.content[: chance.randint(0, len(request.content))])


def without_a_part(request, chance):
    request = _opened(request)
    start = chance.randint(0, len(request.content))
    return replace(
        request, content=request.content[:start] + request.content[start + chance.randint(1, 300) :]
    )


def doubled(request, chance):
    request = _opened(request)
    return replace(request, content=request.content * 2)


def other_type(request, chance):
    return replace(request, headers=request.headers | {"content-type": chance.choice(TYPES)})


def other_encoding(request, chance):
    return replace(
        request, headers=request.headers | {"content-encoding": chance.choice(ENCODINGS)}
    )


def compressed(request, chance):
    content = bytearray(gzip.compress(_opened(request).content, 1))
    if chance.random() < 0.5:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return Request(request.path, request.headers | {"content-encoding": "gzip"}, bytes(content))


def bomb(request, chance):
    size = chance.choice((1, 5, 65)) * 2**20
    fill = chance.choice((b"\x00", b" ", b"[", b"\n\x00"))
    return Request(
        request.path, request.headers | {"content-encoding": "gzip"}, gzip.compress(fill * size, 1)
    )


def deep(request, chance):
    """A span with an attribute that is nested 10 to 20,000 levels deep, or JSON that is."""
    depth = int(10 ** chance.uniform(1, 4.3))
    if chance.random() < 0.5:
        opening, closing = chance.choice(
            ((b"[", b"]"), (b'{"a":', b"}"), (b'{"resourceSpans":[', b"]}"))
        )
        return Request(request.path, JSON, opening * depth + b"1" + closing * depth)
    if (
        chance.random() < 0.5
    ):  # a text with JSON, which is only read when the trace becomes an answer
        text = '{"question":' * depth + '"Hi?"' + "}" * depth
        value = AnyValue(string_value=text)
    else:
        value = AnyValue(string_value="x")
        for _ in range(min(depth, 90)):  # more levels cannot be serialized
            outer = AnyValue()
            outer.kvlist_value.values.add(key="a").value.CopyFrom(value)
            value = outer
    body = ExportTraceServiceRequest()
    span = (
        body.resource_spans.add()
        .scope_spans.add()
        .spans.add(
            trace_id=chance.randbytes(16),
            span_id=chance.randbytes(8),
            name="deep",
            end_time_unix_nano=1,
        )
    )
    span.attributes.add(
        key=chance.choice(("input.value", "gen_ai.input.messages", "x"))
    ).value.CopyFrom(value)
    span.attributes.add(key="output.value").value.string_value = "Hello."
    return Request("/v1/traces", PROTOBUF, body.SerializeToString())


def other_values(request, chance):
    """Put a value of a wrong type somewhere into JSON."""
    request = _opened(request)
    try:
        content = json.loads(request.content)
    except (ValueError, RecursionError):
        return wrong_wire_type(request, chance)
    for _ in range(chance.randint(1, 3)):
        holder, key = content, None
        while isinstance(inner := content if key is None else holder[key], dict | list) and inner:
            holder, key = (
                inner,
                chance.choice(list(inner) if isinstance(inner, dict) else range(len(inner))),
            )
            if chance.random() < 0.1:
                break
        if key is None:
            content = deepcopy(chance.choice(WRONG))
        else:
            holder[key] = deepcopy(chance.choice(WRONG))
    return replace(request, content=json.dumps(content).encode())


MUTATIONS = (
    (same, 2),
    (flipped, 20),
    (overwritten, 12),
    (wrong_wire_type, 12),
    (cut, 8),
    (without_a_part, 8),
    (doubled, 1),
    (other_type, 6),
    (other_encoding, 5),
    (compressed, 6),
    (bomb, 0.3),
    (deep, 5),
    (other_values, 20),
)
