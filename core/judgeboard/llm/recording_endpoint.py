"""A fake endpoint of a chat model that records requests: an HTTP server on the loopback interface, and scripts."""

import argparse
import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from aiohttp import web

GOOD_VERDICT = {
    "reasoning": "Every statement stands in passage 1.",
    "groundedness": 1.0,
    "quality": 4,
}


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One HTTP answer, after ``delay_s``; a text ``body`` is sent unchanged. ``hang_up`` closes without an answer."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    hang_up: bool = False


Answering = ScriptedReply | Awaitable[ScriptedReply]
Script = Callable[[dict[str, Any], int], Answering]
"""A function from a request's JSON body and number (from 0) to the answer or an awaitable answer."""


def completion(
    content: str | None,
    *,
    refusal: str | None = None,
    finish_reason: str = "stop",
    model: str = "scripted-model",
    usage: tuple[int, int] | None = (100, 20),
) -> ScriptedReply:
    """Return a chat completion that carries ``content``; ``usage`` is (prompt, completion) tokens."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if usage is not None:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return ScriptedReply(body)


def verdict(**changes: object) -> ScriptedReply:
    """Return a completion with a good verdict; ``changes`` replace fields."""
    return completion(json.dumps({**GOOD_VERDICT, **changes}))


def failure(
    status: int, message: str, *, code: str | None = None, param: str | None = None
) -> ScriptedReply:
    """Return an error in OpenAI's form."""
    return ScriptedReply(
        {"error": {"message": message, "type": "error", "param": param, "code": code}}, status
    )


def always(reply: ScriptedReply) -> Script:
    """Answer everything with ``reply``."""
    return lambda _request, _number: reply


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A received request, with header names in lower case and the JSON body parsed."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class RecordingEndpoint:
    """Serves replies from a script at every path, in a separate thread. A context manager.

    ``requests`` are in order of arrival; ``most_at_once`` is the maximum number of requests in
    flight at one time.
    """

    def __init__(self, script: Script | None = None, *, port: int = 0) -> None:
        self.script = script or always(verdict())
        self.requests: list[RecordedRequest] = []
        self.most_at_once = 0
        self._in_flight = 0
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recording-endpoint", daemon=True)

    @property
    def base_url(self) -> str:
        """The address for clients, with ``/v1``."""
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        runner = web.ServerRunner(web.Server(self._answer, access_log=None), shutdown_timeout=0.01)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._port, backlog=1024).start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        raw, number = await request.content.read(), len(self.requests)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(
            RecordedRequest(request.path_qs, headers, json.loads(raw) if raw else {})
        )
        self._in_flight += 1
        self.most_at_once = max(self.most_at_once, self._in_flight)
        try:
            scripted = self.script(self.requests[number].body, number)
            reply = scripted if isinstance(scripted, ScriptedReply) else await scripted
            await asyncio.sleep(reply.delay_s)
        finally:
            self._in_flight -= 1
        if reply.hang_up and request.transport is not None:
            request.transport.close()
        is_text = isinstance(reply.body, str)
        content = reply.body if is_text else json.dumps(reply.body)
        content_type = "text/plain; charset=utf-8" if is_text else "application/json"
        return web.Response(
            body=content.encode(),
            status=reply.status,
            headers={"content-type": content_type, **reply.headers},
        )


def forward_to(base_url: str, *, timeout_s: float = 120.0) -> Script:
    """Return a script that sends every request on to the server at ``base_url``, so that requests are recorded."""

    def post(request: dict[str, Any]) -> ScriptedReply:
        call = urllib.request.Request(  # noqa: S310  the caller chose the address
            f"{base_url}/chat/completions",
            data=json.dumps(request).encode(),
            headers={"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(call, timeout=timeout_s) as answer:  # noqa: S310  the same
                return ScriptedReply(json.loads(answer.read()), answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return ScriptedReply(error.read().decode(), error.code)
        except OSError:  # no server, or no reply in time: close the connection to the client
            return ScriptedReply(hang_up=True)

    return lambda request, _number: asyncio.to_thread(post, request)


def main() -> None:
    """Print the address and serve the same reply until the process ends. For benchmarks."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=200.0)
    parser.add_argument(
        "--content", help="text of every reply (default: a good verdict of the rag judge)"
    )
    arguments = parser.parse_args()
    reply = verdict() if arguments.content is None else completion(arguments.content)
    slow = replace(reply, delay_s=arguments.latency_ms / 1000)
    with RecordingEndpoint(always(slow), port=arguments.port) as endpoint:
        print(endpoint.base_url, flush=True)  # noqa: T201  the starting program reads the address
        threading.Event().wait()


if __name__ == "__main__":
    main()
