"""The width of the browser's window, which Streamlit does not have: a cookie brings the width to each session."""

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judgeboard_dashboard.sign_in import configured_sign_in, shown_cookie

WIDE = 1440  # px; the width for a session without the cookie
_COOKIE = "judgeboard_width"
# A compressed document cannot be changed, and a browser must not keep one without the script.
_LEFT_OUT = {b"accept-encoding", b"if-none-match", b"if-modified-since", b"range"}
# `PATH` stands for the path of the cookie.
_SCRIPT = f"""<script>(() => {{
  const own = "{_COOKIE}" + (location.port && "_" + location.port);
  const keep = () => {{ document.cookie = `${{own}}=${{window.innerWidth}}; path=PATH; SameSite=Lax`; }};
  keep();
  window.addEventListener("resize", keep);
}})();</script>"""


def window_width() -> int:
    """Return the width of the window in px at the time when the page was loaded."""
    width = shown_cookie(_COOKIE)
    return int(width) if width.isascii() and width.isdigit() and len(width) < 6 else WIDE


class Wrapper:
    """An ASGI application that passes requests on to another."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app


class WindowWidth(Wrapper):
    """Adds a script to the document of the pages. Before the session opens, the script puts the width into a cookie."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; if a browser asks for a document, add the script."""
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send)
            return
        is_document = False

        async def with_script(message: Message) -> None:
            nonlocal is_document
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_document = headers.get("content-type", "").startswith("text/html")
                if is_document:
                    for name in ("content-length", "etag", "last-modified"):
                        del headers[name]
            elif is_document and message["type"] == "http.response.body":
                # Other programs on the host do not get the cookie.
                path = configured_sign_in().prefix or "/"
                head = f"<head>{_SCRIPT.replace('PATH', path)}"
                message["body"] = message.get("body", b"").replace(b"<head>", head.encode(), 1)
            await send(message)

        headers = [(name, value) for name, value in scope["headers"] if name not in _LEFT_OUT]
        await self.app({**scope, "headers": headers}, receive, with_script)
