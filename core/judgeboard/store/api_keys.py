"""Stores the keys with which assistants send traces, answers and feedback."""

import hashlib
import shlex
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from judgeboard.errors import BadInput, NotFound
from judgeboard.store.events import record_event
from judgeboard.store.statements import any_row, first_row, rows_of
from judgeboard.store.tables import API_KEY, ApiKey

MAX_BODY_MB = 64.0


def token_hash(token: str) -> str:
    """Return the SHA-256 of a token; a token is random, so that no slow hash is needed."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def insert_key(connection: Connection, new: ApiKey) -> None:
    """Store a new key; raise BadInput if a key of this name is not revoked."""
    if any_row(connection, API_KEY.c.name == new.name, API_KEY.c.revoked_at.is_(None)):
        raise BadInput(
            f"there is a key {new.name!r} already: choose another name, or revoke it first with "
            f"`judgeboard sources keys revoke {shlex.quote(new.name)}`"
        )
    connection.execute(insert(API_KEY), new.new_values())
    details = {"key": new.name, "scopes": list(new.scopes)}
    record_event(connection, "create_key", new.created_by, details=details, now=new.created_at)


def revoke_key(connection: Connection, name: str, *, by: str, now: datetime) -> None:
    """Revoke a key, which is then refused. A second call changes nothing. Raise NotFound without such a key."""
    if not any_row(connection, API_KEY.c.name == name):
        raise NotFound(f"no key {name!r}: `judgeboard sources keys list` shows all keys")
    statement = (
        update(API_KEY)
        .where(API_KEY.c.name == name, API_KEY.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    if connection.execute(statement).rowcount:
        record_event(connection, "revoke_key", by, details={"key": name}, now=now)


def list_keys(connection: Connection) -> list[ApiKey]:
    """Return every key by name, also expired and revoked ones; keys of one name in the order of creation."""
    return rows_of(connection, select(ApiKey).order_by(API_KEY.c.name, API_KEY.c.id))


def key_of_token(connection: Connection, token: str) -> ApiKey | None:
    """Return the key of a token, also an expired or revoked one."""
    return first_row(connection, select(ApiKey).where(API_KEY.c.hash == token_hash(token)))


def any_key(connection: Connection) -> bool:
    """Return whether a key was ever created."""
    return connection.scalar(select(API_KEY.c.id).limit(1)) is not None
