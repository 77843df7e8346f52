"""A chat model behind an OpenAI-compatible endpoint."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import aiohttp
import httpx2
import openai

from judgeboard.domain import Attempt
from judgeboard.errors import EndpointRefused
from judgeboard.llm.address import OPENAI_BASE_URL, host_of
from judgeboard.llm.call_outcome import AllFail, Answered, Called, Later, PutDifferently, RowFailed, attempt, outcome
from judgeboard.llm.chat import ChatRequest, NoReply, Reply
from judgeboard.llm.request_shape import Rejected, RequestShape
from judgeboard.llm.retry_policy import RetryPolicy

NO_KEY = "none"  # what is sent where there is no key


class OpenAIChat:
    """Asks one model of one endpoint; one object, with its connections, serves a whole run.

    What the endpoint turns out not to take (a JSON schema, a temperature, ``max_tokens``) is remembered as soon as
    a request without it has been answered, so that nothing is probed and later requests go right at once.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int = 16,
        timeout_s: float = 60.0,
        retries: RetryPolicy | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Make the client; nothing is sent yet.

        Args:
            model: Name of the model as the endpoint knows it.
            base_url: Address with its ``/v1``; None is OpenAI's own.
            api_key: Never shown or stored; None is sent as "none", which local servers take.
            concurrency: Requests that are made at once; the connection pool has that size.
            timeout_s: Seconds that one call may take in all.
            retries: How often, and after what wait, a call is made again.
            sleep: Waits that many seconds; tests put their own.
            chance: Uniform in 0..1, for the jitter.
        """
        self.model = model
        self.shape = RequestShape()
        self.base_url = base_url or OPENAI_BASE_URL
        self._key = api_key or NO_KEY
        self._timeout_s = timeout_s
        self._retries = retries or RetryPolicy()
        self._sleep = sleep
        self._chance = chance
        self._heard = False
        limits = httpx2.Limits(
            max_connections=concurrency, max_keepalive_connections=concurrency, keepalive_expiry=timeout_s
        )
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
        """Answer ``request``, calling again where that can help; every call becomes an ``Attempt``.

        Raises:
            EndpointRefused: 401, 402, 403, 404, an unknown model, a used-up account, nothing ever answered
                there, or it asks for a wait of more than a minute.
        """
        shape, why, failures = self.shape, request.why, 0
        attempts: list[Attempt] = []
        while True:
            called = await self._call(shape.body(self.model, request))
            decided = outcome(called, datetime.now(UTC))
            attempts.append(attempt(called, decided, why))
            self._heard = self._heard or called.failure is None
            no_reply: str | None = None
            match decided:
                case Answered(body):
                    self.shape = self.shape.joined(shape)
                    return Reply(
                        body.text,
                        tuple(attempts),
                        refusal=body.refusal,
                        finish_reason=body.finish_reason,
                        model=body.model,
                        reply_format=shape.reply_format.value,
                        dropped_parameters=shape.given_up,
                        tokens=body.tokens,
                    )
                case AllFail():
                    raise EndpointRefused(self._none_served(decided))
                case PutDifferently(rejected, reason) if (other := shape.after(rejected)) is not None:
                    shape, why = other, "format" if rejected is Rejected.REPLY_FORMAT else "parameter"
                case Later(_, asked_s) if self._retries.again(failures := failures + 1, asked_s):
                    await self._sleep(self._retries.wait_s(failures, asked_s, self._chance()))
                    # Others may have found out meanwhile what the endpoint does not take.
                    shape, why = shape.joined(self.shape), "retry"
                case Later():
                    no_reply = self._too_late(decided, called, failures)
                case PutDifferently(reason=reason) | RowFailed(reason=reason):
                    no_reply = reason
            if no_reply is not None:
                refused = isinstance(decided, RowFailed) and decided.refused
                return NoReply(no_reply, tuple(attempts), refused, shape.reply_format.value, shape.given_up)

    def _too_late(self, later: Later, called: Called, failures: int) -> str:
        """Say why one row fails that was not answered in its tries, or raise where all rows would."""
        if called.failure == "connection" and not self._heard:
            raise EndpointRefused(f"nothing answers at {self.host}: check the address (--base-url) and its server")
        if later.asked_wait_s is not None and failures < self._retries.tries:
            raise EndpointRefused(
                f"{self.host} asks to wait {later.asked_wait_s:,.0f} s ({later.reason}): go on after that"
            )
        return f"{later.reason} ({failures} tries)"

    def _none_served(self, why: AllFail) -> str:
        if not why.key_refused:
            return f"{self.host} does not serve {self.model!r}: {why.reason}; {why.fix}"
        if self._key == NO_KEY:
            return f"{self.host} wants a key ({why.reason}): set OPENAI_API_KEY; jobs send it only to OPENAI_BASE_URL"
        return f"{self.host} refused the key ({why.reason}): {why.fix}"

    async def _call(self, body: dict[str, Any]) -> Called:
        started = time.perf_counter()
        failure: str | None = None
        response: httpx2.Response | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                # post() with a plain body takes a third of the CPU of create(), which walks typed parameters.
                response = await self._client.post("/chat/completions", cast_to=httpx2.Response, body=body)
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


def _timed_out(error: BaseException) -> bool:
    """Whether a timeout is behind ``error``; the client reports every lost connection as one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError):
            return True
        cause = cause.__cause__
    return False
