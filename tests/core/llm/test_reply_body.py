"""What an endpoint sends is read and decompressed up to a limit, and goes to no other address."""

import asyncio
import gzip
import zlib
from contextlib import closing, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeboard.errors import NotSent
from judgeboard.judges.judge import JudgeOptions
from judgeboard.llm.chat import ChatRequest, NoReply
from judgeboard.llm.endpoint_chat import EndpointChat
from judgeboard.llm.recording_endpoint import RecordingEndpoint, ScriptedReply, always, verdict
from judgeboard.llm.reply_body import MB, BodyLimit, UnreadableReply
from judgeboard.tools import http

REQUEST = ChatRequest(
    [{"role": "user", "content": "Judge."}],
    schema=None,
    schema_name="",
    max_output=9,
    parameters={},
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
CHUNK = b"10000\r\n" + b" " * 65536 + b"\r\n"


def decompressed(encoding, sent, most=MB, parts=1):
    limit = BodyLimit(encoding, most)
    size = max(1, len(sent) // parts)
    return b"".join(
        piece
        for start in range(0, len(sent), size)
        for piece in limit.pieces(sent[start : start + size])
    )


@given(st.binary(max_size=500), st.integers(1, 20))
@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("", bytes),
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-15)),
    ],
)
def test_a_body_comes_back_whole(encoding, compress, body, parts):
    assert decompressed(encoding, compress(body), parts=parts) == body


@pytest.mark.parametrize(
    ("encoding", "compress"), [("", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_no_more_than_the_limit_is_made_of_a_body(encoding, compress):
    assert len(decompressed(encoding, compress(b" " * MB))) == MB
    limit = BodyLimit(encoding, MB)
    with pytest.raises(UnreadableReply, match="1 MB"):
        list(limit.pieces(compress(b" " * (100 * MB))))
    assert limit.size <= MB + 2**16


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "what"])
def test_an_encoding_that_was_not_asked_for_is_named(encoding):
    with pytest.raises(UnreadableReply, match=f"compressed with '{encoding}'"):
        BodyLimit(encoding, MB)


async def ask(base_url, **options):
    chat = EndpointChat("m", base_url=base_url, api_key="sk-0123456789", **options)
    try:
        return await chat.complete(REQUEST)
    finally:
        await chat.aclose()


def sent_to_client(part, head, **options):
    """Send one part again and again; return what the client made of it, and the bytes that it took."""
    taken = 0

    async def run():
        async def answer(reader, writer):
            nonlocal taken
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            with suppress(ConnectionError), closing(writer):
                while taken < 100 * MB:
                    writer.write(part)
                    await writer.drain()
                    taken += len(part)

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            return await ask(f"http://127.0.0.1:{port}/v1", **options)
        finally:
            server.close()

    return asyncio.run(run()), taken


def test_an_endless_reply_ends_at_the_limit_and_is_not_asked_for_again():
    reply, taken = sent_to_client(CHUNK, HEAD + b"transfer-encoding: chunked\r\n\r\n")
    assert isinstance(reply, NoReply)
    assert "8 MB" in reply.reason
    assert "JUDGEBOARD_REPLY_MB" in reply.reason
    assert [attempt.status for attempt in reply.attempts] == ["unreadable"]
    # What is more than the limit is in the buffers of the connection.
    assert taken < 24 * MB


def test_a_key_that_an_unreadable_reply_repeats_is_not_kept():
    reply, _ = sent_to_client(CHUNK, HEAD + b"content-encoding: sk-0123456789\r\n\r\n")
    assert [attempt.status for attempt in reply.attempts] == ["unreadable"]
    assert "sk-0123456789" not in repr(reply)


def test_the_limit_is_a_setting(monkeypatch):
    monkeypatch.setenv("JUDGEBOARD_REPLY_MB", "0.01")
    with RecordingEndpoint(always(verdict(reasoning="a" * 20_000))) as endpoint:
        asked = JudgeOptions(model="m", base_url=endpoint.base_url).endpoint("the judge")

        async def run():
            try:
                return await asked.chat.complete(REQUEST)
            finally:
                await asked.aclose()

        reply = asyncio.run(run())
    assert isinstance(reply, NoReply)
    assert "0.01 MB" in reply.reason


def test_a_reply_that_trickles_ends_with_the_time_of_the_call():
    reply, _ = sent_to_client(
        b"1\r\n \r\n", HEAD + b"transfer-encoding: chunked\r\n\r\n", timeout_s=0.3, tries=1
    )
    assert isinstance(reply, NoReply)
    assert "timeout" in reply.reason or "8 MB" in reply.reason


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_texts_and_key_do_not_follow_a_redirect(status):
    with RecordingEndpoint(always(verdict())) as stranger:
        goal = f"{stranger.base_url}/chat/completions"
        with RecordingEndpoint(always(ScriptedReply({}, status, {"location": goal}))) as endpoint:
            reply = asyncio.run(ask(endpoint.base_url))
    assert isinstance(reply, NoReply)
    assert f"HTTP {status}" in reply.reason
    assert goal in reply.reason
    assert stranger.requests == []


def test_a_tool_is_read_up_to_a_limit_too(monkeypatch):
    monkeypatch.setattr(http, "_REPLY_MB", 0.01)
    with RecordingEndpoint(always(verdict(reasoning="a" * 20_000))) as endpoint:
        with (
            http.Http(http.Access(endpoint.base_url)) as tool,
            pytest.raises(NotSent, match=r"0\.01 MB"),
        ):
            tool.send("POST", "/chat/completions", {})
        assert len(endpoint.requests) == 1
