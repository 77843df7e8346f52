"""The width of the browser's window, which Streamlit does not tell: a cookie has it before a session opens."""

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

WIDE = 1440  # px; a session that tells no width has such a window
_COOKIE = "judgeboard_width"
_SCRIPT = f"""<script>(() => {{
  const keep = () => {{ document.cookie = `{_COOKIE}=${{window.innerWidth}}; path=/; SameSite=Lax`; }};
  keep();
  window.addEventListener("resize", keep);
}})();</script>"""


def window_width() -> int:
    """Return the width of the window in px, as it was when the page was loaded."""
    width = st.context.cookies.get(_COOKIE, "")
    return int(width) if width.isascii() and width.isdigit() and len(width) < 6 else WIDE


class WindowWidth:
    """Adds a script to the document of the pages: it runs before the session opens, and keeps the width in a cookie."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; if a browser asks for a document, add the script to it."""
        if scope["type"] != "http" or Headers(scope=scope).get("sec-fetch-dest") != "document":
            await self.app(scope, receive, send)
            return

        async def with_script(message: Message) -> None:
            if message["type"] == "http.response.start":
                del MutableHeaders(scope=message)["content-length"]
            elif message["type"] == "http.response.body":
                message["body"] = message.get("body", b"").replace(b"<head>", b"<head>" + _SCRIPT.encode(), 1)
            await send(message)

        headers = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self.app({**scope, "headers": headers}, receive, with_script)  # a compressed document cannot be changed
