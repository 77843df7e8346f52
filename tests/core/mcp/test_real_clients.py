"""The client of the SDK talks to a real process over stdio, and to the real server over HTTP."""

import os
import signal
import socket
import subprocess
import sys

import anyio
import httpx
import pytest

from agent_client import COMMAND, data_of, error_of, over_http, over_stdio, with_client
from judgeboard.mcp.tables import MACHINE_DRAFT
from judgeboard.mcp.tools import TOOLS
from judgeboard.receiving.keys import create_key
from judgeboard.store.opening import open_store
from judgeboard.store.tables import EVENT
from queue_case import queue_case
from sent_traces import receiving
from served import serving
from stored_rows import row_count, rows_of

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream"}


def key(store, name, *scopes, **options):
    return create_key(store, name, scopes=scopes, by="test", **options)


def headers_of(token):
    return ACCEPT | {"authorization": f"Bearer {token}"}


def status(http, headers=ACCEPT, url="/mcp", **message):
    """Send a message, and return the status of the reply."""
    return http.post(url, json=MESSAGE | message, headers=headers).status_code


@pytest.fixture
def database(sqlite_store):
    queue_case(sqlite_store).flagged(0.1, 0.2, 0.9)
    return str(sqlite_store.engine.url.database)


def test_an_agent_reads_and_drafts_over_stdio(database, sqlite_store, tmp_path):
    async def use(client):
        listed = (await client.list_tools()).tools
        assert {each.name for each in listed} == {*TOOLS}
        for tool in listed:
            assert "Example: {" in (tool.description or "")
            assert tool.annotations.read_only_hint is (TOOLS[tool.name].scope == "read")
            assert tool.input_schema["additionalProperties"] is False
        assert data_of(await client.call_tool("search_answers", {}))["total"] == 3
        # Calls at the same time.
        results = []

        async def draft(number):
            arguments = {"answer": str(number % 3 + 1), "review": {"quality": 1}}
            results.append(data_of(await client.call_tool("draft_review", arguments)))

        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(draft, number)
        assert len({each["draft"] for each in results}) == 12
        error_of(await client.call_tool("open_answer", {"answer": "nobody"}))
        assert data_of(await client.call_tool("list_flags", {}))["total"] == 2

    with_client(over_stdio(database, tmp_path), use)
    assert row_count(sqlite_store, MACHINE_DRAFT) == 12


def test_a_killed_process_leaves_whole_drafts(database, tmp_path):
    """Its standard output has nothing but messages, also after a line that is none."""
    command = [sys.executable, "-c", COMMAND, "mcp", "--db", database]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path, env=environment
    ) as process:
        process.stdin.write(
            b'no JSON\n{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
            b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        )
        process.stdin.flush()
        for reply in process.stdout:
            assert reply.startswith(b"{")
            if b'"tools"' in reply:
                break
        call = (
            b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"draft_review",'
            b'"arguments":{"answer":"1","review":{"quality":1}}}}\n'
        )
        for number in range(1, 40):
            process.stdin.write(call % number)
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"{")
        process.send_signal(signal.SIGKILL)
    store = open_store(database)
    drafts = rows_of(store, MACHINE_DRAFT)
    events = [each for each in rows_of(store, EVENT) if each["kind"] == "draft"]
    assert [each["id"] for each in drafts] == [each["details"]["draft"] for each in events]
    assert drafts
    store.close()


def test_an_agent_uses_the_server_over_http_with_the_rights_of_its_key(database, sqlite_store):
    reader = key(sqlite_store, "reader", "read")
    drafter = key(sqlite_store, "drafter", "read", "draft")
    sender = key(sqlite_store, "sender", "ingest", "review")
    other = key(sqlite_store, "other", "read", "draft", source="shop")

    async def read(client):
        async with anyio.create_task_group() as group:  # more than are answered at a time
            for _ in range(10):
                group.start_soon(client.call_tool, "read_stats", {})
        found = await client.call_tool("search_answers", {})
        draft = {"answer": "a0", "review": {"note": "from an agent"}}
        return data_of(found)["total"], await client.call_tool("draft_review", draft)

    with serving(database) as url:
        total, drafted = with_client(over_http(url, reader), read)
        assert total == 3
        assert "draft" in error_of(drafted)
        for mode in ("auto", "legacy"):
            total, drafted = with_client(over_http(url, drafter, mode), read)
            assert (total, data_of(drafted)["state"]) == (3, "waiting")
        total, drafted = with_client(over_http(url, other), read)
        assert total == 0
        assert "No answer" in error_of(drafted)
        mcp = f"{url}/mcp"
        assert status(httpx, headers_of(sender), mcp) == 403
        assert status(httpx, headers_of("jb_guessed"), mcp) == 401
        assert status(httpx, url=mcp) == 401
        assert httpx.get(mcp, headers=headers_of(reader)).status_code == 405
    assert {each["by"] for each in rows_of(sqlite_store, MACHINE_DRAFT)} == {"key:drafter"}


def test_pages_of_other_sites_and_other_hosts_are_refused(sqlite_store):
    evil = {"origin": "http://evil.example"}
    with receiving(sqlite_store) as http:
        assert status(http) == 200
        for headers in (
            evil,
            {"origin": "null"},
            {"host": "evil.example"},
            {"host": "evil.example", **evil},
            {"x-forwarded-for": "203.0.113.9"},
        ):
            assert status(http, ACCEPT | headers) in {401, 403}, headers
        own = headers_of(key(sqlite_store, "k", "read"))
        assert status(http, own) == 200
        assert status(http, own | evil) == 403


def test_the_limits_of_a_key_hold_for_the_tools(sqlite_store):
    slow = headers_of(key(sqlite_store, "slow", "read", requests_per_second=0.01))
    small = headers_of(key(sqlite_store, "small", "read", max_body_mb=0.001))
    own = headers_of(key(sqlite_store, "k", "read")) | {"content-type": "application/json"}
    with receiving(sqlite_store, "203.0.113.9") as http:
        assert [status(http, slow) for _ in range(3)] == [200, 429, 429]
        assert status(http, small) == 200
        assert status(http, small, params={"cursor": "x" * 5_000}) == 413
        for body in (b"", b"[]", b"null", b"{", b'{"jsonrpc": 1}', b"[" * 10_000):
            assert http.post("/mcp", content=body, headers=own).status_code < 500, body


def test_a_client_that_goes_away_does_not_hold_the_server(database):
    message = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_stats","arguments":{}}}'
    head = (
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        b"accept: application/json, text/event-stream\r\ncontent-length: %d\r\n\r\n"
    ) % len(message)
    with serving(database) as url:
        port = int(url.rpartition(":")[2])
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(head + message)
        reply = httpx.post(f"{url}/mcp", json=MESSAGE, headers=ACCEPT, timeout=30)
        assert reply.status_code == 200
