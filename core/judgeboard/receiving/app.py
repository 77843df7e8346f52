"""The routes that receive traces, answers and feedback. They never redirect: exporters count a redirect as success."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import NamedTuple, TypeVar

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response as Reply
from starlette.routing import Route

from judgeboard.errors import BadInput
from judgeboard.people.permissions import REFUSED
from judgeboard.receiving.gathering import Gatherer
from judgeboard.receiving.keys import UNKNOWN, Door, Sender
from judgeboard.receiving.limits import RETRY_SECONDS, Body, Memory, Refused
from judgeboard.receiving.records import feedback_in_body, responses_in_body, store_records
from judgeboard.receiving.writing import PATIENCE_SECONDS, Writer, is_outage
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.storing import add_feedback
from judgeboard.store.traces import NewSpan, store_feedback, store_spans, take_feedback
from judgeboard.traces import langsmith_runs, otlp
from judgeboard.traces.spans import LogRecord, Span

_log = logging.getLogger("judgeboard.receiving")

# The SDKs of Langfuse and LangSmith, and some settings of exporters, post under these.
PREFIXES = ("", "/api/public/otel", "/otel", "/v1/otel")
AT_ONCE = 2  # requests that are decoded at a time, which takes memory and one core each
MOST_IN_MEMORY = 256 * 2**20  # bytes of all bodies under way, as sent and decompressed

STATUSES = {
    200: "Stored.",
    400: "The body cannot be decoded.",
    401: "No key, or a wrong, expired or revoked key.",
    403: "The key is for another source, or may not send.",
    413: "The body is too large, also after decompression.",
    415: "The body is compressed in a way that is not known.",
    429: "Too many requests: try again after the time in Retry-After.",
    503: "Too much at once, or the database is locked, full or not reachable: try again after the time in Retry-After.",
}

T = TypeVar("T")
Read = Callable[[bytes, str], Sequence[Span | LogRecord]]
Handle = Callable[[Sender, Body, str], Awaitable[bytes]]


class Endpoint(NamedTuple):
    """A path with its method's summary, for the documentation."""

    path: str
    summary: str
    request: str
    handle: Handle


class Receiver:
    """Receives what assistants send to one database, and makes responses of it, from `start` to `stop`."""

    def __init__(
        self,
        store: Callable[[], Store],
        patience: float = PATIENCE_SECONDS,
        keys_needed: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._writer = Writer(store, patience)
        self._memory = Memory(MOST_IN_MEMORY)
        self._gatherer = Gatherer(store, lambda: self._memory.used > 0)
        self._door = Door(keys_needed)
        self._decoding = asyncio.Semaphore(AT_ONCE)

    def start(self) -> None:
        """Start to write and to gather."""
        self._writer.start()
        self._gatherer.start()

    def stop(self) -> None:
        """Write the rest, and end."""
        self._writer.stop()
        self._gatherer.stop()

    def endpoints(self) -> list[Endpoint]:
        """Return what can be sent."""
        traces, logs = partial(self._take_spans, otlp.traces_in), partial(self._take_spans, otlp.logs_in, logs=True)
        runs = partial(self._take_spans, langsmith_runs.runs_in)
        return [
            *(
                Endpoint(f"{prefix}/v1/traces", "Send spans (OTLP)", "ExportTraceServiceRequest", traces)
                for prefix in PREFIXES
            ),
            *(
                Endpoint(f"{prefix}/v1/logs", "Send log records (OTLP)", "ExportLogsServiceRequest", logs)
                for prefix in PREFIXES
            ),
            Endpoint("/runs/multipart", "Send runs (LangSmith)", "Runs in parts", runs),
            Endpoint("/runs/batch", "Send runs (LangSmith)", "Runs to post and to patch", runs),
            Endpoint("/api/responses", "Send answers", "An answer or a list", self._take_responses),
            Endpoint("/api/feedback", "Send feedback", "A feedback or a list", self._take_feedback),
        ]

    def routes(self) -> list[Route]:
        """Return the routes, each also with a slash at its end, which would otherwise be redirected."""
        return [
            *(
                Route(each.path + end, partial(self._answer, each.handle), methods=["POST"])
                for each in self.endpoints()
                for end in ("", "/")
            ),
            Route("/api/openapi.json", self._describe),
            Route("/api/docs", self._list),
        ]

    async def _describe(self, _request: Request) -> Reply:
        """Reply with the paths in the format of OpenAPI."""
        statuses = {str(status): {"description": words} for status, words in STATUSES.items()}
        paths = {
            each.path: {"post": {"summary": each.summary, "description": each.request, "responses": statuses}}
            for each in self.endpoints()
        }
        about = {"title": "Judgeboard receiver", "version": version("judgeboard")}
        return Reply(orjson.dumps({"openapi": "3.1.0", "info": about, "paths": paths}), media_type=otlp.JSON)

    async def _list(self, _request: Request) -> Reply:
        """Reply with the paths as a page for people."""
        paths = "".join(
            f"<tr><td><code>POST {each.path}</code><td>{each.summary}<td>{each.request}" for each in self.endpoints()
        )
        statuses = "".join(f"<tr><td>{status}<td>{words}" for status, words in STATUSES.items())
        page = "<!doctype html><html lang=en><title>Judgeboard receiver</title><h1>Judgeboard receiver</h1>"
        page += f"<table>{paths}</table><h2>Status</h2><table>{statuses}</table>"
        return Reply(page + "<p><a href=openapi.json>OpenAPI</a></html>", media_type="text/html")

    async def _answer(self, handle: Handle, request: Request) -> Reply:
        content_type = request.headers.get("content-type", "")
        key = UNKNOWN
        try:
            sender = await self._admitted(request)
            key = sender.name
            encoding = request.headers.get("content-encoding", "")
            with closing(Body(encoding, most=sender.most_bytes, memory=self._memory)) as body:
                await body.read(request.stream())
                reply = await handle(sender, body, content_type)
        except ClientDisconnect:
            return Reply(status_code=400)
        except Exception as error:  # noqa: BLE001 - every error has a status that exporters understand
            await _discard(request)
            return self._failed(error, content_type, key)
        return Reply(reply, media_type=_reply_type(content_type))

    async def _admitted(self, request: Request) -> Sender:
        _reply_type(request.headers.get("content-type", ""))
        client = None if request.client is None else request.client.host
        return await run_in_threadpool(self._door.admit, self._store(), request.headers, client)

    def _failed(self, error: Exception, content_type: str, key: str) -> Reply:
        status, reason = 503, "the receiver has a problem, try again"
        if isinstance(error, Refused):
            status, reason = error.status, error.reason
            self._record(error, key)
        elif isinstance(error, BadInput) and not is_outage(error):
            status, reason = 400, str(error)
        elif is_outage(error) or isinstance(error, DBAPIError):
            reason = "the database is locked, full or not reachable: try again"
            _log.warning("a request was not stored: %s", type(error).__name__)
        else:
            _log.error("a request failed", exc_info=error)
        headers = {"retry-after": str(RETRY_SECONDS)} if status in {429, 503} else None
        known = otlp.PROTOBUF if content_type.partition(";")[0].strip().lower() == otlp.PROTOBUF else otlp.JSON
        return Reply(otlp.failure(content_type, status, reason), status, headers, known)

    def _record(self, refusal: Refused, key: str) -> None:
        """Store a refusal as an event, without waiting for it. A refused key is known only to the refusal."""
        by = refusal.key or key
        details = self._door.event_of(by, refusal.status)
        if details is not None:
            self._writer.submit(partial(record_event, kind=REFUSED, actor=f"key:{by}", details=details))

    async def _decoded(self, decode: Callable[[bytes], T], body: Body) -> T:
        """Decode a body in a thread, a few at a time."""
        async with self._decoding:
            return await run_in_threadpool(lambda: decode(body.whole()))

    async def _take_spans(
        self, read: Read, sender: Sender, body: Body, content_type: str, *, logs: bool = False
    ) -> bytes:
        spans = await self._decoded(lambda content: _spans_in(read, sender, content, content_type), body)
        if spans:
            await self._writer.write(partial(store_spans, spans=spans, owner=sender.owner, now=datetime.now(UTC)))
        return otlp.success(_reply_type(content_type), logs=logs)

    async def _take_responses(self, sender: Sender, body: Body, _content_type: str) -> bytes:
        records = await self._decoded(lambda content: responses_in_body(content, sender), body)
        outcome = await self._writer.write(partial(store_records, records=records, now=datetime.now(UTC)))
        self._gatherer.wake()
        return orjson.dumps(outcome)

    async def _take_feedback(self, sender: Sender, body: Body, _content_type: str) -> bytes:
        entries = await self._decoded(feedback_in_body, body)

        def write(connection: Connection) -> dict[str, int]:
            now = datetime.now(UTC)
            ids = store_feedback(connection, entries, sender.owner, now)
            known = take_feedback(connection, ids)
            add_feedback(connection, known, (), None, now)
            attached = sum(map(len, known.values()))
            return {"attached": attached, "waiting": len(ids) - attached}

        return orjson.dumps(await self._writer.write(write))


def _reply_type(content_type: str) -> str:
    """Return the type of a reply: that of the request, and JSON for the parts of LangSmith. Raises BadInput."""
    return otlp.JSON if content_type.lower().startswith("multipart/form-data") else otlp.media_type(content_type)


def _spans_in(read: Read, sender: Sender, body: bytes, content_type: str) -> list[NewSpan]:
    try:
        return [NewSpan.of(record, sender.source_of(record.resource)) for record in read(body, content_type)]
    except (TypeError, RecursionError):
        raise BadInput("an attribute has a value that cannot be stored, for example one nested too deeply") from None


async def _discard(request: Request, most: int = 64 * 2**20) -> None:
    """Read the rest of a refused body, without keeping it: many senders read the reply only after they sent it all."""
    left = most
    with suppress(ClientDisconnect, RuntimeError):
        async for chunk in request.stream():
            left -= len(chunk)
            if left < 0:
                return
