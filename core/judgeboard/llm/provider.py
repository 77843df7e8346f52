"""What a provider of chat models is: its address, its requests, its replies and its errors."""

import email.utils
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from judgeboard.llm.chat import ChatRequest, ReplyFormat, TokenChance

NO_KEY = "none"
"""What is sent where there is no key, which local servers take."""


class Rejected(Enum):
    """Which part of a request an endpoint does not take, whatever the row."""

    REPLY_FORMAT = "reply_format"
    TEMPERATURE = "temperature"
    MAX_TOKENS = "max_tokens"
    LOGPROBS = "logprobs"


@dataclass(frozen=True, slots=True)
class RequestShape:
    """One way to write a request; what an endpoint rejects leads to the next way, never back.

    ``formats`` are the reply formats that are left to try, the one in use first.
    """

    formats: tuple[ReplyFormat, ...] = tuple(ReplyFormat)
    dropped: frozenset[str] = frozenset()
    max_output_name: str = "max_tokens"

    @property
    def reply_format(self) -> ReplyFormat:
        """How the reply is asked for."""
        return self.formats[0]

    def after(self, rejected: Rejected) -> "RequestShape | None":
        """Return the next way to try, or None where this one has nothing left to give up."""
        match rejected:
            case Rejected.REPLY_FORMAT if len(self.formats) > 1:
                return replace(self, formats=self.formats[1:])
            case Rejected.TEMPERATURE | Rejected.LOGPROBS if rejected.value not in self.dropped:
                return replace(self, dropped=self.dropped | {rejected.value})
            case Rejected.MAX_TOKENS if self.max_output_name == "max_tokens":
                return replace(self, max_output_name="max_completion_tokens")
        return None

    def joined(self, other: "RequestShape") -> "RequestShape":
        """Return the shape that gives up what either of the two gave up."""
        return RequestShape(
            formats=min(self.formats, other.formats, key=len),
            dropped=self.dropped | other.dropped,
            max_output_name=other.max_output_name if self.max_output_name == "max_tokens" else self.max_output_name,
        )

    def given_up(self, request: ChatRequest) -> tuple[str, ...]:
        """Return what ``request`` asked for and was left out or renamed, in words for the judgment's record."""
        asked = {*request.parameters, *(["logprobs"] if request.logprobs else [])}
        renamed = () if self.max_output_name == "max_tokens" else (f"max_tokens -> {self.max_output_name}",)
        return (*sorted(self.dropped & asked), *renamed)

    def parameters(self, request: ChatRequest) -> dict[str, Any]:
        """Return the limit of the output and the sampling parameters, as far as they are sent."""
        kept = {name: value for name, value in request.parameters.items() if name not in self.dropped}
        return {self.max_output_name: request.max_output, **kept}


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model returned, as storable text; ``replaced`` tells that some characters were not storable.

    ``finish_reason`` is "length" where the reply was cut off and "content_filter" where a filter stopped it.
    """

    text: str
    refusal: str | None
    finish_reason: str | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    replaced: bool
    tokens: tuple[TokenChance, ...] | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """One kind of endpoint.

    Attributes:
        name: The value of ``--provider``; NAME_API_KEY and NAME_BASE_URL are its variables in the environment.
        base_url: Its own address.
        path: Where requests go, below the address.
        body: From model, request and shape to the JSON body.
        read: Reads the body of a successful answer; None for a body that is none (a login page, an error sent as 200).
        headers: From the key to the headers that carry it; None is a bearer token.
        shape: The first way to write a request.
        models: How the names of its models begin: these choose the provider where nothing else does.
    """

    name: str
    base_url: str
    path: str
    body: Callable[[str, ChatRequest, RequestShape], dict[str, Any]]
    read: Callable[[str], Completion | None]
    headers: Callable[[str], Mapping[str, str]] | None = None
    shape: RequestShape = RequestShape()
    models: tuple[str, ...] = ()

    @property
    def key_variable(self) -> str:
        """The variable of the environment that holds the key."""
        return f"{self.name.upper()}_API_KEY"

    @property
    def address_variable(self) -> str:
        """The variable of the environment that holds another address."""
        return f"{self.name.upper()}_BASE_URL"


def host_of(base_url: str) -> str:
    """Return host and port of an endpoint, without a user or password that its address may carry."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def is_address(base_url: str) -> bool:
    """Whether requests can be sent there: http or https, a host, and a port that is one."""
    try:
        parts = urlsplit(base_url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def token_count(value: Any) -> int | None:
    """Return a number of tokens that an endpoint reports, None for a value that is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|too (?:long|many tokens)|exceeds? the (?:model|maximum|context)"
    r"|reduce the length|prompt is too large"
)
_NOT_TAKEN = re.compile(
    r"not (?:be )?(?:support|allow|permit|accept|implement|available|recogni[sz]ed|compatible)|n't support"
    r"|unsupported|unknown|unrecogni[sz]ed|unexpected|invalid|extra (?:field|input)|only the default"
    r"|must be|cannot|failed to|no longer|deprecated"
)
_FORMAT_WORDS = (
    "response_format",
    "json_schema",
    "json_object",
    "structured output",
    "response format",
    "grammar",
    "tool_choice",
)
_CONTENT_CODES = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})


@dataclass(frozen=True, slots=True)
class EndpointError:
    """An error body, read as far as its dialect allows: every field may be empty, all but ``message`` lower case."""

    message: str
    param: str
    code: str

    @property
    def content_refused(self) -> bool:
        """Whether the endpoint would not take the content of the request."""
        return self.code in _CONTENT_CODES

    @property
    def out_of_quota(self) -> bool:
        """Whether the account is used up, which no waiting mends."""
        return self.code in _QUOTA_CODES or self.message.startswith("Your credit balance is too low")

    @property
    def unknown_model(self) -> bool:
        """Whether the model's name is what is wrong."""
        return self.code == "model_not_found"

    @property
    def rejected(self) -> Rejected | None:
        """Which part of every request is not taken; None where the trouble is (or may be) this row's alone.

        A ``param`` decides where there is one. Else a message counts only when it both names the part and says that
        it is not taken, since messages may quote the row.
        """
        text = self.message.lower()
        if self.param:
            return self._by_param(text)
        if self.code == "context_length_exceeded" or _TOO_LONG.search(text) or not _NOT_TAKEN.search(text):
            return None
        if "max_completion_tokens" in text:
            return Rejected.MAX_TOKENS
        if any(word in text for word in _FORMAT_WORDS):
            return Rejected.REPLY_FORMAT
        if "logprobs" in text:
            return Rejected.LOGPROBS
        return Rejected.TEMPERATURE if "temperature" in text else None

    def _by_param(self, text: str) -> Rejected | None:
        if self.param.startswith(("response_format", "text.format")):
            return Rejected.REPLY_FORMAT
        if self.param == "temperature":
            return Rejected.TEMPERATURE
        if self.param in {"logprobs", "top_logprobs"}:
            return Rejected.LOGPROBS
        renamed = "max_completion_tokens" in text or self.code == "unsupported_parameter"
        return Rejected.MAX_TOKENS if self.param == "max_tokens" and renamed else None


def read_error(body: str) -> EndpointError:
    """Read an error body, whatever its dialect; a body of another shape is all message."""

    def text(value: Any) -> str:
        if isinstance(value, str):
            return value
        return "" if value is None else json.dumps(value, ensure_ascii=False)

    try:
        content: Any = json.loads(body)
    except (ValueError, RecursionError):
        return EndpointError(message=body.strip(), param="", code="")
    if isinstance(content, dict) and "error" in content:
        content = content["error"]
    if not isinstance(content, dict):
        return EndpointError(message=text(content), param="", code="")
    message = content.get("message") or content.get("detail") or body.strip()
    code = text(content.get("code")) or text(content.get("type"))
    return EndpointError(message=text(message), param=text(content.get("param")).lower(), code=code.lower())


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, in seconds; what the endpoint asks for goes first.

    Where an endpoint asks for more than ``longest_wait_s`` no call follows: a run would stand still and say nothing.
    ``tries`` counts the calls for one request that failed in a way that may pass; calls with another reply format or
    other parameters do not use them up.
    """

    tries: int = 5
    first_wait_s: float = 0.5
    longest_backoff_s: float = 20.0
    longest_wait_s: float = 60.0

    def again(self, failures: int, asked_for_s: float | None) -> bool:
        """Say whether to call again after ``failures`` (1 or more) calls and the wait that was asked for."""
        return failures < self.tries and (asked_for_s or 0.0) <= self.longest_wait_s

    def wait_s(self, failures: int, asked_for_s: float | None, chance: float) -> float:
        """Return the seconds to wait after ``failures`` (1 or more) calls; ``chance`` is uniform in 0..1.

        Without a wish of the endpoint: half to all of first x 2^(failures - 1), so that rows spread out. With one:
        that wish and up to a tenth more.
        """
        if asked_for_s is not None:
            return min(max(asked_for_s, 0.0) * (1 + chance / 10), self.longest_wait_s)
        backoff = min(self.first_wait_s * 2.0 ** min(failures - 1, 30), self.longest_backoff_s)
        return backoff * (0.5 + chance / 2)


_USUAL = RetryPolicy()

RETRIES: Mapping[int | str, RetryPolicy] = MappingProxyType(
    {
        "timeout": _USUAL,
        "connection": _USUAL,
        408: _USUAL,  # request timeout
        409: _USUAL,  # conflict, as some gateways call a lock
        429: _USUAL,  # rate limit
        500: _USUAL,
        502: _USUAL,  # trouble of the server or of a gateway before it
        503: _USUAL,
        504: _USUAL,
        520: _USUAL,  # 520 to 524: Cloudflare
        521: _USUAL,
        522: _USUAL,
        523: _USUAL,
        524: _USUAL,
        529: _USUAL,  # overloaded, as Anthropic says it
    }
)
"""From what came of a call, an HTTP status or the way it failed, to when it is made again; others are not."""


def asked_wait_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date) asks for, else None."""
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / per_second
        except ValueError:
            try:
                seconds = (email.utils.parsedate_to_datetime(value) - now).total_seconds()
            except (ValueError, TypeError):
                continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None
