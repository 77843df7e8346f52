"""Providers of chat models: addresses, requests, replies and errors, and when a call is repeated (``RETRIES``)."""

import email.utils
import ipaddress
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from judgeboard.llm.chat import ChatRequest, Reply, ReplyFormat

CONCURRENCY, TIMEOUT_S = 16, 60.0
"""The default maximum numbers of calls in flight, and of seconds for one call."""
NO_KEY = "none"
"""The text that is sent if there is no key; local servers accept this text."""


class Rejected(Enum):
    """A part of every request that an endpoint does not accept."""

    REPLY_FORMAT = "reply_format"
    TEMPERATURE = "temperature"
    MAX_TOKENS = "max_tokens"
    LOGPROBS = "logprobs"


@dataclass(frozen=True, slots=True)
class RequestShape:
    """One form of a request. After a rejection the next form is tried, never an earlier one.

    ``formats`` are the reply formats that can still be tried; the first is the current format.
    """

    formats: tuple[ReplyFormat, ...] = tuple(ReplyFormat)
    dropped: frozenset[str] = frozenset()
    max_output_name: str = "max_tokens"

    @property
    def reply_format(self) -> ReplyFormat:
        """The current reply format."""
        return self.formats[0]

    def after(self, rejected: Rejected) -> "RequestShape | None":
        """Return the next form to try, None if there is none."""
        match rejected:
            case Rejected.REPLY_FORMAT if len(self.formats) > 1:
                return replace(self, formats=self.formats[1:])
            case Rejected.TEMPERATURE | Rejected.LOGPROBS if rejected.value not in self.dropped:
                return replace(self, dropped=self.dropped | {rejected.value})
            case Rejected.MAX_TOKENS if self.max_output_name == "max_tokens":
                return replace(self, max_output_name="max_completion_tokens")
        return None

    def joined(self, other: "RequestShape") -> "RequestShape":
        """Return the shape without the parts that this shape or ``other`` leaves out."""
        return RequestShape(
            formats=min(self.formats, other.formats, key=len),
            dropped=self.dropped | other.dropped,
            max_output_name=other.max_output_name
            if self.max_output_name == "max_tokens"
            else self.max_output_name,
        )

    def given_up(self, request: ChatRequest) -> tuple[str, ...]:
        """Return the parameters of ``request`` that were left out or renamed, for the judgment's record."""
        parameter_names = {*request.parameters, *(["logprobs"] if request.logprobs else [])}
        renamed = (
            ()
            if self.max_output_name == "max_tokens"
            else (f"max_tokens -> {self.max_output_name}",)
        )
        return (*sorted(self.dropped & parameter_names), *renamed)

    def parameters(self, request: ChatRequest) -> dict[str, Any]:
        """Return the parameters that are sent."""
        parameters = {
            name: value for name, value in request.parameters.items() if name not in self.dropped
        }
        return {self.max_output_name: request.max_output, **parameters}


@dataclass(frozen=True, slots=True)
class Provider:
    """One kind of endpoint; requests go to ``path`` below ``base_url``.

    ``name`` is the value of ``--provider``; NAME_API_KEY and NAME_BASE_URL are the environment
    variables. ``read`` may raise LookupError, TypeError, ValueError or AttributeError if a value is
    not a reply. ``headers`` contain the key (default: a bearer token). ``models`` are prefixes of
    model names that choose the provider by default.
    """

    name: str
    base_url: str
    path: str
    body: Callable[[str, ChatRequest, RequestShape], dict[str, Any]]
    read: Callable[[Any], Reply]
    headers: Callable[[str], Mapping[str, str]] | None = None
    shape: RequestShape = RequestShape()
    models: tuple[str, ...] = ()

    @property
    def key_variable(self) -> str:
        """The environment variable of the key."""
        return f"{self.name.upper()}_API_KEY"

    @property
    def address_variable(self) -> str:
        """The environment variable of an address that replaces ``base_url``."""
        return f"{self.name.upper()}_BASE_URL"


def host_of(base_url: str) -> str:
    """Return host and port of an endpoint, without user and password."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def is_own_host(host: str | None) -> bool:
    """Whether a host, with or without a port, is this machine, in the local network, or a container.

    Names without a dot are names of containers or of machines in the same network. Calls to an own
    host are not billed. None, where nothing leaves the process, is no host.
    """
    if host is None:
        return False
    name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        own_name = name.endswith((".localhost", ".local")) or name == "host.docker.internal"
        return bool(name) and ("." not in name or own_name)
    return address.is_private or address.is_loopback or address.is_link_local


def is_address(base_url: str) -> bool:
    """Whether requests can be sent to this address: http or https, a host, and a valid port."""
    try:
        parts = urlsplit(base_url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def token_count(value: Any) -> int | None:
    """Return a reported number of tokens, None for any other value."""
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
        else None
    )


def text_or_none(value: Any) -> str | None:
    """Return a text, None for any other value."""
    return value if isinstance(value, str) else None


def usage_in(content: Any) -> dict[str, Any]:
    """Return the ``usage`` of a reply. If invalid, the reply can be used but the cost is unknown."""
    usage = content.get("usage")
    return usage if isinstance(usage, dict) else {}


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
    *(
        "response_format",
        "json_schema",
        "json_object",
        "structured output",
        "response format",
        "grammar",
    ),
    "tool_choice",
)
_CONTENT_CODES = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})


@dataclass(frozen=True, slots=True)
class EndpointError:
    """An error body; every field may be empty, and all but ``message`` are in lower case."""

    message: str
    param: str
    code: str

    @property
    def content_refused(self) -> bool:
        """Whether the endpoint refused the content of the request."""
        return self.code in _CONTENT_CODES

    @property
    def out_of_quota(self) -> bool:
        """Whether the account has no credit left."""
        return self.code in _QUOTA_CODES or self.message.startswith(
            "Your credit balance is too low"
        )

    @property
    def rejected(self) -> Rejected | None:
        """The part of every request that is not accepted; None if only this request may have a problem.

        Without ``param``, a message must name the part and say that the part is not accepted: a
        message may quote the answer.
        """
        text = self.message.lower()
        if self.param:
            return self._by_param(text)
        if (
            self.code == "context_length_exceeded"
            or _TOO_LONG.search(text)
            or not _NOT_TAKEN.search(text)
        ):
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
    """Read an error body. If the form is unknown, the whole body is the message."""

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
    return EndpointError(
        message=text(message), param=text(content.get("param")).lower(), code=code.lower()
    )


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter, in seconds; a wait that the endpoint asks for takes precedence.

    If the endpoint asks for more than ``longest_wait_s``, no call follows. ``tries`` limits the
    calls for one request that failed temporarily; calls with another reply format or other
    parameters do not count.
    """

    tries: int = 5
    first_wait_s: float = 0.5
    longest_backoff_s: float = 20.0
    longest_wait_s: float = 60.0

    def again(self, failures: int, asked_for_s: float | None) -> bool:
        """Whether to call again after ``failures`` (1 or more) calls and the wait that the endpoint asked for."""
        return failures < self.tries and (asked_for_s or 0.0) <= self.longest_wait_s

    def wait_s(self, failures: int, asked_for_s: float | None, chance: float) -> float:
        """Return the seconds to wait after ``failures`` failed calls (1 or more). ``chance`` is random in 0..1.

        The wait is 50 to 100 % of first_wait_s x 2^(failures - 1), so that calls spread out. If the
        endpoint asked for a wait, the result is 100 to 110 % of that wait.
        """
        if asked_for_s is not None:
            return min(max(asked_for_s, 0.0) * (1 + chance / 10), self.longest_wait_s)
        backoff = min(self.first_wait_s * 2.0 ** min(failures - 1, 30), self.longest_backoff_s)
        return backoff * (0.5 + chance / 2)


RETRIES: tuple[int | str, ...] = (
    *("timeout", "connection"),
    *(408, 409, 429),  # request timeout, conflict (some gateways mean a lock), rate limit
    *(
        500,
        502,
        503,
        504,
        520,
        521,
        522,
        523,
        524,
        529,
    ),  # 520 to 524: Cloudflare; 529: Anthropic is overloaded
)
"""The HTTP statuses and failures after which a call is repeated; `RetryPolicy` says how often and when."""


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
