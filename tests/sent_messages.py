"""Messages over gRPC, and a receiver that takes them."""

import asyncio
import threading
from contextlib import contextmanager

import grpc

from judgeboard.receiving.grpc import listen
from sent_traces import request, trace, writing
from served import free_port

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
BODY = request(trace(1))


@contextmanager
def listening(store, **options):
    """A receiver over gRPC whose traces wait until `gathered`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    address = f"localhost:{free_port()}"

    async def start():
        return listen(taking, address)

    with writing(store, **options) as taking:
        stop = asyncio.run_coroutine_threadsafe(start(), loop).result()
        try:
            yield address
        finally:
            stop()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def export(address, body=BODY, headers=(), *, service=SERVICE, compressed=False):
    """Send a message; return the code, the text and the trailing metadata of the reply."""
    compression = grpc.Compression.Gzip if compressed else grpc.Compression.NoCompression
    with grpc.insecure_channel(address) as channel:
        try:
            call = channel.unary_unary(f"/{service}/Export")
            reply = call(
                body, metadata=headers, compression=compression, timeout=30, wait_for_ready=True
            )
        except grpc.RpcError as error:
            return error.code(), error.details(), dict(error.trailing_metadata())
        assert reply == b""
        return grpc.StatusCode.OK, "", {}
