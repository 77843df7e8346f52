"""The transport gRPC: the services of OTLP that exporters call, at a separate port. Needs the package `grpcio`.

A message is decompressed here and not by gRPC, so that the same limits apply as to a body of HTTP.
A call is a stream of one message, so that the key is checked before the message is read.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from urllib.parse import unquote

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import aio

from judgeboard.receiving.keys import is_from_here, token_in
from judgeboard.receiving.limits import Refused
from judgeboard.receiving.receiver import Receiver
from judgeboard.traces import otlp
from judgeboard.traces.elements import Elements
from judgeboard.traces.spans import LogRecord, Span

MESSAGE_MB = (
    8  # as sent, twice the limit of collectors: gRPC holds a message whole, and Python a copy
)
AT_ONCE = 4  # messages that are read at a time: the bytes are counted only after reading
GRACE_SECONDS = 5.0  # for calls under way when the server stops

_Read = Callable[[bytes, str], Sequence[Span | LogRecord]]
_Count = Callable[[str], Elements]
_Context = aio.ServicerContext[AsyncIterator[bytes], bytes]
_SERVICES: dict[str, tuple[_Read, _Count]] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": (otlp.traces_in, otlp.traces_elements),
    "opentelemetry.proto.collector.logs.v1.LogsService": (otlp.logs_in, otlp.logs_elements),
}
_OPTIONS = (
    ("grpc.so_reuseport", 0),  # a port that another program has is an error
    ("grpc.per_message_decompression", 0),
    ("grpc.max_receive_message_length", MESSAGE_MB * 2**20),
)
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    409: grpc.StatusCode.ABORTED,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,  # without a time to try again, as gRPC refuses larger messages
    415: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    503: grpc.StatusCode.RESOURCE_EXHAUSTED,
}


def listen(receiver: Receiver, address: str) -> Callable[[], None]:
    """Receive at an address (HOST:PORT) on the running event loop.

    Returns a function that stops the server after the calls under way; another thread calls this
    function. Raises RuntimeError if the address cannot be used.
    """
    loop, server = asyncio.get_running_loop(), aio.server(options=_OPTIONS)
    reading = asyncio.Semaphore(AT_ONCE)
    for service, (read, count) in _SERVICES.items():
        export = partial(_export, receiver, reading, f"/{service}/Export", read, count)
        methods: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Export": grpc.stream_unary_rpc_method_handler(export)
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
    server.add_insecure_port(address)
    starting = loop.create_task(server.start())

    async def stop() -> None:
        await starting
        await server.stop(GRACE_SECONDS)

    return lambda: asyncio.run_coroutine_threadsafe(stop(), loop).result()


async def _export(
    receiver: Receiver,
    reading: asyncio.Semaphore,
    path: str,
    read: _Read,
    count: _Count,
    _messages: AsyncIterator[bytes],
    context: _Context,
) -> bytes:
    """Return the empty response: a body is taken whole or not at all, so there is no partial success."""
    metadata = {
        name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)
    }
    is_local = is_from_here(metadata, _host(context.peer()))
    try:
        async with receiver.delivery(path, token_in(metadata), is_local=is_local) as delivery:
            async with reading:
                await delivery.body.read(_sent(context), None, count(otlp.PROTOBUF))
            return await receiver.take(lambda body: (read(body, otlp.PROTOBUF), b""), delivery)
    except Refused as refusal:
        # When to try again: in the details of the status, and in the trailer that the exporter of
        # Python reads.
        trailers: tuple[tuple[str, bytes], ...] = ()
        if refusal.retry_seconds is not None:
            retry = RetryInfo()
            retry.retry_delay.seconds = refusal.retry_seconds
            status = Status(code=_CODES[refusal.status].value[0], message=refusal.reason)
            status.details.add().Pack(retry)
            trailers = (
                ("grpc-status-details-bin", status.SerializeToString()),
                ("google.rpc.retryinfo-bin", retry.SerializeToString()),
            )
        await context.abort(_CODES[refusal.status], refusal.reason, trailers)


async def _sent(context: _Context) -> AsyncIterator[bytes]:
    """Yield the messages of a call. The iterator of gRPC would never release the last message."""
    while isinstance(message := await context.read(), bytes):
        yield message
        del message


def _host(peer: str) -> str:
    """Return the address in the name of a peer, such as ``ipv4:127.0.0.1:50342`` or ``ipv6:[::1]:50342``."""
    return unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
