"""The transport HTTP: the routes of the receiver, also for programs that read.

The routes never redirect: exporters count a redirect as success.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import orjson
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.responses import Response as Reply
from starlette.routing import Route

from judgeboard.errors import (
    DamagedDatabase,
    JudgeboardError,
    MissingDatabase,
    SchemaMismatch,
    UnusableDatabase,
)
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
    SentFeedback,
    SentJudgment,
    SentLogs,
    SentSpans,
    feedback_in_body,
    records_in_body,
    reply_to,
)
from judgeboard.receiving.endpoint import (
    IN_PATH,
    Endpoint,
    openapi,
)
from judgeboard.receiving.keys import READ, REVIEW, is_local, token_in
from judgeboard.receiving.limits import STALLED_SECONDS, Refused
from judgeboard.receiving.receiver import Delivery, Receiver, cause_of
from judgeboard.registry.methods import load_object, registrations
from judgeboard.runs.shutdown import end_in_time
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store, check_writable
from judgeboard.store.opening import check_usable
from judgeboard.store.storing import add_feedback
from judgeboard.store.traces import NewFeedback, store_feedback, take_feedback
from judgeboard.traces import otlp
from judgeboard.traces.sdk_requests import Read, SdkRequest, sdk_requests
from judgeboard.traces.spans import LogRecord, Span

_log = logging.getLogger("judgeboard.receiving")

# The SDKs of Langfuse and LangSmith, and some settings of exporters, post under these prefixes.
PREFIXES = ("", "/api/public/otel", "/otel", "/v1/otel")
MOST_DISCARDED = 64 * 2**20  # bytes of a refused body
_STALLED = 408  # the status if the body does not come on
READY_SECONDS = 5.0  # for the database to answer

ReadRecords = Callable[[bytes, str], Sequence[Span | LogRecord]]


class HttpTransport:
    """The routes of a receiver. `Receiver.start` starts the threads behind the routes."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._checking: asyncio.Task[str | None] | None = None

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints for sending and reading."""
        traces, logs = (partial(self._take_spans, read) for read in (otlp.traces_in, otlp.logs_in))
        answers, judgments = (
            partial(self._take_records, kind) for kind in ("responses", "verdicts")
        )
        of_traces, of_logs = (
            partial(Endpoint, takes_protobuf=True, elements=elements)
            for elements in (otlp.traces_elements, otlp.logs_elements)
        )
        of_json = partial(Endpoint, only_json=True)
        records = partial(of_json, listed=True)
        spans_of, logs_of = "ExportTraceServiceRequest", "ExportLogsServiceRequest"
        return [
            *(
                of_traces(f"{at}/v1/traces", "Send spans (OTLP)", spans_of, traces, body=SentSpans)
                for at in PREFIXES
            ),
            *(
                of_logs(f"{at}/v1/logs", "Send log records (OTLP)", logs_of, logs, body=SentLogs)
                for at in PREFIXES
            ),
            records(
                "/api/responses", "Send answers", "An answer or a list", answers, body=SentAnswer
            ),
            records(
                "/api/judgments",
                "Send judgments",
                "A judgment or a list",
                judgments,
                body=SentJudgment,
            ),
            records(
                "/api/feedback",
                "Send feedback",
                "A feedback or a list",
                self._take_feedback,
                body=SentFeedback,
            ),
            *map(self._of_sdk, sdk_requests()),
            Endpoint(
                "/api/responses/{id}",
                "Read an answer",
                "The answer with its judgments, flags and reviews",
                self._show_response,
                "GET",
                READ,
                SOURCE_PARAMETER,
            ),
            Endpoint(
                "/api/flags",
                "Read flags",
                "Pages by id",
                self._show_flags,
                "GET",
                READ,
                FLAG_PARAMETERS,
            ),
            of_json(
                "/api/reviews",
                "Send a review",
                "A review",
                self._take_review,
                scope=REVIEW,
                body=SentReview,
            ),
            *(
                endpoint
                for each in registrations()
                if each.endpoints is not None
                for endpoint in load_object(each.endpoints)(self._receiver)
            ),
        ]

    def _of_sdk(self, request: SdkRequest) -> Endpoint:
        return Endpoint(
            request.path,
            request.summary,
            request.content,
            partial(self._take_of_sdk, request.read),
            body=request.body,
            listed=request.listed,
            only_json=request.only_json,
        )

    def routes(self) -> list[Route]:
        """Return the routes, each also with a final slash, which would otherwise be redirected."""
        return [
            *(
                Route(
                    each.path.replace("}", ":path}") + end,
                    partial(self._answer, each),
                    methods=[each.method],
                )
                for each in self.endpoints()
                for end in ("", "/")
                if not (end and IN_PATH.search(each.path))  # an id may end with a slash
            ),
            Route("/api/openapi.json", self._describe),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
        ]

    async def _describe(self, _request: Request) -> Reply:
        """Reply with the paths in the format of OpenAPI."""
        return Reply(orjson.dumps(openapi(self.endpoints())), media_type=otlp.JSON)

    async def _health(self, _request: Request) -> Reply:
        """Reply that the server runs; reads no data."""
        return PlainTextResponse("ok")

    async def _ready(self, _request: Request) -> Reply:
        """Reply whether the database can be used, otherwise why not."""
        if (
            self._checking is None or self._checking.done()
        ):  # one check at a time: a lost database may not answer
            self._checking = asyncio.create_task(run_in_threadpool(_fault_of, self._receiver.store))
        try:
            fault = await asyncio.wait_for(asyncio.shield(self._checking), READY_SECONDS)
        except TimeoutError:
            fault = f"the database did not answer for {READY_SECONDS:g} s"
        return PlainTextResponse(fault or "ok", 503 if fault else 200)

    async def _show_response(self, delivery: Delivery, request: Request) -> Reply:
        name = request.path_params["id"]
        read = partial(
            response_record, self._receiver.store(), delivery.sender, name, request.query_params
        )
        return Reply(await run_in_threadpool(read), media_type=otlp.JSON)

    async def _show_flags(self, delivery: Delivery, request: Request) -> Reply:
        read = partial(flag_page, self._receiver.store(), delivery.sender, request.query_params)
        return Reply(await run_in_threadpool(read), media_type=otlp.JSON)

    async def _take_review(self, delivery: Delivery, _request: Request) -> Reply:
        review = await self._receiver.decoded(review_in, delivery)
        return _json(
            await run_in_threadpool(
                store_sent_review, self._receiver.store(), delivery.sender, review
            )
        )

    async def _answer(self, endpoint: Endpoint, request: Request) -> Reply:
        headers, client = request.headers, None if request.client is None else request.client.host
        try:
            async with self._receiver.delivery(
                request.scope["path"],
                token_in(headers),
                is_local=is_local(headers, client, request.scope["scheme"]),
                scope=endpoint.scope,
                method=request.method,
            ) as delivery:
                return await self._reply(endpoint, request, delivery)
        except Refused as refusal:
            if refusal.status != _STALLED:
                # Many senders read the reply only after sending everything: the rest is read, but
                # not kept.
                bytes_left = MOST_DISCARDED
                with suppress(ClientDisconnect, RuntimeError, TimeoutError):
                    async with asyncio.timeout(STALLED_SECONDS):
                        async for chunk in request.stream():
                            bytes_left -= len(chunk)
                            if bytes_left < 0:
                                break
            retry = refusal.retry_seconds
            reply_headers = {} if retry is None else {"retry-after": str(retry)}
            if refusal.status == _STALLED:  # the rest of the body may come, and is no new request
                reply_headers["connection"] = "close"
            # A request of an unknown type gets JSON.
            is_protobuf = otlp.bare_type(_content_type(request)) == otlp.PROTOBUF
            media_type = otlp.PROTOBUF if is_protobuf else otlp.JSON
            content = otlp.failure(media_type, refusal.status, refusal.reason)
            return Reply(content, refusal.status, reply_headers, media_type)

    async def _reply(self, endpoint: Endpoint, request: Request, delivery: Delivery) -> Reply:
        try:
            if endpoint.method == "POST":
                endpoint.check_type(_content_type(request))
            elements = endpoint.elements(_content_type(request))
            await delivery.body.read(
                request.stream(), request.headers.get("content-encoding", ""), elements
            )
        except ClientDisconnect:
            return Reply(status_code=400)
        # After the body, a sender only tells that the connection is closed: then nobody waits for
        # the work.
        handling = asyncio.ensure_future(endpoint.handle(delivery, request))
        disconnect = asyncio.ensure_future(request.receive())
        try:
            await asyncio.wait({handling, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            return await handling if handling.done() else Reply(status_code=400)
        finally:
            for task in (handling, disconnect):
                task.cancel()

    async def _take_spans(self, read: ReadRecords, delivery: Delivery, request: Request) -> Reply:
        content_type = _content_type(request)
        media_type = otlp.media_type(content_type)
        await self._receiver.take(lambda body: (read(body, content_type), None), delivery)
        return Reply(otlp.success(media_type), media_type=media_type)

    async def _take_records(self, kind: str, delivery: Delivery, _request: Request) -> Reply:
        """Store the records of a kind of import."""
        records = await self._receiver.decoded(
            lambda content: records_in_body(content, delivery.sender, kind), delivery
        )
        write = partial(records.kind.store, now=utc_now())
        reply = reply_to(records, await self._receiver.stored(write, records.items))
        return _json(reply, 400 if "message" in reply else 200)

    async def _take_of_sdk(self, read: Read, delivery: Delivery, request: Request) -> Reply:
        content_type = _content_type(request)
        reply = await self._receiver.take(lambda body: read(body, content_type), delivery)
        return Reply(
            json.dumps(reply), 207 if "errors" in reply else 200, media_type=otlp.JSON
        )  # with any id

    async def _take_feedback(self, delivery: Delivery, _request: Request) -> Reply:
        entries = await self._receiver.decoded(
            lambda content: feedback_in_body(content, delivery.sender), delivery
        )

        def write(connection: Connection, records: Sequence[NewFeedback]) -> int:
            now = utc_now()
            feedback = take_feedback(connection, ids=store_feedback(connection, records, now))
            add_feedback(connection, feedback, (), None, now)
            return sum(map(len, feedback.values()))

        attached = sum(await self._receiver.stored(write, entries))
        return _json({"attached": attached, "waiting": len(entries) - attached})


def _json(content: Any, status: int = 200) -> Reply:
    return Reply(orjson.dumps(content), status, media_type=otlp.JSON)


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "")


def _fault_of(store: Callable[[], Store]) -> str | None:
    """Return why a database cannot be used, without the address of the database: everybody may ask."""
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
        _log.warning("GET /readyz: not ready: %s", cause_of(error))
        return "the database cannot be written: it is read-only, locked, full or not reachable"
    return None


def serve_receiver(store: Store, address: str, port: int) -> None:
    """Serve the receiver alone, without the pages, until the process is told to end; then close the database."""
    import uvicorn  # the pages have a server of their own

    receiver = Receiver(lambda: store)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        end_in_time()
        receiver.start()
        try:
            yield
        finally:
            await run_in_threadpool(receiver.stop)
            store.close()  # here: after SIGTERM, uvicorn ends the process by that signal

    app = Starlette(routes=HttpTransport(receiver).routes(), lifespan=lifespan)
    # Without proxy headers: the address of a sender decides whether it needs a key.
    uvicorn.run(
        app, host=address, port=port, log_level="warning", access_log=False, proxy_headers=False
    )
