"""Requests to a tool over HTTP, repeated while the tool cannot answer, with a limit on the size of replies."""

import time
from collections.abc import Callable, Generator, Iterator
from functools import cache
from typing import Any, Self, cast

import httpx

from judgeboard.errors import NotSent
from judgeboard.llm.reply_body import ENCODINGS, MB, BodyLimit, UnreadableReply
from judgeboard.settings.masking import register_secret, without_secrets
from judgeboard.text import storable
from judgeboard.tools.target import Access, Refused

_TOO_MANY = 429
_RETRIED = frozenset({408, _TOO_MANY, 502, 503, 504})
_DENIED = frozenset({401, 403})
_TRIES = 6
_LONGEST_WAIT_S = 60.0
_REPLY_MB = 64  # of one reply: a page of traces with long texts
_REPLY_SECONDS = 120.0
_certificates = cache(httpx.create_ssl_context)  # reading takes 20 ms, and each push makes a client
_REASON = 300  # characters: enough for a sentence, and too short for the text of an answer


class AccessTokens(httpx.Auth):
    """Exchanges a token for an access token, and again after the access token has ended (after minutes).

    The token is posted to ``url`` as ``refresh``, and the reply has the access token as ``access``.
    """

    requires_response_body = True

    def __init__(self, url: str, token: str) -> None:
        self._refresh = httpx.Request("POST", url, json={"refresh": token})
        self._access = ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Yield the request with an access token, and requests for such a token."""
        if self._access:
            request.headers["authorization"] = f"Bearer {self._access}"
            if (yield request).status_code != 401:
                return
        reply = yield self._refresh
        if reply.is_success:
            try:
                self._access = str(reply.json()["access"])
                register_secret(self._access)
            except (ValueError, TypeError, KeyError):
                words = f"{self._refresh.url} answered without an access token: is it the address of the tool?"
                raise NotSent(words) from None
            request.headers["authorization"] = f"Bearer {self._access}"
        yield request


class _BoundedStream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, limit: BodyLimit) -> None:
        self._sent, self._limit = stream, limit
        self._until = time.monotonic() + _REPLY_SECONDS

    def __iter__(self) -> Iterator[bytes]:
        for part in self._sent:
            if time.monotonic() > self._until:
                raise UnreadableReply(f"its reply did not end within {_REPLY_SECONDS:g} s")
            yield from self._limit.pieces(part)

    def close(self) -> None:
        self._sent.close()


def _bound(response: httpx.Response) -> None:
    """Limit the bytes of a reply, before the body is read."""
    encoding = response.headers.pop("content-encoding", "")  # or the body is decompressed twice
    limit = BodyLimit(encoding, round(_REPLY_MB * MB))
    response.stream = _BoundedStream(cast("httpx.SyncByteStream", response.stream), limit)


class Http:
    """A connection to a tool. A context manager."""

    def __init__(self, access: Access, wait: Callable[[float], object] = time.sleep) -> None:
        self.address = access.address
        self._headers = dict(access.headers)
        self._client = httpx.Client(
            auth=access.auth,
            timeout=30,
            verify=_certificates(),
            headers={"accept-encoding": ENCODINGS},
            event_hooks={"response": [_bound]},
        )
        self._wait = wait
        self._known: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._client.close()

    def send(self, method: str, path: str, body: Any = None, *, repeat: bool = True) -> Any:
        """Return the JSON of the reply, None for an empty reply. Repeat a request that the tool cannot answer now.

        Without ``repeat``, a request is not repeated if the tool may have stored it.

        Raises:
            Refused: The tool does not take the request.
            NotSent: The tool denies access, or still does not answer after 6 tries, or not with
                JSON.
        """
        reason = ""
        for number in range(_TRIES):
            wait_s, again = None, repeat
            try:
                reply = self._client.request(
                    method, f"{self.address}{path}", json=body, headers=self._headers
                )
            except (httpx.LocalProtocolError, UnicodeEncodeError):
                # The error contains the header with the key, and is not shown.
                words = (
                    "a header cannot be sent: the key has a line break or another unusual character"
                )
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
                wait_s = float(header) if header.isascii() and header.isdecimal() else None
                again = repeat or reply.status_code == _TOO_MANY
            if not again:
                break
            if number < _TRIES - 1:
                self._wait(min(wait_s if wait_s is not None else 0.5 * 2**number, _LONGEST_WAIT_S))
        raise NotSent(f"{self.address} does not answer: {reason}")

    def _content(self, reply: httpx.Response) -> Any:
        content = _json(reply)
        if content is None and reply.content.strip() not in {b"", b"null"}:
            raise NotSent(f"{self.address} answered without JSON: is it the address of the tool?")
        return content

    def read_once(self, path: str) -> Any:
        """Return the JSON at a path, which is requested only once."""
        if path not in self._known:
            self._known[path] = self.send("GET", path)
        return self._known[path]


def _json(reply: httpx.Response) -> Any:
    try:
        return reply.json() if reply.content else None
    except ValueError:
        return None


def _reason(reply: httpx.Response) -> str:
    """Return the start of the message of an error: the tool may repeat the request, with texts of an answer."""
    content = _json(reply)
    message = reply.text if content is None else "no reason given"
    for name in ("message", "detail", "error", "msg") if isinstance(content, dict) else ():
        text = content.get(name)
        if isinstance(text, list):
            text = "; ".join(str(each.get("msg", "")) for each in text if isinstance(each, dict))
        if isinstance(text, str) and text:
            message = text
            break
    return storable(without_secrets(message)[:_REASON])[0]
