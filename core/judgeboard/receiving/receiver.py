"""Takes requests of assistants from any transport: admission, limits, decoding, storing, and the reply.

A transport opens a `Receiver.delivery` for each request, reads the body, takes the records, and
answers in its own protocol.
"""

import asyncio
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from traceback import clear_frames
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from starlette.concurrency import run_in_threadpool

from judgeboard.errors import (
    BadInput,
    DecisionRefused,
    JudgeboardError,
    NotAllowed,
    NotFound,
    TooLarge,
    UnusableDatabase,
)
from judgeboard.imports.exports.traced import is_undated_score
from judgeboard.people.permissions import REFUSED
from judgeboard.receiving.gathering import Gatherer
from judgeboard.receiving.keys import INGEST, UNKNOWN, USED, Door, Sender
from judgeboard.receiving.limits import LARGE_BYTES, Body, Memory, Refused
from judgeboard.receiving.writing import BATCH, PATIENCE_SECONDS, Writer
from judgeboard.registry.masks import masked
from judgeboard.settings.model import load_settings
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import record_event
from judgeboard.store.outages import is_outage, reason_of
from judgeboard.store.statements import batches
from judgeboard.store.traces import NewSpan, store_spans
from judgeboard.traces.spans import LogRecord, Span

_log = logging.getLogger("judgeboard.receiving")

AT_ONCE = 2  # small requests that are decoded at a time, beside one large request
MOST_IN_MEMORY = 256 * 2**20  # bytes of all bodies under way, as sent and decompressed

_TOO_DEEP = "an attribute has a value that cannot be stored, for example one nested too deeply"

# The statuses of errors whose text is for the sender.
_REFUSALS: dict[type[Exception], int] = {
    TooLarge: 413,
    BadInput: 400,
    NotAllowed: 403,
    NotFound: 404,
    DecisionRefused: 409,
}

T = TypeVar("T")
Record = TypeVar("Record")
Read = Callable[[bytes], tuple[Iterable[Span | LogRecord], T]]


@dataclass(slots=True)
class Delivery:
    """A request that was let in."""

    sender: Sender
    body: Body


class Transport(NamedTuple):
    """A transport with a separate port, and the setting that switches on the transport and has the address.

    ``listen`` in ``module`` starts the transport. The extra of the same name installs the packages
    of the module.
    """

    title: str
    setting: str
    module: str

    def loaded(self) -> Any:
        """Return the module, loaded by name and only if the settings ask for it: the module imports this one."""
        return import_module(f"judgeboard.receiving.{self.module}")


TRANSPORTS = (Transport("OTLP over gRPC", "receive_grpc", "grpc"),)
"""The transports beside HTTP, whose routes are at the port of the pages."""


def asked_transports() -> list[tuple[Transport, str]]:
    """Return the transports that the settings ask for, with addresses (HOST:PORT).

    Raises BadInput if a package of a transport is missing, or if the server cannot listen at an
    address.
    """
    settings = load_settings()
    transports = [
        (each, address) for each in TRANSPORTS if (address := getattr(settings, each.setting))
    ]
    for transport, address in transports:
        try:
            transport.loaded()
        except ModuleNotFoundError:
            packages = f"`pip install 'judgeboard[{transport.module}]'`"
            raise settings.fail(
                f"needs further packages: install them with {packages}", transport.setting
            ) from None
        host, _, port = address.rpartition(":")
        family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
        try:
            socket.create_server((host.strip("[]"), int(port)), family=family).close()
        except OSError as error:
            reason = f"names {address}, where the server cannot listen: {error.strerror}"
            raise settings.fail(reason, transport.setting) from error
    return transports


class Receiver:
    """Receives records of assistants for one database, and makes responses of traces, from `start` to `stop`.

    ``patience`` is how many seconds a request waits for the database. ``keys_needed`` tells whether
    every sender needs a key, even before one is created.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        patience: float = PATIENCE_SECONDS,
        keys_needed: Callable[[], bool] = lambda: False,
    ) -> None:
        self.store = store
        self._writer = Writer(store, patience)
        self._memory = Memory(MOST_IN_MEMORY)
        self._gatherer = Gatherer(store, lambda: self._memory.used > 0)
        self._door = Door(keys_needed)
        self._decoding = ThreadPoolExecutor(AT_ONCE, "judgeboard-decoding")
        self._decoding_large = ThreadPoolExecutor(1, "judgeboard-decoding")
        self._stops: list[Callable[[], None]] = []

    def start(self) -> None:
        """Start to write, to gather, and the transports that the settings ask for, on the running event loop."""
        transports = asked_transports()
        self._writer.start()
        self._gatherer.start()
        self._stops = [each.loaded().listen(self, address) for each, address in transports]

    def stop(self) -> None:
        """End the transports that were started, write the rest, and end. Call this method in another thread."""
        for stop in self._stops:
            stop()
        self._writer.stop()
        self._gatherer.stop()

    @asynccontextmanager
    async def delivery(
        self,
        path: str,
        token: str | None,
        *,
        is_local: bool,
        scope: str = INGEST,
        method: str = "POST",
    ) -> AsyncIterator[Delivery]:
        """Let in a request; the body is in memory until the reply.

        ``token`` is the key that was sent. Without one, only a program on this machine
        (``is_local``) may send. Raises only Refused, for any error; a refusal by a limit or a key
        is an event.
        """
        name = UNKNOWN
        try:
            admit = partial(self._door.admit, self.store(), token, is_local=is_local, scope=scope)
            sender = await run_in_threadpool(admit)
            name = sender.name
            if (use := self._door.use_of(sender)) is not None:
                self._writer.submit(
                    partial(record_event, kind=USED, actor=sender.actor, details=use)
                )
            with closing(Body(most=sender.most_bytes, memory=self._memory)) as body:
                delivery = Delivery(sender, body)
                yield delivery
        except Refused as refusal:
            clear_frames(refusal.__traceback__)
            name = refusal.key or name  # a refused key is known only to the refusal
            self._record(refusal, name)
            raise
        except Exception as error:  # noqa: BLE001 - every error has a status that senders understand
            clear_frames(
                error.__traceback__
            )  # frames hold the body as long as the error, which gRPC keeps
            route = f"{method} {path[:200]!r}"
            status = next(
                (status for kind, status in _REFUSALS.items() if isinstance(error, kind)), None
            )
            is_ours = isinstance(error, UnusableDatabase) or is_outage(error)
            if status is not None and not is_ours:
                raise Refused(status, str(error)) from None
            # Any other error is not the sender's fault: it is logged.
            if is_outage(error) or isinstance(error, DBAPIError):
                _log.warning("%s failed: %s", route, cause_of(error))
                reason = "the database is locked, full or not reachable: try again"
            else:
                _log.error("%s failed", route, exc_info=error)
                reason = "the receiver has a problem, try again"
            raise Refused(503, reason) from None

    def _record(self, refusal: Refused, key: str) -> None:
        """Store a refusal as an event, without waiting for the writer."""
        details = self._door.event_of(key, refusal.status)
        if details is not None:
            self._writer.submit(
                partial(record_event, kind=REFUSED, actor=f"key:{key}", details=details)
            )

    async def take(self, read: Read[T], delivery: Delivery) -> T:
        """Store all spans and log records in a body for the sender, or none; return the reply of ``read``.

        ``read`` returns the records with the reply to a stored request. Raises the errors of
        ``read``, BadInput for a value that cannot be stored, Refused for another source than the
        key's source, and TimeoutError if the database is locked for long.
        """

        def new_spans(body: bytes) -> tuple[list[NewSpan], T]:
            try:
                records, reply = read(body)
                records = masked(records)
                # Among scores without a time, later arrivals are newer.
                arrived_ns = time.time_ns()
                return [
                    NewSpan.of(
                        replace(record, at_ns=arrived_ns + place)
                        if is_undated_score(record)
                        else record,
                        delivery.sender.source_of(record.resource),
                    )
                    for place, record in enumerate(records)
                ], reply
            except (TypeError, RecursionError):
                raise BadInput(_TOO_DEEP) from None

        spans, reply = await self.decoded(new_spans, delivery)
        if spans:
            write = partial(store_spans, owner=delivery.sender.owner, now=utc_now())
            await self.stored(write, sorted(spans, key=lambda span: span.trace_id))
            self._gatherer.wake()
        return reply

    async def decoded(self, decode: Callable[[bytes], T], delivery: Delivery) -> T:
        """Decode a body in a thread. A small body never waits for a large one."""
        loop, body = asyncio.get_running_loop(), delivery.body

        def decode_small() -> list[T]:
            return [decode(body.whole())] if body.is_unpacked(LARGE_BYTES) else []

        if small := await loop.run_in_executor(self._decoding, decode_small):
            return small[0]
        return await loop.run_in_executor(self._decoding_large, lambda: decode(body.whole()))

    async def stored(
        self, write: Callable[[Connection, Sequence[Record]], T], records: Sequence[Record]
    ) -> list[T]:
        """Store records in batches, and return the results."""
        writes = (
            partial(lambda batch, connection: write(connection, batch), batch)
            for batch in batches(records, BATCH)
        )
        return [await self._writer.write(each) for each in writes]


def cause_of(error: Exception) -> str:
    """Return the cause of an error of the database in one line, without the SQL statement and its texts."""
    if isinstance(error, JudgeboardError) or getattr(error, "orig", None) is not None:
        return reason_of(error)
    return type(error).__name__
