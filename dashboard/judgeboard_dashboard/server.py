"""The server: pages, receiver of traces, worker, and the safe settings of Streamlit."""

import asyncio
import ctypes
import errno
import gc
import importlib
import json
import logging
import os
import re
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.starlette import App

from judgeboard.errors import BadInput
from judgeboard.receiving.http import HttpTransport
from judgeboard.receiving.keys import from_own_page, is_loopback
from judgeboard.receiving.receiver import Receiver, asked_transports
from judgeboard.runs.shutdown import end_in_time
from judgeboard.runs.work import DUTIES
from judgeboard.settings.model import load_settings
from judgeboard.store.engine import database_url
from judgeboard.store.opening import open_store
from judgeboard_dashboard import documentation
from judgeboard_dashboard.provider_cookie import WholeCookie
from judgeboard_dashboard.return_page import ReturnPage
from judgeboard_dashboard.review.drafts import draft_writer
from judgeboard_dashboard.session import LOOPBACK, store
from judgeboard_dashboard.sign_in import configured_sign_in, sign_in, ways
from judgeboard_dashboard.theme import streamlit_options
from judgeboard_dashboard.uploads import FILE_MB, LimitedUploads
from judgeboard_dashboard.window import WindowWidth, Wrapper

if TYPE_CHECKING:
    from judgeboard.runs.worker import Worker

# The library websockets reads these limits when it is imported, later than this module. If the
# headers of a session reach them, uvicorn never answers, and fails at its end. Uvicorn's own limit
# for all requests is lower.
for limit in ("WEBSOCKETS_MAX_LINE_LENGTH", "WEBSOCKETS_MAX_NUM_HEADERS"):
    os.environ.setdefault(limit, "1_000_000")

# Streamlit uses inline styles, and Streamlit's charts compile expressions. Everything else is
# limited to this server.
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


class SafeHeaders(Wrapper):
    """Adds headers: pages may not load from other sites, send to other sites, or appear in frames of other sites."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers to the reply."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)


class NoMetrics(Wrapper):
    """Hides the sessions and the memory that Streamlit reports to everybody."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, unless the request asks for the metrics."""
        is_asked = scope["type"] == "http" and scope["path"].rstrip("/") == "/_stcore/metrics"
        app = PlainTextResponse("Not Found", 404) if is_asked else self.app
        await app(scope, receive, send)


class SignInHeaders(Wrapper):
    """Replaces the headers in which Streamlit keeps the sign-in of a session. No browser may set these headers.

    So a browser cannot continue the session of another person.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with these headers."""
        if scope["type"] in {"http", "websocket"}:
            credentials = {way.key.encode(): way.credential(scope) for way in ways()}
            headers = [each for each in scope["headers"] if each[0] not in credentials]
            for name, credential in credentials.items():
                if credential:
                    headers.append((name, credential.encode("latin-1")))
            scope = {**scope, "headers": headers}
        await self.app(scope, receive, send)


class OwnCookies(Wrapper):
    """Limits cookies to HTTPS and to the path below which a proxy serves the pages."""

    _PATH = re.compile(r"(; *path=)/(?=;|$)", re.IGNORECASE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and limit the cookies in the reply."""
        prefix = configured_sign_in().prefix

        async def limited(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                cookies = headers.getlist("set-cookie")
                del headers["set-cookie"]
                for cookie in cookies:
                    own = self._PATH.sub(rf"\g<1>{prefix}", cookie) if prefix else cookie
                    # Whether browsers reach this server by HTTPS, as far as the server knows.
                    proto = Headers(scope=scope).get("x-forwarded-proto", "").strip().lower()
                    addresses = (proto, scope["scheme"], load_settings().url or "")
                    is_https = any(each.startswith("https") for each in addresses)
                    headers.append("set-cookie", f"{own}; Secure" if is_https else own)
            await send(message)

        await self.app(scope, receive, limited)


class OwnPages:
    """Refuses pages of other servers. Such a page may neither open a session here nor upload into a session."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._logged: set[tuple[str, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, unless the request comes from a page of another server."""
        opens_session = scope["type"] == "websocket"
        changes = scope["type"] == "http" and scope["method"] not in {"GET", "HEAD", "OPTIONS"}
        guarded = opens_session or (changes and scope["path"].startswith("/_stcore/"))
        if not guarded or from_own_page(Headers(scope=scope), scope["scheme"]):
            await self.app(scope, receive, self._noting(scope, send) if opens_session else send)
        elif opens_session:
            self._log_refusal(Headers(scope=scope))
            await WebSocketClose(code=1008)(scope, receive, send)  # 1008: a violation of the policy
        else:
            await PlainTextResponse("A page of another server may not upload here.", 403)(
                scope, receive, send
            )

    def _noting(self, scope: Scope, send: Send) -> Send:
        """Return a ``send`` that also logs if Streamlit refuses the session: the browser only waits then."""
        accepted = False

        async def noting(message: Message) -> None:
            nonlocal accepted
            accepted = accepted or message["type"] == "websocket.accept"
            if not accepted:
                self._log_refusal(Headers(scope=scope))
            await send(message)

        return noting

    def _log_refusal(self, headers: Headers) -> None:
        host, origin = headers.get("host", "")[:200], headers.get("origin", "")[:200]
        if (host, origin) in self._logged or len(
            self._logged
        ) >= MOST_REFUSALS:  # browsers try again every second
            return
        self._logged.add((host, origin))
        name = urlsplit(f"//{host}").hostname if host.isprintable() else None
        if from_own_page(headers, "ws") and name:
            _log.warning(
                "/_stcore/stream: refused a browser that reached this server as %r. "
                "If this is its name, start the server with --allow-host %s",
                host,
                shlex.quote(name),
            )
        else:
            _log.warning(
                "/_stcore/stream: refused a page of %r, because the request names the host %r. "
                "A proxy must keep the header Host, and its name needs --allow-host",
                origin,
                host,
            )


# Modules that pages and jobs need. The server imports these modules before the first request,
# because two threads that import one library at the same time sometimes fail.
NEEDED = (
    "judgeboard_dashboard.app",
    "judgeboard_dashboard.review.queues",
    "pandas",
    "pyarrow",
    "altair",
    "judgeboard.runs.worker",
    *(place.partition(":")[0] for place in DUTIES),
)


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Run jobs and receive traces while the server runs, then store the last drafts and close the database.

    An interrupted job continues at the next start.
    """
    end_in_time()  # here: uvicorn has set the handlers of signals
    starting = asyncio.create_task(asyncio.to_thread(_started_worker))
    receiver.start()
    try:
        yield
    finally:
        await asyncio.to_thread(receiver.stop)
        worker = await starting
        await asyncio.to_thread(worker.stop)
        # Here: after SIGTERM, uvicorn ends the process by that signal.
        await asyncio.to_thread(draft_writer().flush)
        await asyncio.to_thread(store().close)


def _started_worker() -> "Worker":
    from judgeboard.runs.worker import Worker

    worker = Worker(store())
    worker.start()
    return worker


receiver = Receiver(
    store, keys_needed=lambda: sign_in().asked
)  # a proxy on this machine is no sign-in

app = App(
    Path(__file__).with_name("app.py"),
    routes=[
        *HttpTransport(receiver).routes(),
        *documentation.routes(),
        # Streamlit has the first page at "/" alone. The redirect also works below a path of a proxy.
        Route("/overview", lambda each: RedirectResponse(URL("./").replace(query=each.url.query))),
        *(route for way in ways() for route in way.routes()),
    ],
    middleware=[
        Middleware(each)
        for each in (
            SafeHeaders,
            NoMetrics,
            SignInHeaders,
            OwnCookies,
            OwnPages,
            LimitedUploads,
            ReturnPage,
            WholeCookie,
            WindowWidth,
        )
    ],
    lifespan=lifespan,
)


_log = logging.getLogger("judgeboard.dashboard")
MOST_REFUSALS = 100  # that are logged: everybody may send other names
EVERYWHERE = frozenset({"0.0.0.0", "::"})  # noqa: S104 - only compared with the host option
_ELSEWHERE = "192.0.2.1"  # reserved for documentation: no machine has this address
MESSAGE_MB = 25  # of a websocket, in both directions
# Of a websocket message from a browser. Everybody who reaches the server may send messages, and
# Streamlit keeps each message for minutes.
SENT_MB = 2


_MOST_HEAPS = -8  # M_ARENA_MAX of mallopt(3)


def serve(
    database: str | Path | None = None,
    *,
    host: str = "localhost",
    port: int = 8501,
    allowed_hosts: Collection[str] = (),
    is_open: bool = False,
) -> None:
    """Serve the pages until Ctrl-C, and print the address.

    ``database`` is a path or a URL, like ``--db``. The host "localhost" means 127.0.0.1.
    ``allowed_hosts`` are further host names of this server, for example a proxy's name. The host
    name in the sign-in settings is always allowed. ``is_open`` serves other machines also if nobody
    must sign in.

    Raises:
        BadInput: The port is taken, the host is not an address of this machine, sign-in has a
            fault, or other machines could do everything.
        JudgeboardError: The database is missing or has another revision.
    """
    # Each look at a page has a separate thread. The allocator of Linux keeps freed memory in one
    # heap for each thread.
    with suppress(OSError, AttributeError):  # another system
        ctypes.CDLL(None).mallopt(_MOST_HEAPS, 1)
    open_store(database).close()
    check_closed(database, host, allowed_hosts, is_open=is_open)
    signing = sign_in()
    if signing.fault is not None:
        raise BadInput(f"sign-in is not set up correctly: {signing.fault}")
    check_free(host, port)
    also = [
        f"It receives {transport.title} at {address}.\n"
        for transport, address in asked_transports()
    ]
    # Only the proxies of the settings may tell from which address a request comes.
    os.environ["FORWARDED_ALLOW_IPS"] = ""
    for name in NEEDED:
        importlib.import_module(name)
    gc.freeze()  # imported modules stay, so the garbage collector may ignore them

    shown_host = "localhost" if host in EVERYWHERE else host
    sys.stdout.write(
        "".join([f"Judgeboard is at http://{shown_host}:{port}   (Ctrl-C stops it)\n", *also])
    )
    sys.stdout.flush()
    if host not in LOOPBACK:
        names = ", ".join(sorted(_own_names(host) - set(LOOPBACK)))
        lines = [
            f"Other machines reach it at: {names}. To allow another name, such as a proxy's, add --allow-host NAME."
        ]
        if not signing.asked:
            lines.append(
                "Sign-in is off: everyone who opens it may do everything (see docs/how-to/teams.md)."
            )
        sys.stderr.write("".join(f"{line}\n" for line in lines))
    # Streamlit warns about options that are set after a read, and sign_in() has read the options.
    logging.getLogger("streamlit.config").addFilter(
        lambda record: "option section was" not in record.getMessage()
    )
    own_host = [signing.host] if signing.asked and signing.host else []
    app.run(config=server_options(host, port, {*allowed_hosts, *own_host}))


def check_closed(
    database: str | Path | None, host: str, allowed_hosts: Collection[str] = (), *, is_open: bool
) -> None:
    """Check that people must sign in if other machines reach the server, unless the server ``is_open``.

    Raises BadInput, with the next step, if everybody could do everything.
    """
    # The pages run in this process and read the address of the database from the environment.
    os.environ["JUDGEBOARD_DB"] = database_url(database).render_as_string(hide_password=False)
    others = [each for each in (host, *allowed_hosts) if not is_loopback(each.strip("[]"))]
    if others and not is_open and not sign_in().asked:
        raise BadInput(
            f"with {others[0] or 'this host'}, other machines reach the server, and nobody must sign in: invite the "
            "first person with `judgeboard people invite NAME --role admin`, or set up another sign-in (see "
            "docs/how-to/teams.md). To let everybody do everything, add --open"
        )


def check_free(host: str, port: int) -> None:
    """Check that the server can listen on this address.

    Otherwise raises BadInput, which names the option to change.
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
            if error.errno == errno.EADDRINUSE:
                why = f"port {port} is in use: choose another one, for example --port {port + 1}"
            elif error.errno == errno.EACCES:
                why = f"port {port} needs special rights: choose a port above 1023 with --port"
            else:
                why = f"cannot listen on --host {host}: {error.strerror}"
            raise BadInput(why) from error


def bind_address(host: str) -> str:
    """Return the address to listen on: for localhost 127.0.0.1, since browsers may not try ::1."""
    return "127.0.0.1" if host == "localhost" else host


def server_options(host: str, port: int, allowed_hosts: Iterable[str] = ()) -> dict[str, Any]:
    """Return the Streamlit options for safety and looks. These override config.toml and the environment."""
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
        "server.trustedUserHeaders": json.dumps({way.key: way.key for way in ways()}),
        "server.maxUploadSize": FILE_MB,
        "server.maxMessageSize": MESSAGE_MB,
        "server.maxWidgetStateSize": SENT_MB,
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
        # With fast reruns, a press replaces an earlier press that has not started. A grade given
        # just before a decision would be lost.
        "runner.fastReruns": False,
        # A garbage collection after each run delays messages to the browser. Python's own
        # collections suffice.
        "runner.postScriptGC": False,
        "logger.hideWelcomeMessage": True,
        "global.developmentMode": False,
        **streamlit_options(),
    }


def _own_names(host: str) -> set[str]:
    """Return the host names of this server. A wildcard is unsafe: a hostile page could point its own name here."""
    if host in LOOPBACK:
        return set(LOOPBACK)
    if host not in EVERYWHERE:
        return {host, *LOOPBACK}
    name = socket.gethostname()
    names = {name, socket.getfqdn(), *LOOPBACK}
    with suppress(OSError):  # the machine cannot resolve its own name
        names |= {
            str(entry[4][0]) for entry in socket.getaddrinfo(name, None, family=socket.AF_INET)
        }
    # Many machines resolve the own name to 127.0.1.1. Connecting a UDP socket sends nothing, but
    # gives the real address.
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
        outward.connect((_ELSEWHERE, 9))
        names.add(outward.getsockname()[0])
    return names
