"""The server: its settings, the pages, a health route and the worker."""

import asyncio
import errno
import importlib
import logging
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.starlette import App

from judgeboard.errors import BadInput
from judgeboard.store.engine import database_url, open_store
from judgeboard_dashboard.session import store
from judgeboard_dashboard.sign_in import sign_in
from judgeboard_dashboard.theme import streamlit_options

if TYPE_CHECKING:
    from judgeboard.runs.worker import Worker


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
    from judgeboard.runs.worker import Worker

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


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to
UPLOAD_MB = 200


def serve(
    database: str | Path | None = None,
    *,
    host: str = "localhost",
    port: int = 8501,
    allowed_hosts: Iterable[str] = (),
) -> None:
    """Serve the pages until Ctrl-C; prints the address, opens nothing.

    Args:
        database: As ``--db``: a path or a URL; None for the default.
        host: Where to listen; ``localhost`` is 127.0.0.1.
        port: A free port.
        allowed_hosts: Further names by which browsers may call this server (of a proxy, of this machine in the office);
            the one to which an identity provider sends them back is among them by itself.

    Raises:
        BadInput: the port is taken, the host is not an address of this machine, or people are to sign in and something
            that it takes is missing.
        JudgeboardError: the database is missing or of another revision.
    """
    open_store(database).close()
    asked = sign_in()
    if asked.fault is not None:
        raise BadInput(f"nobody could sign in: {asked.fault}")
    check_free(host, port)
    # The pages run in this process and open the database by its address in the environment, as every command does.
    os.environ["JUDGEBOARD_DB"] = database_url(database).render_as_string(hide_password=False)

    shown = "localhost" if host in EVERYWHERE else host
    sys.stdout.write(f"Judgeboard is at http://{shown}:{port}   (Ctrl-C stops it)\n")
    sys.stdout.flush()
    # Looking for secrets has read the options before they are set here: that is no change to a running server.
    logging.getLogger("streamlit.config").addFilter(lambda record: "option section was" not in record.getMessage())
    app.run(config=server_options(host, port, {*allowed_hosts, *([asked.host] if asked.host else [])}))


def check_free(host: str, port: int) -> None:
    """Make sure that the port can be taken.

    Raises:
        BadInput: it cannot; the text names the option that changes it.
    """
    address = bind_address(host)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except socket.gaierror as error:
            raise BadInput(f"--host {host} is not an address of this machine") from error
        except OverflowError as error:
            raise BadInput(f"--port {port} is not between 0 and 65535") from error
        except OSError as error:
            raise BadInput(_why_not(host, port, error)) from error


def bind_address(host: str) -> str:
    """Return what the socket is bound to: the name localhost may also mean ::1, which browsers then miss."""
    return "127.0.0.1" if host == "localhost" else host


def server_options(host: str, port: int, allowed_hosts: Iterable[str] = ()) -> dict[str, Any]:
    """Return every Streamlit option that safety or the looks depend on; they win over any config.toml and variable."""
    return {
        "server.address": bind_address(host),
        "server.port": port,
        "server.allowedHosts": sorted({*_own_names(host), *allowed_hosts}),
        "server.headless": True,
        "server.enableCORS": True,
        "server.corsAllowedOrigins": [],
        "server.enableXsrfProtection": True,
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "server.trustedUserHeaders": "{}",
        "server.maxUploadSize": UPLOAD_MB,
        "server.baseUrlPath": "",
        "server.fileWatcherType": "none",
        "server.runOnSave": False,
        "browser.gatherUsageStats": False,
        "browser.serverAddress": "localhost" if host in EVERYWHERE else host,
        "browser.serverPort": port,
        "client.toolbarMode": "viewer",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": "false",
        "client.allowedOrigins": [],
        "runner.magicEnabled": False,
        # With fast reruns, a press drops the one before it where that has not begun: a grade given just before a
        # decision would be lost. Without, presses that wait are put together.
        "runner.fastReruns": False,
        "logger.hideWelcomeMessage": True,
        "global.developmentMode": False,
        **streamlit_options(),
    }


def _own_names(host: str) -> set[str]:
    """The names a browser may call this server by: never "any", or a hostile page could rebind its own name to us."""
    if host in LOOPBACK:
        return set(LOOPBACK)
    if host not in EVERYWHERE:
        return {host, *LOOPBACK}
    name = socket.gethostname()
    names = {name, socket.getfqdn(), *LOOPBACK}
    try:
        names |= {str(entry[4][0]) for entry in socket.getaddrinfo(name, None, family=socket.AF_INET)}
    except OSError:  # a machine may not know its own name
        return names
    return names


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken: choose another with --port, for example --port {port + 1}"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights: choose one above 1023 with --port"
    return f"cannot listen on --host {host}: {error.strerror}"
