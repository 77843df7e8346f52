"""What the proxies in front of the server tell: who signed in there, and from which address a request comes."""

import ipaddress
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import Scope

from judgeboard.people.roster import checked_sign_in_name
from judgeboard.settings.model import load_settings

_log = logging.getLogger("judgeboard.dashboard")
_FORWARDED = "x-forwarded-for"
_LOOPBACK = ("127.0.0.0/8", "::1")


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


@dataclass(frozen=True, slots=True)
class ProxyEntry:
    """A person whom a proxy names. Only the proxy ends this sign-in."""

    facts: Mapping[str, Any]
    leads_to: str | None = None

    def check(self) -> str:
        """Return the name of the person. Raises BadInput if the text is no name."""
        return checked_sign_in_name(self.facts["name"])

    def end(self) -> None:
        """Do nothing."""


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

    def entry(self, credential: str) -> ProxyEntry:
        """Return the sign-in of the person whom a proxy named in the bytes of UTF-8."""
        name = credential.encode("latin-1", "replace").decode(errors="replace")
        return ProxyEntry({"name": name})


@cache
def _log_once(words: str, header: str | None) -> None:
    _log.warning(words, header)


PROXY = ProxyWay()
