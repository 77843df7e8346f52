"""A chat model at an endpoint: makes, retries and records calls."""

import asyncio
import json
import random
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar

import aiohttp
import httpx2
import openai

from judgeboard.domain import Attempt
from judgeboard.errors import EndpointRefused
from judgeboard.llm.chat import REPLACED, ChatRequest, NoReply, Reply
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.llm.provider import (
    CONCURRENCY,
    NO_KEY,
    RETRIES,
    TIMEOUT_S,
    Provider,
    Rejected,
    RetryPolicy,
    asked_wait_s,
    host_of,
    read_error,
)
from judgeboard.llm.rate_limits import NO_LIMIT, CallPace, RateLimit
from judgeboard.llm.reply_body import ENCODINGS, MB, ReplyLimit, UnreadableReply
from judgeboard.settings.masking import masked, register_secret, without_secrets
from judgeboard.settings.model import variable_of
from judgeboard.text import storable, storable_json

REPLY_MB = 8.0
"""Megabytes (2**20 bytes) that are read of one reply, as sent and decompressed."""
_STORED_CHARACTERS = 10_000
_SHOWN_CHARACTERS = 300
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
Cause = TypeVar("Cause", bound=BaseException)
# Client headers that would reveal an OpenAI account to another provider.
_LEFT_OUT = dict.fromkeys(("Authorization", "OpenAI-Organization", "OpenAI-Project"), openai.Omit())


@cache
def _certificates() -> ssl.SSLContext:
    # Cached, because reading takes 30 ms, and each run makes new clients.
    return httpx2.create_ssl_context()


@dataclass(frozen=True, slots=True)
class Called:
    """The result of one call: an HTTP status with the body, or a ``failure`` (timeout, connection, unreadable).

    ``detail`` says why a reply is unreadable.
    """

    latency_ms: int
    status: int = 0
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a call gave no reply; ``refused`` is True if the endpoint refused the content.

    The endpoint accepts the ``rejected`` part in no request. After a ``temporary`` failure, a new
    call can succeed.
    """

    reason: str
    refused: bool = False
    rejected: Rejected | None = None
    temporary: bool = False
    asked_wait_s: float | None = None


_FIXES = {
    401: "set {key} to a key that it accepts; jobs send it only to the address in {address}",
    402: "the account needs credit, or use another key ({key})",
    403: "use a key that may use this model ({key}), or another --model",
    404: "check the model's name (--model), and that the address (--base-url) ends in /v1",
}


class _Connected(NamedTuple):
    """The client of one event loop, with the pace of the calls; ``closing`` closes the client."""

    closing: AsyncGenerator[openai.AsyncOpenAI]
    client: openai.AsyncOpenAI
    pace: CallPace


async def _until_closed(client: openai.AsyncOpenAI) -> AsyncGenerator[openai.AsyncOpenAI]:
    # An event loop ends all generators at the end of the loop, and unreferenced generators earlier:
    # no client stays open.
    try:
        yield client
    finally:
        await client.close()


@dataclass(eq=False)
class EndpointChat:
    """Asks one model at one endpoint; a run uses one object for all requests, also from several event loops.

    The object remembers which parts of a request the endpoint does not accept (a JSON schema, a
    temperature, ``max_tokens``), and leaves these parts out of later requests. Each call waits for
    a turn under ``limit``. Options are as in `JudgeOptions`. The key is never shown or stored.
    Without a key, "none" is sent, which local servers accept. ``chance`` returns a number in 0..1
    for the jitter.
    """

    model: str
    provider: Provider = OPENAI
    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = CONCURRENCY
    timeout_s: float = TIMEOUT_S
    tries: int | None = None
    reply_mb: float = REPLY_MB
    limit: RateLimit = NO_LIMIT
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        self.shape = self.provider.shape
        self.base_url = self.base_url or self.provider.base_url
        self.host: str | None = host_of(self.base_url)
        self._key = self.api_key or NO_KEY
        register_secret(self.api_key)
        self._retries = RetryPolicy() if self.tries is None else RetryPolicy(self.tries)
        self._heard = False
        self._connected: dict[asyncio.AbstractEventLoop, _Connected] = {}
        self._options: openai.RequestOptions = {}
        if self.provider.headers is not None:
            self._options["headers"] = {**_LEFT_OUT, **self.provider.headers(self._key)}

    async def _connections(self) -> _Connected:
        """Return the connections of the running event loop: a connection cannot be used in another loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._connected:
            for closed_loop in [each for each in list(self._connected) if each.is_closed()]:
                self._connected.pop(closed_loop, None)
            client = _until_closed(self._client())
            pace = CallPace(f"{self.host} {self.model}", self.limit)
            self._connected[loop] = _Connected(client, await anext(client), pace)
        return self._connected[loop]

    def _client(self) -> openai.AsyncOpenAI:
        limits = httpx2.Limits(
            max_connections=self.concurrency,
            max_keepalive_connections=self.concurrency,
            keepalive_expiry=self.timeout_s,
        )
        return openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self._key,
            max_retries=0,
            timeout=self.timeout_s,
            http_client=openai.DefaultAioHttpClient(
                limits=limits,
                timeout=self.timeout_s,
                verify=_certificates(),
                headers={"accept-encoding": ENCODINGS},
                event_hooks={"response": [ReplyLimit(round(self.reply_mb * MB))]},
                follow_redirects=False,  # texts and key go to this address and to no other
            ),
        )

    async def aclose(self) -> None:
        """Close the connections of the running event loop; the next request opens new ones."""
        connected = self._connected.pop(asyncio.get_running_loop(), None)
        if connected is not None:
            await connected.closing.aclose()

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer ``request``. If a call fails and another can succeed, call again. Each call is an ``Attempt``."""
        shape, why, failures = self.shape, request.why, 0
        attempts: list[Attempt] = []
        while True:
            body = self.provider.body(self.model, request, shape)
            pace = (await self._connections()).pace
            tokens = pace.estimate(body, request.max_output)
            await pace.wait(tokens)
            called = await self._call(body)
            outcome, is_replaced = self._outcome(called)
            self._heard = self._heard or called.failure is None
            # The model's text is recorded in full, the body of an error up to 10,000 characters.
            if isinstance(outcome, Reply):
                attempts.append(
                    Attempt(
                        why=why,
                        status="ok",
                        raw=outcome.text or outcome.refusal or "",
                        prompt_tokens=outcome.prompt_tokens,
                        completion_tokens=outcome.completion_tokens,
                        latency_ms=called.latency_ms,
                        detail=REPLACED if is_replaced else None,
                    )
                )
                pace.used(tokens, outcome.prompt_tokens, outcome.completion_tokens)
                self.shape = self.shape.joined(shape)
                return replace(
                    outcome,
                    attempts=tuple(attempts),
                    reply_format=shape.reply_format.value,
                    dropped_parameters=shape.given_up(request),
                )
            attempts.append(
                Attempt(
                    why=why,
                    status=called.failure or f"http_{called.status}",
                    raw=storable(called.body[:_STORED_CHARACTERS])[0] or None,
                    latency_ms=called.latency_ms,
                    detail=outcome.reason,
                )
            )
            reason = outcome.reason
            if (
                outcome.rejected is not None
                and (next_shape := shape.after(outcome.rejected)) is not None
            ):
                shape = next_shape
                why = "format" if outcome.rejected is Rejected.REPLY_FORMAT else "parameter"
                continue
            if outcome.temporary:
                failures += 1
                if self._retries.again(failures, outcome.asked_wait_s):
                    wait_s = self._retries.wait_s(failures, outcome.asked_wait_s, self.chance())
                    await self.sleep(wait_s)
                    # Meanwhile, other requests may have found parts that the endpoint does not
                    # accept.
                    shape, why = shape.joined(self.shape), "retry"
                    continue
                reason = self._too_late(outcome, called, failures)
            given_up = shape.given_up(request)
            return NoReply(
                reason, tuple(attempts), outcome.refused, shape.reply_format.value, given_up
            )

    async def _call(self, body: dict[str, Any]) -> Called:
        started = time.perf_counter()
        failure, detail = None, ""
        response: httpx2.Response | None = None
        try:
            async with asyncio.timeout(self.timeout_s):
                client = (await self._connections()).client
                # post() with a plain body takes a third of the CPU of create(), which walks typed
                # parameters.
                response = await client.post(
                    self.provider.path, cast_to=httpx2.Response, body=body, options=self._options
                )
        except openai.APIStatusError as error:
            response = error.response
        except TimeoutError:
            failure = "timeout"
        except (openai.APIConnectionError, aiohttp.ClientError, UnreadableReply) as error:
            unreadable = _cause(error, UnreadableReply)
            failure = (
                "timeout"
                if _cause(error, TimeoutError)
                else "connection"
                if unreadable is None
                else "unreadable"
            )
            detail = (
                ""
                if unreadable is None
                else f"{unreadable} ({variable_of('reply_mb')} is {self.reply_mb:g})"
            )
        latency_ms = round((time.perf_counter() - started) * 1000)
        if response is None:
            return Called(latency_ms, failure=failure, detail=without_secrets(detail))
        # The one place where a reply comes in: what is parsed, shown and stored has no secret.
        return Called(
            latency_ms, response.status_code, without_secrets(response.text), response.headers
        )

    def _outcome(self, called: Called) -> tuple[Reply | Failed, bool]:
        """Return the reply, and whether characters that cannot be stored were replaced."""
        if not 200 <= called.status < 300:
            return self._failed(called), False
        try:
            content = json.loads(called.body)
            if "\\u" in called.body:
                # Escapes also hide a secret from the first look.
                content = json.loads(without_secrets(json.dumps(content, ensure_ascii=False)))
                content, is_replaced = storable_json(content)
            else:
                is_replaced = False
            return self.provider.read(content), is_replaced
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            return Failed(f"no chat completion: {_shown(called.body)}"), False

    def _failed(self, called: Called) -> Failed:
        if called.failure is not None:
            # Another call for a reply that is too large would cost as much, and give the same.
            unreadable = called.failure == "unreadable"
            return (
                Failed(f"{self.host}: {called.detail}")
                if unreadable
                else Failed(called.failure, temporary=True)
            )
        error = read_error(called.body)
        reason = f"HTTP {called.status}"
        if (
            error.message and called.status != 401
        ):  # the body of a 401 often repeats part of the key
            reason = f"{reason}: {_shown(error.message)}"
        status = (
            402 if error.out_of_quota else 404 if error.code == "model_not_found" else called.status
        )
        if (fix := _FIXES.get(status)) and status not in RETRIES:
            fix = fix.format(key=self.provider.key_variable, address=self.provider.address_variable)
            raise EndpointRefused(f"{self.host} refuses calls of {self.model!r}: {reason}; {fix}")
        if error.content_refused:
            return Failed(reason, refused=True)
        if called.status in {400, 422} and error.rejected:
            return Failed(reason, rejected=error.rejected)
        if called.status in _REDIRECTS:
            goal = _shown(without_secrets(masked(called.headers.get("location", ""))))
            return Failed(f"{reason}: use --base-url {goal}")
        if called.status in RETRIES:
            asked_s = asked_wait_s(called.headers, datetime.now(UTC))
            return Failed(reason, temporary=True, asked_wait_s=asked_s)
        return Failed(reason)

    def _too_late(self, failure: Failed, called: Called, failures: int) -> str:
        """Return why a request failed after the last try. Raises EndpointRefused if every request would fail."""
        if called.failure == "connection" and not self._heard:
            raise EndpointRefused(
                f"nothing answers at {self.host}: check the address (--base-url) and its server"
            )
        if failure.asked_wait_s is not None and failures < self._retries.tries:
            raise EndpointRefused(
                f"{self.host} asks to wait {failure.asked_wait_s:,.0f} s ({failure.reason}): try again after that"
            )
        return f"{failure.reason} ({failures} tries)"


def _shown(message: str) -> str:
    """Return the start of a message on one line. A message may be long or contain control characters."""
    line = " ".join(message.split())
    plain = "".join(c if c.isprintable() else "\ufffd" for c in line)
    return plain if len(plain) <= _SHOWN_CHARACTERS else f"{plain[:_SHOWN_CHARACTERS]}…"


def _cause(error: BaseException, kind: type[Cause]) -> Cause | None:
    """Return what of this kind caused ``error``. The type of the client's error does not tell."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, kind):
            return cause
        cause = cause.__cause__
    return None
