"""Decides what follows from one call to an endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from judgeboard.domain import Attempt
from judgeboard.llm.chat_body import ChatBody, read_chat_body
from judgeboard.llm.endpoint_errors import EndpointError, read_error
from judgeboard.llm.request_shape import Rejected
from judgeboard.llm.retry_policy import RETRIED_STATUS, asked_wait_s
from judgeboard.storable_text import storable

_STORED_CHARACTERS = 10_000
_SHOWN_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Called:
    """What one call brought back: an HTTP status with its body, or the ``failure`` (timeout, connection) instead."""

    latency_ms: int
    status: int = 0
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The model answered."""

    body: ChatBody


@dataclass(frozen=True, slots=True)
class Later:
    """The same call may succeed later, after ``asked_wait_s`` if the endpoint named a time."""

    reason: str
    asked_wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class PutDifferently:
    """The endpoint does not take a part of the request, whatever the row."""

    rejected: Rejected
    reason: str


@dataclass(frozen=True, slots=True)
class RowFailed:
    """This row gets no reply; others may."""

    reason: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class AllFail:
    """No row can succeed until what ``fix`` names is mended; ``key_refused`` says that it is the key."""

    reason: str
    fix: str
    key_refused: bool = False


Outcome = Answered | Later | PutDifferently | RowFailed | AllFail

_FIXES = {
    401: "set OPENAI_API_KEY to a key that it takes",
    402: "the account needs credit, or use another key (OPENAI_API_KEY)",
    403: "use a key that may use this model (OPENAI_API_KEY), or another --model",
    404: "check the model's name (--model), and that the address (--base-url) ends in /v1",
}


def _shown(message: str) -> str:
    """The start of a message on one line; what it quotes may be long or hostile to a terminal."""
    line = " ".join(message.split())
    plain = "".join(c if c.isprintable() else "\ufffd" for c in line)
    return plain if len(plain) <= _SHOWN_CHARACTERS else f"{plain[:_SHOWN_CHARACTERS]}…"


def _failed(called: Called, error: EndpointError, now: datetime) -> Outcome:
    reason = f"HTTP {called.status}: {_shown(error.message)}" if error.message else f"HTTP {called.status}"
    fix = _FIXES.get(402 if error.out_of_quota else 404 if error.unknown_model else called.status)
    if fix is not None:
        # The body of a 401 often repeats part of the key.
        key_refused = called.status == 401
        return AllFail("HTTP 401" if key_refused else reason, fix, key_refused)
    if error.content_refused:
        return RowFailed(reason, refused=True)
    if called.status in {400, 422} and error.rejected:
        return PutDifferently(error.rejected, reason)
    if called.status in RETRIED_STATUS:
        return Later(reason, asked_wait_s(called.headers, now))
    return RowFailed(reason)


def outcome(called: Called, now: datetime) -> Outcome:
    """Decide what follows from a call; ``now`` (UTC) is what a retry date is compared with."""
    if called.failure is not None:
        return Later(called.failure)
    if 200 <= called.status < 300:
        body = read_chat_body(called.body)
        return RowFailed(f"not a chat completion: {_shown(called.body)}") if body is None else Answered(body)
    return _failed(called, read_error(called.body), now)


def attempt(called: Called, decided: Outcome, why: str) -> Attempt:
    """Record a call for the judgment: the model's text in full, the body of an error up to 10,000 characters."""
    if isinstance(decided, Answered):
        body = decided.body
        return Attempt(
            why=why,
            status="ok",
            raw=body.text or body.refusal or "",
            prompt_tokens=body.prompt_tokens,
            completion_tokens=body.completion_tokens,
            latency_ms=called.latency_ms,
            detail="characters that cannot be stored became U+FFFD" if body.replaced else None,
        )
    return Attempt(
        why=why,
        status=called.failure or f"http_{called.status}",
        raw=storable(called.body[:_STORED_CHARACTERS])[0] or None,
        latency_ms=called.latency_ms,
        detail=decided.reason,
    )
