"""A chat model at an endpoint: makes the calls, retries them, and records every call."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import httpx2
import openai

from judgeboard.domain import Attempt
from judgeboard.errors import EndpointRefused
from judgeboard.llm.chat import ChatRequest, NoReply, Reply
from judgeboard.llm.openai_provider import OPENAI
from judgeboard.llm.provider import (
    NO_KEY,
    RETRIES,
    Completion,
    Provider,
    Rejected,
    RetryPolicy,
    asked_wait_s,
    host_of,
    read_error,
)
from judgeboard.text import storable

_STORED_CHARACTERS = 10_000
_SHOWN_CHARACTERS = 300
# Headers of the client that would tell one provider of an account with another.
_LEFT_OUT = dict.fromkeys(("Authorization", "OpenAI-Organization", "OpenAI-Project"), openai.Omit())


@dataclass(frozen=True, slots=True)
class Called:
    """The result of one call: an HTTP status with its body, or a ``failure`` (timeout, connection)."""

    latency_ms: int
    status: int = 0
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Later:
    """The same call may succeed later, after ``asked_wait_s`` if the endpoint gave a time."""

    reason: str
    retries: RetryPolicy
    asked_wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class PutDifferently:
    """The endpoint does not accept a part of every request."""

    rejected: Rejected
    reason: str


@dataclass(frozen=True, slots=True)
class RowFailed:
    """This request gets no reply; others may."""

    reason: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class AllFail:
    """No call can succeed before the ``fix``; ``key_refused`` tells that the key is wrong."""

    reason: str
    fix: str
    key_refused: bool = False


Outcome = Completion | Later | PutDifferently | RowFailed | AllFail

_FIXES = {
    401: "set {key} to a key that it takes",
    402: "the account needs credit, or use another key ({key})",
    403: "use a key that may use this model ({key}), or another --model",
    404: "check the model's name (--model), and that the address (--base-url) ends in /v1",
}


class EndpointChat:
    """Asks one model of one endpoint; one object serves a whole run.

    It remembers which parts of a request the endpoint does not accept (a JSON schema, a temperature, ``max_tokens``),
    and leaves them out of later requests.
    """

    def __init__(
        self,
        model: str,
        *,
        provider: Provider = OPENAI,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 16,
        timeout_s: float = 60.0,
        tries: int | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Make the client; nothing is sent yet.

        Args:
            model: Name of the model at the endpoint.
            provider: The provider.
            base_url: Address with its ``/v1`` (default: the provider's own).
            api_key: Never shown or stored; None is sent as "none", which local servers accept.
            concurrency: Size of the connection pool.
            timeout_s: Maximum number of seconds for one call.
            tries: Maximum number of calls for one request (default: see `RETRIES`).
            sleep: Waits a number of seconds.
            chance: Returns a number in 0..1, for the jitter.
        """
        self.model = model
        self.shape = provider.shape
        self.base_url = base_url or provider.base_url
        self._provider = provider
        self._key = api_key or NO_KEY
        self._timeout_s = timeout_s
        self._tries = tries
        self._sleep = sleep
        self._chance = chance
        self._heard = False
        limits = httpx2.Limits(
            max_connections=concurrency, max_keepalive_connections=concurrency, keepalive_expiry=timeout_s
        )
        self._options: openai.RequestOptions = {}
        if provider.headers is not None:
            self._options["headers"] = {**_LEFT_OUT, **provider.headers(self._key)}
        self._client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self._key,
            max_retries=0,
            timeout=timeout_s,
            http_client=openai.DefaultAioHttpClient(limits=limits, timeout=timeout_s),
        )

    @property
    def host(self) -> str:
        """Host and port of the endpoint, without a user or password that its address may carry."""
        return host_of(self.base_url)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, request: ChatRequest) -> Reply | NoReply:
        """Answer ``request``, calling again where that can help; every call becomes an ``Attempt``."""
        shape, why, failures = self.shape, request.why, 0
        attempts: list[Attempt] = []
        while True:
            called = await self._call(self._provider.body(self.model, request, shape))
            decided = self._outcome(called)
            attempts.append(_attempt(called, decided, why))
            self._heard = self._heard or called.failure is None
            no_reply: str | None = None
            match decided:
                case Completion():
                    self.shape = self.shape.joined(shape)
                    return Reply(
                        decided.text,
                        tuple(attempts),
                        refusal=decided.refusal,
                        finish_reason=decided.finish_reason,
                        model=decided.model,
                        reply_format=shape.reply_format.value,
                        dropped_parameters=shape.given_up(request),
                        tokens=decided.tokens,
                    )
                case AllFail():
                    raise EndpointRefused(self._none_served(decided))
                case PutDifferently(rejected, reason) if (other := shape.after(rejected)) is not None:
                    shape, why = other, "format" if rejected is Rejected.REPLY_FORMAT else "parameter"
                case Later(_, retries, asked_s) if retries.again(failures := failures + 1, asked_s):
                    await self._sleep(retries.wait_s(failures, asked_s, self._chance()))
                    # Others may have found out meanwhile what the endpoint does not take.
                    shape, why = shape.joined(self.shape), "retry"
                case Later():
                    no_reply = self._too_late(decided, called, failures)
                case PutDifferently(reason=reason) | RowFailed(reason=reason):
                    no_reply = reason
            if no_reply is not None:
                refused = isinstance(decided, RowFailed) and decided.refused
                given_up = shape.given_up(request)
                return NoReply(no_reply, tuple(attempts), refused, shape.reply_format.value, given_up)

    async def _call(self, body: dict[str, Any]) -> Called:
        started = time.perf_counter()
        failure: str | None = None
        response: httpx2.Response | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                # post() with a plain body takes a third of the CPU of create(), which walks typed parameters.
                response = await self._client.post(
                    self._provider.path, cast_to=httpx2.Response, body=body, options=self._options
                )
        except openai.APIStatusError as error:
            response = error.response
        except TimeoutError:
            failure = "timeout"
        except (openai.APIConnectionError, aiohttp.ClientError) as error:
            failure = "timeout" if _timed_out(error) else "connection"
        latency_ms = round((time.perf_counter() - started) * 1000)
        if response is None:
            return Called(latency_ms, failure=failure)
        text = response.text
        if self._key in text and response.status_code >= 300 and self._key != NO_KEY:
            text = text.replace(self._key, "***")
        return Called(latency_ms, response.status_code, text, response.headers)

    def _outcome(self, called: Called) -> Outcome:
        if called.failure is not None:
            return Later(called.failure, self._retries(RETRIES[called.failure]))
        if 200 <= called.status < 300:
            completion = self._provider.read(called.body)
            return RowFailed(f"not a chat completion: {_shown(called.body)}") if completion is None else completion
        return self._failed(called)

    def _failed(self, called: Called) -> Outcome:
        error = read_error(called.body)
        reason = f"HTTP {called.status}: {_shown(error.message)}" if error.message else f"HTTP {called.status}"
        fix = _FIXES.get(402 if error.out_of_quota else 404 if error.unknown_model else called.status)
        if fix is not None:
            # The body of a 401 often repeats part of the key.
            key_refused = called.status == 401
            fix = fix.format(key=self._provider.key_variable)
            return AllFail("HTTP 401" if key_refused else reason, fix, key_refused)
        if error.content_refused:
            return RowFailed(reason, refused=True)
        if called.status in {400, 422} and error.rejected:
            return PutDifferently(error.rejected, reason)
        if called.status in RETRIES:
            asked_s = asked_wait_s(called.headers, datetime.now(UTC))
            return Later(reason, self._retries(RETRIES[called.status]), asked_s)
        return RowFailed(reason)

    def _retries(self, policy: RetryPolicy) -> RetryPolicy:
        return policy if self._tries is None else replace(policy, tries=self._tries)

    def _too_late(self, later: Later, called: Called, failures: int) -> str:
        """Say why one row fails that was not answered in its tries, or raise where all rows would."""
        if called.failure == "connection" and not self._heard:
            raise EndpointRefused(f"nothing answers at {self.host}: check the address (--base-url) and its server")
        if later.asked_wait_s is not None and failures < later.retries.tries:
            raise EndpointRefused(
                f"{self.host} asks to wait {later.asked_wait_s:,.0f} s ({later.reason}): continue after that time"
            )
        return f"{later.reason} ({failures} tries)"

    def _none_served(self, why: AllFail) -> str:
        if not why.key_refused:
            return f"{self.host} does not serve {self.model!r}: {why.reason}; {why.fix}"
        if self._key == NO_KEY:
            key, address = self._provider.key_variable, self._provider.address_variable
            return f"{self.host} wants a key ({why.reason}): set {key}; jobs send it only to {address}"
        return f"{self.host} refused the key ({why.reason}): {why.fix}"


def _shown(message: str) -> str:
    """The start of a message on one line; what it quotes may be long or hostile to a terminal."""
    line = " ".join(message.split())
    plain = "".join(c if c.isprintable() else "\ufffd" for c in line)
    return plain if len(plain) <= _SHOWN_CHARACTERS else f"{plain[:_SHOWN_CHARACTERS]}…"


def _attempt(called: Called, decided: Outcome, why: str) -> Attempt:
    """Record a call for the judgment: the model's text in full, the body of an error up to 10,000 characters."""
    if isinstance(decided, Completion):
        return Attempt(
            why=why,
            status="ok",
            raw=decided.text or decided.refusal or "",
            prompt_tokens=decided.prompt_tokens,
            completion_tokens=decided.completion_tokens,
            latency_ms=called.latency_ms,
            detail="characters that cannot be stored became U+FFFD" if decided.replaced else None,
        )
    return Attempt(
        why=why,
        status=called.failure or f"http_{called.status}",
        raw=storable(called.body[:_STORED_CHARACTERS])[0] or None,
        latency_ms=called.latency_ms,
        detail=decided.reason,
    )


def _timed_out(error: BaseException) -> bool:
    """Whether a timeout is behind ``error``; the client reports every lost connection as one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return True
        cause = cause.__cause__
    return False
