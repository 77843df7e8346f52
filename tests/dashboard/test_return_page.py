"""Where a sign-in ends: at the page where it began, and never at another server."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from judgeboard_dashboard import return_page, server
from judgeboard_dashboard.return_page import ReturnPage
from judgeboard_dashboard.server import OwnCookies
from judgeboard_dashboard.sign_in import SignIn

PROVIDER = "https://id.example.org/authorize"


def _signing_in(_request):
    return RedirectResponse(PROVIDER, 302)


def _ending(_request):
    reply = RedirectResponse("/", 302)
    reply.set_cookie("who", "ann")
    return reply


@pytest.fixture(params=["", "/judgeboard", "/tools/judge"])
def prefix(request, monkeypatch):
    configured = SignIn(True, (None,), "testserver", None, request.param)
    for module in (return_page, server):
        monkeypatch.setattr(module, "configured_sign_in", lambda: configured)
    return request.param


@pytest.fixture
def client(prefix):
    """A browser behind a proxy that removes the path, at routes like those of Streamlit."""
    routes = [
        Route("/auth/login", _signing_in),
        Route("/auth/logout", _ending),
        Route("/oauth2callback", _ending),
        Route("/start", _ending),
    ]
    app = Starlette(routes=routes, middleware=[Middleware(OwnCookies), Middleware(ReturnPage)])
    root = prefix and f"{prefix}/"

    async def proxy(scope, receive, send):
        if scope["type"] == "http":
            assert scope["path"].startswith(root)
            scope = scope | {"path": scope["path"].removeprefix(prefix)}
        await app(scope, receive, send)

    with TestClient(proxy, follow_redirects=False, base_url=f"http://testserver{prefix}") as opened:
        yield opened


def place_of(client, path, **parameters):
    """Return where the browser is sent."""
    return client.get(path, params=parameters).headers["location"]


def ends_at(client, page):
    """Sign in from a page, and return where the browser is sent afterwards."""
    assert place_of(client, "auth/login", page=page) == PROVIDER
    return place_of(client, "oauth2callback")


@pytest.mark.parametrize(
    "page", ["/", "/item", "/my_reviews", "/item?response=5&where=a%2Cb+c", "/?show=Queues"]
)
def test_sign_in_ends_where_it_began(client, prefix, page):
    assert ends_at(client, page) == prefix + page


@pytest.mark.parametrize(
    "page",
    [
        "//evil.example.org",
        "/\\evil.example.org",
        "\\\\evil.example.org",
        "https://evil.example.org",
        "evil",
        "/../other",
        "/%2e%2e/other",
        "/item/../../other",
        "/item//evil",
        "/\t/evil.example.org",
        "/item?a=1\r\nx: y",
        "javascript:alert(1)",
        "/item#there",
        "/@evil.example.org",
        "",
        "/item?" + "a" * 5000,
        "/item?x=\u0661",
    ],
)
def test_sign_in_never_ends_outside_the_pages(client, prefix, page):
    assert ends_at(client, page) == f"{prefix}/"
    client.cookies.set(return_page.COOKIE, "//evil.example.org", path=prefix or "/")
    assert place_of(client, "oauth2callback") == f"{prefix}/"


def test_the_page_counts_once(client, prefix):
    assert ends_at(client, "/item") == f"{prefix}/item"
    assert place_of(client, "oauth2callback") == f"{prefix}/"
    client.get("auth/login", params={"page": "/item"})
    for path in ("auth/logout", "oauth2callback"):
        assert place_of(client, path) == f"{prefix}/"


def test_cookies_are_for_the_path_of_the_pages_alone(client, prefix):
    for reply in (
        client.get("oauth2callback"),
        client.get("auth/login", params={"page": "/item"}),
        client.get("start"),
    ):
        cookies = reply.headers.get_list("set-cookie")
        assert cookies
        assert all(f"path={prefix or '/'};" in f"{cookie};".lower() for cookie in cookies)
