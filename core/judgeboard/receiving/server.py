"""Serves the receiver alone, without the pages."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette

from judgeboard.receiving.app import Receiver
from judgeboard.store.engine import Store


def serve_receiver(store: Store, address: str, port: int) -> None:
    """Receive until the process is told to end."""
    receiver = Receiver(lambda: store)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        receiver.start()
        try:
            yield
        finally:
            receiver.stop()

    app = Starlette(routes=receiver.routes(), lifespan=lifespan)
    # Without proxy headers: the address of a sender decides whether it needs a key.
    uvicorn.run(app, host=address, port=port, log_level="warning", access_log=False, proxy_headers=False)
