"""Tries a judge at an endpoint that misbehaves in about 90 ways, eight calls at once, each in a fresh process.

Prints for each behaviour how the eight judgments were stored, the error of the first one, the peak
memory of the process (MB, resident set) and the seconds. Exits with 1 if a process took more than
the limit, did not end in time, ended otherwise than with eight stored judgments or one clear error,
or stored the key.

    python benchmarks/endpoint_behaviours.py [--timeout 3] [--limit-mb 160] [--only NAME ...]
"""

import argparse
import asyncio
import gzip
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

CALLS = 8
KEY = "sk-behaviours-0123456789abcdef"
MB = 2**20
VERDICT = {"reasoning": "Every statement stands in passage 1.", "groundedness": 1.0, "quality": 4}


def completion(content: Any = None, **changes: Any) -> dict[str, Any]:
    """Return a chat completion; ``changes`` replace its fields."""
    message = {"role": "assistant", "content": json.dumps(VERDICT) if content is None else content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return {
        "id": "c",
        "object": "chat.completion",
        "model": "m",
        "choices": [choice],
        "usage": usage,
    } | changes


GOOD = json.dumps(completion()).encode()
Sender = Callable[["Call"], Awaitable[None]]


class Call:
    """One request that was read, and the connection to answer it."""

    def __init__(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.head, self.body, self.writer = head, body, writer

    async def send(self, *parts: bytes) -> None:
        """Send bytes as they are."""
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    async def reply(
        self, body: bytes, status: str = "200 OK", *headers: str, length: int | None = None
    ) -> None:
        """Send a reply with a length."""
        lines = [f"HTTP/1.1 {status}", "content-type: application/json", *headers]
        lines.append(f"content-length: {len(body) if length is None else length}")
        await self.send("\r\n".join([*lines, "", ""]).encode("latin-1"), body)

    async def stream(self, parts: AsyncIterator[bytes], *headers: str) -> None:
        """Send a reply in chunks."""
        lines = [
            "HTTP/1.1 200 OK",
            "content-type: application/json",
            "transfer-encoding: chunked",
            *headers,
            "",
            "",
        ]
        await self.send("\r\n".join(lines).encode())
        async for part in parts:
            await self.send(f"{len(part):x}\r\n".encode(), part, b"\r\n")
        await self.send(b"0\r\n\r\n")


async def repeated(
    part: bytes, times: float = float("inf"), pause: float = 0
) -> AsyncIterator[bytes]:
    """Yield the same part."""
    while times > 0:
        times -= 1
        yield part
        await asyncio.sleep(pause)


def replies(body: Any, status: str = "200 OK", *headers: str, length: int | None = None) -> Sender:
    """Answer with a body; JSON unless it is bytes. A large one is a function, which is called at the first request."""

    @cache
    def content() -> bytes:
        made = body() if callable(body) else body
        return made if isinstance(made, bytes) else json.dumps(made).encode()

    return lambda call: call.reply(content(), status, *headers, length=length)


def failing(status: str, message: Any = "no", *headers: str) -> Sender:
    """Answer with an error."""
    return replies({"error": {"message": message}}, status, *headers)


def streams(make: Callable[[], AsyncIterator[bytes]], *headers: str) -> Sender:
    """Answer in chunks."""
    return lambda call: call.stream(make(), *headers)


def sends(*parts: bytes) -> Sender:
    """Answer with bytes and close the connection."""

    async def send(call: Call) -> None:
        await call.send(*parts)
        call.writer.close()

    return send


def bomb(wbits: int, megabytes: int) -> bytes:
    """Return zeros that are compressed about 1,000 times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    return b"".join([packer.compress(b" " * MB) for _ in range(megabytes)] + [packer.flush()])


async def silent(_call: Call) -> None:
    """Answer nothing."""
    await asyncio.sleep(3600)


async def reset(call: Call) -> None:
    """Reset the connection."""
    call.writer.transport.abort()


async def head_then_silent(call: Call) -> None:
    """Send the head of a reply only."""
    await call.send(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n")
    await asyncio.sleep(3600)


async def half_then_reset(call: Call) -> None:
    """Reset the connection in the middle of the body."""
    await call.send(f"HTTP/1.1 200 OK\r\ncontent-length: {len(GOOD)}\r\n\r\n".encode(), GOOD[:50])
    call.writer.transport.abort()


async def endless_headers(call: Call) -> None:
    """Send headers without an end."""
    await call.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await call.send(b"x-more: " + b"a" * 1000 + b"\r\n")


async def endless_hints(call: Call) -> None:
    """Send interim replies without an end."""
    while True:
        await call.send(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * 100)


async def trickling_head(call: Call) -> None:
    """Send the head of a reply letter by letter."""
    for letter in b"HTTP/1.1 200 OK\r\n" + b"x-slow: a\r\n" * 1000:
        await call.send(bytes([letter]))
        await asyncio.sleep(0.2)


async def echo(call: Call) -> None:
    """Answer with the request, and so with the key."""
    await call.reply(json.dumps(completion((call.head + call.body).decode("latin-1"))).encode())


async def echo_error(call: Call) -> None:
    """Refuse with the request, and so with the key."""
    message = (call.head + call.body).decode("latin-1")
    await call.reply(json.dumps({"error": {"message": message}}).encode(), "400 Bad Request")


def of_choice(**changes: Any) -> dict[str, Any]:
    """Return a completion whose choice is changed."""
    whole = completion()
    return whole | {"choices": [whole["choices"][0] | changes]}


DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
HUGE_NUMBER = b'{"choices":[{"message":{"content":' + b"9" * 5000 + b"}}]}"
BEHAVIOURS: dict[str, Sender] = {
    # As it should be, and nearly so.
    "good": replies(completion()),
    "in chunks": streams(lambda: repeated(GOOD, 1)),
    "gzip": replies(gzip.compress(GOOD), "200 OK", "content-encoding: gzip"),
    "deflate": replies(zlib.compress(GOOD), "200 OK", "content-encoding: deflate"),
    "raw deflate": replies(zlib.compress(GOOD)[2:-4], "200 OK", "content-encoding: deflate"),
    "no content type": replies(completion(), "200 OK", "content-type: "),
    "another content type": replies(completion(), "200 OK", "content-type: text/html"),
    "201": replies(completion(), "201 Created"),
    "HTTP/1.0": sends(b"HTTP/1.0 200 OK\r\n\r\n", GOOD),
    "connection closed after each": replies(completion(), "200 OK", "connection: close"),
    "bytes order mark": replies(b"\xef\xbb\xbf" + GOOD),
    "UTF-16": replies(
        json.dumps(completion()).encode("utf-16"),
        "200 OK",
        "content-type: application/json; charset=utf-16",
    ),
    # Too much.
    "endless": streams(lambda: repeated(b"a" * 65536)),
    "endless blanks": streams(lambda: repeated(b" " * 65536)),
    "endless gzip": streams(lambda: repeated(gzip.compress(b" " * MB)), "content-encoding: gzip"),
    "50 MB": streams(lambda: repeated(b" " * MB, 50)),
    "50 MB with a length": replies(lambda: b" " * (50 * MB)),
    "1 MB of text": replies(lambda: completion("a" * MB)),
    "gzip bomb": replies(lambda: bomb(31, 100), "200 OK", "content-encoding: gzip"),
    "deflate bomb": replies(lambda: bomb(15, 100), "200 OK", "content-encoding: deflate"),
    "raw deflate bomb": replies(lambda: bomb(-15, 100), "200 OK", "content-encoding: deflate"),
    "gzip in gzip": replies(
        gzip.compress(gzip.compress(GOOD)), "200 OK", "content-encoding: gzip, gzip"
    ),
    "br": replies(b"\x8b\x02\x80" + GOOD, "200 OK", "content-encoding: br"),
    "zstd": replies(b"\x28\xb5\x2f\xfd" + GOOD, "200 OK", "content-encoding: zstd"),
    "unknown encoding": replies(GOOD, "200 OK", "content-encoding: what"),
    "says gzip, is none": replies(GOOD, "200 OK", "content-encoding: gzip"),
    "gzip cut off": replies(gzip.compress(GOOD)[:-20], "200 OK", "content-encoding: gzip"),
    "error of 50 MB": replies(lambda: b"e" * (50 * MB), "500 Internal Server Error"),
    "header of 1 MB": replies(GOOD, "200 OK", "x-large: " + "a" * MB),
    "10,000 headers": replies(GOOD, "200 OK", *[f"x-{n}: a" for n in range(10_000)]),
    "endless headers": endless_headers,
    "endless interim replies": endless_hints,
    "endless error": lambda call: call.stream(repeated(b"e" * 65536)),
    # Too slow.
    "silent": silent,
    "head, then silent": head_then_silent,
    "trickling head": trickling_head,
    "trickling body": streams(lambda: repeated(b" ", pause=0.2)),
    "trickling gzip": streams(
        lambda: repeated(b"\x1f\x8b\x08\x00", pause=0.5), "content-encoding: gzip"
    ),
    # Broken off.
    "reset": reset,
    "closed at once": sends(),
    "half, then reset": half_then_reset,
    "length too long": replies(GOOD, length=len(GOOD) + 100),
    "length too short": replies(GOOD, length=20),
    "length negative": sends(b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n", GOOD),
    "two lengths": sends(
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 9\r\n\r\n", GOOD
    ),
    "chunk of a wrong size": sends(
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", GOOD
    ),
    "no HTTP": sends(b"hello\r\n\r\n"),
    "only zeros": sends(b"\0" * 1000),
    "TLS instead of HTTP": sends(b"\x15\x03\x01\x00\x02\x02\x28"),
    # Redirects and statuses.
    "redirect to another host": failing(
        "307 Temporary Redirect", "moved", "location: http://127.0.0.2:9/v1"
    ),
    "redirect to itself": failing(
        "308 Permanent Redirect", "moved", "location: /v1/chat/completions"
    ),
    "redirect without a goal": failing("302 Found"),
    "204": sends(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "304": sends(b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    "400": failing("400 Bad Request"),
    "401": failing("401 Unauthorized"),
    "402": failing("402 Payment Required"),
    "403": failing("403 Forbidden"),
    "404": failing("404 Not Found"),
    "408": failing("408 Request Timeout"),
    "409": failing("409 Conflict"),
    "413": failing("413 Content Too Large"),
    "418": failing("418 I'm a Teapot"),
    "422": failing("422 Unprocessable Entity"),
    "429": failing("429 Too Many Requests"),
    "429, wait 1e9 s": failing("429 Too Many Requests", "slow", "retry-after: 1000000000"),
    "429, wait -1 s": failing("429 Too Many Requests", "slow", "retry-after: -1"),
    "429, wait nan": failing("429 Too Many Requests", "slow", "retry-after: nan"),
    "429, wait until a date": failing(
        "429 Too Many Requests", "slow", "retry-after: Wed, 01 Jan 2020 00:00:00 GMT"
    ),
    "429, wait garbage": failing("429 Too Many Requests", "slow", "retry-after: \xff\xff"),
    "500": failing("500 Internal Server Error"),
    "503 in HTML": replies(b"<html><h1>503</h1></html>", "503 Service Unavailable"),
    "529": failing("529 Overloaded"),
    "999": failing("999 What"),
    "error is a list": replies({"error": ["a", 1]}, "400 Bad Request"),
    "error is null": replies({"error": None}, "400 Bad Request"),
    "error is a number": replies(b"7", "400 Bad Request"),
    # Bodies that are no completion.
    "empty": replies(b""),
    "null": replies(None),
    "a list": replies([1]),
    "HTML": replies(b"<html>hello</html>"),
    "JSON cut off": replies(GOOD[:-30]),
    "bytes that are no text": replies(b"\xff\xfe\xfd" * 100),
    "deep JSON": replies(DEEP),
    "a number of 5,000 digits": replies(HUGE_NUMBER),
    "NaN": replies(b'{"choices": NaN}'),
    "events although not asked": replies(
        b"data: " + GOOD + b"\n\ndata: [DONE]\n\n", "200 OK", "content-type: text/event-stream"
    ),
    "no choices": replies(completion(choices=[])),
    "choices is a text": replies(completion(choices="a")),
    "message is null": replies(of_choice(message=None)),
    "content is null": replies(of_choice(message={"content": None})),
    "content is a number": replies(of_choice(message={"content": 7})),
    "content in parts": replies(completion([{"type": "text", "text": json.dumps(VERDICT)}])),
    "20,000 choices": replies(lambda: completion(choices=completion()["choices"] * 20_000)),
    "refusal": replies(of_choice(message={"content": None, "refusal": "No."})),
    "content filter": replies(of_choice(finish_reason="content_filter")),
    "cut off at the limit": replies(of_choice(finish_reason="length")),
    "usage is a text": replies(completion(usage="many")),
    "usage is negative": replies(
        completion(usage={"prompt_tokens": -1, "completion_tokens": 2**70})
    ),
    "model is an object": replies(completion(model={"a": 1})),
    # Verdicts that are none.
    "lone surrogates": replies(
        completion('{"reasoning": "\\ud800", "groundedness": 1, "quality": 4}')
    ),
    "NUL in the verdict": replies(
        completion('{"reasoning": "\\u0000", "groundedness": 1, "quality": 4}')
    ),
    "fields twice": replies(
        completion('{"reasoning": "", "quality": 1, "quality": 4, "groundedness": 1}')
    ),
    "out of range": replies(completion('{"reasoning": "", "groundedness": 330, "quality": 9}')),
    "prompt repeated": echo,
    "error repeats the request": echo_error,
}


def serve(port: "multiprocessing.Queue[int]") -> None:
    """Serve all behaviours; the first part of the path is the number of one."""
    makers = list(BEHAVIOURS.values())

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        line
                        for line in head.lower().split(b"\r\n")
                        if line.startswith(b"content-length:")
                    ),
                    b":0",
                )
                body = await reader.readexactly(int(length.partition(b":")[2]))
                number = int(head.split(b"/", 2)[1])
                await makers[number](Call(head, body, writer))
                if head.find(b"keep-alive") < 0 or b"close" in head:
                    break
        with suppress(ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=MB)
        port.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def peak_mb() -> float:
    """Return the most memory that this process had: what `getrusage` returns counts from before the program began."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def judge(database: str, address: str, timeout_s: float) -> None:
    """Judge eight answers, and print how they were stored and the peak memory: this runs in a fresh process."""
    from sqlalchemy import select

    from judgeboard.domain import Response
    from judgeboard.errors import JudgeboardError
    from judgeboard.runs.judging import judge_pending, make_judge
    from judgeboard.store.opening import open_store
    from judgeboard.store.storing import store_responses
    from judgeboard.store.tables import JUDGMENT

    store = open_store(database, create=True)
    with store.writing() as connection:
        store_responses(
            connection,
            [Response("log", f"a{n}", "Why?", "Because.", ("Because.",)) for n in range(CALLS)],
        )
    judged = make_judge(
        "rag",
        model="m",
        base_url=address,
        api_key=KEY,
        timeout_s=timeout_s,
        tries=1,
        concurrency=CALLS,
    )
    started = time.perf_counter()
    stopped = ""
    try:
        stopped = judge_pending(store, judged, concurrency=CALLS).why_stopped or ""
    except JudgeboardError as error:
        stopped = str(error)
    seconds = time.perf_counter() - started
    with store.reading() as connection:
        rows = connection.execute(
            select(JUDGMENT.c.status, JUDGMENT.c.error).order_by(JUDGMENT.c.id)
        ).all()
    store.close()
    print(
        json.dumps(
            {
                "stored": dict(Counter(row.status for row in rows)),
                "error": next((row.error for row in rows if row.error), None) or stopped,
                "stopped": bool(stopped),
                "mb": peak_mb(),
                "seconds": seconds,
                "leaked": any(
                    KEY.encode() in path.read_bytes()
                    for path in Path(database).parent.glob("*.db*")
                ),
            }
        )
    )


def fault_of(outcome: dict[str, Any] | None, timeout_s: float, limit_mb: float) -> str | None:
    """Return what is wrong with an outcome, None if nothing is."""
    if outcome is None:
        return "the process failed or did not end"
    if outcome["mb"] > limit_mb:
        return "too much memory"
    if outcome["seconds"] > 2 * timeout_s + 5:  # a second call repairs a reply that cannot be read
        return "too slow"
    if sum(outcome["stored"].values()) != CALLS and not outcome["stopped"]:
        return "judgments are missing"
    return "the key is stored" if outcome["leaked"] else None


def main() -> int:
    """Try each behaviour."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--timeout", type=float, default=3.0)
    options.add_argument("--limit-mb", type=float, default=160.0)
    options.add_argument("--only", nargs="*", choices=BEHAVIOURS, metavar="NAME")
    options.add_argument("--judge", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.judge:
        address, behaviour = chosen.judge
        judge(address, behaviour, chosen.timeout)
        return 0
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    number_of_port, faults = port.get(timeout=60), 0
    print(f"{'behaviour':28}{'stored':28}{'MB':>6}{'s':>7}  error")
    for number, name in enumerate(BEHAVIOURS):
        if chosen.only and name not in chosen.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            address = f"http://127.0.0.1:{number_of_port}/{number}/v1"
            words = ["--timeout", str(chosen.timeout), "--judge", f"{folder}/log.db", address]
            command = [sys.executable, __file__, *words]
            outcome, printed = None, ""
            with suppress(subprocess.TimeoutExpired):
                ended = subprocess.run(
                    command, capture_output=True, text=True, timeout=120, check=False
                )
                printed = ended.stderr
                if ended.returncode == 0:
                    outcome = json.loads(ended.stdout.splitlines()[-1])
        fault = fault_of(outcome, chosen.timeout, chosen.limit_mb)
        faults += fault is not None
        shown = outcome or {"stored": {}, "mb": 0.0, "seconds": 0.0, "error": printed[-200:]}
        stored = ", ".join(f"{n} {status}" for status, n in shown["stored"].items()) or "none"
        error = " ".join(str(shown["error"] or "").split())[:90]
        print(f"{name:28}{stored:28}{shown['mb']:6.0f}{shown['seconds']:7.1f}  {error}", flush=True)
        if fault:
            print(f"{'':28}FAULT: {fault}", flush=True)
    print(
        f"{len(chosen.only or BEHAVIOURS)} behaviours, {faults} faults; {chosen.limit_mb:g} MB is the limit"
    )
    server.terminate()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
