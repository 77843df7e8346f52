"""Sign-in with a name and a password: the pages, without JavaScript, the tries, the sessions, and the invitations."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Scope
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from judgeboard.accounts.accounts import (
    EXPIRED,
    KNOWN_DAYS,
    LINK_DAYS,
    LINK_PATH,
    SHORTEST_PASSWORD,
    account_of,
    any_account,
    begin_session,
    end_session,
    invite,
    is_known_browser,
    is_password,
    link_address,
    person_of_link,
    person_of_session,
    set_password,
)
from judgeboard.accounts.tables import Account
from judgeboard.domain import ROLES, Role
from judgeboard.errors import BadInput, JudgeboardError, NotFound
from judgeboard.people.roster import LONGEST_ADDRESS
from judgeboard.receiving.keys import from_own_page
from judgeboard.settings.model import variable_of
from judgeboard.store.api_keys import token_hash
from judgeboard.store.tables import Reviewer
from judgeboard_dashboard.evidence import Html, tag
from judgeboard_dashboard.return_page import FIRST_PAGE, PARAMETER, checked_page
from judgeboard_dashboard.session import button, problem, read_all, store
from judgeboard_dashboard.sign_in import (
    Entry,
    SignInEnded,
    client_network,
    configured_sign_in,
    own_cookie,
)
from judgeboard_dashboard.theme import colour_variables
from judgeboard_dashboard.widgets.texts import caption, heading

FORM = "/account/sign-in"
COOKIE = "judgeboard_session"
LOOK_SECONDS = 1.0  # between two looks whether somebody has an account
MOST_BYTES = 8_192  # of a form
BODY_SECONDS = 10  # in which a form must come
MOST_WAITING = 20  # requests that wait for the check of a password, which takes 64 MiB
WRONG = "The name or the password is wrong."
TOO_MANY = "Too many attempts. Wait a minute, then try again."
SHORT = f"At least {SHORTEST_PASSWORD} characters. Several words make a good password."
_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; background: var(--jb-page); color: var(--jb-ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 22rem; margin: 12vh auto 2rem; padding: 1.5rem; background: var(--jb-pane);
  border: 1px solid var(--jb-line); border-radius: 6px; }
h1 { margin: 0 0 .25rem; font-size: 1.35rem; font-weight: 650; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
[role=alert] { padding: .5rem .75rem; border-radius: 6px; color: var(--jb-bad); background: var(--jb-bad-ground); }
label { display: block; margin-bottom: 1rem; font-weight: 600; }
small { display: block; color: var(--jb-mut); font-weight: 400; }
input { box-sizing: border-box; width: 100%; margin-top: .25rem; padding: .5rem .6rem; font: inherit; color: inherit;
  background: var(--jb-page); border: 1px solid var(--jb-mut); border-radius: 6px; }
button { width: 100%; padding: .55rem; font: inherit; font-weight: 600; color: #fff; background: var(--jb-button);
  border: 0; border-radius: 6px; cursor: pointer; }
:is(input, button):focus-visible { outline: 2px solid var(--jb-acc); outline-offset: 2px; }
"""


class Tries:
    """Limits tries by key: ``burst`` at once, then one in ``seconds``. At most ``most`` keys are kept."""

    def __init__(self, burst: int, seconds: float, most: int = 10_000) -> None:
        self._seconds, self._most = seconds, most
        self._longest = burst * seconds
        self._free_at: dict[Hashable, float] = {}  # when all tries of a key are free again
        self._lock = threading.Lock()

    def take(self, key: Hashable) -> bool:
        """Take a try; return False if no try is left."""
        now = time.monotonic()
        with self._lock:
            free_at = max(self._free_at.pop(key, now), now) + self._seconds
            is_allowed = free_at - now <= self._longest
            if len(self._free_at) >= self._most:
                del self._free_at[next(iter(self._free_at))]  # the key that was used longest ago
            self._free_at[key] = free_at if is_allowed else free_at - self._seconds
        return is_allowed

    def give_back(self, key: Hashable) -> None:
        """Give a try back."""
        with self._lock:
            if key in self._free_at:
                self._free_at[key] -= self._seconds


def _name_in_session(session: str) -> str:
    """Return the name of the person whose session began with a password. Raises SignInEnded."""
    person = read_all(person_of_session, session)
    if person is None:
        raise SignInEnded("Your sign-in has ended. Sign in again.")
    return person.name


class Passwords:
    """People sign in with a password as soon as somebody was invited. Tries are limited in each process."""

    key = "x-judgeboard-session"
    form = FORM

    def __init__(self) -> None:
        self._in_use: set[str] = set()  # databases in which somebody has an account
        self._looked_at: dict[str, float] = {}
        self._by_address = Tries(10, 60)
        self._by_account = Tries(20, 30)
        self._by_unknown_name = Tries(20, 30)
        self._by_browser = Tries(10, 60)
        self._waiting = 0
        self._checking = asyncio.Semaphore(2)

    def is_on(self) -> bool:
        """Return whether anybody has an account or an invitation. Once on, this way stays on until the server ends."""
        database, now = os.environ.get(variable_of("db"), ""), time.monotonic()
        is_due = now - self._looked_at.get(database, -LOOK_SECONDS) >= LOOK_SECONDS
        if database not in self._in_use and is_due:
            with suppress(JudgeboardError):  # the pages show the error
                if read_all(any_account):
                    self._in_use.add(database)
                self._looked_at[database] = now
        return database in self._in_use

    def credential(self, scope: Scope) -> str | None:
        """Return the hash of the token in the cookie of a request."""
        headers = Headers(scope=scope)
        cookies = cookie_parser("; ".join(headers.getlist("cookie")))
        token = cookies.get(own_cookie(COOKIE, headers.get("host", "")))
        return token_hash(token) if token else None

    def entry(self, credential: str) -> Entry:
        """Return the session whose token has this hash. It ends for all servers that share the database."""
        return Entry(
            {"session": credential},
            partial(_name_in_session, credential),
            lambda: end_session(store(), credential),
            FORM,
        )

    def routes(self) -> list[Route]:
        """Return the routes of the pages."""
        return [
            Route(FORM, self._sign_in, methods=["GET", "POST"]),
            Route(f"{LINK_PATH}/{{token}}", self._use_link, methods=["GET", "POST"]),
        ]

    async def _sign_in(self, request: Request) -> Response:
        if request.method != "POST":
            return _sign_in_form()
        fields = await _fields_of(request)
        name = fields.get("name", "")
        account = await run_in_threadpool(read_all, account_of, name)
        limits = await run_in_threadpool(self._limits, request, name, account)
        # Whoever has no tries left is refused before the slow check of the password.
        if self._waiting >= MOST_WAITING or not all(
            tries.take(key) for tries, key in limits.items()
        ):
            return _sign_in_form(name, TOO_MANY, HTTPStatus.TOO_MANY_REQUESTS)
        async with self._turn():
            right = await run_in_threadpool(is_password, account, fields.get("password", ""))
        if account is None or not right:
            return _sign_in_form(name, WRONG, HTTPStatus.FORBIDDEN)
        for tries, key in limits.items():
            tries.give_back(key)
        page = checked_page(request.query_params.get(PARAMETER, ""))
        return await run_in_threadpool(self._begin, request, account, f"..{page}")

    def _limits(
        self, request: Request, name: str, account: Account | None
    ) -> dict[Tries, Hashable]:
        """Return the limits for who tries to sign in under a name, each with the key of this person or browser."""
        session = self.credential(request.scope)
        # A known browser has separate tries, which strangers cannot use up.
        if account is not None and session and read_all(is_known_browser, account, session):
            return {self._by_browser: session}
        network = client_network(request.scope)
        if account is None:  # in a separate record, so that made-up names displace no account
            short = name.strip().casefold()[:LONGEST_ADDRESS]
            return {self._by_address: network, self._by_unknown_name: short}
        return {self._by_address: network, self._by_account: account.reviewer_id}

    async def _use_link(self, request: Request) -> Response:
        """Let a person set a password. To open the page does not use the link up: programs open links, too."""
        token = request.path_params["token"]
        person = await run_in_threadpool(read_all, person_of_link, token)
        expired = _page(HTTPStatus.NOT_FOUND, tag("p", EXPIRED, role="alert"))
        if person is None:
            return expired
        if request.method != "POST":
            return _password_form(person.name)
        fields = await _fields_of(request)
        password = fields.get("password", "")
        try:
            if password != fields.get("again"):
                raise BadInput("The two passwords differ.")
            async with self._turn():
                account = await run_in_threadpool(set_password, store(), token, password)
        except BadInput as error:
            return _password_form(person.name, str(error), HTTPStatus.BAD_REQUEST)
        except NotFound:
            return expired
        return await run_in_threadpool(self._begin, request, account, f"../..{FIRST_PAGE}")

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Wait for the turn to compute a hash, because each takes 64 MiB."""
        self._waiting += 1
        try:
            async with self._checking:
                yield
        finally:
            self._waiting -= 1

    def _begin(self, request: Request, account: Account, address: str) -> Response:
        """Begin a session, always with a new token, and send the browser to a relative address."""
        token = begin_session(store(), account, instead_of=self.credential(request.scope))
        if token is None:
            return _sign_in_form("", WRONG, HTTPStatus.FORBIDDEN)
        reply = RedirectResponse(address, HTTPStatus.SEE_OTHER, {"cache-control": "no-store"})
        reply.set_cookie(
            own_cookie(COOKIE, request.headers.get("host", "")),
            token,
            max_age=KNOWN_DAYS * 86_400,
            httponly=True,
            samesite="lax",
        )
        return reply


PASSWORDS = Passwords()


async def _fields_of(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException for a form of another server's page, and a long or slow one."""
    is_own = is_host_allowed(request.headers.get("host"))  # as for the pages
    if not is_own or not from_own_page(request.headers, request.url.scheme):
        raise HTTPException(HTTPStatus.FORBIDDEN, "A page of another server may not send this form")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        fields = parse_qs(body.decode(errors="replace"), max_num_fields=10)
    except (TimeoutError, ClientDisconnect, ValueError):
        raise HTTPException(HTTPStatus.BAD_REQUEST) from None
    return {name: values[0] for name, values in fields.items()}


def _sign_in_form(
    name: str = "", refusal: str | None = None, status: int = HTTPStatus.OK
) -> Response:
    return _page(
        status,
        refusal and tag("p", refusal, role="alert"),
        tag(
            "form",
            _field("Name", "name", autocomplete="username", value=name[:LONGEST_ADDRESS]),
            _field("Password", "password", type_="password", autocomplete="current-password"),
            tag("button", "Sign in"),
            method="post",
        ),
    )


def _password_form(name: str, refusal: str | None = None, status: int = HTTPStatus.OK) -> Response:
    new = {"type_": "password", "autocomplete": "new-password", "minlength": str(SHORTEST_PASSWORD)}
    return _page(
        status,
        tag("p", "Choose a password for ", tag("b", name), "."),
        refusal and tag("p", refusal, role="alert"),
        tag(
            "form",
            # For password managers.
            tag("input", name_="username", value=name, autocomplete="username", hidden=""),
            _field("Password", "password", tag("small", SHORT), **new),
            _field("Password again", "again", **new),
            tag("button", "Set password and sign in"),
            method="post",
        ),
    )


def _field(label: str, name: str, *help_: Html, **attributes: str) -> Html:
    return tag("label", label, *help_, tag("input", name_=name, id=name, required="", **attributes))


def _page(status: int, *content: str | None) -> Response:
    head = Html(
        # Whoever reads the address of a link can set the password. So later requests do not name the
        # address.
        '<head><meta charset="utf-8"><meta name="referrer" content="strict-origin">'
        '<meta name="viewport" content="width=device-width"><title>Sign in · Judgeboard'
        f"</title><style>:root {{ {colour_variables()}}}{_STYLE}</style></head>"
    )
    main = tag("main", tag("h1", "Judgeboard"), *content)
    page = tag("html", head, tag("body", main), lang="en")
    return HTMLResponse(f"<!doctype html>{page}", status, {"cache-control": "no-store"})


def invitations(admin: Reviewer) -> None:
    """Make a link with which a person sets a password, and show the link once."""
    heading("Invite, or reset a password")
    with st.container(border=True, key="people_invite"):
        name = st.text_input(
            "Name or e-mail address",
            key="invite_name",
            help="The person signs in with it. For a person with a password, the link resets it.",
        )
        role = st.selectbox(
            "Role of a new person",
            ROLES,
            index=None,
            placeholder=str(Role.REVIEWER),
            format_func=str,
            key="invite_role",
        )
        if not button("Create link", key="invite_save", icon=":material/link:"):
            return
        try:
            token = invite(store(), name, role, admin)
        except JudgeboardError as error:
            problem(f"Not invited: {error}")
            return
        here = urlsplit(st.context.url or "")
        server = f"{here.scheme}://{here.netloc}{configured_sign_in().prefix}"
        st.code(link_address(token, server), language=None, wrap_lines=True)
        caption(
            f"Send this link to {name.strip()}. It is shown only now, and works once, for {LINK_DAYS} days. "
            "When it is used, all earlier sign-ins of the person end."
        )
