"""Makes API keys, and decides whether a request may come in."""

import base64
import ipaddress
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from judgeboard.domain import Action
from judgeboard.errors import BadInput
from judgeboard.people.permissions import Actor, actor_name, allowed
from judgeboard.receiving.limits import Rates, Refused
from judgeboard.registry.scopes import SCOPES
from judgeboard.settings.masking import register_secret
from judgeboard.store.api_keys import (
    MAX_BODY_MB,
    any_key,
    insert_key,
    key_of_token,
    revoke_key,
    token_hash,
)
from judgeboard.store.clock import utc_now
from judgeboard.store.engine import Store
from judgeboard.store.events import EventFilter, latest_events
from judgeboard.store.hidden_rows import Seen
from judgeboard.store.tables import ApiKey
from judgeboard.store.visible_sources import check_source
from judgeboard.text import MAX_NAME, storable, utc_day

PREFIX = "jb_"
INGEST, READ, REVIEW = "ingest", "read", "review"
USED = "use_key"
_MOST_USES = 400  # events of a name that are read; a key has about one a day
UNKNOWN = "unknown"  # the sender of a request without a known key
UNNAMED = "default"  # the source of a sender without a name
_UNKNOWN_SERVICE = "unknown_service"  # OpenTelemetry's name for a service without a name
_EVENT_SECONDS = (
    60.0  # between two events about the same refusal, so that nobody can fill the database
)
_MOST_REFUSALS = 1_000
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}  # browsers leave these ports out of an origin


def create_key(
    store: Store,
    name: str,
    *,
    scopes: Sequence[str] = (INGEST,),
    source: str | None = None,
    requests_per_second: float | None = None,
    max_body_mb: float = MAX_BODY_MB,
    days: float | None = None,
    by: Actor,
) -> str:
    """Create a key and return its token, which is not stored and cannot be shown again.

    ``source`` is the only source that the key may send and read (None: any); the key expires after ``days``.
    Raises BadInput for a wrong value.
    """
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise BadInput(f"the name of a key has 1 to {MAX_NAME} characters")
    if source is not None:
        check_source(source)
    if not scopes or not set(scopes) <= set(SCOPES):
        raise BadInput(f"the scopes of a key are {', '.join(SCOPES)}")
    token, now = PREFIX + secrets.token_urlsafe(32), utc_now()
    key = ApiKey(
        name=name,
        hash=token_hash(token),
        created_by=actor_name(by),
        scopes=tuple(scope for scope in SCOPES if scope in scopes),
        source=source,
        requests_per_second=requests_per_second,
        max_body_mb=max_body_mb,
        created_at=now,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    with allowed(store, by, Action.MANAGE_KEYS) as connection:
        insert_key(connection, key)
    register_secret(token)
    return token


def revoke(store: Store, name: str, *, by: Actor) -> None:
    """Revoke a key: requests with the key are refused from now on. Raises NotFound without such a key."""
    with allowed(store, by, Action.MANAGE_KEYS) as connection:
        revoke_key(connection, name, by=actor_name(by), now=utc_now())


def last_use(connection: Connection, key: ApiKey) -> datetime | None:
    """Return when a request with a key was last recorded. The first request of each day (UTC) is recorded."""
    uses = latest_events(
        connection, EventFilter(USED, f"key:{key.name}", since=key.created_at), limit=_MOST_USES
    )
    return next(
        (use.at for use in uses if use.details["id"] == key.id), None
    )  # an earlier key may have had the same name


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends a request: a key, or without any key a program on this machine."""

    key: ApiKey | None = None

    @property
    def owner(self) -> str:
        """The only source that the sender may send, "" for any."""
        return (self.key.source if self.key else None) or ""

    def seen(self, store: Store) -> Seen:
        """Return the database as the sender may read it."""
        return Seen(store, None, self.owner or None)

    @property
    def actor(self) -> str:
        """The name in events."""
        return f"key:{self.name}" if self.key else self.name

    @property
    def name(self) -> str:
        """The name of the key."""
        return self.key.name if self.key else UNKNOWN

    @property
    def most_bytes(self) -> int:
        """The limit of a body."""
        return int((self.key.max_body_mb if self.key else MAX_BODY_MB) * 2**20)

    def source_of(self, resource: Mapping[str, Any]) -> str:
        """Return the source of a span: the service's name, or else the source of the key.

        Raises Refused for another source.
        """
        name = resource.get("service.name")
        is_named = isinstance(name, str) and name.strip() and not name.startswith(_UNKNOWN_SERVICE)
        return self.checked_source(str(name) if is_named else None)

    def checked_source(self, name: str | None) -> str:
        """Return the source of a record; ``name`` is the source that the record names, or None.

        Raises Refused if the key is for another source.
        """
        if not name:
            return self.owner or UNNAMED
        source = storable(name)[0][:MAX_NAME]
        if self.owner and source != self.owner:
            raise Refused(
                403, f"this key is for the source {self.owner!r}, not {source!r}", self.name
            )
        return source


class Door:
    """Lets requests in: by key, or without any key only from this machine.

    ``keys_needed`` tells whether a key is needed even before the first key is created.
    """

    def __init__(self, keys_needed: Callable[[], bool]) -> None:
        self._keys_needed = keys_needed
        self._rates = Rates()
        self._recorded: dict[tuple[str, int], float] = {}
        self._days_of_use: dict[int, int] = {}

    def admit(
        self, store: Store, token: str | None, *, is_local: bool, scope: str = INGEST
    ) -> Sender:
        """Return who sends a request with this token, or without any. Raises Refused with 401, 403 or 429.

        ``is_local`` is whether a program on this machine sent the request.
        """
        now = utc_now()
        with store.reading() as connection:
            key = None if token is None else key_of_token(connection, token)
            # A key that was sent is never ignored.
            keys_needed = key is None and (
                token is not None or self._keys_needed() or any_key(connection)
            )
        if key is None:
            if keys_needed:
                raise Refused(401, "no key was sent" if token is None else "the key is not known")
            if not is_local:
                raise Refused(
                    401,
                    "without a key, only this machine may send: create one with `judgeboard sources keys create NAME`",
                )
            return Sender()
        register_secret(token)  # only of keys that exist: strangers must not fill the memory
        fault = key.unusable(now)
        if fault is not None:
            raise Refused(401, f"the key {key.name!r} is {fault}", key.name)
        if scope not in key.scopes:
            raise Refused(403, f"the key {key.name!r} lacks the scope {scope!r}", key.name)
        if not self._rates.take(key.name, key.requests_per_second):
            raise Refused(
                429, f"more than {key.requests_per_second:g} requests per second", key.name
            )
        return Sender(key)

    def use_of(self, sender: Sender) -> dict[str, Any] | None:
        """Return the details of the event about the use of a key; None if a use of this day (UTC) is recorded."""
        key, today = sender.key, utc_day(utc_now())
        if key is None or self._days_of_use.get(key.id) == today:
            return None
        self._days_of_use[key.id] = today
        return {"key": key.name, "id": key.id}

    def event_of(self, key: str, status: int) -> dict[str, Any] | None:
        """Return the details of the event about a refused request; None within a minute of the last event."""
        about, now = (key, status), time.monotonic()
        if now - self._recorded.get(about, -_EVENT_SECONDS) < _EVENT_SECONDS:
            return None
        if len(self._recorded) >= _MOST_REFUSALS:
            self._recorded.clear()
        self._recorded[about] = now
        return {"action": "send", "status": status}


def is_from_here(headers: Mapping[str, str], client: str | None) -> bool:
    """Whether a request came from an address of this machine, and not through a proxy on this machine."""
    proxied = any(
        name in headers
        for name in ("x-forwarded-for", "x-forwarded-host", "forwarded", "x-real-ip", "via")
    )
    return is_loopback(client) and not proxied


def is_local(headers: Mapping[str, str], client: str | None, scheme: str) -> bool:
    """Whether a program on this machine, or a page of this server, sent a request of HTTP without a proxy."""
    if not is_from_here(headers, client) or not from_own_page(headers, scheme):
        return False
    return is_loopback(_host_name(headers.get("host", "")))


def from_own_page(headers: Mapping[str, str], scheme: str) -> bool:
    """Whether a page of this server sent the request. A program, which sends no ``Origin``, counts as a page.

    ``scheme`` is the scheme of the request: http, https, ws or wss. The scheme, host and port of
    the page must equal those of the request. Another port of this machine is another server.
    """
    origin = headers.get("origin")
    if origin is None:
        return True
    host = headers.get("host", "").lower()
    first_scheme = headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    schemes = {first_scheme or {"ws": "http", "wss": "https"}.get(scheme, scheme)}
    if not first_scheme and not is_loopback(_host_name(host)):
        schemes.add("https")  # the proxy in front of this server may not name the scheme
    # A browser writes an origin in one form only, so the whole texts are compared, and no part is
    # interpreted.
    return bool(host) and origin.lower() in {
        f"{each}://{host.removesuffix(_DEFAULT_PORTS.get(each, ''))}" for each in schemes
    }


def _host_name(host: str) -> str:
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def is_loopback(address: str | None) -> bool:
    """Whether an address or a host name means this machine."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address or "").is_loopback
    except ValueError:
        return False


def token_in(headers: Mapping[str, str]) -> str | None:
    """Return the token of a request: ``Bearer``, ``x-api-key``, or the password of ``Basic``; None without one."""
    kind, _, value = headers.get("authorization", "").strip().partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip()
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2] or None
        except ValueError:
            return None
    return headers.get("x-api-key", "").strip() or None
