"""The server as an ASGI application: the pages, a health route, the worker that takes jobs, a policy for browsers."""

import asyncio
import importlib
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.starlette import App

from judgeboard_dashboard.session import store

if TYPE_CHECKING:
    from judgeboard.jobs.worker import Worker

# Streamlit writes styles in place and its charts compile expressions; beyond that nothing comes from or goes elsewhere.
POLICY = (
    "default-src 'self'; "
    "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; "
    "font-src 'self' data:; "
    "connect-src 'self'; "
    "worker-src 'self' blob:; "
    "object-src 'none'; "
    "base-uri 'self'; "
    "form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}


class SafeHeaders:
    """Adds the headers that forbid the browser to load from, send to, or be framed by any other place."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, with the headers on the answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)


async def health(_request: Request) -> PlainTextResponse:
    """Say that the server answers; reads nothing."""
    return PlainTextResponse("ok")


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Take jobs as long as the server lives; a job that is cut off goes on at the next start."""
    # The first page would wait seconds for these.
    threading.Thread(target=_import_ahead, name="judgeboard-imports", daemon=True).start()
    starting = asyncio.create_task(asyncio.to_thread(_start_worker))
    try:
        yield
    finally:
        worker = await starting
        await asyncio.to_thread(worker.stop)


def _start_worker() -> "Worker":
    # Beside the start of the server: the workflow engine takes a while to import, and no page needs it.
    from judgeboard.jobs.worker import Worker

    worker = Worker(store())
    worker.start()
    return worker


def _import_ahead() -> None:
    for name in ("pandas", "pyarrow", "altair"):
        importlib.import_module(name)


app = App(
    Path(__file__).with_name("app.py"),
    routes=[Route("/healthz", health)],
    middleware=[Middleware(SafeHeaders)],
    lifespan=lifespan,
)
