"""Requests that are small to send and large in memory: each is refused before it is whole in memory."""

import asyncio
import gzip
import json
import os
import re
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import bombs
import grpc
import httpx
import orjson
import pytest

from judgeboard.errors import TooLarge
from judgeboard.receiving import limits, receiver
from judgeboard.store.tables import RESPONSE, SPAN
from judgeboard.traces import elements, otlp
from judgeboard.traces.attributes import parsed
from judgeboard.traces.elements import JsonElements
from sent_messages import export, listening
from sent_traces import JSON, receiving
from served import serving
from stored_rows import row_count


def answer(number, **fields):
    return {
        "id": f"answer-{number}",
        "query": f"question {number}",
        "answer": "An answer.",
    } | fields


@pytest.fixture
def small_limits(monkeypatch):
    """Limits of a thousandth."""
    for name in ("MOST_RECORDS", "MOST_VALUES", "MOST_OTLP_VALUES", "MOST_RECORD_VALUES"):
        monkeypatch.setattr(elements, name, getattr(elements, name) // 1000)


@pytest.mark.usefixtures("small_limits")
def test_every_bomb_is_refused_on_every_route_transport_and_encoding(sqlite_store):
    shapes = set[str]()
    with receiving(sqlite_store) as http, listening(sqlite_store) as address:
        for bomb in bombs.bombs(1000):
            shapes.add(bomb.shape)
            for encoding in bombs.encodings(bomb):
                sent = replace(bomb, encoding=encoding)
                shown = bomb.shape, bomb.path, bomb.content_type, encoding
                if bomb.content_type is None:
                    service = bombs.SERVICES[bomb.path]
                    code, text, trailers = export(
                        address, bomb.body, service=service, compressed=bool(encoding)
                    )
                    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED, (shown, text)
                    # Another try would not help.
                    assert "grpc-status-details-bin" not in trailers
                else:
                    headers = {
                        "content-type": bomb.content_type,
                        "content-encoding": encoding.partition(" ")[0],
                    }
                    reply = http.post(bomb.path, content=sent.encoded(), headers=headers)
                    assert reply.status_code == 413, (shown, reply.text)
    assert len(shapes) >= 10
    assert row_count(sqlite_store, RESPONSE, SPAN) == 0


def resident_mb(process):
    """The most memory that a process had."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+)", status)
    assert found
    return int(found[1]) / 1000


def large_bombs():
    many = 1_000_000
    for shape, path in (("empty objects", "/v1/traces"), ("keys", "/api/judgments")):
        yield bombs.Bomb(shape, path, bombs.JSON, bombs.FIELDS[path] % bombs.VALUES[shape](many))
    records = b",".join([bombs.RECORDS["/api/responses"]] * (3 * many // 10))
    yield bombs.Bomb("records", "/api/responses", bombs.JSON, b"[" + records + b"]")
    attributes = bombs.of_span(bombs.field(9, b"") * 15 * many)
    yield bombs.Bomb("empty attributes", "/v1/traces", bombs.PROTOBUF, attributes)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc"
)
def test_bombs_take_little_memory(sqlite_store):
    server = serving(str(sqlite_store.engine.url.database))
    with server as address, httpx.Client(base_url=address, timeout=120) as http:
        assert http.post("/api/responses", json=answer(1)).status_code == 200
        idle = resident_mb(server.process.pid or os.getpid())
        for bomb in large_bombs():
            headers = {"content-type": str(bomb.content_type), "content-encoding": "gzip"}
            body = replace(bomb, encoding="gzip").encoded()
            assert http.post(bomb.path, content=body, headers=headers).status_code == 413
            assert http.post("/api/responses", json=answer(2)).status_code == 200
        assert (
            resident_mb(server.process.pid or os.getpid()) - idle < 200
        )  # 600 to 1,400 for each that is parsed


def test_the_largest_requests_that_are_taken_are_within_the_limits():
    for large in bombs.large():
        is_otlp = large.path == "/v1/traces"
        counting = (
            otlp.traces_elements(large.content_type or otlp.PROTOBUF) if is_otlp else JsonElements()
        )
        for start in range(0, len(large.body), elements.PIECE):
            counting.count(large.body[start : start + elements.PIECE])


@pytest.mark.usefixtures("small_limits")
def test_what_stands_in_texts_is_not_counted_however_the_text_is_cut():
    chance = Random(1)
    texts = [
        '{"a":[1,{},[]],' * 400,
        '\\",{[\\\\' * 400,
        "\n\t,{" * 400,
        '"' * 900,
        "\\" * 901,
        "é☃,{" * 300,
    ]
    for text in texts:
        body = json.dumps(
            [answer(1, context=[text, text]), answer(2, answer=text)], ensure_ascii=False
        ).encode()
        for _ in range(20):
            counting, at = JsonElements(), 0
            while at < len(body):
                size = chance.randint(1, 300)
                counting.count(body[at : at + size])
                at += size
            with pytest.raises(TooLarge):  # the counting goes on after the texts
                counting.count(b"[" + b"[]," * 1000 + b"]")


@pytest.mark.usefixtures("small_limits")
def test_a_text_with_too_much_json_stays_a_text(monkeypatch):
    monkeypatch.setattr(elements, "_LARGE_TEXT", 0)
    small, bomb = "[1, 2]", "[" + "{}," * 2000 + "1]"
    assert parsed(small) == [1, 2]
    assert parsed(bomb) == bomb


def test_a_large_request_is_stored_in_batches_and_its_reply_names_every_row(store, http):
    sent = [answer(number) for number in range(1_200)]
    sent[1_100] = answer(3, answer="Another answer.")  # the id is stored with other content by then
    sent[1_150] = {"query": "no answer"}
    reply = http.post("/api/responses", json=sent).json()
    again = http.post("/api/responses", json=sent[:1_100]).json()
    assert reply["stored"] == 1_198
    assert reply["rejected"] == 2
    assert {each["row"] for each in reply["problems"]} == {1_101, 1_151}
    assert again["stored"] == 0
    assert again["unchanged"] == 1_100
    assert row_count(store, RESPONSE) == 1_198


class Held:
    """What decodes large bodies waits here until it may go on."""

    def __init__(self):
        self.began, self.may_end = threading.Event(), threading.Event()

    def __call__(self, *arguments):
        self.began.set()
        assert self.may_end.wait(60)
        return self.original(*arguments)

    original = staticmethod(receiver.NewSpan.of)


@pytest.fixture
def held(monkeypatch):
    held = Held()
    monkeypatch.setattr(receiver, "NewSpan", type("HeldSpan", (), {"of": held}))
    yield held
    held.may_end.set()


def large_request():
    pair = {"key": "a", "value": {"stringValue": "b" * 2**21}}
    span = {"traceId": "1" * 32, "spanId": "2" * 16, "attributes": [pair]}
    return orjson.dumps(
        {"resourceSpans": [{"scopeSpans": [{"spans": [span, span | {"spanId": "3" * 16}]}]}]}
    )


def test_a_small_request_does_not_wait_for_large_ones(http, held):
    async def send(app):
        local = httpx.ASGITransport(app, client=("127.0.0.1", 9))
        async with httpx.AsyncClient(transport=local, base_url="http://localhost") as client:
            large = [
                asyncio.create_task(
                    client.post("/v1/traces", content=large_request(), headers=JSON)
                )
                for _ in range(3)
            ]
            await asyncio.to_thread(held.began.wait)
            small = await client.post("/api/responses", json=answer(1))
            held.may_end.set()
            return [small.status_code, *(each.status_code for each in await asyncio.gather(*large))]

    assert asyncio.run(send(http.app)) == [200] * 4


def test_the_work_for_a_sender_who_is_gone_is_dropped(sqlite_store, http, held):
    body = large_request()
    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/traces",
        "headers": headers,
        "query_string": b"",
        "scheme": "http",
        "client": ("127.0.0.1", 9),
        "server": ("localhost", 80),
        "root_path": "",
    }
    statuses = []

    async def send(app):
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive():
            if message := next(messages, None):
                return message
            await asyncio.to_thread(held.began.wait)
            return {"type": "http.disconnect"}

        async def reply(message):
            statuses.extend([message["status"]] if "status" in message else [])

        await asyncio.wait_for(
            app(scope, receive, reply), 60
        )  # it does not wait for the end of the work
        held.may_end.set()

    asyncio.run(send(http.app))
    assert statuses == [400]
    assert row_count(sqlite_store, SPAN) == 0


def test_a_compressed_body_is_counted_while_it_comes():
    some = Random(1)
    sent = gzip.compress(b"[" + b",".join(b'"%d"' % some.getrandbits(60) for _ in range(400_000)))
    chunks = iter([sent[start : start + 2**16] for start in range(0, len(sent), 2**16)])

    async def coming():
        for chunk in chunks:
            yield chunk

    body = limits.Body(most=2**26, memory=limits.Memory(2**26))
    with pytest.raises(TooLarge, match="keys and entries"):
        asyncio.run(body.read(coming(), "gzip", JsonElements()))
    assert list(chunks)  # the rest was not waited for


def test_a_body_of_very_many_members_of_gzip_is_refused():
    async def coming():
        yield gzip.compress(b"") * limits.MOST_MEMBERS + gzip.compress(b"[]")

    body = limits.Body(most=2**20, memory=limits.Memory(2**20))
    asyncio.run(body.read(coming(), "gzip", JsonElements()))
    with pytest.raises(limits.Refused):
        body.whole()
