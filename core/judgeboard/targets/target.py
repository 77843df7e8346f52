"""What all targets share: access, requests that are repeated, and the ids of traces."""

import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, cast

import httpx

from judgeboard.domain import NOTES
from judgeboard.errors import BadInput, NotSent
from judgeboard.llm.provider import is_address
from judgeboard.llm.reply_body import ENCODINGS, MB, BodyLimit, UnreadableReply
from judgeboard.settings.masking import masked, register_environment, without_secrets
from judgeboard.store.tools import PushItem
from judgeboard.text import storable

_TOO_MANY = 429
_RETRIED = frozenset({408, _TOO_MANY, 502, 503, 504})
_DENIED = frozenset({401, 403})
_TRIES = 6
_LONGEST_WAIT_S = 60.0
_REPLY_MB = 64  # of one reply: a page of traces with long texts
_REPLY_SECONDS = 120.0
_REASON = 300  # characters: enough for a sentence, and too short for the text of an answer
SENT_BY, OWN = "sent_by", "judgeboard"
"""The entry in the metadata of every score that Judgeboard sends; a pull leaves these scores out."""
_SPACE = uuid.UUID("6f0d1b1e-4a3b-4f0e-9d3c-6a7564676562")


class Refused(Exception):
    """The tool does not take these items as they are, now or later; the text says why."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Access:
    """Address, headers and authentication of a tool."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict)
    auth: httpx.Auth | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A tool that gets scores back.

    Args:
        name: Its name on the command line.
        address: Names of the environment variables with its address, the first that is set counts.
        access: From address and environment to the access; raises BadInput if a key is missing.
        send: Sends up to ``batch_size`` items; raises `Refused` if the tool does not take one of them. Sending an item
            again must overwrite it.
        default_address: The address without a variable, None if there is none.
    """

    name: str
    address: tuple[str, ...]
    access: Callable[[str, Mapping[str, str]], Access]
    send: "Callable[[Http, Sequence[PushItem]], None]"
    batch_size: int = 1
    default_address: str | None = None

    def find_address(self, address: str | None, environment: Mapping[str, str]) -> str:
        """Return the address of the tool: the given one, or that of the environment.

        The secrets of the environment are registered: no message of a tool may repeat them.
        """
        register_environment(environment)
        values = (address, *(environment.get(name) for name in self.address), self.default_address)
        found = next((value for value in values if value), None)
        if found is None:
            raise BadInput(f"no address of {self.name}: set {self.address[0]}, or give --url URL")
        if not is_address(found) or "@" in found:
            raise BadInput(f"the address of {self.name} must be http:// or https://, not {masked(found)!r}")
        return found.rstrip("/")


class _BoundedStream(httpx.SyncByteStream):
    def __init__(self, sent: httpx.SyncByteStream, limit: BodyLimit) -> None:
        self._sent, self._limit = sent, limit
        self._until = time.monotonic() + _REPLY_SECONDS

    def __iter__(self) -> Iterator[bytes]:
        for part in self._sent:
            if time.monotonic() > self._until:
                raise UnreadableReply(f"its reply did not end within {_REPLY_SECONDS:g} s")
            yield from self._limit.pieces(part)

    def close(self) -> None:
        self._sent.close()


def _bound(response: httpx.Response) -> None:
    """Limit what is read of a reply, before its body is read."""
    limit = BodyLimit(
        response.headers.pop("content-encoding", ""), round(_REPLY_MB * MB)
    )  # or it is decompressed twice
    response.stream = _BoundedStream(cast("httpx.SyncByteStream", response.stream), limit)


class Http:
    """A connection to a tool. A context manager."""

    def __init__(self, access: Access, wait: Callable[[float], object] = time.sleep) -> None:
        self.address = access.address
        self._headers = dict(access.headers)
        self._client = httpx.Client(
            auth=access.auth, timeout=30, headers={"accept-encoding": ENCODINGS}, event_hooks={"response": [_bound]}
        )
        self._wait = wait
        self._known: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def send(self, method: str, path: str, body: Any = None, *, repeat: bool = True) -> Any:
        """Return the JSON of the reply, None if it is empty. Repeat a request that the tool cannot answer now.

        Without ``repeat``, a request is not repeated if the tool may have stored it.

        Raises:
            Refused: The tool does not take the request.
            NotSent: The tool denies access, or still does not answer after 6 tries, or not with JSON.
        """
        reason = ""
        for number in range(_TRIES):
            asked, again = None, repeat
            try:
                reply = self._client.request(method, f"{self.address}{path}", json=body, headers=self._headers)
            except (httpx.LocalProtocolError, UnicodeEncodeError):
                # The error has the header, and so the key: it is not shown.
                words = "a header cannot be sent: the key has a line break or another unusual character"
                raise NotSent(words) from None
            except (httpx.RequestError, UnreadableReply) as error:
                reason = without_secrets(f"{type(error).__name__}: {error}")
                again = repeat and not isinstance(error, UnreadableReply)
            else:
                if reply.is_success:
                    return self._content(reply)
                reason = f"{reply.status_code}: {_reason(reply)}"
                if reply.status_code in _DENIED or reply.is_redirect:
                    break
                if reply.status_code not in _RETRIED:
                    raise Refused(reason, reply.status_code)
                header = reply.headers.get("retry-after", "")
                asked = float(header) if header.isascii() and header.isdecimal() else None
                again = repeat or reply.status_code == _TOO_MANY
            if not again:
                break
            if number < _TRIES - 1:
                self._wait(min(asked if asked is not None else 0.5 * 2**number, _LONGEST_WAIT_S))
        raise NotSent(f"{self.address} does not answer: {reason}")

    def _content(self, reply: httpx.Response) -> Any:
        content = _json(reply)
        if content is None and reply.content.strip() not in {b"", b"null"}:
            raise NotSent(f"{self.address} answered without JSON: is it the address of the tool?")
        return content

    def read_once(self, path: str) -> Any:
        """Return the JSON at a path; it is requested only once."""
        if path not in self._known:
            self._known[path] = self.send("GET", path)
        return self._known[path]


def _json(reply: httpx.Response) -> Any:
    try:
        return reply.json() if reply.content else None
    except ValueError:
        return None


def _reason(reply: httpx.Response) -> str:
    """Return the message of an error, without what the tool repeats of the request: that may be a text of an answer."""
    return storable(without_secrets(_message(reply))[:_REASON])[0]


def _message(reply: httpx.Response) -> str:
    content = _json(reply)
    if isinstance(content, dict):
        for name in ("message", "detail", "error", "msg"):
            named = content.get(name)
            if isinstance(named, list):
                named = "; ".join(str(each.get("msg", "")) for each in named if isinstance(each, dict))
            if isinstance(named, str) and named:
                return named
    return reply.text if content is None else "no reason given"


_TRACE_ID = re.compile(r"(?:tr-)?([0-9a-f]{32})\Z")
_SPAN_ID = re.compile(r"[0-9a-f]{16}\Z")


def trace_id(item: PushItem) -> str | None:
    """Return the 32 hex digits of the trace of an answer: of its metadata, otherwise its external id."""
    for value in (item.metadata.get("trace_id"), item.external_id):
        match = _TRACE_ID.match(str(value).lower().replace("-", "").replace("tr", "tr-", 1)) if value else None
        if match:
            return match[1]
    return None


def span_id(item: PushItem) -> str | None:
    """Return the 16 hex digits of the root span of an answer, None if they are not known."""
    for value in (item.metadata.get("span_id"), item.external_id):
        if value and _SPAN_ID.match(str(value).lower()):
            return str(value).lower()
    return None


def needed_trace_id(item: PushItem) -> str:
    """Return the trace id, or raise `Refused`."""
    found = trace_id(item)
    if found is None:
        raise Refused("the answer has no trace id: neither its id nor metadata.trace_id is one")
    return found


def stable_id(item: PushItem, score: str, *more: str) -> uuid.UUID:
    """Return the same id for a score of an author on an answer in every push."""
    return uuid.uuid5(_SPACE, "\0".join((item.source, item.external_id, item.identifier, score, *more)))


def facts(item: PushItem) -> dict[str, str]:
    """Return what a tool stores beside a score: texts only, because MLflow drops everything else.

    The notes beside the one that explains the score are among them. Corrected answers are not: they are no fact of a
    score, and tools with a place for them get them there.
    """
    notes = {name: item.texts[name] for name in NOTES if name != "note" and name in item.texts}
    of_item = {"source": item.source, "author": item.author, "at": item.at.isoformat(), SENT_BY: OWN}
    return {**notes, **of_item, **item.more}
