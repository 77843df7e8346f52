"""The ways to sign in: the identity provider of .streamlit/secrets.toml, proxies, and the ways of rooms."""

import hashlib
import importlib.util
import ipaddress
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Scope
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx

from judgeboard.errors import BadInput, NotAllowed
from judgeboard.people.roster import checked_address, checked_sign_in_name
from judgeboard.registry.methods import load_object, registrations
from judgeboard.settings.masking import register_secret
from judgeboard.settings.model import load_settings

SHORTEST_SECRET = 32  # characters: whoever guesses the secret can sign in as anybody
LOGIN, LOGOUT, CALLBACK = "/auth/login", "/auth/logout", "/oauth2callback"  # routes of Streamlit
_CALLBACK_ADDRESS = re.compile(rf"https?://[^/?#\\]+(?P<prefix>(/[\w.~%-]+)*){CALLBACK}", re.ASCII)
COOKIE_SECONDS = 30 * 86_400  # after which a browser deletes the cookie of a sign-in
NEEDED = ("client_id", "client_secret", "server_metadata_url")
_log = logging.getLogger("judgeboard.dashboard")
_FORWARDED = "x-forwarded-for"
_LOOPBACK = ("127.0.0.0/8", "::1")


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A sign-in of a browser. No other sign-in has the same ``facts``.

    ``check`` returns the name of the person. It raises SignInEnded, or BadInput if the entry names
    nobody. ``end`` ends the sign-in in all tabs, also for copies of the cookie. The browser goes to
    ``leads_to`` when the person signs out. If the sign-in does not end here, ``end`` does nothing,
    and ``leads_to`` is None.
    """

    facts: Mapping[str, Any]
    check: Callable[[], str]
    end: Callable[[], None] = lambda: None
    leads_to: str | None = None


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
    return [*sign_ins, provider_entry(person)] if person else sign_ins


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


def provider_entry(person: Mapping[str, Any]) -> Entry:
    """Return the sign-in at the identity provider, by the claims of the ID token."""
    return Entry(person, partial(_verified_address, person), partial(_ended.add, person), LOGOUT)


def _verified_address(person: Mapping[str, Any]) -> str:
    """Return the verified e-mail address of the person.

    Raises BadInput if the provider sent no verified address, and SignInEnded after sign-out or when
    the provider's token has expired.
    """
    expires_at = _expires_at(person)
    if expires_at is not None and time.time() >= expires_at:
        raise SignInEnded("Your sign-in has ended. Sign in again.")
    if person in _ended:
        raise SignInEnded("You signed out. Sign in again.")
    address = person.get("email")
    # Some providers send email_verified as a text.
    if not isinstance(address, str) or str(person.get("email_verified")).lower() != "true":
        raise BadInput("Your identity provider has not verified your e-mail address.")
    return checked_address(address)


class TrustedProxies(NamedTuple):
    """The configured proxies: the header in which a proxy names people, and the addresses of the proxies."""

    header: str | None
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

    def have(self, machine: str) -> bool:
        """Return whether a machine with this address is a proxy."""
        address = _address(machine)
        return address is not None and any(address in network for network in self.networks)


@cache
def trusted_proxies() -> TrustedProxies:
    """Return the configured proxies, read once. Without any, this machine may tell addresses, but no people."""
    settings = load_settings()
    networks = settings.trusted_proxies or _LOOPBACK
    return TrustedProxies(
        settings.trusted_header,
        tuple(ipaddress.ip_network(each, strict=False) for each in networks),
    )


def client_network(scope: Scope) -> str:
    """Return the origin of a request: the last address in the headers of proxies that is no proxy.

    For IPv6, return the network of the address, because everybody has at least 2^64 addresses.
    """
    proxies, client = trusted_proxies(), _peer(scope)
    hops = ",".join(Headers(scope=scope).getlist(_FORWARDED)).split(",")
    for hop in map(str.strip, reversed(hops)):
        if not proxies.have(client) or _address(hop) is None:
            break
        client = hop
    address = _address(client)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(address), 64), strict=False))
    return client if address is None else str(address)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address of a machine, None for any other text. An IPv4 address within an IPv6 address is IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else ""


class ProxyWay:
    """People sign in at a proxy, which names the person in a header."""

    key = "x-judgeboard-proxy"
    form = None

    def is_on(self) -> bool:
        """Return whether a header is configured."""
        return trusted_proxies().header is not None

    def routes(self) -> list[Route]:
        """Return no routes: the proxy has the pages."""
        return []

    def credential(self, scope: Scope) -> str | None:
        """Return the person whom a request names, None if the request names several or does not come from a proxy."""
        proxies = trusted_proxies()
        names = Headers(scope=scope).getlist(proxies.header) if proxies.header else []
        if not names:
            return None
        if not proxies.have(_peer(scope)):
            _log_once("%s was ignored: an address that is no trusted proxy sent it", proxies.header)
            return None
        if len(names) > 1:
            _log_once("%s was ignored: a request had it twice", proxies.header)
            return None
        return names[0].strip() or None

    def entry(self, credential: str) -> Entry:
        """Return the sign-in of the person whom a proxy named in the bytes of UTF-8. Only the proxy ends it."""
        name = credential.encode("latin-1", "replace").decode(errors="replace")
        return Entry({"name": name}, partial(checked_sign_in_name, name))


@cache
def _log_once(words: str, header: str | None) -> None:
    _log.warning(words, header)


PROXY = ProxyWay()


def own_cookie(name: str, host: str) -> str:
    """Return the name of a cookie of this server alone: browsers send cookies to all ports of a host."""
    port = re.search(r":(\d{1,5})$", host, re.ASCII)
    return f"{name}_{port[1]}" if port else name


def shown_cookie(name: str) -> str:
    """Return a cookie of this server that the browser sent at the start of the session, "" without a cookie."""
    cookie: str = st.context.cookies.get(own_cookie(name, st.context.headers.get("host", "")), "")
    return cookie
