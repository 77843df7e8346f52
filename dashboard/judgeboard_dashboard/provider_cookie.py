"""The cookie of a sign-in at an identity provider."""

import json
import re

from starlette.datastructures import MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    decode_signed_value,
)
from streamlit.web.server.starlette.starlette_server_config import (
    TOKENS_COOKIE_NAME,
    USER_COOKIE_NAME,
)

from judgeboard_dashboard.sign_in import CALLBACK, COOKIE_SECONDS
from judgeboard_dashboard.window import Wrapper

# The claims that this server reads, and the claims that identify a sign-in.
CLAIMS = (
    *("iss", "sub", "iat", "exp", "nonce", "email", "email_verified"),
    *("origin", "is_logged_in", "provider"),
)
_PART = re.compile(rf"{USER_COOKIE_NAME}(_tokens)?_\d+")


class WholeCookie(Wrapper):
    """Keeps a sign-in at an identity provider in one cookie, which has few claims.

    Streamlit splits a long cookie into parts and signs each part alone: whoever has two sign-ins
    could make a third from parts of both, with the address of another person. A session is
    therefore sent no part. A header with all claims of some providers would also be too long for
    the WebSocket.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on without parts; when a person comes back from the provider, replace the cookie."""
        if scope["type"] == "websocket":
            headers = [
                (name, _without_parts(value) if name == b"cookie" else value)
                for name, value in scope["headers"]
            ]
            await self.app({**scope, "headers": headers}, receive, send)
            return

        async def replacing(message: Message) -> None:
            if message["type"] == "http.response.start":
                _replace_cookies(MutableHeaders(scope=message), Request(scope))
            await send(message)

        is_callback = scope["type"] == "http" and scope["path"] == CALLBACK
        await self.app(scope, receive, replacing if is_callback else send)


def _without_parts(header: bytes) -> bytes:
    # Names are read as Starlette reads names.
    cookies = header.decode("latin-1").split(";")
    whole = [each for each in cookies if not _PART.fullmatch(each.partition("=")[0].strip())]
    return ";".join(whole).encode("latin-1")


def _replace_cookies(headers: MutableHeaders, request: Request) -> None:
    """Set one cookie with few claims instead of the cookies that begin a sign-in, and delete parts."""
    secret = get_cookie_secret()
    cookies = headers.getlist("set-cookie")
    values = cookie_parser("; ".join(cookie.partition(";")[0] for cookie in cookies))
    claims = get_cookie_with_chunks(
        lambda name: decode_signed_value(secret, name, values.get(name, "")), USER_COOKIE_NAME
    )
    if claims is None:  # nobody signed in
        return
    few = {name: value for name, value in json.loads(claims).items() if name in CLAIMS}
    reply = Response()
    reply.set_cookie(
        USER_COOKIE_NAME,
        create_signed_value(secret, USER_COOKIE_NAME, json.dumps(few)).decode(),
        max_age=COOKIE_SECONDS,
        httponly=True,
        samesite="lax",
    )
    replaced = set(filter(_PART.fullmatch, [*request.cookies, *values]))
    if f"{TOKENS_COOKIE_NAME}_1" in values:
        replaced.add(TOKENS_COOKIE_NAME)  # has only the number of parts
    for name in replaced:
        reply.delete_cookie(name)
    del headers["set-cookie"]
    for cookie in cookies:
        if cookie.partition("=")[0] not in {USER_COOKIE_NAME, *replaced}:
            headers.append("set-cookie", cookie)
    for cookie in reply.headers.getlist("set-cookie"):
        headers.append("set-cookie", cookie)
