"""The routes of the receiver, also for programs that read. They never redirect: exporters count that as success."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from functools import partial
from typing import Any, TypeVar

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.responses import Response as Reply
from starlette.routing import Route

from judgeboard.errors import (
    BadInput,
    DamagedDatabase,
    DecisionRefused,
    JudgeboardError,
    MissingDatabase,
    NotAllowed,
    NotFound,
    SchemaMismatch,
    UnusableDatabase,
)
from judgeboard.people.permissions import REFUSED
from judgeboard.receiving.api import (
    FLAG_PARAMETERS,
    SOURCE_PARAMETER,
    SentReview,
    flag_page,
    response_record,
    review_in,
    store_sent_review,
)
from judgeboard.receiving.bodies import (
    SentAnswer,
    SentEvents,
    SentFeedback,
    SentJudgment,
    SentLogs,
    SentRunFeedback,
    SentRuns,
    SentScore,
    SentSpans,
)
from judgeboard.receiving.endpoint import IN_PATH, MULTIPART, Endpoint, documentation, openapi, reply_type
from judgeboard.receiving.gathering import Gatherer
from judgeboard.receiving.keys import READ, REVIEW, UNKNOWN, USED, Door, Sender
from judgeboard.receiving.limits import RETRY_SECONDS, Body, Memory, Refused
from judgeboard.receiving.metrics import Metrics
from judgeboard.receiving.records import (
    feedback_in_body,
    langfuse_scores_in,
    langsmith_feedback_in,
    langsmith_records_in,
    records_in_body,
    store_records,
    store_score_records,
)
from judgeboard.receiving.writing import PATIENCE_SECONDS, Writer
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store, check_writable
from judgeboard.store.events import record_event
from judgeboard.store.opening import check_usable
from judgeboard.store.outages import is_outage, reason_of
from judgeboard.store.storing import add_feedback
from judgeboard.store.traces import NewSpan, store_feedback, store_spans, take_feedback
from judgeboard.traces import otlp, telemetry
from judgeboard.traces.spans import LogRecord, Span

_log = logging.getLogger("judgeboard.receiving")

# The SDKs of Langfuse and LangSmith, and some settings of exporters, post under these.
PREFIXES = ("", "/api/public/otel", "/otel", "/v1/otel")
AT_ONCE = 2  # requests that are decoded at a time, which takes memory and one core each
MOST_IN_MEMORY = 256 * 2**20  # bytes of all bodies under way, as sent and decompressed
MOST_DISCARDED = 64 * 2**20  # bytes of a refused body
STALLED_SECONDS = 20.0  # exporters give up after 10 s
READY_SECONDS = 5.0  # for the database to answer

_TOO_DEEP = "an attribute has a value that cannot be stored, for example one nested too deeply"

# The statuses of errors whose text is for the sender.
_REFUSALS: dict[type[Exception], int] = {BadInput: 400, NotAllowed: 403, NotFound: 404, DecisionRefused: 409}

T = TypeVar("T")
Read = Callable[[bytes, str], Sequence[Span | LogRecord]]
ReadScores = Callable[[bytes], tuple[list[LogRecord], Any]]


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
        self._requests: Counter[tuple[str, int]] = Counter()
        self._metrics = Metrics(store, self._requests)
        self._checking: asyncio.Task[str | None] | None = None

    def start(self) -> None:
        """Start to write and to gather."""
        self._writer.start()
        self._gatherer.start()

    def stop(self) -> None:
        """Write the rest, and end."""
        self._writer.stop()
        self._gatherer.stop()

    def endpoints(self) -> list[Endpoint]:
        """Return what can be sent and read."""
        readers = (otlp.traces_in, otlp.logs_in, langsmith_records_in)
        traces, logs, runs = (partial(self._take_spans, read) for read in readers)
        answers, judgments = (partial(self._take_records, kind) for kind in ("responses", "verdicts"))
        of_langfuse = partial(self._take_scores, langfuse_scores_in)
        of_langsmith = partial(self._take_scores, langsmith_feedback_in)
        of_otlp = partial(Endpoint, other_type=otlp.PROTOBUF)
        of_runs = partial(Endpoint, body=SentRuns, other_type=MULTIPART)
        of_json = partial(Endpoint, only_json=True)
        records = partial(of_json, listed=True)
        spans_of, logs_of = "ExportTraceServiceRequest", "ExportLogsServiceRequest"
        return [
            *(of_otlp(f"{at}/v1/traces", "Send spans (OTLP)", spans_of, traces, body=SentSpans) for at in PREFIXES),
            *(of_otlp(f"{at}/v1/logs", "Send log records (OTLP)", logs_of, logs, body=SentLogs) for at in PREFIXES),
            of_runs("/runs/multipart", "Send runs (LangSmith)", "Runs in parts", runs),
            of_runs("/runs/batch", "Send runs (LangSmith)", "Runs to post and to patch", runs),
            records("/api/responses", "Send answers", "An answer or a list", answers, body=SentAnswer),
            records("/api/judgments", "Send judgments", "A judgment or a list", judgments, body=SentJudgment),
            records("/api/feedback", "Send feedback", "A feedback or a list", self._take_feedback, body=SentFeedback),
            Endpoint("/feedback", "Send feedback (LangSmith)", "Feedback on a run", of_langsmith, body=SentRunFeedback),
            records("/api/public/scores", "Send scores (Langfuse)", "A score or a list", of_langfuse, body=SentScore),
            of_json(
                "/api/public/ingestion",
                "Send scores (Langfuse)",
                "Events of the type score-create",
                of_langfuse,
                body=SentEvents,
            ),
            Endpoint(
                "/api/responses/{id}",
                "Read an answer",
                "The answer with its judgments, flags and reviews",
                self._show_response,
                "GET",
                READ,
                SOURCE_PARAMETER,
            ),
            Endpoint("/api/flags", "Read flags", "Pages by id", self._show_flags, "GET", READ, FLAG_PARAMETERS),
            of_json("/api/reviews", "Send a review", "A review", self._take_review, scope=REVIEW, body=SentReview),
            Endpoint("/metrics", "Read figures", "The format of Prometheus", self._show_metrics, "GET", READ),
        ]

    def routes(self) -> list[Route]:
        """Return the routes, each also with a slash at its end, which would otherwise be redirected."""
        return [
            *(
                Route(each.path.replace("}", ":path}") + end, partial(self._answer, each), methods=[each.method])
                for each in self.endpoints()
                for end in ("", "/")
                if not (end and IN_PATH.search(each.path))  # an id may have a slash at its end
            ),
            Route("/api/openapi.json", self._describe),
            Route("/api/docs", self._list),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
        ]

    async def _describe(self, _request: Request) -> Reply:
        """Reply with the paths in the format of OpenAPI."""
        return Reply(orjson.dumps(openapi(self.endpoints())), media_type=otlp.JSON)

    async def _list(self, _request: Request) -> Reply:
        """Reply with the paths as a page for people."""
        return Reply(documentation(self.endpoints()), media_type="text/html")

    async def _health(self, _request: Request) -> Reply:
        """Reply that the server runs; reads no data."""
        return PlainTextResponse("ok")

    async def _ready(self, _request: Request) -> Reply:
        """Reply whether the database can be used, otherwise why not."""
        if self._checking is None or self._checking.done():  # one check at a time: a lost database may not answer
            self._checking = asyncio.create_task(run_in_threadpool(_fault_of, self._store))
        try:
            fault = await asyncio.wait_for(asyncio.shield(self._checking), READY_SECONDS)
        except TimeoutError:
            fault = f"the database did not answer for {READY_SECONDS:g} s"
        return PlainTextResponse(fault or "ok", 503 if fault else 200)

    async def _show_response(self, sender: Sender, request: Request, _body: Body) -> Reply:
        name = request.path_params["id"]
        read = partial(response_record, self._store(), sender, name, request.query_params)
        return Reply(await run_in_threadpool(read), media_type=otlp.JSON)

    async def _show_flags(self, sender: Sender, request: Request, _body: Body) -> Reply:
        read = partial(flag_page, self._store(), sender, request.query_params)
        return Reply(await run_in_threadpool(read), media_type=otlp.JSON)

    async def _take_review(self, sender: Sender, _request: Request, body: Body) -> Reply:
        sent = await self._decoded(review_in, body)
        return _json(await run_in_threadpool(store_sent_review, self._store(), sender, sent))

    async def _show_metrics(self, sender: Sender, request: Request, _body: Body) -> Reply:
        """Reply with the figures of all sources."""
        if sender.owner:
            raise Refused(403, "the figures are of all sources: use a key without a source")
        page, media_type = await run_in_threadpool(self._metrics.page, request.headers.get("accept", ""))
        return Reply(page, headers={"content-type": media_type})

    async def _answer(self, endpoint: Endpoint, request: Request) -> Reply:
        key = UNKNOWN
        try:
            sender = await self._admitted(request, endpoint.scope)
            key = sender.name
            if (use := self._door.use_of(sender)) is not None:
                self._writer.submit(partial(record_event, kind=USED, actor=sender.actor, details=use))
            if endpoint.method == "POST":
                endpoint.check_type(_content_type(request))
            encoding = request.headers.get("content-encoding", "")
            with closing(Body(encoding, most=sender.most_bytes, memory=self._memory)) as body:
                await body.read(request.stream(), STALLED_SECONDS)
                reply = await endpoint.handle(sender, request, body)
        except ClientDisconnect:
            reply = Reply(status_code=400)
        except Exception as error:  # noqa: BLE001 - every error has a status that exporters understand
            if not _is_stalled(error):
                await _discard(request)
            if isinstance(error, Refused):  # a refused key is known only to the refusal
                key = error.key or key
            reply = self._failed(error, request, key)
        self._requests[key, reply.status_code] += 1
        return reply

    async def _admitted(self, request: Request, scope: str) -> Sender:
        client = None if request.client is None else request.client.host
        return await run_in_threadpool(
            self._door.admit, self._store(), request.headers, client, request.scope["scheme"], scope
        )

    def _failed(self, error: Exception, request: Request, key: str) -> Reply:
        content_type, route = _content_type(request), f"{request.method} {request.scope['path'][:200]!r}"
        status, reason = 503, "the receiver has a problem, try again"
        if isinstance(error, Refused):
            status, reason = error.status, error.reason
            self._record(error, key)
        elif isinstance(error, tuple(_REFUSALS)) and not isinstance(error, UnusableDatabase) and not is_outage(error):
            status = next(status for kind, status in _REFUSALS.items() if isinstance(error, kind))
            reason = str(error)
        elif is_outage(error) or isinstance(error, DBAPIError):
            reason = "the database is locked, full or not reachable: try again"
            _log.warning("%s failed: %s", route, _cause(error))
        else:
            _log.error("%s failed", route, exc_info=error)
        headers = {"retry-after": str(RETRY_SECONDS)} if status in {429, 503} else {}
        if _is_stalled(error):  # the rest of the body may come, and is no new request
            headers["connection"] = "close"
        # A request whose own type is unknown gets JSON.
        media_type = otlp.PROTOBUF if otlp.bare_type(content_type) == otlp.PROTOBUF else otlp.JSON
        return Reply(otlp.failure(media_type, status, reason), status, headers, media_type)

    def _record(self, refusal: Refused, key: str) -> None:
        """Store a refusal as an event, without waiting for it."""
        details = self._door.event_of(key, refusal.status)
        if details is not None:
            self._writer.submit(partial(record_event, kind=REFUSED, actor=f"key:{key}", details=details))

    async def _decoded(self, decode: Callable[[bytes], T], body: Body) -> T:
        """Decode a body in a thread, a few at a time."""
        async with self._decoding:
            return await run_in_threadpool(lambda: decode(body.whole()))

    async def _take_spans(self, read: Read, sender: Sender, request: Request, body: Body) -> Reply:
        content_type = _content_type(request)
        spans = await self._decoded(lambda content: _spans_in(read, sender, content, content_type), body)
        if spans:  # to trace a request of Judgeboard's own spans would never end
            write = partial(store_spans, spans=spans, owner=sender.owner, now=utc_now())
            await self._written(request, len(spans), write)
        media_type = reply_type(content_type)
        return Reply(otlp.success(media_type), media_type=media_type)

    async def _written(self, request: Request, records: int, write: Callable[[Connection], T]) -> T:
        """Write what a request brings, and trace that, unless the traces come back to this server."""
        if telemetry.sends_to(request.scope.get("server")):
            return await self._writer.write(write)
        with telemetry.span("ingest", {"url.path": request.url.path, "judgeboard.ingest.records": records}):
            return await self._writer.write(write)

    async def _take_records(self, kind: str, sender: Sender, request: Request, body: Body) -> Reply:
        """Store the records of a kind of import."""
        records = await self._decoded(lambda content: records_in_body(content, sender, kind), body)
        write = partial(store_records, records=records, now=utc_now())
        reply = await self._written(request, len(records.items), write)
        return _json(reply, 400 if "message" in reply else 200)

    async def _take_scores(self, read: ReadScores, sender: Sender, request: Request, body: Body) -> Reply:
        records, reply = await self._decoded(lambda content: _scores_in(read, sender, content), body)
        if records:
            write = partial(store_score_records, records=records, owner=sender.owner, now=utc_now())
            await self._written(request, len(records), write)
        return Reply(json.dumps(reply), 207 if "errors" in reply else 200, media_type=otlp.JSON)  # with any id

    async def _take_feedback(self, sender: Sender, request: Request, body: Body) -> Reply:
        entries = await self._decoded(lambda content: feedback_in_body(content, sender), body)

        def write(connection: Connection) -> dict[str, int]:
            now = utc_now()
            ids = store_feedback(connection, entries, now)
            known = take_feedback(connection, ids=ids)
            add_feedback(connection, known, (), None, now)
            attached = sum(map(len, known.values()))
            return {"attached": attached, "waiting": len(ids) - attached}

        return _json(await self._written(request, len(entries), write))


def _json(content: Any, status: int = 200) -> Reply:
    return Reply(orjson.dumps(content), status, media_type=otlp.JSON)


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "")


def _fault_of(store: Callable[[], Store]) -> str | None:
    """Return why a database cannot be used, without its address: everybody may ask."""
    try:
        check_usable(store())
        check_writable(store())
    except SchemaMismatch as error:
        _log.warning("GET /readyz: not ready: %s", error)
        return "the database has another schema revision than this program needs: see `judgeboard db migrate`"
    except (MissingDatabase, UnusableDatabase, DamagedDatabase) as error:
        _log.warning("GET /readyz: not ready: %s", error)
        return "the database cannot be read"
    except (JudgeboardError, SQLAlchemyError) as error:
        _log.warning("GET /readyz: not ready: %s", _cause(error))
        return "the database cannot be written: it is read-only, locked, full or not reachable"
    return None


def _cause(error: Exception) -> str:
    """Return the cause of an error of the database in one line, without the SQL statement and its texts."""
    if isinstance(error, JudgeboardError) or getattr(error, "orig", None) is not None:
        return reason_of(error)
    return type(error).__name__


def _spans_in(read: Read, sender: Sender, body: bytes, content_type: str) -> list[NewSpan]:
    try:
        return [
            NewSpan.of(record, sender.source_of(record.resource))
            for record in read(body, content_type)
            # A judge's call is no answer of an assistant: judging rules would judge it, and so on without end.
            if not (isinstance(record, Span) and record.scope == telemetry.SCOPE)
        ]
    except (TypeError, RecursionError):
        raise BadInput(_TOO_DEEP) from None


def _scores_in(read: ReadScores, sender: Sender, body: bytes) -> tuple[list[NewSpan], Any]:
    try:
        records, reply = read(body)
        return [NewSpan.of(record, sender.source_of({})) for record in records], reply
    except (TypeError, RecursionError):
        raise BadInput(_TOO_DEEP) from None


def _is_stalled(error: Exception) -> bool:
    return isinstance(error, Refused) and error.status == 408


async def _discard(request: Request) -> None:
    """Read the rest of a refused body, without keeping it: many senders read the reply only after they sent it all."""
    left = MOST_DISCARDED
    with suppress(ClientDisconnect, RuntimeError, TimeoutError):
        async with asyncio.timeout(STALLED_SECONDS):
            async for chunk in request.stream():
                left -= len(chunk)
                if left < 0:
                    return


def serve_receiver(store: Store, address: str, port: int) -> None:
    """Serve the receiver alone, without the pages, until the process is told to end; then close the database."""
    import uvicorn  # the pages have a server of their own

    receiver = Receiver(lambda: store)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        receiver.start()
        try:
            yield
        finally:
            receiver.stop()
            store.close()  # here: after SIGTERM, uvicorn ends the process by that signal

    app = Starlette(routes=receiver.routes(), lifespan=lifespan)
    # Without proxy headers: the address of a sender decides whether it needs a key.
    uvicorn.run(app, host=address, port=port, log_level="warning", access_log=False, proxy_headers=False)
