"""The ways to sign in: the identity provider of .streamlit/secrets.toml, a proxy, and the ways of rooms."""

import hashlib
import importlib.util
import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import streamlit as st
from starlette.routing import Route
from starlette.types import Scope
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx

from judgeboard.errors import BadInput, NotAllowed
from judgeboard.people.roster import checked_address
from judgeboard.registry.methods import load_object, registrations
from judgeboard.settings.masking import register_secret
from judgeboard.settings.model import load_settings
from judgeboard_dashboard.proxies import PROXY

SHORTEST_SECRET = 32  # characters: whoever guesses the secret can sign in as anybody
LOGIN, LOGOUT, CALLBACK = "/auth/login", "/auth/logout", "/oauth2callback"  # routes of Streamlit
_CALLBACK_ADDRESS = re.compile(rf"https?://[^/?#\\]+(?P<prefix>(/[\w.~%-]+)*){CALLBACK}", re.ASCII)
COOKIE_SECONDS = 30 * 86_400  # after which a browser deletes the cookie of a sign-in
NEEDED = ("client_id", "client_secret", "server_metadata_url")


class SignIn(NamedTuple):
    """The configuration of sign-in; ``asked`` is whether people must sign in, ``fault`` what is wrong.

    The provider None is configured in [auth] itself and has no name. Providers send browsers back
    to ``host``. The ``prefix`` is the path below which a proxy serves the pages, for example
    "/judgeboard"; "" means the whole host.
    """

    asked: bool
    providers: tuple[str | None, ...] = ()
    host: str | None = None
    fault: str | None = None
    prefix: str = ""


_NO_PROVIDER = "JUDGEBOARD_ADMIN is set, but .streamlit/secrets.toml has no section [auth]"
_NO_PROXIES = (
    "trusted_header is set, but not trusted_proxies, the addresses of the proxies that send it"
)


class Entry(Protocol):
    """A sign-in of a browser. No other sign-in has the same ``facts``."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known of the sign-in."""

    @property
    def leads_to(self) -> str | None:
        """Where the browser goes when the person signs out; None if the sign-in does not end here."""

    def check(self) -> str:
        """Return the name of the person. Raises SignInEnded, or BadInput if the entry names nobody."""

    def end(self) -> None:
        """End the sign-in in all tabs, also for copies of the cookie."""


class WayIn(Protocol):
    """A way to sign in beside the identity provider.

    A session keeps, under the ``key``, the credential of the request that began the session.
    """

    @property
    def key(self) -> str:
        """The name of a header, in lower case, which only the server sets."""

    @property
    def form(self) -> str | None:
        """The path of the page on which people sign in."""

    def is_on(self) -> bool:
        """Return whether people must sign in."""

    def routes(self) -> list[Route]:
        """Return the routes of the pages of this way."""

    def credential(self, scope: Scope) -> str | None:
        """Return what a request has of a sign-in, None without any."""

    def entry(self, credential: str) -> Entry:
        """Return the sign-in of a credential."""


@cache
def ways() -> tuple[WayIn, ...]:
    """Return the ways to sign in beside the identity provider."""
    return PROXY, *(load_object(each.sign_in) for each in registrations() if each.sign_in)


def sign_in() -> SignIn:
    """Return the configuration of sign-in. People must also sign in if any other way is on."""
    configured = configured_sign_in()
    if configured.asked or not any(way.is_on() for way in ways()):
        return configured
    return configured._replace(asked=True)


@cache
def configured_sign_in() -> SignIn:
    """Return the configuration of sign-in, read once, so that editing the file cannot open a running server.

    With a fault in the configuration, nobody can sign in. ``JUDGEBOARD_ADMIN`` without a provider or
    a proxy is also a fault, because such a server is not meant to be open.
    """
    settings = load_settings()
    try:
        auth = dict(st.secrets).get("auth")
    except Exception:  # noqa: BLE001 - the file is missing or unreadable; the error could quote secrets
        if any(Path(path).exists() for path in st.get_option("secrets.files")):
            return SignIn(True, fault="the secrets file is not valid TOML")
        auth = None
    if settings.trusted_header is not None and not settings.trusted_proxies:
        return SignIn(True, fault=_NO_PROXIES)
    if auth is None:
        if settings.admin is not None and settings.trusted_header is None:
            return SignIn(True, fault=_NO_PROVIDER)
        address = urlsplit(settings.url or "")
        return SignIn(asked=False, host=address.hostname, prefix=address.path.rstrip("/"))
    if not isinstance(auth, Mapping):
        return SignIn(True, fault="[auth] in the secrets must be a table")
    return checked_auth(auth)


def checked_auth(auth: Mapping[str, Any]) -> SignIn:
    """Return the configuration in the section [auth] of the secrets."""
    provider_names = tuple(
        sorted(
            name for name, part in auth.items() if isinstance(part, Mapping) and "client_id" in part
        )
    )
    providers: tuple[str | None, ...] = ((None,) if "client_id" in auth else ()) + provider_names
    callback = str(auth.get("redirect_uri", ""))
    path = _CALLBACK_ADDRESS.fullmatch(callback)
    fault = None
    parts = [auth if name is None else auth[name] for name in providers]
    register_secret(
        *(
            str(part.get(name, ""))
            for part in (auth, *parts)
            for name in ("client_secret", "cookie_secret")
        )
    )
    if not parts or any(not part.get(key) for part in parts for key in NEEDED):
        fault = f"[auth] in the secrets needs {', '.join(NEEDED)} for each provider"
    elif any("_" in name for name in provider_names):
        fault = "the name of a provider in the secrets must not contain an underscore"
    elif path is None:
        fault = f"redirect_uri in [auth] of the secrets must be the address of this server followed by {CALLBACK}"
    elif len(str(auth.get("cookie_secret", ""))) < SHORTEST_SECRET:
        fault = f"cookie_secret in [auth] of the secrets needs at least {SHORTEST_SECRET} random characters"
    elif importlib.util.find_spec("authlib") is None or importlib.util.find_spec("httpx") is None:
        fault = "the packages for sign-in are not installed: pip install 'judgeboard[auth]'"
    return SignIn(
        True, providers, urlsplit(callback).hostname, fault, "" if path is None else path["prefix"]
    )


def claims() -> Mapping[str, Any]:
    """Return the identity provider's claims about the person; empty before sign-in."""
    if not st.user.get("is_logged_in"):
        return {}
    keys = {way.key for way in ways()}
    return {name: value for name, value in st.user.to_dict().items() if name not in keys}


def entries() -> list[Entry]:
    """Return the sign-ins of this browser, also ended ones."""
    sign_ins: list[Entry] = [
        way.entry(str(credential))
        for way in ways()
        if way.is_on() and (credential := st.user.get(way.key))
    ]
    person = claims()
    return [*sign_ins, ProviderEntry(person)] if person else sign_ins


class SignedIn(NamedTuple):
    """A sign-in that goes on: the name of the person, and the facts of the entry."""

    name: str
    facts: Mapping[str, Any]


def valid_sign_in(sign_ins: Sequence[Entry]) -> SignedIn:
    """Return the first sign-in that goes on. Raises NotAllowed without any, and the error of the first otherwise."""
    refusal: NotAllowed | BadInput | None = None
    for entry in sign_ins:
        try:
            return SignedIn(entry.check(), entry.facts)
        except (SignInEnded, BadInput) as error:
            refusal = refusal or error
    raise refusal or NotAllowed("Sign in first.")


class SignInEnded(NotAllowed):
    """A sign-in ended: the person signed out, or the identity provider's token has expired."""


class SignIns:
    """A record of at most ``most`` sign-ins on this server. A full record forgets the oldest sign-in.

    The key of a sign-in is the hash of the claims, which contain the time and a random number.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._forget_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def add(self, person: Mapping[str, Any]) -> None:
        """Add the sign-in with these claims, until the token expires."""
        now = time.time()
        with self._lock:
            self._forget_at = {key: at for key, at in self._forget_at.items() if at > now}
            if len(self._forget_at) >= self._most:
                del self._forget_at[next(iter(self._forget_at))]
            self._forget_at[self._key(person)] = _expires_at(person) or now + COOKIE_SECONDS

    def __contains__(self, person: Mapping[str, Any]) -> bool:
        """Whether the sign-in with these claims was added."""
        return self._key(person) in self._forget_at

    @staticmethod
    def _key(person: Mapping[str, Any]) -> str:
        return hashlib.sha256(json.dumps(person, sort_keys=True, default=str).encode()).hexdigest()


# Signing out deletes the cookie of the browser, but not a copy of the cookie, and ends no other
# tab. Because of this record, the server refuses other tabs and copies.
_ended = SignIns()


def sign_out() -> None:
    """End the sign-ins of this browser, in all tabs."""
    sign_ins = entries()
    for entry in sign_ins:
        entry.end()
    leave_for(next((entry.leads_to for entry in reversed(sign_ins) if entry.leads_to), "/"))


def leave_for(path: str) -> None:
    """Send the browser to a route of this server. `st.login` and `st.logout` do not know the path of a proxy."""
    context = get_script_run_ctx()
    if context is not None:
        message = ForwardMsg()
        message.auth_redirect.url = configured_sign_in().prefix + path
        context.enqueue(message)


def _expires_at(person: Mapping[str, Any]) -> float | None:
    """Return when the ID token expires, in seconds since 1970; None for a token without such a time."""
    expires_at = person.get("exp")
    return float(expires_at) if isinstance(expires_at, int | float) else None


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """A sign-in at the identity provider, by the claims of the ID token."""

    facts: Mapping[str, Any]
    leads_to: str | None = LOGOUT

    def check(self) -> str:
        """Return the verified e-mail address of the person.

        Raises BadInput if the provider sent no verified address, and SignInEnded after sign-out or
        when the provider's token has expired.
        """
        expires_at = _expires_at(self.facts)
        if expires_at is not None and time.time() >= expires_at:
            raise SignInEnded("Your sign-in has ended. Sign in again.")
        if self.facts in _ended:
            raise SignInEnded("You signed out. Sign in again.")
        address = self.facts.get("email")
        # Some providers send email_verified as a text.
        if not isinstance(address, str) or str(self.facts.get("email_verified")).lower() != "true":
            raise BadInput("Your identity provider has not verified your e-mail address.")
        return checked_address(address)

    def end(self) -> None:
        """Add the sign-in to the record of ended sign-ins."""
        _ended.add(self.facts)


def own_cookie(name: str, host: str) -> str:
    """Return the name of a cookie of this server alone: browsers send cookies to all ports of a host."""
    port = re.search(r":(\d{1,5})$", host, re.ASCII)
    return f"{name}_{port[1]}" if port else name


def shown_cookie(name: str) -> str:
    """Return a cookie of this server that the browser sent at the start of the session, "" without a cookie."""
    cookie: str = st.context.cookies.get(own_cookie(name, st.context.headers.get("host", "")), "")
    return cookie
