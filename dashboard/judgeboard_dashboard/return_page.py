"""The page to which a sign-in returns: the one that the person opened, also below a path of a proxy."""

import re
from urllib.parse import urlencode, urlsplit

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from streamlit.user_info import generate_login_redirect_url

from judgeboard_dashboard.session import current_query
from judgeboard_dashboard.sign_in import (
    CALLBACK,
    LOGIN,
    LOGOUT,
    configured_sign_in,
    leave_for,
    own_cookie,
)
from judgeboard_dashboard.window import Wrapper

FIRST_PAGE = "/"
PARAMETER = "page"
COOKIE = "judgeboard_return_page"
COOKIE_SECONDS = 15 * 60  # to sign in at the provider
LONGEST = 2000  # characters: browsers keep 4096 bytes of a cookie
# Pages have one part, and queries are encoded. No address of another server has this form.
_PAGE = re.compile(r"/[\w-]*(\?[\w.~%+&=-]*)?", re.ASCII)


def start_sign_in(provider: str | None) -> None:
    """Send the browser to an identity provider (None: the one without a name), and then back to the current page."""
    login = generate_login_redirect_url(provider or "default")
    leave_for(f"{login}&{urlencode({PARAMETER: current_page()})}")


def open_form(form: str) -> None:
    """Send the browser to a page of this server on which people sign in, and then back to the current page."""
    page = current_page()
    leave_for(form if page == FIRST_PAGE else f"{form}?{urlencode({PARAMETER: page})}")


def current_page() -> str:
    """Return the address of the current page within this server."""
    path = urlsplit(st.context.url or "").path.removeprefix(configured_sign_in().prefix)
    page = checked_page("/" + path.strip("/"))
    query = urlencode(current_query(), doseq=True)
    with_query = f"{page}?{query}"
    return with_query if query and checked_page(with_query) == with_query else page


def checked_page(page: str) -> str:
    """Return the address of a page within this server; for any other address, the first page."""
    return page if len(page) <= LONGEST and _PAGE.fullmatch(page) else FIRST_PAGE


class ReturnPage(Wrapper):
    """Keeps the page in a cookie while a person signs in, and replaces the first page, to which Streamlit returns."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and change the redirects of sign-in and sign-out."""
        if scope["type"] != "http" or scope["path"] not in {LOGIN, LOGOUT, CALLBACK}:
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        name = own_cookie(COOKIE, request.headers.get("host", ""))
        page_to_keep = (
            checked_page(request.query_params.get(PARAMETER, ""))
            if scope["path"] == LOGIN
            else FIRST_PAGE
        )
        kept_page = (
            checked_page(request.cookies.get(name, "")) if scope["path"] == CALLBACK else FIRST_PAGE
        )
        cookie = Response()
        if page_to_keep == FIRST_PAGE:
            cookie.delete_cookie(name)
        else:
            cookie.set_cookie(
                name, page_to_keep, max_age=COOKIE_SECONDS, httponly=True, samesite="lax"
            )

        async def returning(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("location") == FIRST_PAGE:
                    headers["location"] = configured_sign_in().prefix + kept_page
                headers.append("set-cookie", cookie.headers["set-cookie"])
            await send(message)

        await self.app(scope, receive, returning)
