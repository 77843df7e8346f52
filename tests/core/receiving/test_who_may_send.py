"""Who may send, how much and how often; every refusal has the status that exporters understand, and an event."""

import asyncio
import base64
import gzip
import sqlite3
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace

import httpx
import pytest
from google.rpc.status_pb2 import Status
from sqlalchemy.exc import OperationalError

from judgeboard.errors import BadInput
from judgeboard.receiving import limits, receiver
from judgeboard.receiving.keys import create_key
from judgeboard.receiving.limits import Rates
from judgeboard.receiving.writing import is_outage
from judgeboard.store.api_keys import key_of_token, list_keys, revoke_key
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.traces import list_sources
from judging_log import address, until
from sent_traces import (
    JSON,
    PROTOBUF,
    Sent,
    gathered,
    gzipped,
    receiving,
    request,
    send_spans,
    trace,
)
from stored_rows import read, write_to

NOW = datetime.now(UTC)
BODY = request(trace(1))


def overlapping(app):
    """A client of a receiver whose requests overlap."""
    local = httpx.ASGITransport(app, client=("127.0.0.1", 9))
    return httpx.AsyncClient(transport=local, base_url="http://localhost", headers=PROTOBUF)


def bearer(token):
    return PROTOBUF | {"authorization": f"Bearer {token}"}


def basic(token):
    return PROTOBUF | {
        "authorization": "Basic " + base64.b64encode(f"shop:{token}".encode()).decode()
    }


def refusals(store):
    events = read(store, latest_events, EventFilter(kind="refused"), limit=9)
    return {(event.actor, event.details["status"]) for event in events}


@pytest.mark.parametrize(
    ("client", "host", "headers", "status"),
    [
        ("127.0.0.1", "localhost", {}, 200),
        ("::1", "[::1]:8501", {}, 200),
        ("127.0.0.1", "localhost", {"authorization": "Bearer any"}, 401),
        ("203.0.113.9", "localhost", {}, 401),
        ("127.0.0.1", "evil.example", {}, 401),  # a page that points its own name to this machine
        # A page of this server, of another server and of another site, and a proxy on this machine.
        ("127.0.0.1", "localhost", {"origin": "http://localhost"}, 200),
        ("127.0.0.1", "localhost", {"origin": "http://localhost:3000"}, 401),
        ("127.0.0.1", "localhost", {"origin": "https://evil.example"}, 401),
        ("127.0.0.1", "localhost", {"x-forwarded-for": "203.0.113.9"}, 401),
    ],
)
def test_without_any_key_only_this_machine_may_send(sqlite_store, client, host, headers, status):
    with receiving(sqlite_store, client, host) as http:
        assert send_spans(http, BODY, PROTOBUF | headers).status_code == status


def test_with_sign_in_every_sender_needs_a_key(sqlite_store):
    with receiving(sqlite_store, keys_needed=lambda: True) as http:
        assert send_spans(http, BODY).status_code == 401


def test_a_body_that_is_compressed_twice_is_not_unpacked(http):
    reply = http.post(
        "/api/responses", content=gzip.compress(b"{}"), headers={"content-type": "application/json"}
    )
    assert reply.status_code == 400
    assert "Content-Encoding" in reply.text


def test_a_database_that_cannot_be_opened_asks_for_another_try():
    error = BadInput("the database cannot be opened")
    error.__cause__ = OperationalError("INSERT", {}, Exception("unable to open database file"))
    assert is_outage(error)
    assert not is_outage(BadInput("a text"))


def test_a_key_is_taken_in_every_form_and_every_wrong_one_is_refused(store, http):
    token = create_key(store, "shop", source="shop", by="test")
    other = create_key(store, "other", source="other", by="test")
    reader = create_key(store, "reader", scopes=["read"], by="test")
    old = create_key(store, "old", days=-1, by="test")
    gone = create_key(store, "gone", by="test")
    write_to(store, revoke_key, "gone", by="test", now=NOW)
    cases = [
        (bearer(token), 200),
        (basic(token), 200),
        (PROTOBUF | {"x-api-key": token}, 200),
        (PROTOBUF, 401),
        (bearer("jb_wrong"), 401),
        (basic("jb_wrong"), 401),
        (PROTOBUF | {"authorization": "Basic %%%"}, 401),
        (PROTOBUF | {"authorization": b"Basic \xe9"}, 401),
        (bearer(old), 401),
        (bearer(gone), 401),
        (bearer(reader), 403),
        (bearer(other), 403),
    ]
    for headers, status in cases:
        reply = send_spans(http, BODY, headers)
        assert reply.status_code == status, headers
        assert reply.headers["content-type"] == PROTOBUF["content-type"]
        assert status == 200 or Status.FromString(reply.content).message
    assert http.post("/api/responses", json={"query": "q", "answer": "a"}).status_code == 401
    refused = {
        ("key:unknown", 401),
        ("key:old", 401),
        ("key:gone", 401),
        ("key:reader", 403),
        ("key:other", 403),
    }
    until(lambda: refusals(store) == refused, "the events, for which no sender waits")


def test_a_key_adds_nothing_to_a_trace_of_another_source(sqlite_store, http):
    for number, name in enumerate(("shop", "other")):
        token = create_key(sqlite_store, name, source=name, by="test")
        send_spans(http, [Sent(1, number, service=None)], bearer(token))
    gathered(sqlite_store, after=100)
    sources = {each.source: (each.made, each.none) for each in read(sqlite_store, list_sources)}
    assert sources == {"shop": (1, 0), "other": (0, 1)}


def test_a_service_without_a_name_has_the_source_of_its_key(sqlite_store, http):
    token = create_key(sqlite_store, "k", source="shop", by="test")
    sent = request([Sent(1, service="unknown_service:python"), Sent(2, service=None)])
    assert send_spans(http, sent, bearer(token)).status_code == 200
    assert [each.source for each in read(sqlite_store, list_sources)] == ["shop"]


def chunks(size):
    for _ in range(size):
        yield b"x" * 1024


def test_a_large_body_is_refused_however_it_comes(sqlite_store, http):
    token = create_key(sqlite_store, "small", max_body_mb=0.25, by="test")
    bomb = gzip.compress(b"\0" * 2**24)
    assert len(bomb) < 2**18
    for content, encoding in (
        (chunks(300), {}),
        (b"x" * 300_000, {}),
        (bomb, {"content-encoding": "gzip"}),
    ):
        headers = bearer(token) | encoding
        reply = http.post("/v1/traces", content=content, headers=headers)
        assert reply.status_code == 413
        assert "0.25 MiB" in Status.FromString(reply.content).message


def test_bodies_under_way_share_a_limited_memory(sqlite_store, monkeypatch):
    monkeypatch.setattr(receiver, "MOST_IN_MEMORY", 2 * len(BODY))

    async def send(app):
        half_sent, go_on = asyncio.Event(), asyncio.Event()

        async def slowly():
            yield BODY[:-9]
            half_sent.set()
            await go_on.wait()
            yield BODY[-9:]

        async with overlapping(app) as client:

            def post(content, **options):
                return client.post("/v1/traces", content=content, **options)

            slow = asyncio.create_task(post(slowly()))
            await half_sent.wait()
            bomb = gzip.compress(BODY + bytes(len(BODY)))  # too large only after decompression
            refused = [
                await post(BODY * 2),
                await post(bomb, headers={"content-encoding": "gzip"}),
            ]
            go_on.set()
            return [*refused, await slow, await post(BODY * 2)]

    with receiving(sqlite_store) as http:
        replies = asyncio.run(send(http.app))
    assert [reply.status_code for reply in replies] == [503, 503, 200, 200]
    assert 0 < int(replies[0].headers["retry-after"]) <= 3


def test_a_sender_that_stalls_is_refused_and_its_memory_is_free_again(sqlite_store, monkeypatch):
    monkeypatch.setattr(receiver, "MOST_IN_MEMORY", len(BODY) + 5)
    monkeypatch.setattr(limits, "STALLED_SECONDS", 0.1)

    async def stalling():
        yield BODY[:-9]
        await asyncio.Event().wait()

    async def send(app):
        async with overlapping(app) as client:
            return [
                await client.post("/v1/traces", content=content) for content in (stalling(), BODY)
            ]

    with receiving(sqlite_store) as http:
        stalled, whole = asyncio.run(send(http.app))
    assert stalled.status_code == 408
    assert stalled.headers["connection"] == "close"
    assert Status.FromString(stalled.content).message
    assert whole.status_code == 200


def test_bodies_are_decompressed_in_threads_and_have_few_members(http, monkeypatch):
    on_the_loop = []

    def decompressobj(*options):
        with suppress(RuntimeError):
            on_the_loop.append(asyncio.get_running_loop())
        return zlib.decompressobj(*options)

    monkeypatch.setattr(
        limits, "zlib", SimpleNamespace(decompressobj=decompressobj, error=zlib.error)
    )
    for content, status in (
        (gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), 200),
        (gzip.compress(b"") * 100_000, 400),
    ):
        reply = send_spans(http, content, PROTOBUF | {"content-encoding": "gzip"})
        assert reply.status_code == status
    assert "members of gzip" in Status.FromString(reply.content).message
    assert on_the_loop == []


def test_too_many_requests_are_told_when_to_come_back(sqlite_store, http):
    token = create_key(sqlite_store, "slow", requests_per_second=0.001, by="test")
    assert send_spans(http, BODY, bearer(token)).status_code == 200
    reply = send_spans(http, BODY, bearer(token))
    assert reply.status_code == 429
    assert 0 < int(reply.headers["retry-after"]) <= 3


def test_the_documentation_lists_every_path_that_is_received(http):
    described = http.get("/api/openapi.json").json()
    assert {"/v1/traces", "/otel/v1/logs", "/api/responses", "/api/feedback"} <= set(
        described["paths"]
    )
    for path, methods in described["paths"].items():
        for method in methods:
            reply = http.request(method, path, content=b"", headers={"content-type": "text/plain"})
            only_json = path.startswith("/api/") and "otel" not in path
            assert reply.status_code in (
                {200, 404, 405} if method == "get" else {415 if only_json else 400}
            ), path


def test_a_bucket_fills_again():
    clock = [0.0]
    rates = Rates(lambda: clock[0])
    assert [rates.take("k", 2) for _ in range(3)] == [True, True, False]
    clock[0] = 0.5
    takes = (("k", 2), ("k", 2), ("other", 2), ("k", None))
    assert [rates.take(*each) for each in takes] == [True, False, True, True]
    clock[0] = 60.0  # after a silence it holds no more than before
    assert [rates.take("k", 2) for _ in range(3)] == [True, True, False]


def test_what_cannot_be_decoded_is_refused_in_the_type_of_the_request(http):
    for headers, body in (
        (PROTOBUF, b"\xff\xff"),
        (JSON, b"{"),
        (PROTOBUF | {"content-encoding": "gzip"}, b"no"),
    ):
        reply = send_spans(http, body, headers)
        assert reply.status_code == 400
        assert reply.headers["content-type"] == headers["content-type"]
    assert (
        http.post("/v1/traces", content=b"", headers={"content-type": "text/plain"}).status_code
        == 400
    )
    cut = gzipped(BODY)
    assert http.post("/v1/traces", **(cut | {"content": cut["content"][:-4]})).status_code == 400
    assert send_spans(http, BODY, PROTOBUF | {"content-encoding": "br"}).status_code == 415


def test_a_locked_or_full_database_asks_for_another_try_and_loses_nothing(sqlite_store):
    path = str(sqlite_store.engine.url.database)
    many = request([sent for number in range(2, 400) for sent in trace(number)])
    with receiving(sqlite_store, patience=0.2) as http:

        def is_stored(content):
            """Send again, as senders do: a busy machine may take longer than the patience."""
            return send_spans(http, content).status_code == 200

        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        reply = send_spans(http, BODY)
        lock.execute("ROLLBACK")
        assert reply.status_code == 503
        assert 0 < int(reply.headers["retry-after"]) <= 3
        until(lambda: is_stored(BODY), "the unlocked database")

        with sqlite_store.writing() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        assert send_spans(http, many).status_code == 503
        with sqlite_store.writing() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
        until(lambda: is_stored(many), "the database with room")
    assert [each.waiting for each in read(sqlite_store, list_sources)] == [399]


def test_the_name_of_a_revoked_key_can_be_used_again(store):
    tokens = []
    for _ in range(3):
        tokens.append(create_key(store, "shop", by="test"))
        with pytest.raises(BadInput, match="keys revoke shop`"):
            create_key(store, "shop", by="test")
        write_to(store, revoke_key, "shop", by="test", now=NOW)
    new, other = create_key(store, "shop", by="test"), create_key(store, "Shop", by="test")
    with store.writing() as connection:
        revoke_key(connection, "Shop", by="test", now=NOW)
        listed = [(key.name, key.unusable(NOW)) for key in list_keys(connection)]
        accepted = [key_of_token(connection, token) for token in (*tokens, new, other)]
    assert listed == [("Shop", "revoked"), *[("shop", "revoked")] * 3, ("shop", None)]
    assert [key and (key.name, key.unusable(NOW)) for key in accepted] == [*listed[1:], listed[0]]


def test_keys_are_made_listed_and_revoked_by_commands(sqlite_store, http, shell):
    def keys(line, code=0):
        return shell(f"sources keys {line} --db {address(sqlite_store)}", code=code)

    token = keys("create shop --source shop --days 3").strip()
    assert send_spans(http, BODY, bearer(token)).status_code == 200
    listed = keys("list")
    assert "shop" in listed
    assert "last used" in listed
    assert token not in listed
    keys("create shop", code=2)
    keys("revoke shop")
    assert send_spans(http, BODY, bearer(token)).status_code == 401
    # A new key of this name was not used yet.
    keys("create shop")
    assert keys("list").count("last used") == 1
    keys("revoke nobody", code=2)
